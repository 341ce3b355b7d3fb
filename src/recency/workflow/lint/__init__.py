"""The linter: settings of a study that are valid and scientifically doubtful.

A module of this package, or of another one (an entry point of `recency.lint`), has rules:

- `RULES`, a literal, name → properties: what the rule `warns` of and `why`, in one line each, the
  `table` of the config whose entries it reports ("" for keys at the top level), and a `reference`;
  and `noted`, parts of the notes by which fits report the same of the data, if any do;
- for each, a function of its name, which takes the `Plan` and yields a `Finding` for each fault of
  the experiments of a run.

Rules read the config when a run is planned, without PyTorch, R or pandas. Their warnings are printed
in the plan and listed in the summary and the report; none stops a run. `accept` silences a rule: at
the top level of the config, or in an entry of `ACCEPTING`.

The identity of an LM, independent of name and label: for lint rules that compare LMs.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from crosslmm.formula import Formula, factors
from recency import config as configuration
from recency import plugins
from recency.errors import REFUSALS, InputError
from recency.regression import designs
from recency.regression import predictor_names as names

PACKAGE = "recency.workflow.lint"
#: Tables whose entries may have `accept`.
ACCEPTING = ("scales", "lms", "datasets", "designs", "experiments")


#: Beginning of the finding of a rule that fails.
FAILED = "the rule could not be applied"


@dataclass(frozen=True)
class Finding:
    """A doubtful setting: the entry of the rule's table, its key, the problem, the way out.

    `key` is a path such as `options → offset`, or "" for the entry itself.
    """

    entry: str
    key: str
    problem: str
    way_out: str


@dataclass(frozen=True)
class Doubt:
    """A finding of a rule, and whether the config accepts it."""

    rule: str
    table: str
    finding: Finding
    is_accepted: bool


@dataclass(frozen=True)
class Design:
    """A design in use: its entry, its formula, and the (experiment, dataset, measure) it is fitted to."""

    entry: Mapping
    formula: Formula
    uses: tuple[tuple[str, str, str], ...]

    @property
    def is_mixed(self) -> bool:
        """Whether it has random effects in lme4's notation."""
        return isinstance(self.formula, Formula) and bool(self.formula.random)

    @property
    def interest(self) -> list[str]:
        """Measures of the fitted LM among its effects of interest."""
        terms = [designs.term_of(text) for text in self.entry["of_interest"]]
        used = [n for term in terms for part in factors(term) for n in names.variables(part)]
        return [name for name in dict.fromkeys(used) if names.is_of_fitted_lm(name)]

    @property
    def slopes(self) -> set[str]:
        """Predictors with a random slope by subject, alone or in a term."""
        terms = (t for t in getattr(self.formula, "random", ()) if t.group == "subject")
        parts = (part for term in terms for column in term.columns for part in factors(column))
        return {name for part in parts for name in names.variables(part)}


