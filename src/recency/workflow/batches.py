"""What one job makes together: datasets that one load of an LM scores, responses that one process fits.

Who asks for one member of a batch asks for all of them: they are those that the same experiments
have. The config decides this alone, so that a run of one experiment plans the same jobs as a run of
all of them. What nobody shares is a job by itself, as is what only its user can place and has not:
it holds nothing else up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from recency import config as configuration
from recency.workflow.study import Study

#: Stands between what a rule does and the batch that it does it of.
OF = "_of_"
#: What names a response.
KEYS = ("design", "dataset", "measure")
#: Engines of which a fit takes seconds.
QUICK = ("cross_products", "ols")


@dataclass(frozen=True)
class Batch:
    """Members that one job makes, and what the batch is called in rules and logs.

    The batch of all that are alone has wildcards for its one member.
    """

    name: str
    members: tuple

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
    users: dict[str, set[str]] = {}
    for experiment, response in _responses(study):
        users.setdefault(response["dataset"], set()).add(experiment)
    groups = _alike({name: (frozenset(u), _apart(study, name)) for name, u in users.items()})
    return [_named(group, group[0]) for group in groups] + [Batch("{dataset}", ("{dataset}",))]


def single_datasets(study: Study) -> list[str]:
    """Return the datasets that are scored by themselves."""
    shared = {name for batch in datasets(study) if not batch.alone for name in batch.members}
    return [name for name in study.config["datasets"] if name not in shared]


def responses(study: Study) -> list[Batch]:
    """Return the batches of responses, each (design, dataset, measure), that of single ones last.

    Designs of a batch agree on what their base is. Engines that may take minutes for a fit are a
    job each.
    """
    designs, users = study.config["designs"], {}
    for experiment, response in _responses(study):
        design = designs[response["design"]]
        if design["engine"] in QUICK:
            member = tuple(response[key] for key in KEYS)
            users.setdefault(member, (set(), str(design["base"])))[0].add(experiment)
    groups = _alike(
        {
            member: (frozenset(experiments), base, _apart(study, member[1]))
            for member, (experiments, base) in users.items()
        }
    )
    single = tuple(f"{{{key}}}" for key in KEYS)
    return [_named(group, "_".join(group[0])) for group in groups] + [
        Batch("{design}/{dataset}.{measure}", (single,))
    ]


def single_design(study: Study) -> str:
    """Return the constraint of `design` in a path where the response behind it is in no batch."""
    members = [each for batch in responses(study) if not batch.alone for each in batch.members]
    others = "|".join(re.escape("{}/{}.{}/".format(*member)) for member in members)
    named = "|".join(map(re.escape, study.config["designs"]))
    return f"(?!{others})(?:{named})" if others else named


def fits(batch: Batch) -> list[str]:
    """Return where the fits of a batch are kept, without their endings."""
    where = "<results>/regression/{}/{}.{}/{{lm}}.{{model}}"
    return [where.format(*member) for member in batch.members]


def processes(study: Study, batch: Batch, cores: int | None) -> int:
    """Return how many of a batch's fits run at once: what its LMs leave of the cores of a run."""
    experiments = {
        name
        for name, response in _responses(study)
        if tuple(response[key] for key in KEYS) in batch.members
    }
    running = experiments & set(study.config["run"]) or experiments
    lms = {lm for name in running for lm in study.experiment(name)["lms"]}
    jobs = len(lms) + 1
    return max(1, min(len(batch.members), (cores or 1) // jobs))


def _responses(study: Study) -> Iterable[tuple[str, dict]]:
    """Return every response of every experiment."""
    for experiment in study.config["experiments"]:
        for response in configuration.responses(study.config, experiment):
            yield experiment, response


def _apart(study: Study, dataset: str) -> str | None:
    """Return the name of a dataset that is not here, which is in no batch with another."""
    return dataset if dataset in study.absent else None


def _alike(users: Mapping[Hashable, Hashable]) -> list[list]:
    """Return groups of two and more that have the same users."""
    groups: dict[Hashable, list] = {}
    for member, found in users.items():
        groups.setdefault(found, []).append(member)
    return [group for group in groups.values() if len(group) > 1]


def _named(group: Sequence, first: str) -> Batch:
    name = re.sub(r"\W", "_", first)
    return Batch(f"{name}_and_{len(group) - 1}_more", tuple(group))


def scoring(study: Study) -> dict[str, Callable]:
    """Return keyword → function of wildcards: how a network is opened and what is taken of words."""

    def setting(key: str, default: object = None) -> Callable:
        return lambda wildcards: study.lms[wildcards.lm].get(key, default)

    return {
        "checkpoint": setting("checkpoint"),
        "allow_pickle": setting("allow_pickle", False),
        "bias": lambda wildcards: study.inference_bias(wildcards.lm),
        "bos": setting("bos"),
        "stride": setting("stride"),
        "scoring": setting("scoring", {}),
        "measures": setting("measures", []),
        "context": setting("context", []),
    }
