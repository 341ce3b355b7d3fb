"""Cost of every rule's jobs: amount of work × cost per unit, from which resources and times derive.

A job asks for a multiple of the extrapolated time (`margin`), at least for `LEAST` minutes, and for as
many times as much as the number of its attempt. The times of `./run --list`, of a run's first line and of
docs/scaling.md are the same extrapolations, until finished jobs have replaced them (costs.py).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from recency import devices
from recency.evaluations import registry
from recency.workflow.plan import batches
from recency.workflow.plan import workloads as amount
from recency.workflow.plan.workloads import (
    BABYLM,
    CONTINUATION,
    DISK,
    LARGE,
    LISTS,
    MEMORY,
    OPEN,
    PAIRS,
    SENTENCE,
    START,
    TOKENS_PER_WORD,
    Workloads,
)  # fmt: skip

#: Requested time as a multiple of the extrapolation: where the cost was measured, or a job continues
#: at the next attempt; and where it is an estimate. The shortest request, minutes.
MARGIN, UNSURE, LEAST = 2.0, 4.0, 60
#: Core seconds per operation of a network in training and scoring: measured on one core of an AMD
#: EPYC (docs/scaling.md). GPU seconds are those of benchmarks/gpu_rehearsal.py on `GPU` (`--update`): for networks
#: narrower than `WIDE`, and for others.
TRAINING = {"fp32": 1 / 0.7e11, "bf16": 1 / 1.2e11}
TRAINING_GPU = {"fp32": (1 / 6.3e13, 1 / 3.5e13), "bf16": (1 / 5.8e13, 1 / 3.2e14)}
WIDE = 512
READING = 1 / 2.5e10
READING_GPU = 1 / 1.1e13
GPU = "NVIDIA H200"


@dataclass(frozen=True)
class Cost:
    """Cost of a rule's jobs.

    Attributes
    ----------
    unit
        What the work consists of.
    work
        (workloads, rule, wildcards) → its amount.
    core
        Seconds of a core per unit.
    gpu
        Seconds of a GPU per unit, where the rule runs a network; None elsewhere.
    measured
        Whether `core` was measured; else it is an estimate. `gpu` was where `GPU` has a name.
    start
        Seconds of a job without any work.
    memory, disk
        MB that a job asks for: numbers, or functions like `work`.
    resumes
        Whether a job that its time limit ends continues at the next attempt.
    kind
        Its name where jobs are counted; other jobs are counted together.
    parallel
        Whether a job's threads share its work.
    """

    unit: str
    work: Callable[[Workloads, Any, Any], float]
    core: float | Callable[[Workloads, Any], float]
    gpu: float | Callable[[Workloads, Any], float] | None = None
    measured: bool = False
    start: float = START
    memory: int | Callable[[Workloads, Any, Any], float] = MEMORY
    disk: int | Callable[[Workloads, Any, Any], float] = DISK
    resumes: bool = False
    kind: str = ""
    parallel: bool = False

    def margin(self, here: int) -> float:
        """Return the requested time of a job on `here` GPUs, as a multiple of the extrapolation."""
        return MARGIN if self.resumes or (self.measured and (not here or GPU)) else UNSURE


@dataclass(frozen=True)
class Time:
    """Extrapolated seconds: of cores and GPUs together, and of the job from start to end."""

    core: float
    gpu: float
    wall: float
    measured: bool


def _training(loads: Workloads, lm: str) -> float:
    """Return core seconds per operation of a training, in the precision of its recipe."""
    return TRAINING[_precision(loads, lm)]


def _training_gpu(loads: Workloads, lm: str) -> float:
    """Return GPU seconds per operation of a training; wide networks keep a GPU busier."""
    shape = loads.config["architectures"].get(loads.study.lms[lm].get("architecture"), {})
    return TRAINING_GPU[_precision(loads, lm)][shape.get("width", 0) >= WIDE]


def _precision(loads: Workloads, lm: str) -> str:
    return loads.config["recipes"][loads.study.lms[lm]["recipe"]]["precision"]


def _network(work: Callable[..., float], **more) -> Cost:
    """Return the cost of a rule that reads text with a network."""
    given = {"measured": True, "start": OPEN, "memory": amount.memory_of_network, "parallel": True}
    return Cost("operations", work, READING, READING_GPU, **given | more)


def _job(core: float = 0.0, **more) -> Cost:
    """Return the cost of a rule whose jobs take the same time."""
    return Cost("job", amount.one_job, core, **more)


#: Core seconds per word of tokenizing and n-grams: English prose, the slowest core that we measured, on which
#: text takes eight times as long as on an idle Zen 5 (`make rehearsal`).
TOKENIZE, NGRAMS = 4.3e-6, 4e-7
DRAW = Cost("LM × response", amount.experiment_cells, 0.05, start=8.0)


def _costs(table: Mapping[str, Cost]) -> dict[str, Cost]:
    """Return rule → cost, from a table whose keys are names of several rules."""
    return {rule: cost for rules, cost in table.items() for rule in rules.split()}


TEXT = _costs({
    "download": Cost(
        "byte", amount.bytes_to_fetch, 1e-7, disk=amount.space(1e-6, amount.bytes_to_fetch), kind="download"
    ),
    "hub_checkpoint": _job(30.0, kind="download"),
    "prepare_text": Cost(
        "word", amount.corpus_words, 2e-6, measured=True, memory=8_000,
        disk=amount.space(4e-6, amount.corpus_words),
    ),
    "train_tokenizer": Cost("word", amount.tokenizer_words, 1e-5, measured=True, memory=16_000),
    "tokenize_text": Cost(
        "word", amount.corpus_words, TOKENIZE, measured=True, memory=8_000,
        disk=amount.space(6e-6, amount.corpus_words), parallel=True, resumes=True,
    ),
    "passages": Cost("word", amount.corpus_words, 1.3e-7, measured=True, resumes=True),
    "pretokenized": Cost("word", amount.corpus_words, 2e-8),
    "corpus_words": Cost("word", amount.corpus_words, 2e-6),
    "simulate_text": Cost("word", amount.corpus_words, 2e-5),
    "treebank learned_sparseness": _job(20.0),
    "train_tagger minimal_pairs dependencies": _job(120.0),
    "estimate_ngrams estimate_ngram_lm": Cost(
        "word × order", amount.ngram_words, NGRAMS, measured=True, memory=amount.memory_of_ngrams,
        disk=amount.space(2e-5, amount.ngram_words),
    ),
    "train_cdlm": Cost("word × order", amount.ngram_words, 4e-5, memory=16_000),
    "ngram_surprisal frequency_surprisal ngram_lm_surprisal mix_surprisal surprisal_table": Cost(
        "word", amount.dataset_words, 1e-4, kind="surprisal"
    ),
    "surprisal_by_language unigram_by_language wordfreq_surprisal": Cost(
        "word", amount.dataset_words, 1e-4
    ),
    "ngram_rank_metrics": Cost("word", amount.dataset_words, 1e-2, memory=8_000),
    "corpus_ngram_surprisal ngram_text_perplexity mix_text_perplexity": Cost(
        "word", amount.corpus_words, 2e-5
    ),
    "mix_shares": _job(600.0),
})  # fmt: skip
RUN = _costs({
    "train": Cost(
        "operations", lambda loads, rule, wildcards: loads.training(wildcards.lm),
        _training, _training_gpu, measured=True, start=OPEN,
        memory=amount.memory_of_training, disk=amount.disk_of_training, resumes=True, kind="training", parallel=True,
    ),
    "fine_tune": Cost(
        "operations", lambda loads, rule, wildcards: loads.fine_tuning(wildcards.lm, wildcards.task),
        TRAINING["fp32"], TRAINING_GPU["fp32"][True], measured=True, start=OPEN,
        memory=amount.memory_of_training, resumes=True, kind="fine-tuning", parallel=True,
    ),
    "surprisal": _network(amount.scored_datasets, kind="surprisal"),
    "corpus_surprisal": _network(
        lambda loads, rule, wildcards: loads.scoring(wildcards.lm, loads.words(wildcards.corpus))
    ),
    "text_perplexity corpus_temporal_correlation": _network(
        amount.reads(amount.corpus_words, 2 * TOKENS_PER_WORD)
    ),
    "length_perplexity": _network(amount.reads(amount.segments, 2.0)),
    "score_pairs": _network(
        lambda loads, rule, wildcards: loads.scoring(wildcards.lm, PAIRS * SENTENCE), resumes=True
    ),
    "babylm_scores": _network(amount.reads(BABYLM * SENTENCE)),
    "babylm_words": _network(amount.reads(BABYLM * SENTENCE / 4)),
    "structural_probe": _network(
        lambda loads, rule, wildcards: loads.probing(wildcards.lm),
        memory=lambda loads, *_: max(16_000, 1_000 * loads.config["probe"]["memory_gb"]), resumes=True,
    ),
    "bias_search": _network(
        lambda loads, rule, wildcards: loads.search(wildcards.search), memory=16_000, kind="search", resumes=True
    ),
    "attention_map": _network(amount.reads(SENTENCE)),
    "attention_by_distance attention_heads temporal_correlation": _network(
        amount.reads(amount.dataset_words, 4.0)
    ),
    "rank_metrics": _network(amount.reads(amount.dataset_words, CONTINUATION)),
    "remember_lists": _network(amount.reads(LISTS)),
    "measured_memory": _network(amount.reads(amount.replaced_words)),
    "context_information": _network(amount.reads(amount.context_words)),
    "rare_words_by_lm abusive_vectors nearest_words learned_windows": _network(amount.reads(LISTS / 10)),
})  # fmt: skip
FITS = _costs({
    "words": Cost("word", amount.dataset_words, 1e-4, start=5.0),
    "responses observations observations_whole simulate_readers": Cost(
        "observation", amount.dataset_observations, 1e-5, start=5.0
    ),
    "check_dataset export_dataset": Cost(
        "observation", amount.dataset_observations, 5e-5, start=10.0, memory=8_000
    ),
    "fitted_data fitted_nested_data random_effects": Cost(
        "observation", amount.dataset_observations, 2e-5, memory=LARGE
    ),
    "regression": Cost(
        "core second", amount.fits_of_batch, 1.0, measured=True, memory=LARGE, parallel=True, kind="regression"
    ),
    "crossed_bootstrap": Cost(
        "core second", amount.fits_of_batch, 1.0, memory=LARGE, parallel=True, kind="crossed bootstrap"
    ),
    "nested_regression": Cost(
        "core second", amount.fit_of_response, 2.0, memory=LARGE, kind="regression"
    ),
    "refits": Cost("core second", amount.fits_again, 1.0, memory=LARGE),
    "delta_loglik nested seeds pooled_effects learning_curves conditions contrasts "
    "delta_aic linearity maze_choices triggering type_lengths explore": Cost(
        "observation", amount.experiment_observations, 2e-6, start=5.0, memory=LARGE
    ),
    "permutation": Cost(
        "observation", amount.experiment_observations, 1e-5, start=10.0, memory=LARGE
    ),
    "simulate_power": Cost(
        "simulated study", amount.simulated_studies("power"), 10.0, memory=8_000, parallel=True
    ),
    "simulate_endpoint": Cost(
        "simulated study", amount.simulated_studies("endpoint_simulation"), 20.0, memory=8_000, parallel=True
    ),
})  # fmt: skip
RESULTS = _costs({
    "recovery pair_accuracy continuations perplexity verdict": Cost(
        "LM × response", amount.experiment_cells, 1.0, start=5.0
    ),
    "figure_power figure_endpoint table_endpoint figure_bias_search": DRAW,
    "rare_words_by_vectors abusive_features": _job(300.0, memory=8_000),
    "classify_abusive_words": _job(3600.0, memory=8_000),
    "checkpoint not_run simulate_stimuli summary": _job(20.0),
    "report_page": _job(60.0),
    "methods": _job(10.0),
    "rocrate": _job(600.0),
    "export": _job(120.0, memory=amount.memory_of_network),
    "push": _job(1800.0),
})  # fmt: skip
COSTS = TEXT | RUN | FITS | RESULTS
#: Rules that run a network, and ask for a GPU.
NETWORKS = frozenset(RUN)
#: The cost of a job of another package's evaluation that declares none.
OTHER = _job(600.0, memory=8_000)


@cache
def by_rule() -> dict[str, Cost]:
    """Return rule → cost: of this project, figures and tables, and other packages' evaluations."""
    others = {
        rule: _job(seconds, kind=kind, memory=8_000)
        for evaluation in registry.evaluations().values()
        for rule, (kind, seconds) in evaluation.jobs.items()
    }
    return {product.rule: DRAW for product in registry.products()} | others | COSTS


