"""Rule abusive_features: features of a lexicon's entries, from WordNet, FrameNet and tables."""

import re
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd

from readingtimes.files import atomic
from recency.errors import InputError
from recency.evaluations.abusive_words import lexicon
from recency.figures.paths import File

COLUMNS = ["entry", "group", "feature", "value"]
#: Part of speech of an entry → its tags in WordNet and FrameNet.
TAGS = {"noun": ("n",), "verb": ("v",), "adj": ("a", "s")}
Row = tuple[str, str, float]


def wordnet(path: File, entries: Iterable[str]) -> dict[str, list[Row]]:
    """Return group → (entry, feature, 1): usage domains, supersenses and words of the glosses.

    Parameters
    ----------
    path : file
        NLTK's package `wordnet` (a zip with a folder wordnet/).
    entries : iterable of str
        word_pos; all synsets of the word with this part of speech count.

    """
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class English(WordNetCorpusReader):
        def map_wn(self, version="wordnet"):
            """Skip the mapping between versions, which needs NLTK's data and serves other languages."""

    groups: dict[str, list[Row]] = {"WNusage": [], "WNsuper": [], "WNgloss": []}
    with tempfile.TemporaryDirectory() as folder:
        _extract(path, folder, "wordnet/data.noun")
        nltk.data.path.append(folder)  # NLTK opens only files in these folders
        reader = English(str(Path(folder) / "wordnet"), None)
        for entry in entries:
            word, pos = lexicon.split(entry)
            for synset in reader.synsets(word.replace(" ", "_")):
                if synset is None:
                    raise InputError(
                        f"{path}: the index and the data of WordNet disagree about {word!r}; supply the package "
                        "of nltk_data unchanged, with its line endings"
                    )
                if synset.pos() not in TAGS.get(pos, ()):
                    continue
                domains = {name for lemma in synset.lemmas() for name in lemma.usage_domains()}
                domains |= set(synset.usage_domains())
                groups["WNusage"] += [(entry, domain.name(), 1.0) for domain in domains]
                groups["WNsuper"].append((entry, synset.lexname(), 1.0))
                gloss = set(re.findall(r"[a-z]+", synset.definition().lower()))
                groups["WNgloss"] += [(entry, token, 1.0) for token in gloss]
        nltk.data.path.remove(folder)
    return groups


def framenet(path: File, entries: Iterable[str]) -> dict[str, list[Row]]:
    """Return {"FN": (entry, frame, 1)} by the index of lexical units of FrameNet 1.7."""
    with tempfile.TemporaryDirectory() as folder:
        _extract(path, folder, "framenet_v17/luIndex.xml", only=True)
        root = ElementTree.parse(Path(folder) / "framenet_v17" / "luIndex.xml").getroot()
    frames: dict[str, set[str]] = {}
    for unit in root.iter():
        if unit.tag.rpartition("}")[2] == "lu":
            frames.setdefault(unit.get("name", ""), set()).add(unit.get("frameName", ""))
    rows = []
    for entry in entries:
        word, pos = lexicon.split(entry)
        units = {f"{word}.{tag}" for tag in TAGS.get(pos, ())}
        rows += [(entry, frame, 1.0) for unit in units for frame in frames.get(unit, ())]
    return {"FN": rows}


def _extract(path: File, folder: str, needed: str, only: bool = False) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if needed not in names:
                raise InputError(f"{path} has no {needed}; supply the nltk_data package unchanged")
            archive.extractall(folder, [needed] if only else None)
    except zipfile.BadZipFile as error:
        raise InputError(f"{path} is damaged or not a zip file ({error}); get it again") from error


def table(path: File, entries: Iterable[str]) -> Iterator[Row]:
    """Yield the features of the entries, matched by word_pos or else by the lower-case word."""
    groups = dict(tuple(lexicon.read_features(path).groupby("entry")))
    for entry in entries:
        rows = groups.get(entry)
        if rows is None:
            rows = groups.get(lexicon.split(entry)[0].lower())
        if rows is not None:
            yield from ((entry, f, v) for f, v in zip(rows["feature"], rows["value"]) if v)


FORMATS = {"wordnet": wordnet, "framenet": framenet}


def main(
    base: File, expanded: File, files: Sequence[File], resources: Sequence[Mapping], out: File
) -> None:
    """Write COLUMNS of all entries of both lexica; log the number of entries per group.

    `files` are the paths of the available `resources`, in the same order.
    """
    entries = list(dict.fromkeys([*lexicon.read_base(base), *lexicon.read_expanded(expanded)]))
    parts = [pd.DataFrame(columns=COLUMNS)]
    paths = iter(files)
    for resource in resources:
        if not resource["here"]:
            print(f"{resource['name']}: not run, {resource['supplied']}", file=sys.stderr)
            continue
        path = next(paths)
        form = FORMATS.get(resource["format"])
        groups = form(path, entries) if form else {resource["name"]: list(table(path, entries))}
        for group, rows in groups.items():
            frame = pd.DataFrame(rows, columns=["entry", "feature", "value"]).drop_duplicates()
            print(
                f"{group}: {frame['entry'].nunique():,} of {len(entries):,} entries",
                file=sys.stderr,
            )
            if frame.empty:
                raise InputError(f"{path} has features of none of the {len(entries):,} entries")
            parts.append(frame.assign(group=group))
    data = pd.concat(parts, ignore_index=True)[COLUMNS]
    with atomic(out) as part:
        data.astype({"value": float}).to_parquet(part, index=False, compression="zstd")
