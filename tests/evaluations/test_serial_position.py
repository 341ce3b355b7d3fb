"""Serial position: networks and stubs whose recognition and recall are known by construction."""

import numpy as np
import pandas as pd
import pytest
import torch

from project import assert_is_refused, show
from recency.errors import InputError
from recency.evaluations.serial_position import remember, view
from recency.evaluations.serial_position.remember import WordList
from recency.networks import architectures
from recency.scoring.lm_spec import LMSpec
from small_networks import NONE, byte_tokenizer

STUDY, PROBE, RECALL = "they had read", "and then saw", "and then said"
POOL = ["apple", "bread", "cloud", "drum", "eagle", "frost", "grape", "house", "island", "jewel", "knife", "lemon", "mouse", "night", "olive", "pearl"]  # fmt: skip
DECAY, SHARP, LENGTH = 0.8, 12.0, 8
TASK = {"samples": 1, "temperature": 1.0, "score": "surprisal", "seed": 3}
TASK |= {"study": STUDY, "probe": PROBE, "recall": RECALL}


@pytest.fixture(scope="module")
def lm(tmp_path_factory):
    """Return a FOFE network: a pool word's logit is SHARP times the sum of DECAY^distance of its occurrences."""
    folder = tmp_path_factory.mktemp("lm")
    texts = [f"{STUDY} {PROBE} {RECALL} " + " ".join(f"{w}, {w}." for w in POOL) + " x,"]
    tokenizer = byte_tokenizer([f" {text}" for text in texts * 9], 1000)
    size = tokenizer.get_vocab_size()
    shape = {"family": "recurrent", "layers": 1, "width": size, "embedding": size, "dropout": 0.0}
    network = architectures.new(shape | {"memory": {"form": "fofe", "decay": DECAY}}, NONE, size, 0)
    identity = torch.eye(size)
    with torch.no_grad():
        network.model.embedding.weight.copy_(identity)
        network.model.layers[0].read.weight.copy_(identity)
        network.lm_head.weight.zero_()  # the prompts' words are as likely as any other token
        ids = [tokenizer.encode(f" {word}").ids[0] for word in POOL]
        network.lm_head.weight[ids, ids] = SHARP
    network.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "pool.txt").write_text("\n".join(POOL), encoding="utf-8")
    return LMSpec("lm", folder, folder / "tokenizer.json", bos=False), tokenizer


def logits(tokenizer, text):
    """Return the logits of what follows a text, by a loop over its tokens."""
    found = np.zeros(tokenizer.get_vocab_size())
    for token in tokenizer.encode(text).ids:
        found *= DECAY
        found[token] += SHARP
    words = [tokenizer.encode(f" {word}").ids[0] for word in POOL]
    return np.where(np.isin(np.arange(len(found)), words), found, 0.0)


def text_of(words, prompt):
    return f"{STUDY} {', '.join(words)}. {prompt}"


def test_surprisals_and_recognition_are_those_of_the_networks_formula(lm, tmp_path):
    spec, tokenizer = lm
    out = tmp_path / "lm.parquet"
    pool = spec.model / "pool.txt"
    remember.main(pool, spec, out, [LENGTH], 3, **TASK | {"samples": 0})
    rows = pd.read_parquet(out)
    drawn = remember.draw_lists(sorted(POOL), LENGTH, 3, 3)
    assert len(rows) == 3 * 2 * LENGTH and list(rows.columns) == remember.COLUMNS
    for number, words in enumerate(drawn):
        scores = logits(tokenizer, text_of(words.studied, PROBE))
        bare = logits(tokenizer, PROBE)
        for row in rows[rows.list == number].itertuples():
            (token,) = tokenizer.encode(f" {row.word}").ids
            for bits, z in ((row.surprisal_bits, scores), (row.bare_bits, bare)):
                assert bits == pytest.approx((np.log(np.exp(z).sum()) - z[token]) / np.log(2), rel=1e-4)  # fmt: skip
            assert row.word == (words.studied if row.studied else words.lures)[row.position - 1]
    studied = rows[rows.studied]
    assert (studied.recognized == 100).all()  # no unstudied word has left anything
    assert rows[["recalled", "first"]].isna().all().all()
    # The later in the list, the less surprisal: recency, and no primacy.
    assert (studied.groupby("position").surprisal_bits.mean().diff().dropna() < 0).all()