def of_rule(name: str) -> Cost:
    """Return the cost of a rule, whose name may be a batch's."""
    return by_rule().get(batches.kind_of(name), OTHER)


# GPUs


@cache
def gpus_here() -> int:
    """Return the number of GPUs that this process may use."""
    return len(devices.visible())


def gpus(study, lm: str, trains: bool = False) -> int:
    """Return how many GPUs a job that runs an LM asks for, or the job that trains it.

    One where the device of the LM's recipe is `cuda`, or `auto` and a GPU is here, else none; the
    recipe's `gpus` for a training, and for weights that are distributed (`device_map`).
    """
    recipe = study.config["recipes"][study.lms[lm]["recipe"]]
    together = recipe.get("gpus", 1) if trains or "device_map" in study.lms[lm] else 1
    if recipe["device"] == "auto":
        return min(together, gpus_here())
    return together if recipe["device"] == "cuda" else 0


# Times and requests


class Model:
    """The costs of a study's jobs."""

    def __init__(self, study):
        self.study, self.loads = study, Workloads(study)

    def gpus(self, rule, wildcards) -> int:
        """Return how many GPUs a job asks for."""
        kind = batches.kind_of(rule.name)
        if kind not in NETWORKS:
            return 0
        return gpus(self.study, amount.lm_of(self.loads, wildcards), kind == "train")

    def time(self, rule, wildcards, threads: int = 1) -> Time:
        """Extrapolate the time of a job."""
        cost, here = of_rule(rule.name), self.gpus(rule, wildcards)
        per_unit = cost.gpu if here else cost.core
        if callable(per_unit):
            per_unit = per_unit(self.loads, amount.lm_of(self.loads, wildcards))
        work = cost.work(self.loads, rule, wildcards) * per_unit
        wall = cost.start + work / (here or (threads if cost.parallel else 1))
        return Time(
            core=wall if here else cost.start + work,
            gpu=cost.start * here + work if here else 0.0,
            wall=wall,
            measured=cost.measured and (not here or bool(GPU)),
        )

    def minutes(self, rule, wildcards, threads: int = 1) -> int:
        """Return the minutes that a job asks for at its first attempt."""
        margin = of_rule(rule.name).margin(self.gpus(rule, wildcards))
        return max(LEAST, math.ceil(margin * self.time(rule, wildcards, threads).wall / 60))

    def size(self, rule, wildcards, key: str) -> int:
        """Return the MB of memory or disk that a job asks for at its first attempt."""
        size = getattr(of_rule(rule.name), key)
        return math.ceil(size(self.loads, rule, wildcards) if callable(size) else size)

    def request(self, rules, workflow) -> None:
        """Set the resources of rules; those of the command line (`--set-resources`) have precedence."""
        given = workflow.resource_settings.overwrite_resources
        for rule in rules:
            if rule.script and not rule.norun:
                rule.resources.update(self._of(rule))
                rule.resources.update(given.get(rule.name, {}))

    def _of(self, rule) -> dict[str, Callable]:
        """Return a rule's resources: functions of wildcards and the number of the attempt."""
        asked: dict[str, Callable] = {
            "runtime": lambda wildcards, attempt, threads: (
                self.minutes(rule, wildcards, threads) * attempt
            ),
            "mem_mb": lambda wildcards, attempt: self.size(rule, wildcards, "memory") * attempt,
            "disk_mb": lambda wildcards: self.size(rule, wildcards, "disk"),
        }
        if batches.kind_of(rule.name) in NETWORKS:
            asked["gpu"] = lambda wildcards: self.gpus(rule, wildcards)
        return asked
