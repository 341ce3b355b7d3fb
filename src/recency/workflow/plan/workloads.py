"""Amounts of work of a study's jobs: words, tokens, operations of networks, observations.

Numbers come from the config, and from counts that finished jobs stored; sizes that neither states
are the largest of the corpora that this project defines.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from snakemake.io import apply_wildcards

from recency import config as configuration
from recency.workflow.engine import machine

TOKENS_PER_WORD = 1.4
#: Sizes of a dataset that the config does not state: words of GECO, observations of Natural Stories.
WORDS, OBSERVATIONS = 60_000, 1_000_000
#: Words per byte of a file of text, and of a simulated document.
PER_BYTE, PER_DOCUMENT = 0.2, 400
#: Words of a text of unknown size.
TEXT = 20_000_000
#: Parameters of a network whose name does not state them: those of GPT-2.
PARAMETERS = 125_000_000
#: Training examples of GLUE's tasks (Wang et al., 2019), and tokens of an example.
GLUE = {"CoLA": 8_551, "MNLI": 392_702, "MRPC": 3_668, "QNLI": 104_743, "QQP": 363_846}
GLUE |= {"RTE": 2_490, "SST-2": 67_349, "STS-B": 5_749}
EXAMPLE = 64
#: Minimal pairs of BLiMP, sentences of UD English EWT, texts of the BabyLM challenge, tokens of a sentence.
PAIRS, TREES, BABYLM, SENTENCE = 67_000, 16_622, 1_500_000, 20
#: Tokens of lists to remember, and of a sentence to continue with its continuation.
LISTS, CONTINUATION = 2_000_000, 200
#: Contexts per word of measures that sample or enumerate next words.
NEXT_WORDS = 50
#: Seconds in which a job starts and imports its modules, and opens a network.
START, OPEN = 2.0, 10.0
#: Memory, MB: of a job, and of one that opens a network or fits models.
MEMORY, LARGE = 4_000, 12_000
DISK = 1_000
#: Core seconds per observation of a fit, by engine: cross_products of benchmarks/regression_paper.py with
#: reading and confirmation, lme4 of 385,000 rows; the others are estimates. And of a fit of any size.
FIT, EACH = (
    {"cross_products": 2.5e-6, "ols": 2.5e-6, "lme4": 1.2e-3},
    0.2,
)


class Workloads:
    """Amounts of work of a study's jobs, by the wildcards of their rules."""

    def __init__(self, study):
        self.study, self.config = study, study.config
        # Jobs of a plan ask for the same numbers.
        self.words, self.parameters, self.reading = map(
            cache, (self.words, self.parameters, self.reading)
        )

    # Texts

    def words(self, corpus: str) -> float:
        """Return the number of words of a corpus."""
        entry = self.config["corpora"][corpus]
        if "words" in entry:
            number, unit = entry["words"][:-1], entry["words"][-1]
            return float(number) * {"K": 1e3, "M": 1e6, "G": 1e9}[unit]
        if "simulate" in entry:
            return PER_DOCUMENT * float(entry["simulate"]["documents"])
        if "pretokenized" in entry:
            return machine.size(entry["pretokenized"]) / 2 / TOKENS_PER_WORD or TEXT
        if "sources" in entry or "file" in entry:
            rows = self.study.files.sources(entry) if "sources" in entry else [entry["file"]]
            sizes = [row if isinstance(row, Mapping) else vars(row) for row in rows]
            return PER_BYTE * sum(size.get("bytes") or 0 for size in sizes) or TEXT
        return TEXT

    def tokens(self, corpus: str, tokenizer: str) -> float:
        """Return the number of tokens of a corpus: counted, or estimated from its words."""
        results = Path(self.study.resolve("<results>"))
        info = results / "corpora" / corpus / "tokens" / f"{tokenizer}.json"
        if info.exists():
            return float(json.loads(info.read_text())["tokens"])
        return TOKENS_PER_WORD * self.words(corpus)

    def dataset(self, name: str) -> float:
        """Return the number of words of a dataset."""
        counts = self.config["datasets"][name].get("published_counts", {})
        return float(counts.get("words", WORDS))

    def observations(self, name: str) -> float:
        """Return the number of observations of a measure of a dataset."""
        counts = self.config["datasets"][name].get("published_counts", {})
        return float(min(counts.get("subjects", 1e9) * self.dataset(name), OBSERVATIONS))

    # Networks

    def parameters(self, lm: str) -> float:
        """Return the number of parameters of a network: of its architecture, or as its name states."""
        entry = self.study.lms[lm]
        if "checkpoint" in entry:
            found = re.search(r"(\d+(?:\.\d+)?)([mb])\b", str(entry["checkpoint"]).lower())
            return float(found[1]) * {"m": 1e6, "b": 1e9}[found[2]] if found else PARAMETERS
        shape = self.config["architectures"][entry["architecture"]]
        vocabulary = self.config["tokenizers"][entry["tokenizer"]].get("vocabulary", 50_304)
        width, layers = shape.get("width", 0), shape.get("layers", 1)
        within = layers * width * (4 * width + 2 * shape.get("feed_forward", 4 * width))
        return float(within + 2 * vocabulary * width)

    def training(self, lm: str) -> float:
        """Return the operations of a training: 6 per parameter and token."""
        entry = self.study.lms[lm]
        recipe = self.config["recipes"][entry["recipe"]]
        if "steps" in recipe:
            tokens = recipe["steps"] * recipe["batch_sequences"] * recipe["sequence_length"]
        else:
            tokens = recipe["epochs"] * self.tokens(entry["corpus"], entry["tokenizer"])
        return 6.0 * self.parameters(lm) * tokens

    def forward(self, lm: str, tokens: float) -> float:
        """Return the operations of a network that reads tokens: 2 per parameter and token."""
        return 2.0 * self.parameters(lm) * tokens

    def reading(self, lm: str) -> float:
        """Return how many tokens a network reads to score a word.

        More than one per token for overlapping windows, limited contexts, masked words, lossy
        contexts, contexts of readers and measures of next words.
        """
        entry = self.study.lms[lm]
        times = 2.0 + sum(size + 1 for size in entry.get("context") or ())
        if self._is_masked(entry):
            times += 64  # each word is masked in its own window
        if "reader" in entry:
            times *= 33  # 66 tokens are read for each of Provo, which 84 subjects have read
        if lossy := entry.get("lossy"):
            times *= 10 * lossy.get("samples", 100)
        named = map(str, entry.get("measures") or ())
        if any(re.match("word_entropy|next_word", name) for name in named):
            times *= NEXT_WORDS
        return TOKENS_PER_WORD * times

    def _is_masked(self, entry: Mapping) -> bool:
        recipe = self.config["recipes"][entry["recipe"]]
        return recipe.get("objective") == "masked"

    def scoring(self, lm: str, words: float) -> float:
        """Return the operations of scoring words with a network."""
        return self.forward(lm, words * self.reading(lm))

    def fine_tuning(self, lm: str, task: str) -> float:
        """Return the operations of fine-tuning a network on a task, from all seeds."""
        settings = self.config["fine_tuning"]
        examples = min(GLUE.get(task, max(GLUE.values())), settings["examples"] or math.inf)
        runs = settings["epochs"] * len(settings["seeds"])
        return 6.0 * self.parameters(lm) * examples * EXAMPLE * runs

    def probing(self, lm: str) -> float:
        """Return the operations of probes of all layers, and of the untrained network's."""
        entry, settings = self.study.lms[lm], self.config["probe"]
        shape = self.config["architectures"].get(entry.get("architecture"), {})
        width, layers = shape.get("width", 768), shape.get("layers", 12) + 1
        tokens = min(TREES, settings["sentences"] or TREES) * SENTENCE
        trained = 6.0 * width * (settings["rank"] or width) * tokens * settings["epochs"] * layers
        return (1 + settings["untrained"]) * (trained + self.forward(lm, tokens))

    def search(self, search: str) -> float:
        """Return the operations of a search for a bias: each trial scores the words of all responses."""
        entry = self.config["searches"][search]
        responses = configuration.responses(self.config, search, "searches")
        words = sum(map(self.dataset, {response["dataset"] for response in responses}))
        return self.scoring(entry["lm"], words) * entry["trials"]

    # Experiments

    def cells(self, experiment: str) -> float:
        """Return LMs × responses of an experiment, at least 1."""
        entry = self.config["experiments"][experiment]
        return float(len(entry["lms"]) * max(1, len(self.study.all_responses(experiment))))

    def read(self, experiment: str) -> float:
        """Return the observations that an experiment's fits have, summed over LMs and responses."""
        responses = self.study.all_responses(experiment)
        many = sum(self.observations(response["dataset"]) for response in responses)
        return float(len(self.config["experiments"][experiment]["lms"]) * max(many, 1))


