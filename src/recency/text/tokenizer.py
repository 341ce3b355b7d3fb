"""Train a tokenizer on a corpus: byte-level BPE (Radford et al. 2019, section 2.2), or a list of words.

For masked LMs, byte-level BPE has RoBERTa's special tokens: <s> text </s>, <pad>, <unk> and <mask>.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from readingtimes.files import atomic
from recency.errors import InputError
from recency.text.tokens import END_OF_DOCUMENT, documents, pieces

# First tokens of a tokenizer for masked LMs, instead of the end of document.
MASKED = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
# Characters per piece of text, the unit of a thread.
PIECE = 1 << 14


def main(
    text: str | Path,
    out: str | Path,
    vocabulary: int,
    threads: int = 1,
    kind: str = "bytes",
    unknown: str = "<unk>",
    end: str = "</s>",
    also: Iterable[str | Path] = (),
) -> None:
    """Write tokenizer.json with `vocabulary` entries, `<|endoftext|>` being id 0.

    With `kind` masked, the first are MASKED, and special tokens encode a text as <s> … </s>. With
    `kind` words, entries are the text's most frequent words, `unknown` for all others, and `end`, which
    ends documents, as id 0; words of the texts in `also` are added to these.

    Text is split into words as by GPT-2, without a blank before a text. Training is deterministic; ties
    are resolved by the pairs' ids.
    """
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    if kind == "words":
        _words(Path(text), Path(out), vocabulary, unknown, end, [Path(path) for path in also])
        return
    special = list(MASKED) if kind == "masked" else [END_OF_DOCUMENT]
    smallest = 256 + len(special) + 1
    if vocabulary < smallest:
        raise InputError(
            f"a vocabulary of {vocabulary} is too small: 256 bytes, {', '.join(special)} and at least "
            f"one merge make {smallest}"
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    if kind == "masked":
        begin, end = (MASKED.index(token) for token in ("<s>", "</s>"))
        tokenizer.post_processor = processors.RobertaProcessing(
            ("</s>", end), ("<s>", begin), trim_offsets=False, add_prefix_space=False
        )
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(Path(text)), trainer)
    size = tokenizer.get_vocab_size()
    if size != vocabulary:
        raise InputError(
            f"{text} yields only {size:,} entries, not the {vocabulary:,} of the tokenizer's "
            "`vocabulary`: make that smaller or the text longer"
        )
    print(f"{size:,} entries, {size - smallest + 1:,} of them merges", file=sys.stderr)
    with atomic(out) as temporary:
        tokenizer.save(str(temporary))


def _words(
    text: Path, out: Path, vocabulary: int, unknown: str, end: str, also: Iterable[Path]
) -> None:
    """Write a tokenizer of the words between white space; ties are resolved alphabetically."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    counts = _count_words(text)
    of_text = counts.total()
    for token in (unknown, end):
        counts.pop(token, None)
    kept = sorted(counts, key=lambda word: (-counts[word], word))[: vocabulary - 2]
    if len(kept) < vocabulary - 2:
        raise InputError(
            f"{text} has {len(kept):,} words, {unknown} and {end}, which make {len(kept) + 2:,} "
            f"entries, not the {vocabulary:,} of the tokenizer's `vocabulary`: make that smaller"
        )
    further = {word for path in also for word in _count_words(path)} - {end, unknown, *kept}
    kept += sorted(further)
    entries = {word: number for number, word in enumerate([end, unknown, *kept])}
    tokenizer = Tokenizer(models.WordLevel(entries, unk_token=unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([end])
    beyond = of_text - sum(counts[word] for word in kept)
    print(
        f"{len(entries):,} entries; {beyond / of_text:.2%} of words are {unknown}", file=sys.stderr
    )
    with atomic(out) as temporary:
        tokenizer.save(str(temporary))


def _count_words(text: Path) -> Counter[str]:
    return Counter(word for texts in _texts(text) for piece in texts for word in piece.split())


def _texts(path: Path) -> Iterator[list[str]]:
    """Yield the text by row group, long documents in pieces that split no pretoken."""
    import pyarrow.parquet as pq

    empty = True
    for texts in documents(path, range(pq.read_metadata(path).num_row_groups)):
        batch = [piece for text in texts for piece in pieces(text, PIECE)]
        empty = empty and not any(batch)
        yield batch
    if empty:
        raise InputError(f"{path} has no text to train a tokenizer on")
