"""What one job makes together: datasets that one load of an LM scores, responses that one process fits.

Who asks for one member of a batch asks for all of them: they are those that the same of an LM's
experiments have. The config decides this alone, so that a run of one experiment plans the same jobs
as a run of all of them. What nobody shares is a job by itself, as is what only its user can place and
has not: it holds nothing else up.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from recency import config as configuration
from recency import languages
from recency.regression.confirmation import NO_LM
from recency.workflow.constraints import any_of
from recency.workflow.study import Study

#: Stands between what a rule does and the batch that it does it of.
OF = "_of_"
#: What names a response.
KEYS = ("design", "dataset", "measure")
#: Engines of which a fit takes seconds.
QUICK = ("cross_products", "ols")


@dataclass(frozen=True)
class Batch:
    """Members that one job of one of `lms` makes, and what the batch is called in rules and logs.

    The batch of all that are alone has wildcards for its one member, and no LMs of its own.
    """

    name: str
    members: tuple
    lms: tuple[str, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether this is the batch of those that are a job each."""
        return self.name.startswith("{")

    def of(self, wildcards) -> list[tuple[str, str, str]]:
        """Return the responses that a job of this batch fits."""
        return [
            tuple(part.format(**dict(wildcards.items())) for part in each) for each in self.members
        ]

    def rule(self, what: str) -> str:
        """Return the name of the rule that does `what` of this batch."""
        return what if self.alone else f"{what}{OF}{self.name}"


def kind_of(rule: str) -> str:
    """Return what a rule does, whatever its batch: `surprisal_of_provo_and_2_more` is surprisal."""
    return rule.partition(OF)[0]


def datasets(study: Study) -> list[Batch]:
    """Return the batches of datasets that networks score, that of single ones last."""
    asked = {
        name: {response["dataset"] for response in configuration.responses(study.config, name)}
        for name in study.config["experiments"]
    }
    apart = {name: name if name in study.absent else None for name in study.config["datasets"]}
    found = _batches(_experiments(study, _in_experiments(study)), asked, apart)
    return [*found, Batch("{dataset}", ("{dataset}",))]


def _in_experiments(study: Study) -> list[str]:
    """Return the networks but for those that score the datasets of one language for another LM alone."""
    named = {lm for entry in study.config["experiments"].values() for lm in entry["lms"]}
    members = languages.members(study.config) - named
    return [lm for lm in study.lms_that_are("network") if lm not in members]


def scored_alone(study: Study) -> str:
    """Return the constraint of `lm` in surprisal/{lm}/{dataset}. where that is in no batch."""
    return _but(
        (batch.lms, batch.members, "{lms}/{members}") for batch in datasets(study)[:-1]
    ) + any_of(study.lms_that_are("network"))


def responses(study: Study) -> list[Batch]:
    """Return the batches of responses, each (design, dataset, measure), that of single ones last.

    Designs of a batch agree on what their base is. Engines that may take minutes for a fit are a
    job each. What all LMs are compared with (NO_LM) is of every experiment.
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
    found = _batches(experiments | {NO_LM: frozenset(asked)}, asked, apart)
    return [*found, Batch("{design}/{dataset}.{measure}", (tuple(f"{{{key}}}" for key in KEYS),))]


def fitted_alone(study: Study) -> str:
    """Return the constraint of `design` in a fit's path where LM and response are in no batch."""
    return _but(
        (batch.lms, map("{}/{}.{}".format, *zip(*batch.members, strict=True)), "{members}/{lms}")
        for batch in responses(study)[:-1]
    ) + any_of(study.config["designs"].keys() - bayesian(study))


def bayesian(study: Study) -> set[str]:
    """Return the designs that brms fits, in an environment of their own."""
    designs = study.config["designs"]
    return {name for name, design in designs.items() if design["engine"] == "brms"}


def fits(batch: Batch, folder: str = "regression") -> list[str]:
    """Return where the fits of a batch are stored, without their endings."""
    where = "{}/{}.{}/{{lm}}.{{model}}"
    return [f"<results>/{folder}/" + where.format(*member) for member in batch.members]


def processes(study: Study, batch: Batch, cores: int | None) -> int:
    """Return how many of a batch's fits run at once: what its LMs leave of the cores of a run."""
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
    """Return of each LM the experiments that it is in; all of them where it is in none."""
    found: dict[str, set[str]] = {lm: set() for lm in lms}
    for experiment in study.config["experiments"]:
        for lm in found.keys() & set(study.experiment(experiment)["lms"]):
            found[lm].add(experiment)
    every = frozenset(study.config["experiments"])
    return {lm: frozenset(experiments) or every for lm, experiments in found.items()}


def _batches(
    experiments: Mapping[str, frozenset[str]],
    asked: Mapping[str, set],
    apart: Mapping[Hashable, Hashable],
) -> list[Batch]:
    """Return the batches of the LMs of `experiments`, whose members are `asked` for by experiment.

    Members of which `apart` says another thing are in no batch together; its order is theirs.
    """
    alike: dict[frozenset[str], list[str]] = {}
    for lm, names in experiments.items():
        alike.setdefault(names, []).append(lm)
    groups: dict[tuple, list[str]] = {}
    for names, lms in alike.items():
        users: dict[Hashable, list] = {}
        for member, other in apart.items():
            if found := frozenset(name for name in names if member in asked[name]):
                users.setdefault((found, other), []).append(member)
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
    """Return a pattern that admits what does not begin with any of `combinations`, written as told."""
    others = [
        form.format(lms=any_of(lms), members=any_of(members)) for lms, members, form in combinations
    ]
    return rf"(?!(?:{'|'.join(others)})\.)" if others else ""


def accepted(study: Study, batch: Batch) -> Callable:
    """Return the function of wildcards that gives the checks that each dataset of a batch may fail."""
    return lambda wildcards: [
        study.accepted(name.format(**dict(wildcards.items())), wildcards.lm)
        for name in batch.members
    ]


def frequencies(study: Study, batch: Batch) -> Callable:
    """Return the function of wildcards that gives the unigram surprisal of a batch's datasets.

    It is what an LM that erases words by their frequency reads; there is none for others.
    """
    return lambda wildcards: study.erasure_frequencies(
        wildcards.lm, [name.format(**dict(wildcards.items())) for name in batch.members]
    )


def scoring(study: Study) -> dict[str, Callable]:
    """Return keyword → function of wildcards: how an LM is opened, and the measures of each word."""
    return {
        "lm": lambda wildcards: study.opening(wildcards.lm),
        "measures": lambda wildcards: study.lms[wildcards.lm].get("measures", []),
        "context": lambda wildcards: study.lms[wildcards.lm].get("context", []),
        "ngram_reading": lambda wildcards: study.ngram_reading(wildcards.lm),
    }


def scoring_files(study: Study) -> dict[str, Callable]:
    """Return keyword → function of wildcards: the files of an LM's scoring but the words."""
    return {
        "model": lambda wildcards: study.weights(wildcards.lm),
        "tuned_lens": lambda wildcards: study.tuned_lens(wildcards.lm),
        "ngram_lm": lambda wildcards: study.ngram_reference(wildcards.lm),
    }