# Amounts of work and of space of a job: functions of workloads, rule and wildcards


def one_job(loads: Workloads, rule, wildcards) -> float:
    """Return 1: the work of jobs that take the same time."""
    return 1.0


def corpus_words(loads: Workloads, rule, wildcards) -> float:
    """Return the words of a job's corpus."""
    return loads.words(wildcards.corpus)


def dataset_words(loads: Workloads, rule, wildcards) -> float:
    """Return the words of a job's dataset, or of its annotated stories."""
    annotated = getattr(wildcards, "dependencies", None)
    return loads.dataset(
        loads.config["dependencies"][annotated]["dataset"] if annotated else wildcards.dataset
    )


def dataset_observations(loads: Workloads, rule, wildcards) -> float:
    """Return the observations of a job's response."""
    return loads.observations(wildcards.dataset)


def experiment_cells(loads: Workloads, rule, wildcards) -> float:
    """Return LMs × responses of a job's experiment."""
    return loads.cells(wildcards.experiment) if hasattr(wildcards, "experiment") else 1.0


def experiment_observations(loads: Workloads, rule, wildcards) -> float:
    """Return the observations of all fits of a job's experiment."""
    return loads.read(wildcards.experiment)


def members(loads: Workloads, rule, wildcards) -> list[str]:
    """Return the paths of a batch's outputs: one of every member."""
    ending = (".json", ".parquet")
    paths = [apply_wildcards(str(path), wildcards) for path in rule.output]
    first = next((e for e in ending for path in paths if path.endswith(e)), "")
    return [path for path in paths if path.endswith(first)]


