"""Checks of text: corpora, tokenizers and unigrams."""

import glob
from collections.abc import Mapping
from pathlib import Path

from recency import config as configuration
from recency import plugins, sources
from recency.errors import InputError
from recency.names import nearest
from recency.workflow import file_checks, option_checks
from recency.workflow.schema_checks import short

LEAST_MASKED = 262  # entries
LEAST_MEMORY = 50  # MB, for lmplz to sort with


def problems(config: dict, root: Path, known) -> list[str]:
    """List what is wrong with corpora, tokenizers, unigrams and what LMs take of them."""
    found = [p for name in config["corpora"] for p in _corpus(config, root, name)]
    for table in ("unigrams", "tokenizers"):
        for name, entry in config[table].items():
            if "corpus" not in entry:
                continue
            where = f"{table} → {name} → corpus"
            known(where, entry["corpus"], "corpora")
            if "pretokenized" in config["corpora"].get(entry["corpus"], {}):
                tokens = f"{entry['corpus']!r} is published as tokens"
                found.append(f"{where}: {tokens}; this needs text")
    found += [p for name, entry in config["tokenizers"].items() for p in _tokenizer(name, entry)]
    for name, entry in config["tokenizers"].items():
        for corpus in entry.get("also", []):
            known(f"tokenizers → {name} → also", corpus, "corpora")
    for name, entry in config["unigrams"].items():
        found += _unigram(f"unigrams → {name}", entry)
        if name in config["lms"]:
            found.append(f"unigrams → {name}: an LM has the same name")
    for name in config["lms"]:
        found += _of_lm(config, name)
        if isinstance(ngram := config["lms"][name].get("ngram"), Mapping):
            found += memory(f"lms → {name} → ngram", ngram)
            found += _pruning(f"lms → {name} → ngram → prune", ngram.get("prune", []))
    return found


def _pruning(where: str, prune: list[int]) -> list[str]:
    """List thresholds that decrease with the order, which KenLM refuses."""
    if prune == sorted(prune):
        return []
    rising = [max(prune[: place + 1]) for place in range(len(prune))]
    return [f"{where}: {prune} decreases, and no order may have a lower number; write {rising}"]


def memory(where: str, entry: Mapping) -> list[str]:
    """List an amount of memory that is too little for KenLM."""
    written = entry.get("memory", "1G")
    amount = int(written[:-1]) * {"M": 1, "G": 1000}[written[-1]]
    if amount < LEAST_MEMORY:
        return [f"{where} → memory: {written} is too little; {LEAST_MEMORY}M is the least"]
    return []


def _corpus(config: dict, root: Path, name: str) -> list[str]:
    """List what is wrong with a corpus."""
    corpus, where = config["corpora"][name], f"corpora → {name}"
    known, found = plugins.names(configuration.READERS, "read"), []
    readers: list[str] = []
    if "sources" in corpus:
        found, readers = _sources(where, root, corpus)
    elif "exclude" in corpus:
        found.append(f"{where} → exclude: parts are those of `sources`, which the corpus has not")
    if "reader" in corpus and not {"files", "file"} & corpus.keys():
        found.append(f"{where} → reader: it goes with `files`")
    if "file" in corpus:
        found += file_checks.problems(f"{where} → file", corpus["file"])
        if "reader" not in corpus:
            found.append(f"{where}: 'reader' is missing; it says how `file` is read")
        readers = [corpus["reader"]] if "reader" in corpus else []
    if "files" in corpus:
        matches = any(glob.glob(pattern) for pattern in corpus["files"] if "\0" not in pattern)
        found += file_checks.patterns(f"{where} → files", corpus["files"], matches)
        if "reader" not in corpus:
            found.append(f"{where}: 'reader' is missing; it says how `files` are read")
        readers = [corpus["reader"]] if "reader" in corpus else []
    share = corpus.get("documents", {"of": 1, "numbers": [0]})
    found += [
        f"{where} → documents → numbers: {number} is not below {share['of']}, and counts from 0"
        for number in share["numbers"]
        if number >= share["of"]
    ]
    if "documents" in corpus and {"simulate", "pretokenized"} & corpus.keys():
        found.append(f"{where} → documents: they are those of `sources`, `files` or `file`")
    found += [
        f"{where} → reader: none is called {nearest(reader[:60], known)}"
        for reader in readers
        if reader not in known
    ]
    for reader, options in corpus.get("options", {}).items():
        if reader not in readers:
            near = nearest(reader[:60], readers)
            found.append(f"{where} → options: no file of it has the reader {near}")
        elif reader in known:
            taken = plugins.keywords(configuration.READERS, reader, "read")
            choices = plugins.literal(configuration.READERS, reader, "CHOICES")
            place = f"{where} → options → {reader}"
            found += option_checks.problems(place, options, taken, choices)
    first, last = corpus.get("pretokenized", {}).get("byte_range", (0, 0))
    if first > last:
        found.append(f"{where} → pretokenized → byte_range: {first} comes after {last}")
    elif last and (first % 2 or not last % 2):
        place = f"{where} → pretokenized → byte_range"
        found.append(f"{place}: a token has two bytes; {first} to {last} begins or ends within one")
    return found


