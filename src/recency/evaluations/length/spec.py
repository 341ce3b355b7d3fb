"""Perplexity by length: use of more context than in training by masked LMs."""

from readingtimes.names import nearest
from recency import config as configuration
from recency.evaluations import registry
from recency.evaluations.registry import Evaluation
from recency.planned import Planned

KEY = "length"
SHORTEST, FURTHEST = 64, 8  # tokens; × the training length


def settings_of(config: dict, experiment: str) -> dict:
    """Return an experiment's `length` with the defaults: `lengths` sorted, `trained` among them."""
    entry = config["experiments"][experiment]
    settings = {k: v for k, v in registry.settings(KEY, config, experiment).items() if k != "lms"}
    settings.setdefault("trained", _training_length(config, entry["baseline"]))
    if settings["trained"] is None:
        return settings
    if "lengths" not in settings:
        settings["lengths"] = [SHORTEST * 2**k for k in range(20)]
        longest = FURTHEST * settings["trained"]
        settings["lengths"] = [length for length in settings["lengths"] if length <= longest]
    settings["lengths"] = sorted({*settings["lengths"], settings["trained"]})
    return settings


def _training_length(config: dict, lm: str) -> int | None:
    """Return the training length of an LM, or None if it is not trained here."""
    entry = config["lms"].get(lm, {})
    entry = {**configuration.inherited(config, entry), **entry}
    scale = config["scales"].get(config["scale"], {})
    recipe = config["recipes"].get(entry.get("recipe", scale.get("recipe")), {})
    return recipe.get("sequence_length") if "checkpoint" not in entry else None


def stem(settings: dict) -> str:
    """Return the settings as a file name, shared by experiments with the same settings."""
    lengths = "-".join(map(str, settings["lengths"]))
    some = settings["documents"] or "all"
    share = f"{settings['share']:g}".replace(".", "_")
    return f"{settings['corpus']}.{lengths}.{some}.{share}.{settings['seed']}"


def _files(study: Planned, experiment: str) -> list[str]:
    name = stem(settings_of(study.config, experiment))
    return [f"<results>/length/{lm}/{name}.parquet" for lm in study.named_lms(experiment, KEY)]


def _problems(config, name) -> list[str]:
    experiment, where = config["experiments"][name], f"experiments → {name} → {KEY}"
    if KEY not in experiment:
        return []
    chosen = experiment[KEY].get("lms", [])
    problems = [
        f"{where} → lms: not among the experiment's {nearest(lm, experiment['lms'])}"
        for lm in chosen
        if lm not in experiment["lms"]
    ]
    problems += [
        f"{where}: {lm!r} predicts next tokens; list only masked LMs in `lms`"
        for lm in configuration.causal_ones(config, chosen or experiment["lms"])
    ]
    if settings_of(config, name)["trained"] is None:
        problems.append(
            f"{where}: the baseline {experiment['baseline']!r} is not trained here; set its training length in "
            "`trained`"
        )
    return problems


EVALUATION = Evaluation(
    key=KEY,
    network=True,
    attention=True,
    applies=lambda study, experiment: (
        KEY in study.experiment(experiment) and "steps" not in study.experiment(experiment)
    ),
    inputs={"lengths": _files},
    settings={
        "variants": lambda study, experiment: study.variants(experiment, KEY),
        "length_settings": lambda study, experiment: settings_of(study.config, experiment),
    },
    problems=_problems,
)