def scored_datasets(loads: Workloads, rule, wildcards) -> float:
    """Return the operations of scoring a batch's datasets."""
    names = [path.rsplit("/", 1)[-1].partition(".")[0] for path in members(loads, rule, wildcards)]
    return loads.scoring(wildcards.lm, sum(map(loads.dataset, names)))


def fits_of_batch(loads: Workloads, rule, wildcards) -> float:
    """Return the core seconds of a job's fits, which are of several datasets and engines."""
    seconds = 0.0
    for path in members(loads, rule, wildcards):
        *_, design, response, _ = path.split("/")
        engine = loads.config["designs"][design]["engine"]
        seconds += FIT[engine] * loads.observations(response.partition(".")[0]) + EACH
    draws = getattr(wildcards, "draws", None)
    return seconds * (float(draws) / 10 if str(draws or "").isdecimal() else 1.0)


def fit_of_response(loads: Workloads, rule, wildcards) -> float:
    """Return the core seconds of one fit of a response."""
    engine = loads.config["designs"][wildcards.design]["engine"]
    return FIT[engine] * loads.observations(wildcards.dataset) + EACH


def reads(tokens: float | Callable[..., float], times: float = 1.0):
    """Return the operations of a network that reads this many tokens."""

    def work(loads: Workloads, rule, wildcards) -> float:
        many = tokens(loads, rule, wildcards) if callable(tokens) else tokens
        return loads.forward(wildcards.lm, many * times)

    return work