class Plan:
    """The experiments of a run, as the config declares them, before seeds and settings are expanded.

    Parameters
    ----------
    config : mapping
        The complete, checked config.
    run : iterable of str, optional
        The experiments of the run; default the config's `run`.
    root : path, optional
        The project's folder; default the current one.

    Attributes
    ----------
    config : mapping
        The config.
    experiments : dict
        Experiment of the run → its entry.
    """

    def __init__(self, config: Mapping, run: Iterable[str] | None = None, root: str | Path = "."):
        self.config, self.root = config, Path(root)
        asked = dict.fromkeys(config["run"] if run is None else run)
        self.experiments = {name: config["experiments"][name] for name in asked}
        self._settings: dict[str, dict] = {}

    def settings(self, lm: str) -> dict:
        """Return all settings of an LM; see `recency.config.language_model`."""
        if lm not in self._settings:
            self._settings[lm] = configuration.language_model(self.config, lm)
        return self._settings[lm]

    def is_biased(self, lm: str) -> bool:
        """Return whether an LM has a bias on attention."""
        return self.settings(lm).get("bias", {"form": "none"})["form"] != "none"

    def lms(self, experiment: str) -> list[str]:
        """Return the LMs of an experiment, each once."""
        return list(dict.fromkeys(self.experiments[experiment]["lms"]))

    def members(self, lm: str) -> list[str]:
        """Return the LMs that an LM consists of: by language, interpolated, or itself."""
        entry = self.config["lms"][lm]
        parts = [*entry.get("languages", {}).values(), *entry.get("interpolate", ())]
        return [m for part in dict.fromkeys(parts) for m in self.members(part)] or [lm]

    def members_of(self, experiment: str) -> list[str]:
        """Return the members of an experiment's LMs, each once."""
        return list(dict.fromkeys(m for lm in self.lms(experiment) for m in self.members(lm)))

    def trained_as(self, lm: str) -> str:
        """Return the LM whose training, checkpoint or table an LM reads."""
        entry = self.config["lms"][lm]
        other = entry.get("weights", entry.get("checkpoint_of"))
        return lm if other is None else self.trained_as(other)

    @cached_property
    def trained(self) -> dict[str, str]:
        """LM trained for this run → the first experiment that needs it."""
        needed: dict[str, str] = {}
        for name in self.experiments:
            for lm in self.lms(name):
                for root in map(self.trained_as, self.members(lm)):
                    if configuration.is_trained(self.config["lms"][root]):
                        needed.setdefault(root, name)
        return needed

    def responses(self, experiment: str) -> list[dict]:
        """Return the responses of an experiment: design, dataset, measure."""
        return configuration.responses(self.config, experiment)

    @cached_property
    def designs(self) -> dict[str, Design]:
        """Designs that the run fits, by name."""
        uses: dict[str, list] = {}
        for name in self.experiments:
            for response in self.responses(name):
                use = (name, response["dataset"], response["measure"])
                uses.setdefault(response["design"], []).append(use)
        entries = {name: self.config["designs"][name] for name in uses}
        return {
            name: Design(entry, designs.read(entry), tuple(uses[name]))
            for name, entry in entries.items()
        }

    @cached_property
    def datasets(self) -> dict[str, Mapping]:
        """Datasets whose responses the run fits, by name."""
        asked = (dataset for design in self.designs.values() for _, dataset, _ in design.uses)
        return {name: self.config["datasets"][name] for name in dict.fromkeys(asked)}

    def tasks(self, design: str) -> set[str | None]:
        """Return the tasks of the readers whose responses a design is fitted to; None if unknown."""
        return {self.task(dataset, measure) for _, dataset, measure in self.designs[design].uses}

    def task(self, dataset: str, measure: str) -> str | None:
        """Return the task of the readers of a response, of its dataset or measure; None if unknown."""
        of_measure = {"SPR": "self_paced", "Maze": "maze"}.get(measure)
        return self.config["datasets"][dataset].get("task", of_measure)

    def seeds(self, experiment: str) -> list[int]:
        """Return the training seeds of an experiment's LMs at the scale; empty if not set."""
        seeds = self.experiments[experiment].get("seeds", [])
        return seeds.get(self.config["scale"], []) if isinstance(seeds, Mapping) else seeds


@dataclass(frozen=True)
class Rule:
    """A rule: its module, and its properties in `RULES`."""

    module: str
    warns: str
    why: str
    reference: str
    table: str = ""
    noted: tuple[str, ...] = ()


def rules(table: str | None = None) -> dict[str, Rule]:
    """Return name → rule, sorted, for all rules or those that report entries of a table.

    A module of another package whose rules cannot be read is set aside (`recency.plugins`).
    """
    every: dict[str, Rule] = {}
    for module in plugins.names(PACKAGE):
        declared = plugins.constant(PACKAGE, module, "RULES")
        try:
            if taken := every.keys() & declared.keys():
                raise InputError(f"there is a rule {min(taken)} already; rename it")
            every |= {name: Rule(module, **about) for name, about in declared.items()}
        except (*REFUSALS, TypeError, AttributeError) as error:
            plugins.set_aside(PACKAGE, module, error)
    return {name: every[name] for name in sorted(every) if table in (None, every[name].table)}


def check(plan: Plan, only: Iterable[str] | None = None) -> list[Doubt]:
    """Return the findings of all rules, or of some, on the experiments of a plan, by rule."""
    everywhere, every = set(plan.config.get("accept", ())), rules()
    doubts = []
    for name in every if only is None else only:
        table = every[name].table
        entries = plan.config.get(table, {}) if table in ACCEPTING else {}
        for finding in _findings(name, every[name].module, plan):
            there = entries.get(finding.entry, {}).get("accept", ())
            doubts.append(Doubt(name, table, finding, name in everywhere or name in there))
    return doubts