def test_first_recall_has_the_networks_probabilities(lm, tmp_path):
    """The first token begins a word; who samples it has the softmax over those tokens."""
    spec, tokenizer = lm
    remember.main(spec.model / "pool.txt", spec, tmp_path / "lm.parquet", [LENGTH], 4, **TASK | {"samples": 8})  # fmt: skip
    rows = pd.read_parquet(tmp_path / "lm.parquet")
    begins = [n for token, n in tokenizer.get_vocab().items() if token.startswith("Ġ")]
    expected = np.zeros(LENGTH)
    for words in remember.draw_lists(sorted(POOL), LENGTH, 4, 3):
        z = np.exp(logits(tokenizer, text_of(words.studied, RECALL)))
        mine = [tokenizer.encode(f" {word}").ids[0] for word in words.studied]
        expected += 100 * z[mine] / z[begins].sum() / 4
    studied = rows[rows.studied]
    first = studied.groupby("position")["first"].mean().to_numpy()
    # A text that begins with another word can have one of the list later: not less than this.
    # A text that begins with another word can have one of the list later: not less than this.
    spread = 100 * np.sqrt(expected / 100 / 32)
    assert (first > expected - 4 * spread - 0.5).all() and expected[-1] > 30
    _, summary = view.curves([rows])
    recall = summary[summary.task == "recall"].iloc[0]
    assert recall.recency_low > 0 and recall["mean"] > recall.chance
    again = tmp_path / "again.parquet"
    remember.main(spec.model / "pool.txt", spec, again, [LENGTH], 4, **TASK | {"samples": 8})
    assert pd.read_parquet(again).equals(rows)


LISTS = [
    WordList(tuple("abcdefg"), tuple("tuvwxyz")),
    WordList(tuple("gfedcba"), tuple("zyxwvut")),
]


def test_recognition_is_the_share_of_lures_that_a_word_exceeds():
    """A stub's surprisal is known: by position of studied words, 1 to 7 bits of lures, 4 bits alone."""

    def score(texts):
        items = [rows for _, rows in texts.groupby("item", sort=False)]
        bits = np.zeros(len(texts))
        for rows in items:
            words, probe = list(rows.word), rows.word.iloc[-1]
            context = [word.strip(",.") for word in words[:-1]]
            assert rows.scored.tolist() == [False] * (len(words) - 1) + [True]
            if words[:-1] == ["p"]:
                bits[rows.index[-1]] = 4 + (probe == "a")
            elif probe in context:
                bits[rows.index[-1]] = context[1:].index(probe) + 0.5
            else:
                bits[rows.index[-1]] = context and sorted("tuvwxyz").index(probe) + 1
        return bits

    found = remember.recognition(LISTS, "s", "p", "surprisal", score)
    by_place = found[found.studied].groupby("position").recognized
    # 0.5 bits are below all seven lures, 1.5 below six …
    assert by_place.mean().tolist() == pytest.approx([100 * (8 - k) / 7 for k in range(1, 8)])
    ratio = remember.recognition(LISTS, "s", "p", "likelihood_ratio", score)
    changed = found.recognized != ratio.recognized
    assert set(found.word[changed & found.studied]) == {"a"}  # alone it has a bit more
    assert ratio[(ratio.list == 1) & (ratio.word == "a")].recognized.item() == pytest.approx(200 / 7)  # fmt: skip
    ties = remember.recognition(LISTS, "s", "p", "surprisal", lambda texts: np.ones(len(texts)))
    assert (ties.recognized.dropna() == 50).all()


def test_recall_counts_words_once_whatever_their_case_and_not_in_other_words():
    said = iter(["The G and a, a!", "ab then c", "t, g", "nothing"])
    contexts = []

    def go_on(texts):
        contexts.extend(texts)
        return [next(said) for _ in texts]

    found = remember.free_recall(LISTS, "s", "r", 2, go_on)
    assert contexts[0] == contexts[1] == ["s", "a,", "b,", "c,", "d,", "e,", "f,", "g.", "r"]
    first = found[found.list == 0].set_index(["studied", "position"])
    assert first.recalled[True].tolist() == [50, 0, 50, 0, 0, 0, 50]
    assert first["first"][True].tolist() == [0, 0, 50, 0, 0, 0, 50]
    second = found[found.list == 1].set_index(["studied", "position"])
    assert second.recalled[True].tolist() == [50, 0, 0, 0, 0, 0, 0]  # g is its first word
    assert second.recalled[False].tolist() == [0, 0, 0, 0, 0, 0, 50]


def scored(curve, lists=400, lure=10.0, seed=2):
    """Return a file's rows whose words are recalled with the probability of their position."""
    random = np.random.default_rng(seed)
    grid = pd.MultiIndex.from_product([range(lists), [True, False], range(1, len(curve) + 1)])
    rows = grid.to_frame(index=False, name=["list", "studied", "position"]).assign(length=len(curve))  # fmt: skip
    chance = np.where(rows.studied, np.asarray(curve)[rows.position - 1], lure)
    rows["recalled"] = 100.0 * (random.random(len(rows)) < chance / 100)
    return rows.assign(recognized=np.where(rows.studied, 60.0, np.nan))