def memory_of_training(loads: Workloads, rule, wildcards) -> float:
    """Return MB of weights, gradients, two moments and a saved copy, next to text and activations."""
    return max(16_000, 8_000 + 24e-6 * loads.parameters(wildcards.lm))


def memory_of_network(loads: Workloads, rule, wildcards) -> float:
    """Return MB of weights in float32 and of windows."""
    return max(LARGE, 4_000 + 8e-6 * loads.parameters(lm_of(loads, wildcards)))


def disk_of_training(loads: Workloads, rule, wildcards) -> float:
    """Return MB of weights, the state with two moments, and stored checkpoints."""
    kept = len(loads.config["recipes"][loads.study.lms[wildcards.lm]["recipe"]]["checkpoints"])
    return DISK + 4e-6 * loads.parameters(wildcards.lm) * (4 + kept)


def _ngram(loads: Workloads, wildcards) -> Mapping:
    """Return the entry of a job's n-gram model, of order 1 for a unigram; a CDLM's is the one it extends."""
    if unigram := getattr(wildcards, "unigram", None):
        return {"order": 1} | loads.config["unigrams"][unigram]
    entry = loads.study.lms[wildcards.lm]["ngram"]
    return loads.study.lms[entry["cdlm"]["of"]]["ngram"] if "cdlm" in entry else entry


def memory_of_ngrams(loads: Workloads, rule, wildcards) -> float:
    """Return MB of KenLM's sort, and of reading text."""
    return 4_000 + machine.parse_size(_ngram(loads, wildcards).get("memory", "1G")) / 1e6


def ngram_words(loads: Workloads, rule, wildcards) -> float:
    """Return words × order of an n-gram model's text."""
    entry = _ngram(loads, wildcards)
    return loads.words(entry["corpus"]) * entry.get("order", 5)


def tokenizer_words(loads: Workloads, rule, wildcards) -> float:
    """Return the words of a tokenizer's texts."""
    entry = loads.config["tokenizers"][wildcards.tokenizer]
    return sum(map(loads.words, [entry["corpus"], *entry.get("also", [])]))


def lm_of(loads: Workloads, wildcards) -> str:
    """Return the LM that a job runs."""
    search = getattr(wildcards, "search", None)
    return loads.config["searches"][search]["lm"] if search else wildcards.lm


def segments(loads: Workloads, rule, wildcards) -> float:
    """Return the tokens of segments of all lengths; with masked LMs each mask is read again."""
    lengths = [int(length) for length in wildcards.lengths.split("-")]
    every = loads.words(wildcards.corpus) * 1.4
    many = every if wildcards.documents == "all" else int(wildcards.documents) * max(lengths)
    return min(every, many) * len(lengths)


def replaced_words(loads: Workloads, rule, wildcards) -> float:
    """Return the tokens around each replaced word, with and without its replacements."""
    reach = int(wildcards.reach) + int(wildcards.before)
    return 4.0 * TOKENS_PER_WORD * int(wildcards.replacements) * reach


def context_words(loads: Workloads, rule, wildcards) -> float:
    """Return the tokens of each word's contexts: of the whole one, and about as many of the shorter ones."""
    return 2.0 * TOKENS_PER_WORD * int(wildcards.number) * int(wildcards.context)


def simulated_studies(loads: Workloads, rule, wildcards) -> float:
    """Return the simulated studies of a simulation of power."""
    entry = loads.config["power"][wildcards.power]
    sizes = math.prod(len(v) for v in entry.values() if isinstance(v, list))
    return float(entry.get("repeats", 40) * max(sizes, 10))


def bytes_to_fetch(loads: Workloads, rule, wildcards) -> float:
    """Return the bytes of a download."""
    return float(
        machine.size(loads.study.files.described[f"<resources>/downloads/{wildcards.file}"])
    )


def space(megabytes: float, work: Callable) -> Callable:
    """Return the function of MB that a job writes: those of its work, and some."""
    return lambda *job: DISK + megabytes * work(*job)