def _findings(rule: str, module: str, plan: Plan) -> list[Finding]:
    """Return the findings of a rule, each once; of one that fails, this fact, since none stops a run."""
    try:
        function = getattr(plugins.load("recency.workflow.lint", module), rule)
        return list(dict.fromkeys(function(plan)))
    except Exception as error:  # noqa: BLE001, a rule may be another package's
        text = f"{FAILED} ({type(error).__name__}: {error})"
        return [Finding("", "", text, "tell its author, and check by eye what it checks")]


def noted(config: Mapping) -> list[dict]:
    """Return the rules whose findings fits note as well: rule, table, `noted`, accepting entries."""
    everywhere = set(config.get("accept", ()))
    reported = []
    for name, rule in rules().items():
        accepting = [
            entry
            for entry, settings in config.get(rule.table, {}).items()
            if name in everywhere or name in settings.get("accept", ())
        ]
        if rule.noted:
            shared = {"rule": name, "table": rule.table, "noted": list(rule.noted)}
            reported.append(shared | {"accepted": accepting})
    return reported


def lines(doubts: Iterable[Doubt], accepted: bool = False) -> list[str]:
    """Return a line for each doubt that is not accepted, or (`accepted`) that is.

    Findings that differ only in their entry share a line.
    """
    chosen = (doubt for doubt in doubts if doubt.is_accepted == accepted)
    grouped: dict[tuple, list[Doubt]] = {}
    for doubt in chosen:
        shared = (doubt.rule, doubt.finding.problem, doubt.finding.way_out)
        grouped.setdefault(shared, []).append(doubt)
    return [_line(same, accepted) for same in grouped.values()]


def _line(same: list[Doubt], accepted: bool) -> str:
    first = same[0]
    keys = filter(None, (first.table, first.finding.entry, first.finding.key))
    where = " → ".join(keys) + (f" (and {len(same) - 1} more)" if same[1:] else "")
    way_out = "" if accepted else f"; {first.finding.way_out}"
    return f"{where}: {first.finding.problem}{way_out} [{first.rule}]"


#: Keys that do not affect any value.
ABOUT = {"label", "licence", "cite", "accept", "note", "words", "language", "memory"}
#: Keys of a recipe that do not affect the comparison of two trainings.
OF_RUN = {"checkpoints", "validation", "device", "gpus", "micro_batch", "precision", "lossy"}
#: Form of bias → (parameter, value) that leaves attention as it is.
IDLE = {
    "exponential": ("weight", 0),
    "identity": ("weight", 0),
    "temperature": ("temperature", 1),
    "power_law": ("decay", 0),
    "logarithmic": ("decay", 0),
}
#: Form of bias → its parameter that is a number of tokens at full weight.
WIDTHS = {"window": "width", "power_law": "buffer"}


def identity(plan: Plan, lm: str) -> str:
    """Return a text that is the same for two LMs with the same surprisal of every word."""
    entry, settings = plan.config["lms"][lm], plan.settings(lm)
    kind = configuration.kind_of(settings)
    if "languages" in entry:
        parts: object = {code: identity(plan, m) for code, m in entry["languages"].items()}
    elif kind == "mix" and 1 in entry.get("shares", ()) and "cache" not in entry:
        return identity(plan, entry["interpolate"][entry["shares"].index(1)])
    elif kind == "mix":
        others = {k: v for k, v in entry.items() if k not in {*ABOUT, "interpolate"}}
        parts = [[identity(plan, member) for member in entry["interpolate"]], others]
    elif kind != "network":
        parts = [_text(settings.get(key)) for key in ("surprisals", "ngram")]
        parts.append(settings["seed"] if configuration.has_seeds(settings) else None)
    else:
        bias = {} if is_idle(plan, lm) else configuration.with_defaults(settings["bias"])
        bias = bias if settings["applied"] == "inference" else {}
        read = ("bos", "stride", "scoring", "lossy", "precision")
        how = [settings.get(key) for key in (*read, *({"reader"} & settings.keys()))]
        parts = [_training(plan, lm), bias, how]
    return json.dumps(parts, sort_keys=True, default=str)


def _text(entry: object) -> object:
    """Return an entry without labels; of files, their checksums in place of their addresses."""
    if not isinstance(entry, Mapping):
        return entry
    return {key: value for key, value in entry.items() if key not in ABOUT}