def _sources(where: str, root: Path, corpus: dict) -> tuple[list[str], list[str]]:
    """List what is wrong with a corpus's table of files, and return the readers that it names."""
    found = [
        f"{where} → exclude: {short(part)} stands twice"
        for part in dict.fromkeys(corpus.get("exclude", []))
        if corpus["exclude"].count(part) > 1
    ]
    try:
        rows = sources.read(sources.place(corpus["sources"], root), corpus.get("exclude", []))
    except InputError as error:
        return [*found, f"{where} → sources: {str(error)[:200]}"], []
    if not rows:
        found.append(f"{where} → exclude: nothing is left of {corpus['sources']}")
    if not all(row.reader for row in rows):
        found.append(f"{where} → sources: {corpus['sources']} has no columns part and reader")
    return found, list(dict.fromkeys(row.reader for row in rows if row.reader))


def _tokenizer(name: str, entry: dict) -> list[str]:
    """List what is wrong with the file of a tokenizer, or with the entries that it names."""
    if entry.get("kind") != "words" and (
        of := [k for k in ("unknown", "end", "also") if k in entry]
    ):
        return [f"tokenizers → {name} → {of[0]}: it is of `kind: words`"]
    if entry.get("kind") == "masked" and entry.get("vocabulary", LEAST_MASKED) < LEAST_MASKED:
        parts = "256 bytes, the five entries of a masked LM and one merge"
        few = f"{entry['vocabulary']} are too few; {parts} make {LEAST_MASKED}"
        return [f"tokenizers → {name} → vocabulary: {few}"]
    if "file" not in entry:
        return []
    if "kind" in entry:
        return [f"tokenizers → {name} → kind: the file says what it is; leave it out"]
    where = f"tokenizers → {name} → file"
    if "url" not in entry["file"]:
        return [f"{where}: 'url' is missing; a tokenizer's file is downloaded"]
    return file_checks.problems(where, entry["file"])


def _unigram(where: str, entry: dict) -> list[str]:
    """List what is wrong with a frequency baseline."""
    found = memory(where, entry)
    if "counts" not in entry:
        if "columns" in entry:
            found.append(f"{where} → columns: they are those of `counts`")
        return found
    if not {"url", "local"} & entry["counts"].keys():
        found.append(f"{where} → counts: 'url' or 'local' must say where the list is")
    else:
        found += file_checks.problems(f"{where} → counts", entry["counts"])
    if len(set(entry["columns"])) < 2:
        found.append(f"{where} → columns: {entry['columns'][0]!r} cannot hold words and counts")
    for key in ("order", "memory"):
        if key in entry:
            found.append(f"{where} → {key}: a list of counts has none")
    return found


def _of_lm(config: dict, name: str) -> list[str]:
    """List a published stream of tokens beside a tokenizer that did not make it."""
    lm = config["lms"][name]
    scale = config["scales"].get(config["scale"])
    if scale is None or not configuration.is_trained(lm):
        return []
    names = {key: lm.get(key, scale[key]) for key in ("corpus", "tokenizer")}
    corpus = config["corpora"].get(names["corpus"], {})
    tokenizer = config["tokenizers"].get(names["tokenizer"], {})
    if "pretokenized" not in corpus or "corpus" not in tokenizer:
        return []
    own = f"{names['tokenizer']!r} is trained here; the tokens of {names['corpus']!r} are published"
    return [f"lms → {name} → tokenizer: {own}, with a tokenizer that has a `file`"]
