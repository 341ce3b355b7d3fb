"""Batches of jobs: datasets scored with one load of an LM, responses fitted by one process.

A batch has the members that occur in the same experiments of an LM, so a target that needs one needs
all. Batches depend on the config only: a run of one experiment plans the same jobs as a run of all.
Members that share no experiments, and missing data that the user must supply, are separate jobs.

Wildcard constraints: patterns that match a given set of names.

Snakemake compiles and matches a constraint for every path, so that an alternation of two thousand
names dominates the time of a plan. Here names share prefixes and suffixes: `Pythia-seed-[1-9]`.
"""

import os
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from recency import config as configuration
from recency import languages
from recency.regression.confirmation import NO_LM
from recency.workflow.plan.study import Study


def any_of(names: Iterable[str]) -> str:
    """Return a constraint that matches these names only; `none` if there are no names."""
    return _admitting(tuple(sorted(set(names)))) or "none"


@cache
def _admitting(tails: tuple[str, ...]) -> str:
    """Return a pattern for sorted texts; "" if only the empty text is left."""
    if start := os.path.commonprefix(tails):
        return re.escape(start) + _admitting(tuple(tail[len(start) :] for tail in tails))
    behind: dict[str, list[str]] = {}
    for tail in filter(None, tails):
        behind.setdefault(tail[0], []).append(tail[1:])
    alike: dict[tuple[str, ...], list[str]] = {}
    for sign, rest in behind.items():
        alike.setdefault(tuple(rest), []).append(sign)
    parts = [_sign(signs) + _admitting(rest) for rest, signs in alike.items()]
    return f"(?:{'|'.join(parts)})" + "?" * ("" in tails) if parts else ""


def _sign(signs: list[str]) -> str:
    """Return a pattern for one of these characters."""
    escaped = "".join(map(re.escape, signs))
    return escaped if len(signs) == 1 else f"[{escaped}]"


#: Extensions of the files of a checkpoint that are read, others are of its training.
OF_A_CHECKPOINT = (".json", ".safetensors", ".bin", ".model", ".txt")
#: Separates the action and the batch in a rule's name.
OF = "_of_"
#: The parts of a response's name.
KEYS = ("design", "dataset", "measure")
#: Engines whose fits take seconds.
QUICK = ("cross_products", "ols")


