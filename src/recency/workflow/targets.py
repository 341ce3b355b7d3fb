"""Targets of a study, for `./run NAME` and `./run --list`.

Nothing here needs Snakemake, so a study's targets can be listed from its config.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from recency import config as configuration
from recency.errors import InputError
from recency.evaluations import registry
from recency.names import near


@dataclass(frozen=True)
class Target:
    """A target with a one-line description.

    Targets of a kind such as `export_<lm>` share the description of the kind.
    """

    name: str
    line: str
    kind: str = ""


#: Kind of targets → its description.
KINDS = {
    "explore_<experiment>": "explorer of an experiment's words, readers and LMs",
    "check_<dataset>": "quality report of reading times, before anything is fitted",
    "export_<dataset>": "every word with all LMs' surprisals, every response, and R code, as tables",
    "export_<lm>": "an LM as a folder that AutoModelForCausalLM opens, with a model card",
    "push_<lm>": "that folder on the Hugging Face Hub",
}


def exported_lms(config: Mapping) -> list[str]:
    """Return the LMs that can be exported: networks."""
    kinds = {name: configuration.kind_of(lm) for name, lm in config.get("lms", {}).items()}
    return [name for name, kind in kinds.items() if kind == "network"]


def targets(config: Mapping) -> list[Target]:
    """Return the targets of a complete config, in the order of the listing."""
    experiments = config.get("experiments", {})
    result = [Target("all", f"what `run` selects: {', '.join(config.get('run', []))}")]
    result += [Target(name, entry.get("title", "")) for name, entry in experiments.items()]
    result += [
        Target(name, entry["label"])
        for name, entry in config.get("targets", {}).items()
        if entry["experiment"] in experiments
    ]
    for evaluation in registry.evaluations().values():
        result += [Target(*row) for row in (evaluation.targets or _no_targets)(config)]
    for name, entry in config.get("datasets", {}).items():
        label = entry.get("label", name)
        result.append(Target(f"check_{name}", f"{label}, quality report", "check_<dataset>"))
        result.append(Target(f"export_{name}", f"{label} as tables", "export_<dataset>"))
    for name in exported_lms(config):
        label = config["lms"][name].get("label", name)
        result.append(Target(f"export_{name}", f"{label} as a folder", "export_<lm>"))
        result.append(Target(f"push_{name}", f"{label} on the Hub", "push_<lm>"))
    return result


def _no_targets(config: Mapping) -> list[tuple[str, str]]:
    """Return the targets of an evaluation without targets other than experiments."""
    return []


def require_distinct(config: Mapping) -> None:
    """Raise InputError if `export_<name>` would be ambiguous between an LM and a dataset."""
    for name in exported_lms(config):
        if name in config["datasets"]:
            raise InputError(
                f"lms → {name}: a dataset is also called {name!r}, so ./run export_{name} would be "
                "ambiguous; rename one of them"
            )


def experiments(asked: Iterable[str], config: Mapping) -> list[str]:
    """Return the experiments of the targets of a run.

    Those of `run` for no target, `all` and files; none for other targets, such as exports.

    Parameters
    ----------
    asked : iterable of str
        The targets on the command line.
    config : mapping
        The complete config.
    """
    named: dict[str, None] = {}
    for name in [*map(str, asked)] or ["all"]:
        of = config.get("targets", {}).get(name, {"experiment": name})["experiment"]
        whole = name == "all" or os.sep in name
        named |= dict.fromkeys(config["run"] if whole else [of])
    return [name for name in named if name in config["experiments"]]


def require_known(asked: Iterable[str], config: Mapping, rules: Collection[str]) -> None:
    """Raise InputError, with the nearest name, for a target that is neither a rule nor a file.

    A file has a folder or an extension, or exists. `rules` are the names of all rules.
    """
    for name in map(str, asked):
        if name in rules or os.sep in name or os.path.splitext(name)[1] or os.path.exists(name):
            continue
        names = [target.name for target in targets(config)]
        close = near(name, names)
        meant = f"did you mean {close!r}? " if close else ""
        raise InputError(f"no target is called {name!r}; {meant}./run --list shows all targets")
