"""What the config says, with names resolved into whole settings; config_checks.py says what is wrong."""

from __future__ import annotations

import ast
import difflib
import glob
from collections.abc import Iterable
from pathlib import Path

from job import InputError

SCRIPTS = Path(__file__).resolve().parent
#: What an experiment may need beside reading times: its key → the table that defines it, and the
#: roles of the files there.
MATERIALS = {
    "dependencies": ("dependencies", ("trees", "leaves")),
    "minimal_pairs": ("minimal_pairs", ("table",)),
    "probe": ("treebanks", ("train", "dev", "test")),
}
#: What an lm may say otherwise than the study's scale.
SCALE_KEYS = ("architecture", "corpus", "tokenizer", "recipe", "bos", "stride", "seed")


def nearest(name: object, known: Iterable[str]) -> str:
    """Return the name quoted, with the nearest known one, or with all that are known."""
    known = [str(each) for each in known]
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    if close:
        return f"{name!r}; did you mean {close[0]!r}?"
    return f"{name!r}; known: {', '.join(known) or 'none'}"


def forms() -> list[str]:
    """Return the forms of bias: the modules of biases/."""
    return sorted(path.stem for path in (SCRIPTS / "biases").glob("[a-z]*.py"))


def parsers() -> list[str]:
    """Return the parsers of reading-time corpora: the modules of datasets/ that have MEASURES."""
    modules = sorted((SCRIPTS / "datasets").glob("*.py"))
    return [path.stem for path in modules if "\nMEASURES" in path.read_text()]


def bias_parameters(form: str) -> dict:
    """Return `PARAMETERS` of biases/<form>.py, read without importing it."""
    tree = ast.parse((SCRIPTS / "biases" / f"{form}.py").read_text())
    for node in tree.body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        target = node.targets[0] if isinstance(node, ast.Assign) else target
        if isinstance(target, ast.Name) and target.id == "PARAMETERS":
            return ast.literal_eval(node.value)
    raise InputError(f"biases/{form}.py has no PARAMETERS; see biases/linear.py for an example")


def language_model(config: dict, name: str) -> dict:
    """Return an LM's whole settings: the scale's, with the LM's own over them.

    An inference-only LM takes everything but its bias from its base. `bias` becomes the entry of
    the `biases:` table, and `label` is filled in.
    """
    lm = config["lms"][name]
    scale = {key: config["scales"][config["scale"]].get(key) for key in SCALE_KEYS}
    whole = scale | config["lms"].get(lm.get("base"), {}) | lm
    bias = lm.get("bias", "none")
    return whole | {
        "label": lm.get("label", name),
        "family": bias,
        "applied": "none" if bias == "none" else lm.get("applied", "training"),
        "bias": config["biases"][bias],
    }


def slope(bias: dict) -> float | None:
    """Return the slope that all heads of a linear bias share; None of any other bias."""
    slopes = bias.get("slopes", "mix") if bias["form"] == "linear" else None
    return float(slopes) if isinstance(slopes, int | float) else None


def responses(config: dict, name: str, table: str = "experiments") -> list[dict]:
    """Return the responses of an experiment, or of an entry of another `table` that has them.

    They are dicts of design, dataset and measure, in the config's order.
    """
    return [
        dict(zip(("dataset", "measure"), response.split("."), strict=True), design=design)
        for design, listed in config[table][name].get("responses", {}).items()
        for response in listed
    ]


def missing_files(dataset: dict, mirrors: list[str]) -> list[str]:
    """Say which files of a dataset only the user can place, and are not there."""
    parts = (dataset.get(part, {}).values() for part in ("words", "responses"))
    return _missing([file for part in parts for file in part], mirrors)


def missing_material(entry: dict, roles: Iterable[str], mirrors: list[str]) -> list[str]:
    """Say which files of an entry of `MATERIALS` only the user can place, and are not there."""
    return _missing([entry[role] for role in roles if role in entry], mirrors)


def _missing(files: list[dict], mirrors: list[str]) -> list[str]:
    missing = []
    for file in files:
        if "url" in file or "simulated" in file:
            continue
        found = Path(file["local"]).exists() if "local" in file else False
        stand_in = file.get("stand_in", {}).get("path")
        if stand_in and not found:
            found = any(glob.glob(f"{glob.escape(m)}/{stand_in}*") for m in mirrors)
        if not found:
            missing.append(f"{file.get('local', stand_in)}: {file.get('placed', '')}")
    return missing