def _training(plan: Plan, lm: str) -> object:
    """Return the settings that determine the weights of a network."""
    root, settings = plan.trained_as(lm), plan.settings(plan.trained_as(lm))
    if "checkpoint" in settings:
        return settings["checkpoint"]
    tables = {"architecture": "architectures", "corpus": "corpora", "tokenizer": "tokenizers"}
    tables["recipe"] = "recipes"
    parts = [_text(plan.config[table].get(settings[key])) for key, table in tables.items()]
    bias = configuration.with_defaults(settings["bias"])
    bias = {} if settings["applied"] == "inference" else bias
    step = plan.settings(lm).get("step")
    return [
        parts,
        bias,
        settings.get("memory"),
        settings["seed"],
        step,
        "" if step is None else root,
    ]


def is_idle(plan: Plan, lm: str) -> bool:
    """Return whether an LM's bias changes no attention score."""
    settings = plan.settings(lm)
    bias = configuration.with_defaults(settings.get("bias", {"form": "none"}))
    parameter, value = IDLE.get(bias["form"], ("", None))
    if parameter and bias.get(parameter) == value:
        return True
    width = bias.get(WIDTHS.get(bias["form"], ""), 0)
    context = contexts(plan, lm)
    return bool(context) and width >= context


def contexts(plan: Plan, lm: str) -> int | None:
    """Return the window, in tokens, in which a network trained here reads; None if unknown."""
    settings = plan.settings(lm)
    if configuration.kind_of(settings) != "network" or "checkpoint" in settings:
        return None
    context = plan.config["architectures"].get(settings["architecture"], {}).get("context")
    return settings.get("scoring", {}).get("window", context)


def training(plan: Plan, lm: str) -> dict[str, object]:
    """Return what a comparison of biases holds constant: text, vocabulary, recipe, tokens.

    Empty for tables and mixtures. LMs of other families (n-grams, recurrent networks) have fewer keys.
    """
    root = plan.trained_as(lm)
    settings = plan.settings(root)
    kind = configuration.kind_of(settings)
    corpora = plan.config["corpora"]
    if kind == "ngram":
        corpus = settings["ngram"].get("corpus")
        return {"training text": _text(corpora[corpus])} if corpus else {}
    if kind != "network":
        return {}
    if "checkpoint" in settings:
        return {"weights": settings["checkpoint"].partition("@")[0]}
    recipe = plan.config["recipes"][settings["recipe"]]
    step = plan.settings(lm).get("step", recipe.get("steps"))
    size = recipe["batch_sequences"] * recipe["sequence_length"]
    compared = {key: value for key, value in recipe.items() if key not in {*OF_RUN, "steps"}}
    architecture = plan.config["architectures"][settings["architecture"]]
    return {
        "training text": _text(corpora[settings["corpus"]]),
        "vocabulary": _text(plan.config["tokenizers"][settings["tokenizer"]]),
        "number of training tokens": step * size if step else f"{recipe.get('epochs')} epochs",
        "family": architecture["family"],
        "size": [architecture.get(key) for key in ("layers", "width", "feed_forward")],
        "recipe": compared,
    }


def differences(plan: Plan, lm: str, other: str) -> list[str]:
    """Return the constants of `training` in which two LMs differ, by language if they have several."""
    ours, theirs = (plan.config["lms"][name].get("languages") for name in (lm, other))
    if ours and theirs:
        shared = [code for code in ours if code in theirs]
        found = (d for code in shared for d in differences(plan, ours[code], theirs[code]))
        return list(dict.fromkeys(found))
    a, b = training(plan, lm), training(plan, other)
    if "weights" in a or "weights" in b:
        return ["weights"] if a and b and a.get("weights") != b.get("weights") else []
    families = {parts.get("family") for parts in (a, b)}
    skipped = {"family"} | ({"recipe", "size"} if len(families) > 1 else set())
    return [key for key in a if key in b and key not in skipped and a[key] != b[key]]


def corpus_of(plan: Plan, lm: str) -> str | None:
    """Return the corpus that an LM, or the LM of its weights, is trained on here; None if none is."""
    settings = plan.settings(plan.trained_as(lm))
    if configuration.kind_of(settings) == "ngram":
        return settings["ngram"].get("corpus")
    is_network = configuration.kind_of(settings) == "network"
    return settings["corpus"] if is_network and "checkpoint" not in settings else None
