"""What scales and LMs ask for beside surprisal, checked as the config is read."""

from recency import config as configuration
from recency.errors import InputError
from recency.scoring import measures

#: LMs that no network scores the words for.
GIVEN = ("ngram", "surprisals", "interpolate")


def measure_problems(config: dict) -> list[str]:
    """List the measures that do not exist, and those that an LM cannot have."""
    problems = []
    for where, entries in (("scales", config["scales"]), ("lms", config["lms"])):
        for name, entry in entries.items():
            try:
                measures.check(entry.get("measures"), entry.get("context"))
            except InputError as error:
                problems.append(f"{where} → {name} → measures: {error}")
    return problems or [problem for name in config["lms"] for problem in _of_lm(config, name)]


def _of_lm(config: dict, name: str) -> list[str]:
    """Say which of an LM's measures need what it has not."""
    lm = config["lms"][name]
    for kind in GIVEN:
        if kind in lm:
            own = [key for key in ("measures", "context") if lm.get(key)]
            return [f"lms → {name} → {key}: an LM with `{kind}` has surprisal alone" for key in own]
    scale = config["scales"].get(config["scale"], {})
    entry = {**scale, **configuration.inherited(config, lm), **lm}
    asked = measures.check(entry.get("measures"), entry.get("context"))
    if 0 in asked.lengths and not entry.get("bos"):
        return [f"lms → {name}: pmi and a context of 0 words need a begin token (`bos: true`)"]
    return []
