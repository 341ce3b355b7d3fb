"""The evaluations: each is a folder here with a spec.py.

Other packages can provide more, each as a folder of modules (recency.plugins). A folder has

spec.py        `EVALUATION`: the experiment's key, its conditions, the inputs of its products
rules.smk      rules of jobs, if needed; built-in ones are in rules/<name>.smk
schema.yaml    its part of the config's schema: `experiment` (keys of an experiment), `tables`, `published`,
               and `rules`, constraints on an experiment; config.schema.yaml explains custom keywords
<module>.py    computation; a module with `PRODUCTS` makes figures or tables of an experiment
<product>.rst  the caption of a figure or table

`PRODUCTS` of a module is a literal, read without importing the module (which loads matplotlib). It
has an entry for each function that makes a figure or table, or several, in a rule of its own:

    PRODUCTS = {
        "figure_probe": {
            "makes": {"out": ("figure_probe", "Trees in the layers")},   # keyword: (file, title)
            "reads": ["probes"],               # keywords: inputs of spec.py or of `products`, or
                                               # <name>.csv in the experiment's folder
            "settings": ["lms", "relations"],  # keywords that are parameters of the rule
            "published": "delta_loglik",       # key of the experiment's `published` to read
            "when": "seeds",                   # a condition of spec.py for making it
            "summary": ("figure_probe.csv", "{title}: …"),   # `summary(path)` makes a table of it;
                                               # a third member names another function
        },
    }

A function with a parameter `view: comparison.View` gets the LMs, the responses, the baseline, the
title, the published values and not_run.csv in it, those of them that its entry names.

A new figure of an evaluation is thus one file (and its caption); the rule, the report, `targets:`
and the schema follow from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from recency import endpoints, overrides, plugins
from recency.errors import REFUSALS, InputError, first_line
from recency.planned import Planned

PACKAGE = "recency.evaluations"


@dataclass(frozen=True)
class Data:
    """A table of the config whose entries an experiment names, and the roles of their files.

    An experiment's key has one name, several, or a mapping whose key `within` lists several:
    `named`.
    """

    table: str
    roles: tuple[str, ...]
    within: str | None = None


@dataclass(frozen=True)
class Evaluation:
    """The properties of an evaluation. Functions take the planned study (recency.planned) and an experiment's name."""

    key: str = ""  # key of an experiment; "" if not part of an experiment
    #: Whether it applies to an experiment, given the files that exist; by default where the experiment
    #: has its key, and the data or the dataset that it names there are available.
    applies: Callable[[Planned, str], bool] = None  # type: ignore[assignment]
    standalone: bool = True  # whether it is enough for an experiment
    shares: tuple[str, ...] = ()  # keys that refine `responses` and this evaluation
    uses_lms: bool = True  # whether it needs the experiment's LMs
    network: bool = False  # whether it opens networks, unlike tables of surprisal and n-grams
    attention: bool = False  # whether it reads attention weights, which recurrent networks lack
    ranks: bool = False  # whether it ranks the experiment's LMs by ΔLogLik
    wildcards: Mapping[str, str] = field(default_factory=dict)  # of its rules → config table
    data: Data | None = None
    inputs: Mapping[str, Callable[[Planned, str], Any]] = field(default_factory=dict)
    settings: Mapping[str, Callable[[Planned, str], Any]] = field(default_factory=dict)
    conditions: Mapping[str, Callable[[Planned, str], bool]] = field(default_factory=dict)
    also: Callable[[Planned, str], list[str]] | None = None  # additional files
    #: (config, experiment's name) → problems that the schema cannot express.
    problems: Callable[[dict, str], list[str]] | None = None
    #: (config, root) → problems of the tables that the evaluation reads.
    table_problems: Callable[[dict, Path], list[str]] | None = None
    #: A table of the config whose entries have `responses`, like an experiment.
    fitted: str | None = None
    #: config → its targets other than experiments: (name, line), and optionally their kind
    #: (recency.workflow.plan.costs.KINDS).
    targets: Callable[[Mapping], Sequence[tuple[str, ...]]] | None = None
    #: (config, wildcards of a job) → package → modules used by the job (recency.workflow.plan.code).
    chooses: Callable[[Mapping, Any], dict[str, list[str]]] | None = None
    #: (config, experiment's name) → (key below its own, LM, corpus): texts for comparing LMs.
    texts: Callable[[Mapping, str], list[tuple[str, str, str]]] | None = None
    #: (study, experiment's name) → LM → kind: kinds of LMs to test as well.
    kinds: Callable[[Planned, str], dict[str, str]] | None = None
    #: Rule → (name, core seconds of a job without timings): jobs that are counted separately.
    jobs: Mapping[str, tuple[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.applies is None:
            object.__setattr__(self, "applies", self._is_available)

    def _is_available(self, study: Planned, experiment: str) -> bool:
        if self.data:
            return bool(study.data_here(experiment, self.key))
        asked = study.experiment(experiment).get(self.key)
        dataset = asked.get("dataset") if isinstance(asked, Mapping) else None
        return asked is not None and dataset not in study.not_run


@dataclass(frozen=True)
class Product:
    """A function that makes figures or tables of an experiment, as described in `PRODUCTS`."""

    evaluation: str
    module: str  # below PACKAGE, such as `probe.view`
    function: str
    makes: Mapping[str, tuple[str, str]]  # keyword → file's stem, title
    reads: tuple[str, ...]
    settings: tuple[str, ...] = ()
    published: str | None = None
    when: str | None = None
    summary: tuple[str, ...] | None = None

    @property
    def rule(self) -> str:
        """The rule's name: the stem of the first file."""
        return self.stems[0]

    @property
    def stems(self) -> list[str]:
        """The stems of the files: `figure_…` and `table_…`."""
        return [stem for stem, _ in self.makes.values()]

    def caption(self, stem: str) -> Path:
        """Return the file of a figure's or table's caption."""
        return folder(self.evaluation) / f"{stem}.rst"


@cache
def evaluations() -> dict[str, Evaluation]:
    """Return name → evaluation, sorted by name, without those of other packages that fail."""
    loaded: dict[str, Evaluation] = {}
    others = plugins.provided(PACKAGE)
    for name in plugins.names(PACKAGE):  # this project's first
        try:
            evaluation = plugins.load("recency.evaluations", f"{name}.spec").EVALUATION
            if name in others:
                _check(name, evaluation, loaded)
        except REFUSALS as error:
            plugins.set_aside(PACKAGE, name, error)
        else:
            loaded[name] = evaluation
    return dict(sorted(loaded.items()))


def _check(name: str, evaluation: object, others: Mapping[str, Evaluation]) -> None:
    """Raise InputError if another package's evaluation would break studies that do not use it."""
    path = folder(name)
    if not isinstance(evaluation, Evaluation):
        raise InputError(f"{path}/spec.py: EVALUATION is no Evaluation of {__name__}")
    try:
        part = schema(name)
        keys = {
            key: set(part.get(key, {}))
            for key in ("experiment", "tables", "published", "definitions")
        }
        for key, taken in keys.items():
            for other in others:
                if both := taken & set(schema(other).get(key, {})):
                    raise InputError(
                        f"{path}/schema.yaml: {key}: {other} has {min(both)} already; rename it"
                    )
        _products_of(name)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        if isinstance(error, REFUSALS):
            raise
        raise InputError(f"{path}: {type(error).__name__}: {first_line(error)}") from None


def keys_of(name: str) -> set[str]:
    """Return the keys of experiments and the tables of the config that an evaluation defines."""
    part = schema(name)
    return {*part.get("experiment", {}), *part.get("tables", {})}


def folder(name: str) -> Path:
    """Return the folder of an evaluation."""
    return plugins.folder(plugins.dotted(PACKAGE, name))


def ranking() -> Evaluation:
    """Return the evaluation that ranks LMs by ΔLogLik."""
    return next(evaluation for evaluation in evaluations().values() if evaluation.ranks)


@cache
def fitted_tables() -> tuple[str, ...]:
    """Return the tables of the config whose entries have `responses`."""
    return ("experiments", *(e.fitted for e in evaluations().values() if e.fitted))


@cache
def key_of(table: str) -> str:
    """Return the experiment key of the evaluation that reads a table of the config (`data`)."""
    return next(key for key, kind in data().items() if kind.table == table)


@cache
def products() -> tuple[Product, ...]:
    """Return every product of every evaluation, by evaluation and module."""
    return tuple(product for name in evaluations() for product in _products_of(name))


def _products_of(name: str) -> list[Product]:
    """Return the products of an evaluation."""
    listed, package = [], plugins.dotted(PACKAGE, name)
    for module in plugins.names(package, "PRODUCTS"):
        for function, about in plugins.constant(package, module, "PRODUCTS").items():
            reads, settings = tuple(about["reads"]), tuple(about.get("settings", ()))
            rest = {key: about[key] for key in ("published", "when", "summary") if key in about}
            of = (name, f"{name}.{module}", function, about["makes"], reads, settings)
            listed.append(Product(*of, **rest))
    return listed


@cache
def data() -> dict[str, Data]:
    """Return experiment key → data, for evaluations that need additional files."""
    return {
        evaluation.key: evaluation.data for evaluation in evaluations().values() if evaluation.data
    }


def named(experiment: Mapping, key: str) -> list[str]:
    """Return the entries of `data()[key]`'s table that an experiment lists."""
    if key not in experiment:
        return []
    within = data()[key].within
    names = experiment[key][within] if within else experiment[key]
    return [names] if isinstance(names, str) else list(names)


@cache
def schema(name: str) -> dict:
    """Return the contents of an evaluation's schema.yaml, or an empty dict."""
    path = folder(name) / "schema.yaml"
    text = path.read_text(encoding="utf-8") if path.exists() else "{}"
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def settings(key: str, config: Mapping, experiment: str) -> dict:
    """Return the settings of an evaluation in an experiment, with defaults of its schema."""
    options = schema(key)["experiment"][key]["properties"].items()
    defaults = {name: option["default"] for name, option in options if "default" in option}
    return defaults | config["experiments"][experiment][key]


def setting(key: str, name: str) -> Callable[[Planned, str], Any]:
    """Return a function of study and experiment: a setting of an evaluation, None if it has none."""
    return lambda study, experiment: settings(key, study.config, experiment).get(name)


def complete_schema(core: dict) -> dict:
    """Add evaluations' schemas, and the names of checks and endpoints, to the config's schema."""
    for kind in ("scale", "lm", "dataset", "design", "experiment"):
        core["$defs"][kind]["properties"]["accept"] = overrides.schema(f"{kind}s")
    core["properties"]["accept"] = overrides.schema("")
    experiment = core["$defs"]["experiment"]
    published = experiment["properties"]["published"]["properties"]
    for name in evaluations():
        part = schema(name)
        experiment["properties"] |= part.get("experiment", {})
        core["properties"] |= part.get("tables", {})
        published |= part.get("published", {})
        core["$defs"] |= part.get("definitions", {})
        experiment.setdefault("allOf", []).append(part.get("rules", {}))
    for key, kind in data().items():
        part = experiment["properties"][key]
        (part["properties"][kind.within] if kind.within else part)["x-table"] = kind.table
    experiment["x-provided"] = "evaluations"
    endpoint = {"enum": [None, *endpoints.ENDPOINTS], "x-provided": "likelihoods"}
    experiment["properties"]["endpoint"] |= endpoint
    keys = {evaluation.key: None for evaluation in evaluations().values() if evaluation.standalone}
    experiment["anyOf"] = [{"required": [key]} for key in keys]
    stems = sorted(stem for product in products() for stem in product.stems)
    target = core["properties"]["targets"]["additionalProperties"]["properties"]
    target["of"]["items"] = {"enum": stems}
    return core