def test_a_known_curve_is_recovered_with_its_primacy_and_recency():
    curve = np.array([60, 50, 40, 20, 20, 20, 20, 30, 70, 95.0])
    lines, summary = view.curves([scored(curve)])
    recall = lines[lines.task == "recall"]
    assert (np.abs(recall.percent.to_numpy() - curve) < 8).all()
    assert ((recall.low <= curve) & (curve <= recall.high)).sum() >= 8
    row = summary[summary.task == "recall"].iloc[0]
    for name, true in (("primacy", 30), ("recency", 45), ("mean", curve.mean())):
        assert row[f"{name}_low"] < true < row[f"{name}_high"], name
    assert row.chance == pytest.approx(10, abs=2) and row.lists == 400
    flat = summary[summary.task == "recognition"].iloc[0]
    assert (flat["mean"], flat.primacy, flat.recency, flat.chance) == pytest.approx((60, 0, 0, 50))
    # Seeds are averaged, and add to the interval.
    both = [scored(curve), scored(100 - curve, seed=3)]
    _, two = view.curves(both)
    wide = two[two.task == "recall"].iloc[0]
    assert wide.recency == pytest.approx((row.recency + view.curves(both[1:])[1].iloc[1].recency) / 2)  # fmt: skip
    assert wide.recency_high - wide.recency_low > 2 * (row.recency_high - row.recency_low)
    with pytest.raises(InputError, match="different lists"):
        view.curves([scored(curve), scored(curve, lists=399)])


def test_figure_and_table_stand_next_to_published_recall(tmp_path):
    curve = np.array([40, 30, 20, 20, 20, 20, 20, 30, 70, 95.0])
    scored(curve).to_parquet(tmp_path / "a.parquet")
    scored(curve).assign(recalled=np.nan).to_parquet(tmp_path / "b.parquet")
    lms = [
        {"lm": "a", "label": "with slope", "bias": {"form": "linear", "slopes": [0.25] * 4}, "applied": "training"},
        {"lm": "b", "label": "masked", "bias": NONE, "applied": "none"},
    ]  # fmt: skip
    human = pd.DataFrame({"length": 10, "seconds": 2, "position": range(1, 11), "recalled": curve})
    human.to_csv(tmp_path / "human.csv", index=False)
    given = {"scores": [tmp_path / "a.parquet", tmp_path / "b.parquet"], "lms": lms}
    given["published"] = tmp_path / "human.csv"
    out = [tmp_path / f"f.{end}" for end in ("svg", "csv")]
    show(view.figure_serial_position, **given, out=out)
    svg, lines = out[0].read_text(encoding="utf-8"), pd.read_csv(out[1])
    assert "people, published" in svg and "No recall: masked" in svg
    assert len(lines) == 30 and set(lines[lines.lm == "b"].task) == {"recognition"}
    show(
        view.table_serial_position, **given, out=[tmp_path / f"t.{end}" for end in ("html", "csv")]
    )
    html, rows = (tmp_path / "t.html").read_text(encoding="utf-8"), pd.read_csv(tmp_path / "t.csv")
    assert "people, 2 s per word" in html and "0.25" in html
    assert list(rows.columns) == view.COLUMNS and len(rows) == 3
    assert len(view.summary(tmp_path / "t.csv").rows) == 3


def test_pools_of_words(tmp_path):
    words = pd.DataFrame({"word": ["Apple", "pear", "fig", "plum,", "pear", "walnut"], "pos": list("NNNNNV")})  # fmt: skip
    words.to_parquet(tmp_path / "w.parquet")
    assert remember.read_pool(tmp_path / "w.parquet") == ["pear", "walnut"]
    assert remember.read_pool(tmp_path / "w.parquet", "pos == 'N'") == ["pear"]
    path = tmp_path / "w.txt"
    path.write_text("Haus\n\nBaum\n", encoding="utf-8")
    assert remember.read_pool(path) == ["Baum", "Haus"]
    path.write_text("Haus\ntwo words\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: 'two words' is not one word"):
        remember.read_pool(path)
    path.write_text("Haus\nhaus\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: 'haus' is already in line 1"):
        remember.read_pool(path)
    with pytest.raises(InputError, match="2 words to draw from, and a list of 7 needs 14"):
        remember.draw_lists(["a", "b"], 7, 2, 1)
    (one, two), again = remember.draw_lists(POOL, 8, 2, 1), remember.draw_lists(POOL, 8, 2, 1)
    assert [one, two] == again and one != two and len({*one.studied, *one.lures}) == 16


@pytest.mark.parametrize(
    "settings, message",
    [
        ("file: nowhere.txt", "file: nowhere.txt does not exist"),
        ("file: README.md, filter: position > 1", "a file of words has no columns"),
        ("dataset: natural_stories, filter: colour == 1", "no column 'colour'"),
        ("dataset: natural_stories, lengths: [6]", "lengths"),
    ],
)
@pytest.mark.merge
def test_settings_that_cannot_be_are_refused_when_the_config_is_read(settings, message):
    mine = f"{{title: M, lms: [Pythia], baseline: Pythia, serial_position: {{{settings}}}}}"
    assert_is_refused(f"experiments: {{mine: {mine}}}", message)
