"""Checks of simulated readers, by the fields of recency.simulation.readers.Readers."""

import ast
import math
from functools import cache

from recency import plugins
from recency.names import nearest
from recency.workflow import option_checks
from recency.workflow.schema_checks import LARGEST_SEED, short

#: What an effect or a deviation is at most, ms (a bit or letter): whole minutes are no reading times.
MOST = 100_000
#: The least and the most of a field that is a number.
BOUNDS = {
    "subjects": (2, 100_000),
    "seed": (0, LARGEST_SEED),
    "items": (1, None),
    "sentence_sd": (0, MOST),
    "residual_sd": (0, MOST),
    "subject_correlation": (-1, 1),
    "skew": (0, 3),
    "slips": (0, 1),
    "lapses": (0, 1),
    "questions": (0, 1),
    "wrong": (0, 1),
}


@cache
def fields() -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the fields of Readers, name → annotation, and those that must be given."""
    source = (plugins.folder("recency.simulation") / "readers.py").read_text(encoding="utf-8")
    classes = (each for each in ast.parse(source).body if isinstance(each, ast.ClassDef))
    body = next(each for each in classes if each.name == "Readers").body
    listed = [each for each in body if isinstance(each, ast.AnnAssign)]
    known = {each.target.id: ast.unparse(each.annotation) for each in listed}
    return known, tuple(each.target.id for each in listed if each.value is None)


def problems(where: str, dataset: dict) -> list[str]:
    """List what is wrong with a dataset's `simulate`."""
    simulate = dataset["simulate"]
    readers = simulate["readers"]
    known, required = fields()
    place = f"{where} → readers"
    found = option_checks.problems(place, readers, known)
    found += [f"{place}: {name!r} is missing" for name in required if name not in readers]
    if dataset["parser"] != "table":
        found.append(f"{where}: simulated readers are read by the parser `table`")
    for part, made in (("words", "stimuli"), ("responses", "responses")):
        if [file.get("simulated") for file in dataset[part].values() if isinstance(file, dict)] != [
            made
        ]:
            found.append(f"{where}: `{part}` must be one file, {{simulated: {made}}}")
    if simulate["measure"] not in dataset["measures"]:
        found.append(f"{where} → measure: the dataset has no measure {simulate['measure']}")
    skipping = readers.get("skipping") is not None
    if skipping != (simulate["measure"] == "FP"):
        found.append(f"{place} → skipping: it goes with `measure: FP`, and that with it")
    return found or _numbers(place, readers, simulate["stories"])


def _numbers(where: str, readers: dict, stories: int) -> list[str]:
    """List numbers that readers cannot have, and effects that there are not."""
    found = []
    for name, (least, most) in BOUNDS.items():
        value = readers.get(name)
        if value is not None and not least <= value <= (math.inf if most is None else most):
            upto = f" to {most}" if most is not None else " or more"
            found.append(f"{where} → {name}: {value} is not {least}{upto}")
    if readers.get("items") is not None and readers["items"] > stories:
        found.append(f"{where} → items: {readers['items']} of {stories} stories cannot be read")
    words = plugins.literal("recency.simulation", "readers", "WORD_TERMS") or ()
    terms = ["intercept", *words]
    if readers.get("skipping") is not None:
        terms.append("previous_fixated")
    skipping = plugins.literal("recency.simulation", "readers", "SKIPPING") or ()
    for key, names in (("coefficients", terms), ("subject_sd", terms), ("skipping", skipping)):
        for name, value in (readers.get(key) or {}).items():
            if name not in names:
                found.append(f"{where} → {key}: there is no effect {nearest(name[:60], names)}")
            elif isinstance(value, bool) or not isinstance(value, int | float):
                found.append(f"{where} → {key} → {name}: {short(value)} is not a number")
            elif not abs(value) <= MOST:
                found.append(f"{where} → {key} → {name}: {value} is not -{MOST} to {MOST}")
            elif value < 0 and "subject_sd" in (key, name):
                found.append(f"{where} → {key} → {name}: {value} is less than 0, and a deviation")
    many, correlation = len(readers["subject_sd"]), readers.get("subject_correlation", 0.3)
    if many > 1 and not -1 / (many - 1) < correlation < 1:
        found.append(
            f"{where} → subject_correlation: {many} effects cannot all correlate by {correlation}; "
            "take a value nearer to 0"
        )
    return found
