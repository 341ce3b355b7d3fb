"""Paths of a study's input files: generated, local, downloaded or from a mirror."""

import glob
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from readingtimes.downloads import addresses
from recency import config as configuration
from recency import sources
from recency.errors import REFUSALS, InputError
from recency.evaluations import registry
from recency.networks import hub
from recency.workflow.engine import machine
from recency.workflow.engine.faults import ConfigError

#: Folder of the checkpoints of the Hub.
HUB = "<resources>/downloads/hub"
#: The files of a dataset, by what is read from them.
PARTS = ("words", "responses", "fixations")


class Files:
    """Paths of the files that a config names, by purpose."""

    def __init__(self, config: dict, root: Path):
        self.config, self.root = config, Path(root)
        self._asked: dict[str, int | None] = {}

    def downloaded(self, url: str, byte_range: list[int] | None = None) -> str:
        """Return the path of a downloaded file, shared by all studies."""
        part = f".bytes-{byte_range[0]}-{byte_range[1]}" if byte_range else ""
        return f"<resources>/downloads/{url.split('://', 1)[1].rstrip('/')}{part}"

    def shipped(self, path: str) -> str:
        """Return the path of a file of the project, relative to the folder of the run."""
        return os.path.relpath(self.root / path)

    def table_of_sources(self, corpus: str) -> list[str]:
        """Return the TSV list of a corpus's files, if it has one."""
        entry = self.config["corpora"][corpus]
        table = sources.resolve(entry["sources"], self.root) if "sources" in entry else None
        return [os.path.relpath(table)] if table else []

    def sources(self, entry: dict) -> list[sources.Source]:
        """Return the rows of an entry's list of files, without excluded parts."""
        return sources.read(sources.resolve(entry["sources"], self.root), entry.get("exclude", []))

    def of_corpus(self, name: str) -> list[str]:
        """Return the original files of a corpus of text."""
        corpus = self.config["corpora"][name]
        if "sources" in corpus:
            return [self.downloaded(row.url) for row in self.sources(corpus)]
        if "file" in corpus:
            return [self.dataset_file(name, "text", corpus["file"])]
        listed = corpus["files"]
        paths = [path for given in listed if isinstance(given, str) for path in glob.glob(given)]
        fetched = [self.downloaded(file["url"]) for file in listed if isinstance(file, Mapping)]
        if not paths and not fetched:
            raise ConfigError(f"corpora → {name} → files: nothing matches {listed}")
        return sorted(paths) + fetched

    def dataset_file(self, dataset: str, role: str, file: dict) -> str:
        """Return the path of one file of a dataset or corpus."""
        if "simulated" in file:
            return f"<results>/simulation/{dataset}/{file['simulated']}.csv"
        if os.path.exists(file.get("local", "")):
            return file["local"]
        if "url" in file:
            name = addresses.name_of(file, self._stand_ins)
            return self.downloaded(file["url"], file.get("byte_range")) + name
        suffix = "".join(Path(file.get("local") or file["stand_in"]["path"]).suffixes[-2:])
        return f"<resources>/downloads/supplied/{dataset}/{role}{suffix}"

    @cached_property
    def _stand_ins(self) -> dict[str, set[str]]:
        """URL → its stand-ins."""
        return addresses.with_stand_ins(self.config)

    def dataset(self, name: str, part: str) -> dict[str, str]:
        """Return role → path of a dataset's `words`, `responses` or `fixations` files."""
        if part == "words":
            name = configuration.owner_of_words(self.config, name)
        entry = self.config["datasets"][name]
        files = entry.get(part, entry["responses"])  # fixations, unless they are files of their own
        return {role: self.dataset_file(name, role, file) for role, file in files.items()}

    def with_words(self, name: str) -> dict:
        """Return the entry that provides a dataset's words: its own or another's."""
        return self.config["datasets"][configuration.owner_of_words(self.config, name)]

    def tagger(self, dataset: str) -> list[str]:
        """Return the file of a dataset's part-of-speech tagger, if any."""
        treebank = self.with_words(dataset).get("tagger")
        return [f"<results>/taggers/{treebank}.json"] if treebank else []

    def predictors(self, dataset: str) -> dict[str, str]:
        """Return name → path of a dataset's tables of predictors."""
        entries = self.with_words(dataset).get("predictors", {})
        owner = configuration.owner_of_words(self.config, dataset)
        where = f"{owner}-predictors"
        return {n: self.dataset_file(where, n, entry["table"]) for n, entry in entries.items()}

    def predictor_settings(self, dataset: str) -> list[dict]:
        """Return the settings of a dataset's tables of predictors, in the same order."""
        entries = self.with_words(dataset).get("predictors", {})
        return [{k: v for k, v in entry.items() if k != "table"} for entry in entries.values()]

    def data(self, key: str, name: str, role: str) -> str:
        """Return the path of one file of an evaluation's data, such as a treebank's `train`."""
        table = registry.data()[key].table
        return self.dataset_file(f"{table}-{name}", role, self.config[table][name][role])

    def counts(self, unigram: str) -> str:
        """Return the path of a list of word counts, local or downloaded."""
        file = self.config["unigrams"][unigram]["counts"]
        return (
            file["local"] if os.path.exists(file.get("local", "")) else self.downloaded(file["url"])
        )

    def surprisals(self, lm: str, dataset: str) -> str:
        """Return the path of the table with an LM's surprisal of a dataset."""
        entry = self.config["lms"][lm]["surprisals"]
        file = entry["table"] if "table" in entry else entry["tables"][dataset]
        return self.dataset_file(f"lms-{lm}", "table" if "table" in entry else dataset, file)

    def fetched(
        self, checkpoint: str | None = None, bias: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Return the list of the files of a checkpoint of the Hub, or of that of a bias; [] for others."""
        name = (bias or {}).get("checkpoint") if checkpoint is None else checkpoint
        if not name or not hub.is_of_hub(name):
            return []
        return [f"{HUB}/{hub.key(name)}{hub.SUFFIX}"]

    @cached_property
    def of_hub(self) -> dict[str, dict[str, Any]]:
        """Path of a list → checkpoint and allow_pickle, for every checkpoint of the Hub."""
        by_path: dict[str, dict[str, Any]] = {}
        for name in self.config["lms"]:
            lm = configuration.language_model(self.config, name)
            bias = lm["bias"] if isinstance(lm.get("bias"), Mapping) else {}
            own = None if "supplied" in lm else lm.get("checkpoint")
            for checkpoint in filter(None, (own, bias.get("checkpoint"))):
                for path in self.fetched(checkpoint):
                    entry = by_path.setdefault(path, {"checkpoint": checkpoint})
                    entry["allow_pickle"] = bool(
                        entry.get("allow_pickle") or lm.get("allow_pickle", False)
                    )
        return by_path

    def size(self, path: str) -> int | None:
        """Return the bytes to download for a file or checkpoint; None if its server states none.

        Sizes that the config lacks are asked for, with those of all files of the same folder.
        """
        entry = self.of_hub.get(path) or self.described[path]
        if known := machine.size(entry):
            return known
        if path not in self._asked:
            self._asked |= self._ask(path, entry)
        return self._asked[path]

    def _ask(self, path: str, entry: Mapping[str, Any]) -> dict[str, int | None]:
        """Return path → bytes as servers state them, for a file and others of its folder."""
        from readingtimes.downloads import stated
        from recency.networks import hub_download as fetching

        if path in self.of_hub:
            try:
                listed = fetching.list_files(**entry)["files"].values()
            except REFUSALS:  # the job says why
                return {path: None}
            return {path: sum(file["bytes"] for file in listed)}
        alike = {
            other: about["url"]
            for other, about in self.described.items()
            if os.path.dirname(other) == os.path.dirname(path)
            and "url" in about
            and not machine.size(about)
        }
        sizes = stated.sizes(alike.values())
        return {path: None} | {other: sizes[url] for other, url in alike.items()}

    def word_list(self, lm: str) -> list[str]:
        """Return the file of words for an LM's word entropy, if any."""
        settings = configuration.language_model(self.config, lm).get("scoring", {})
        words = settings.get("word_entropy", {}).get("words")
        return [words] if words else []

    def ngrams(self, lm: str) -> str:
        """Return the path of an n-gram LM that is given as a file."""
        return self.dataset_file(f"lms-{lm}", "ngrams", self.config["lms"][lm]["ngram"]["file"])

    def originals(self, key: str, name: str) -> list[str]:
        """Return the original files of an evaluation's data."""
        data = registry.data()[key]
        entry = self.config[data.table][name]
        if "sources" in entry:
            return [self.downloaded(row.url) for row in self.sources(entry)]
        return list(self.parts(key, name).values())

    def parts(self, key: str, name: str) -> dict[str, str]:
        """Return role → file of an evaluation's data."""
        data = registry.data()[key]
        entry = self.config[data.table][name]
        return {role: self.data(key, name, role) for role in data.roles if role in entry}

    def tokenizer(self, name: str) -> str:
        """Return the tokenizer.json of a tokenizer, trained here or given."""
        if "file" in self.config["tokenizers"][name]:
            return self.downloaded(self.config["tokenizers"][name]["file"]["url"])
        return f"<results>/tokenizers/{name}/tokenizer.json"

    def pretokenized(self, corpus: str) -> str:
        """Return the token file of a corpus that is published as tokens."""
        file = self.config["corpora"][corpus]["pretokenized"]
        return self.downloaded(file["url"], file.get("byte_range"))

    def token_stream(self, corpus: str, tokenizer: str) -> tuple[str, str]:
        """Return the token file and its description, tokenised here or downloaded."""
        where = f"<results>/corpora/{corpus}"
        if "pretokenized" in self.config["corpora"][corpus]:
            return self.pretokenized(corpus), f"{where}/pretokenized/{tokenizer}.json"
        return f"{where}/tokens/{tokenizer}.bin", f"{where}/tokens/{tokenizer}.json"

    def held_out(self, lm: dict) -> list[str]:
        """Return the tokens of the validation corpus of an LM's training, if it has one."""
        corpus = self.held_out_corpus(lm)
        return [self.token_stream(corpus, lm["tokenizer"])[0]] if corpus else []

    def held_out_corpus(self, lm: dict) -> str | None:
        """Return the validation corpus of an LM's training, if it has one."""
        return self.config["recipes"][lm["recipe"]].get("validation", {}).get("corpus")

    def passages(self, corpus: str | None) -> str | list[str]:
        """Return the passages of a corpus's text; none without a text."""
        if corpus is None or "pretokenized" in self.config["corpora"][corpus]:
            return []
        return f"<results>/corpora/{corpus}/passages.npz"

    def vectors(self, lm: dict) -> list[str]:
        """Return the weights that provide an LM's initial word vectors, if any."""
        given = self.config["recipes"][lm["recipe"]].get("vectors")
        return [f"<results>/lms/{given['of']}/model.safetensors"] if given else []

    def tokenizer_settings(self, name: str) -> dict:
        """Return the training settings of a tokenizer."""
        entry = self.config["tokenizers"][name]
        return {key: entry[key] for key in entry if key not in ("corpus", "also")}

    def also_of(self, name: str) -> list[str]:
        """Return the texts whose words are added to a tokenizer of words."""
        also = self.config["tokenizers"][name].get("also", [])
        return [f"<results>/corpora/{corpus}/text.parquet" for corpus in also]

    @cached_property
    def described(self) -> dict[str, dict]:
        """Path → URL, checksums and notes, for every downloaded or user-supplied file."""
        by_path = self._of_text()
        for name, dataset in self.config["datasets"].items():
            for part in PARTS:
                if (
                    part in dataset and "dataset" not in dataset[part]
                ):  # else another dataset has the files
                    paths = self.dataset(name, part)
                    for role, file in dataset[part].items():
                        first = by_path.get(paths[role], {})
                        _require_one(first, file, name)
                        by_path[paths[role]] = {**first, **file}
            if "predictors" in dataset and "dataset" not in dataset["words"]:
                paths = self.predictors(name)
                by_path |= {paths[n]: entry["table"] for n, entry in dataset["predictors"].items()}
        for key, kind in registry.data().items():
            for name, entry in self.config.get(kind.table, {}).items():
                for role in (role for role in kind.roles if role in entry):
                    by_path[self.data(key, name, role)] = entry[role]
        for name, lm in self.config["lms"].items():
            if "file" in lm.get("ngram", {}):
                by_path[self.ngrams(name)] = lm["ngram"]["file"]
            if "table" in lm.get("surprisals", {}):
                by_path[self.surprisals(name, "")] = lm["surprisals"]["table"]
            for dataset, file in lm.get("surprisals", {}).get("tables", {}).items():
                by_path[self.surprisals(name, dataset)] = file
        return {path: file for path, file in by_path.items() if path.startswith("<resources>/")}

    def _of_text(self) -> dict[str, dict]:
        """Return path → URL, checksums and notes, for texts, tokenizers and word counts."""
        by_path = {}
        for table in ("corpora", *(kind.table for kind in registry.data().values())):
            for entry in self.config.get(table, {}).values():
                for row in self.sources(entry) if "sources" in entry else ():
                    by_path[self.downloaded(row.url)] = row.file()
        for name, corpus in self.config["corpora"].items():
            if "pretokenized" in corpus:
                by_path[self.pretokenized(name)] = corpus["pretokenized"]
            if "file" in corpus:
                by_path[self.dataset_file(name, "text", corpus["file"])] = corpus["file"]
            for file in corpus.get("files", ()):
                if isinstance(file, Mapping):
                    by_path[self.downloaded(file["url"])] = file
        for name, tokenizer in self.config["tokenizers"].items():
            if "file" in tokenizer:
                by_path[self.tokenizer(name)] = tokenizer["file"]
        for name, unigram in self.config["unigrams"].items():
            if "counts" in unigram:
                by_path[self.counts(name)] = unigram["counts"]
        return by_path

    def origins(self, dataset: str) -> list[dict]:
        """Return role, from and checksum of each file of a dataset."""
        rows = []
        for part in PARTS:
            entry = (
                self.with_words(dataset) if part == "words" else self.config["datasets"][dataset]
            )
            for role, file in entry.get(part, {}).items():
                source = file.get("url") or file.get("supplied") or file.get("local")
                checksum = file.get("sha256") or file.get("git_blob") or file.get("md5") or ""
                source = source or "made by the workflow"
                rows.append({"role": f"{part}: {role}", "from": source, "checksum": checksum})
                if "stand_in" in file:
                    other = {"role": f"{part}: {role}, stand-in", "from": file["stand_in"]["path"]}
                    rows.append(other | {"checksum": file["stand_in"].get("sha256", "")})
        return rows

    def about(self, dataset: str) -> dict[str, str]:
        """Return licence, citation and the like of a dataset, from the config."""
        entry = self.config["datasets"][dataset]
        titles = {"cite": "Cite", "licence": "Licence", "parser": "Parser", "language": "Language"}
        stated = {title: str(entry[key]) for key, title in titles.items() if key in entry}
        return {"Licence": "not stated in the config"} | stated


def _require_one(first: Mapping[str, Any], file: Mapping[str, Any], dataset: str) -> None:
    """Raise InputError if a path is that of two files: one would be read for the other."""
    for key in ("url", "byte_range", "sha256", "git_blob", "md5", "stand_in"):
        if first.get(key, file.get(key)) != file.get(key, first.get(key)):
            raise InputError(
                f"datasets → {dataset}: another entry has the same file with another {key}, and one would "
                f"be read for the other; give both the same {key}, or files of their own"
            )
