"""Expand experiments with several seeds, settings or steps to separate LMs and designs.

`ALiBi-mix-TI` trained from seed 2 becomes the LM `ALiBi-mix-TI@seed=2`, scored without a begin token
`ALiBi-mix-TI@bos=false` (with the same weights), and after 64 training steps `ALiBi-mix-TI@step=64`;
the design `spr` on log times becomes `spr@response=log`. Rules need no special cases, and settings equal
to the LM's or design's own keep its name and files.
"""

import itertools
from functools import cache

from recency.config import fixed_settings, kind_of, language_model

LM_SETTINGS = {"bos": "beginning of text", "stride": "stride", "seed": "seed"}
STEP = {"step": "step"}
DESIGN_SETTINGS = {"surprisal": "surprisal", "response": "times", "base": "base"}
DESIGN_SETTINGS |= {"controls": "controls", "family": "family", "linking": "linking function"}
OWN = {"controls": "own", "family": "gaussian", "linking": "linear"}
"""Default settings of designs."""
SETTINGS = LM_SETTINGS | DESIGN_SETTINGS
"""Settings that a grid may vary, in the order of the tables, and their titles."""


def expand(config: dict) -> dict[str, dict]:
    """Expand the experiments in place; return experiment → meaning of the new names.

    Values have `lms`, name → `lm` and its settings (and `fixed`, settings that do not apply to an LM
    that is not a network), and `designs`, name → `design` and its settings. `lms`, `baseline`,
    `compare` and `responses` of the experiment then have the new names.
    """
    expanded = {}
    for name, experiment in config["experiments"].items():
        grid = dict(experiment.get("sensitivity", {}))
        if seeds := seeds_of(experiment, config["scale"]):
            grid["seed"] = seeds
        if has_steps(experiment):
            grid["step"] = steps_of(config, experiment)
        if not grid:
            continue
        lms, designs = {}, {}
        for lm in experiment["lms"]:
            for settings in _combinations(grid, LM_SETTINGS | STEP):
                lm_settings = language_model(config, lm)
                shared = {key: lm_settings[key] for key in LM_SETTINGS}
                variant = lm_variant(config, lm, settings)
                settings = {
                    k: v for k, v in settings.items() if k not in fixed_settings(lm_settings)
                }
                about = {"lm": lm} | shared | settings
                if kind_of(lm_settings) != "network":  # the same in every cell
                    about["fixed"] = sorted(fixed_settings(lm_settings))
                lms.setdefault(variant, about)
        responses = {}
        for design, listed in experiment.get("responses", {}).items():
            for settings in _combinations(grid, DESIGN_SETTINGS):
                shared = _settings_of(config["designs"][design])
                variant = design_variant(config, design, settings)
                designs[variant] = {"design": design} | shared | settings
                responses[variant] = listed
        seeds = [{"seed": seed} for seed in grid.get("seed", [])] or [{}]
        first = next(_combinations(grid, LM_SETTINGS | STEP))
        experiment |= {
            "lms": list(lms),
            "responses": responses,
            "baseline": lm_variant(config, experiment["baseline"], first),
        }
        for key in experiment.keys() & {"compare", "nested"}:
            pairs = [
                [lm_variant(config, lm, seed) for lm in pair]
                for pair in experiment[key]
                for seed in seeds
            ]
            experiment[key] = [list(pair) for pair in dict.fromkeys(map(tuple, pairs))]
        expanded[name] = {"lms": lms, "designs": designs}
    return expanded


def is_varied(experiment: dict) -> bool:
    """Return whether an experiment varies the settings of its LMs or designs."""
    return "sensitivity" in experiment


def has_steps(experiment: dict) -> bool:
    """Return whether an experiment evaluates LMs at several training steps."""
    return "steps" in experiment


def seeds_of(experiment: dict, scale: str) -> list[int]:
    """Return the training seeds of an experiment at a scale; empty if it has none."""
    seeds = experiment.get("seeds", [])
    return seeds.get(scale, []) if isinstance(seeds, dict) else seeds


def baselines(lms: dict[str, dict], baseline: str) -> dict[str, str]:
    """Return LM → baseline with the same settings, for `lms` as returned by `expand`.

    Settings that do not apply to an LM match any value; without a match it is `baseline`. With several
    steps, the baseline is that of the same step.
    """
    settings = (*LM_SETTINGS, *STEP)
    plain: dict[frozenset, dict[str, dict]] = {}
    for name, about in lms.items():
        if about["lm"] == lms[baseline]["lm"]:
            plain.setdefault(frozenset(about.get("fixed", ())), {})[name] = about
    order = {name: number for number, name in enumerate(lms)}

    @cache
    def by_settings(fixed: frozenset, keys: tuple[str, ...]) -> dict[tuple, str]:
        return {_values(about, keys): name for name, about in reversed(plain[fixed].items())}

    def of(about: dict) -> str:
        alike = []
        for fixed in plain:
            keys = tuple(key for key in settings if key not in {*fixed, *about.get("fixed", ())})
            alike.append(by_settings(fixed, keys).get(_values(about, keys)))
        return min((name for name in alike if name), key=order.get, default=baseline)

    return {lm: of(about) for lm, about in lms.items()}


def _values(about: dict, keys: tuple[str, ...]) -> tuple:
    return tuple(about.get(key) for key in keys)


