"""Text of treebanks: sentences as written, or their tokens parted by blanks."""

import pytest

from recency.errors import InputError
from recency.text.readers.conllu import read

TREEBANK = """# newdoc id = one
# text = 他在花园里。
1\t他\t他\tPRON
2\t在\t在\tADP
3\t花园\t花园\tNOUN
4\t里\t里\tADP
5\t。\t。\tPUNCT

# text = 她来了。
1\t她\t她\tPRON
2\t来\t来\tVERB
2.1\t空\t空\tVERB
3\t了\t了\tPART
4\t。\t。\tPUNCT

# newdoc id = two
# text = Zum Haus.
1-2\tZum\t_\t_
1\tzu\tzu\tADP
2\tdem\tder\tDET
3\tHaus\tHaus\tNOUN
4\t.\t.\tPUNCT

"""


def test_sentences_are_as_written(tmp_path):
    path = tmp_path / "zh-train.conllu"
    path.write_text(TREEBANK, encoding="utf-8")
    assert list(read([path])) == [
        ("zh-train-1", "他在花园里。\n她来了。"),
        ("zh-train-2", "Zum Haus."),
    ]


def test_words_are_parted_and_of_the_text(tmp_path):
    path = tmp_path / "zh-train.conllu"
    path.write_text(TREEBANK, encoding="utf-8")
    assert [text for _, text in read([path], words=True)] == [
        "他 在 花园 里 。\n她 来 了 。",
        "Zum Haus .",
    ]


@pytest.mark.parametrize(
    "text, words, message",
    [
        ("", False, "no sentences"),
        (
            "1\tein\t_\n\n",
            False,
            "line 2: the previous sentence has no `# text`; use `words: true`",
        ),
        ("1 ein\n\n", True, "line 1: no tab-separated columns"),
    ],
)
def test_what_is_no_treebank_is_refused(tmp_path, text, words, message):
    path = tmp_path / "x.conllu"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        list(read([path], words=words))
