"""Write docs/forms.md, the page of all forms of bias, and a picture of each in docs/forms/.

    python setup/forms_page.py [FOLDER]

After a change of a form. Text and pictures are made from the forms' own files and code.
"""

import json
import sys
from pathlib import Path

import torch
import yaml

from recency import plugins

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "recency.attention.biases"
HEADS, TOKENS = 4, 16
#: Names by which forms are known elsewhere.
KNOWN_AS = {
    "exponential": "dVM, after de Varda & Marelli",
    "linear": "ALiBi, attention with linear biases",
    "none": "the unbiased network",
    "power_law": "fleeting memory, Thamma & Heilbron 2025",
    "logarithmic": "ACT-R's base-level activation",
    "forgetting": "Forgetting Transformer",
}
#: Forms for masked LMs.
BOTH = ("linear_both", "one_sided", "two_slopes")
#: Values of parameters that have no default.
EXAMPLES = {"window": {"width": 5}}
HEAD = f"""\
# Forms of bias

A bias changes the score s of a query i and a key j to a·s + b. *This page is made from the forms' files*
(`setup/forms_page.py`). `recency biases` lists the forms in a terminal; [biases](biases.md) has how they are applied and
verified, and [additions](additions.md) how a form is added.

In the pictures all scores are 1, so that weights show the bias alone: left, the weight of a token by its distance from the
query, in {HEADS} heads with default parameters (the first is the darkest); right, the first head's weights of {TOKENS} tokens,
a row per query. A form that depends on the tokens has no such picture.

| form | known as | definition |
|---|---|---|
"""
COLOURS = ("#0b3c5d", "#0072b2", "#56b4e9", "#a9d6f0")


def weights(name: str) -> torch.Tensor | None:
    """Return weights (heads, queries, keys) of scores of 1; None if they depend on the tokens."""
    form = plugins.load(PACKAGE, name).Form
    if form.uses_width:
        return None
    with torch.no_grad():
        a, b = form(HEADS, **EXAMPLES.get(name, {})).dense(
            TOKENS, TOKENS, torch.device("cpu"), torch.float32, name not in BOTH
        )
    return torch.softmax(a * torch.ones(TOKENS, TOKENS) + b, -1)[0]


def picture(table: torch.Tensor, both: bool) -> str:
    """Return an SVG of weights: by distance, relative to the largest, and the first head's map."""
    wide, high, left, top = 220, 120, 34, 10
    middle = TOKENS // 2 if both else TOKENS - 1
    lines = []
    for head in reversed(range(HEADS)):
        row = table[head, middle]
        points = " ".join(
            f"{left + wide * key / (TOKENS - 1):.1f},{top + high * (1 - float(w / row.max())):.1f}"
            for key, w in enumerate(row)
        )
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[head]}" stroke-width="1.6"/>'
        )
    marks = [(0, -middle), (middle, 0)] + ([(TOKENS - 1, TOKENS - 1 - middle)] if both else [])
    ticks = (
        "".join(
            f'<text x="{left + wide * at / (TOKENS - 1):.1f}" y="{top + high + 14}" text-anchor="middle">{text:+d}</text>'
            for at, text in marks
        )
        .replace(">+0<", ">0<")
        .replace(">-", ">\N{MINUS SIGN}")
    )
    side, over = high / TOKENS, left + wide + 40
    cells = "".join(
        f'<rect x="{over + side * key:.1f}" y="{top + side * query:.1f}" width="{side}" height="{side}" '
        f'fill="#0b3c5d" fill-opacity="{float(w / table[0, query].max()):.2f}"/>'
        for query in range(TOKENS)
        for key, w in enumerate(table[0, query])
        if float(w / table[0, query].max()) >= 0.005
    )
    total = over + high + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {top + high + 34}" width="{total}" '
        f'font-family="sans-serif" font-size="10"><rect width="100%" height="100%" fill="#fff"/>'
        f'<rect x="{left}" y="{top}" width="{wide}" height="{high}" fill="none" stroke="#ccc"/>{"".join(lines)}{ticks}'
        f'<text x="{left - 4}" y="{top + 8}" text-anchor="end">1</text><text x="{left - 4}" y="{top + high}" text-anchor="end">0</text>'
        f'<text x="{left + wide / 2}" y="{top + high + 28}" text-anchor="middle">tokens from the query</text>'
        f'<rect x="{over}" y="{top}" width="{high}" height="{high}" fill="none" stroke="#ccc"/>{cells}'
        f'<text x="{over + high / 2}" y="{top + high + 14}" text-anchor="middle">keys (rows: queries)</text></svg>\n'
    )


def section(name: str, configured: dict[str, dict]) -> list[str]:
    """Return a form's section: definition, parameters, picture, a line of config, its file."""
    form = plugins.load(PACKAGE, name)
    first, _, rest = (form.__doc__ or "").strip().partition("\n\n")
    lines = [f"## {name}", "", *([f"*{KNOWN_AS[name]}*", ""] if name in KNOWN_AS else [])]
    lines += [
        " ".join(part.split()) + "\n" for part in [first, *rest.split("\n\n")] if part.strip()
    ]
    for key, schema in form.PARAMETERS.items():
        default = (
            f"default: `{json.dumps(schema['default'])}`" if "default" in schema else "required"
        )
        lines.append(f"- `{key}`: {schema['description']} ({default})")
    if weights(name) is not None:
        lines += ["", f"![Weights of {name} by distance, and as a map](forms/{name}.svg)"]
    mine = {key: spec for key, spec in configured.items() if spec["form"] == name}
    key, spec = next(iter(mine.items()), (f"my-{name}", {"form": name} | EXAMPLES.get(name, {})))
    written = ", ".join(f"{k}: {json.dumps(v)}" for k, v in spec.items() if k != "form")
    lines += [
        "",
        "```yaml",
        "biases:",
        f"  {key}: {{form: {name}{', ' if written else ''}{written}}}",
        "```",
        "",
    ]
    if len(mine) > 1:
        lines += [f"In config.yaml: {', '.join(f'`{each}`' for each in mine)}.", ""]
    return [*lines, f"Source: `src/{PACKAGE.replace('.', '/')}/{name}.py`", ""]


def pages() -> dict[str, str]:
    """Return file below docs/ → its content."""
    configured = yaml.safe_load((ROOT / "config.yaml").read_text())["biases"]
    names = plugins.names(PACKAGE, "PARAMETERS")
    files, rows, sections = {}, [], []
    for name in names:
        first = " ".join((plugins.load(PACKAGE, name).__doc__ or "").partition("\n\n")[0].split())
        rows.append(
            f"| [`{name}`](#{name}) | {KNOWN_AS.get(name, '')} | {first.replace('|', chr(92) + '|')} |"
        )
        sections += section(name, configured)
        table = weights(name)
        if table is not None:
            files[f"forms/{name}.svg"] = picture(table, name in BOTH)
    return {"forms.md": HEAD + "\n".join([*rows, "", *sections])} | files


def main() -> None:
    """Write the page and its pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    (folder / "forms").mkdir(exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