@dataclass(frozen=True)
class Batch:
    """Members of one job of each of `lms`, and the batch's name in rules and logs.

    The batch of single members has wildcards in place of its member, and no LMs.
    """

    name: str
    members: tuple
    lms: tuple[str, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether this is the batch of single members, one job each."""
        return self.name.startswith("{")

    def of(self, wildcards) -> list[tuple[str, str, str]]:
        """Return the responses fitted by a job of this batch."""
        return [
            tuple(part.format(**dict(wildcards.items())) for part in member)
            for member in self.members
        ]

    def rule(self, what: str) -> str:
        """Return the name of the batch's rule for the action `what`."""
        return what if self.is_single else f"{what}{OF}{self.name}"


def kind_of(rule: str) -> str:
    """Return a rule's action: `surprisal` for `surprisal_of_provo_and_2_more`."""
    return rule.partition(OF)[0]


def datasets(study: Study) -> list[Batch]:
    """Return the batches of datasets scored by networks; single members last."""
    asked = {
        name: {response["dataset"] for response in configuration.responses(study.config, name)}
        for name in study.config["experiments"]
    }
    apart = {name: name if name in study.absent else None for name in study.config["datasets"]}
    batches = _batches(_experiments(study, _in_experiments(study)), asked, apart)
    return [*batches, Batch("{dataset}", ("{dataset}",))]


def _in_experiments(study: Study) -> list[str]:
    """Return the networks of experiments, without those used only as members of `languages`."""
    named = {lm for entry in study.config["experiments"].values() for lm in entry["lms"]}
    members = languages.members(study.config) - named
    return [lm for lm in study.lms_that_are("network") if lm not in members]


def scored_alone(study: Study) -> str:
    """Return the wildcard constraint of `lm` in surprisal/{lm}/{dataset} outside batches."""
    return _but(
        (batch.lms, batch.members, "{lms}/{members}") for batch in datasets(study)[:-1]
    ) + any_of(study.lms_that_are("network"))


def responses(study: Study) -> list[Batch]:
    """Return the batches of responses (design, dataset, measure); single members last.

    Designs of a batch have the same baseline models. Fits by slow engines are separate jobs. The
    baseline shared by all LMs (NO_LM) belongs to every experiment.
    """
    designs, asked, apart = study.config["designs"], {}, {}
    for experiment in study.config["experiments"]:
        asked[experiment] = set()
        for response in configuration.responses(study.config, experiment):
            design = designs[response["design"]]
            if design["engine"] in QUICK:
                member = tuple(response[key] for key in KEYS)
                asked[experiment].add(member)
                absent = member[1] if member[1] in study.absent else None
                apart.setdefault(member, (str(design["base"]), absent))
    experiments = _experiments(study, study.config["lms"])
    batches = _batches(experiments | {NO_LM: frozenset(asked)}, asked, apart)
    return [*batches, Batch("{design}/{dataset}.{measure}", (tuple(f"{{{key}}}" for key in KEYS),))]


def fitted_alone(study: Study) -> str:
    """Return the wildcard constraint of `design` in the path of a fit outside batches."""
    return _but(
        (batch.lms, map("{}/{}.{}".format, *zip(*batch.members, strict=True)), "{members}/{lms}")
        for batch in responses(study)[:-1]
    ) + any_of(study.config["designs"])


def fits(batch: Batch, folder: str = "regression") -> list[str]:
    """Return the paths of a batch's fits, without extensions."""
    where = "{}/{}.{}/{{lm}}.{{model}}"
    return [f"<results>/{folder}/" + where.format(*member) for member in batch.members]


def processes(study: Study, batch: Batch, cores: int | None) -> int:
    """Return the number of a batch's parallel fits: the cores of the run divided among its LMs."""
    experiments = {
        name
        for name in study.config["experiments"]
        for response in configuration.responses(study.config, name)
        if tuple(response[key] for key in KEYS) in batch.members
    }
    running = experiments & set(study.config["run"]) or experiments
    lms = {lm for name in running for lm in study.experiment(name)["lms"]}
    jobs = len(lms) + 1
    return max(1, min(len(batch.members), (cores or 1) // jobs))


def _experiments(study: Study, lms: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return LM → its experiments; for an LM in no experiment, all of them."""
    by_lm: dict[str, set[str]] = {lm: set() for lm in lms}
    for experiment in study.config["experiments"]:
        for lm in by_lm.keys() & set(study.experiment(experiment)["lms"]):
            by_lm[lm].add(experiment)
    every = frozenset(study.config["experiments"])
    return {lm: frozenset(experiments) or every for lm, experiments in by_lm.items()}


def _batches(
    experiments: Mapping[str, frozenset[str]],
    asked: Mapping[str, set],
    apart: Mapping[Hashable, Hashable],
) -> list[Batch]:
    """Return the batches of the LMs of `experiments`; `asked` maps members to experiments.

    Members with different values in `apart` are never in one batch; its order is kept.
    """
    alike: dict[frozenset[str], list[str]] = {}
    for lm, names in experiments.items():
        alike.setdefault(names, []).append(lm)
    groups: dict[tuple, list[str]] = {}
    for names, lms in alike.items():
        users: dict[Hashable, list] = {}
        for member, other in apart.items():
            if experiments_of_member := frozenset(name for name in names if member in asked[name]):
                users.setdefault((experiments_of_member, other), []).append(member)
        for group in users.values():
            if len(group) > 1:
                groups.setdefault(tuple(group), []).extend(lms)
    called: dict[str, int] = {}
    batches = []
    for group, lms in groups.items():
        first = group[0] if isinstance(group[0], str) else "_".join(group[0])
        name = re.sub(r"\W", "_", first) + f"_and_{len(group) - 1}_more"
        called[name] = called.get(name, 0) + 1
        name += f"_{called[name]}" if called[name] > 1 else ""
        batches.append(Batch(name, group, tuple(lms)))
    return batches


def _but(combinations: Iterable[tuple[Iterable[str], Iterable[str], str]]) -> str:
    """Return a pattern that excludes the paths of `combinations`."""
    others = [
        form.format(lms=any_of(lms), members=any_of(members)) for lms, members, form in combinations
    ]
    return rf"(?!(?:{'|'.join(others)})\.)" if others else ""


def accepted(study: Study, batch: Batch) -> Callable:
    """Return a function of wildcards: the checks that each dataset of a batch may fail."""
    return lambda wildcards: [
        study.accepted(name.format(**dict(wildcards.items())), wildcards.lm)
        for name in batch.members
    ]


def frequencies(study: Study, batch: Batch) -> Callable:
    """Return a function of wildcards: the unigram surprisal of a batch's datasets.

    Only LMs that erase words by frequency read it; for others it is empty.
    """
    return lambda wildcards: study.erasure_frequencies(
        wildcards.lm, [name.format(**dict(wildcards.items())) for name in batch.members]
    )


def fixations(study: Study, batch: Batch) -> Callable:
    """Return a function of wildcards: the fixations of a batch's datasets, for LMs with `reader`."""
    return lambda wildcards: [
        f"<results>/datasets/{name.format(**dict(wildcards.items()))}/fixations.parquet"
        for name in (batch.members if "reader" in study.lms[wildcards.lm] else ())
    ]


def scoring(study: Study) -> dict[str, Callable]:
    """Return keyword → function of wildcards: the settings and measures of an LM's scoring."""
    return {
        "lm": lambda wildcards: study.opening(wildcards.lm),
        "measures": lambda wildcards: study.lms[wildcards.lm].get("measures", []),
        "context": lambda wildcards: study.lms[wildcards.lm].get("context", []),
        "ngram_reading": lambda wildcards: study.ngram_reading(wildcards.lm),
    }


def network(study: Study, lm: str) -> list[str]:
    """Return the files of an LM's network: made by the workflow, fetched, or of a local checkpoint.

    The first are its own; that of another network, which its bias reads, is last.
    """
    others = study.files.fetched(bias=study.lms[lm].get("bias"))
    if study.weights(lm) or "checkpoint" not in study.lms[lm]:
        return study.weights(lm) + others
    name = study.lms[lm]["checkpoint"]
    checkpoint = Path(name)
    if checkpoint.is_dir():
        own = [str(p) for p in sorted(checkpoint.iterdir()) if p.suffix in OF_A_CHECKPOINT]
    else:
        fetched = [] if "supplied" in study.lms[lm] else study.files.fetched(name)
        own = [str(checkpoint)] if checkpoint.is_file() else fetched
    return own + others


def scoring_files(study: Study) -> dict[str, Callable]:
    """Return keyword → function of wildcards: the files of an LM's scoring, without the words."""
    return {
        "model": lambda wildcards: network(study, wildcards.lm),
        "tuned_lens": lambda wildcards: study.tuned_lens(wildcards.lm),
        "ngram_lm": lambda wildcards: study.ngram_reference(wildcards.lm),
    }