def settings_of_designs(designs: dict[str, dict]) -> dict[str, str]:
    """Return design → its settings as text, for `designs` as returned by `expand`."""
    return {
        name: ",".join(
            f"{k}={written(k, about[k], plain=True)}" for k in DESIGN_SETTINGS if k in about
        )
        for name, about in designs.items()
    }


def steps_of(config: dict, experiment: dict) -> list[int]:
    """Return the steps of an experiment in order; `all` are the checkpoints and the last step."""
    if experiment["steps"] != "all":
        return sorted(experiment["steps"])
    recipe = _recipe(config, experiment["lms"][0])
    return sorted({*recipe.get("checkpoints", []), *filter(None, [recipe.get("steps")])})


def _recipe(config: dict, lm: str) -> dict:
    """Return the recipe of an LM."""
    return config["recipes"].get(language_model(config, lm)["recipe"], {})


def lm_variant(config: dict, lm: str, settings: dict) -> str:
    """Add an LM with these settings to the config, and return its name.

    A `step` before the last is a checkpoint; the last step is the LM itself.
    """
    lm_settings, entry = language_model(config, lm), dict(config["lms"][lm])
    if "languages" in entry:
        return _by_language_variant(config, lm, settings)
    fixed = fixed_settings(lm_settings)  # a checkpoint has a fixed seed
    lm_settings = {"step": _recipe(config, lm).get("steps")} | lm_settings
    changed = {k: v for k, v in settings.items() if k not in fixed and v != lm_settings[k]}
    if not changed:
        return lm
    trained = {key: value for key, value in changed.items() if key in ("seed", "step")}
    seed = {key: value for key, value in changed.items() if key == "seed"}
    if "weights" in entry:
        entry["weights"] = lm_variant(config, entry["weights"], trained)
    elif "step" in changed:
        entry = {"checkpoint_of": lm_variant(config, lm, seed)}
    elif "checkpoint" not in lm_settings and len(changed) > len(seed):
        entry = {key: value for key, value in entry.items() if key not in ("checkpoint_of", "step")}
        entry["weights"] = lm_variant(config, lm, seed)
    elif "checkpoint_of" in entry:
        entry["checkpoint_of"] = lm_variant(config, entry["checkpoint_of"], seed)
    name = variant_name(lm, changed)
    label = ", ".join([lm_settings["label"], *(f"{k} {written(k, v)}" for k, v in changed.items())])
    if "checkpoint_of" in entry:  # other settings are inherited
        changed = {key: value for key, value in changed.items() if key == "step"}
    config["lms"][name] = entry | changed | {"label": label}
    return name


def _by_language_variant(config: dict, lm: str, settings: dict) -> str:
    """Return `lm_variant` of an LM with `languages`, whose members get the settings."""
    entry = dict(config["lms"][lm])
    members = {
        language: lm_variant(config, member, settings)
        for language, member in entry["languages"].items()
    }
    if members == entry["languages"]:
        return lm
    lm_settings = language_model(config, lm)
    changed = {k: v for k, v in settings.items() if v != lm_settings.get(k)}
    label = ", ".join([lm_settings["label"], *(f"{k} {written(k, v)}" for k, v in changed.items())])
    name = variant_name(lm, changed)
    config["lms"][name] = entry | {"languages": members, "label": label}
    return name


def design_variant(config: dict, design: str, settings: dict) -> str:
    """Add a design with these settings to the config, and return its name."""
    entry = config["designs"][design]
    before = _settings_of(entry)
    changed = {key: value for key, value in settings.items() if value != before[key]}
    if not changed:
        return design
    name = variant_name(design, changed)
    config["designs"][name] = varied_design(entry, changed)
    return name


def varied_design(design: dict, settings: dict) -> dict:
    """Return a design with other settings; a family may be followed by its link, `gamma identity`."""
    varied = design | settings
    if "family" in settings:
        family, _, link = settings["family"].partition(" ")
        varied = {key: value for key, value in varied.items() if key != "link"}
        varied |= {"family": family} | ({"link": link} if link else {})
    return varied


def settings_of_design(experiment: dict) -> list[dict]:
    """Return every combination of the settings of designs that an experiment varies."""
    return list(_combinations(experiment.get("sensitivity", {}), DESIGN_SETTINGS))


def variant_name(name: str, changed: dict) -> str:
    """Return a name with changed settings: `ALiBi-mix-TI@bos=false,seed=2`."""
    return f"{name}@" + ",".join(f"{k}={written(k, v, plain=True)}" for k, v in changed.items())


def written(key: str, value: object, plain: bool = False) -> str:
    """Format the value of a setting, for a table or (`plain`) for a file name."""
    if value is None:
        return "half" if plain else "half a window"
    if isinstance(value, bool):
        return str(value).lower() if plain else ("yes" if value else "no")
    text = str(value)
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in text) if plain else text


def _settings_of(design: dict) -> dict:
    """Return a design's settings with defaults; of two baseline models, the first."""
    defaults = OWN | {key: design[key] for key in DESIGN_SETTINGS if key in design}
    return {key: value[0] if isinstance(value, list) else value for key, value in defaults.items()}


def _combinations(grid: dict, keys: dict):
    """Yield every combination of the grid's values of these keys."""
    varied = [key for key in keys if key in grid]
    for values in itertools.product(*(grid[key] for key in varied)):
        yield dict(zip(varied, values, strict=True))
