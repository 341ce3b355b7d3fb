"""Write docs/forms.md, the index of all forms of bias and memory, and a page and picture of each in docs/forms/.

    python setup/forms_page.py [FOLDER]

After a change of a form. Text and pictures are made from the forms' own files and code.
"""

import json
import sys
from pathlib import Path

import torch
import yaml

from recency import plugins
from recency.networks import memories

ROOT = Path(__file__).resolve().parents[1]
#: Table of the config → package of its forms, and the config from which examples are.
KINDS = {
    "biases": ("recency.attention.biases", "config.yaml"),
    "memories": ("recency.networks.memories", "config/open.yaml"),
}
HEADS, TOKENS, WIDTH = 4, 16, 16
#: Names by which forms are known elsewhere.
KNOWN_AS = {
    "exponential": "dVM, after de Varda & Marelli",
    "linear": "ALiBi, attention with linear biases",
    "none": "the unbiased network",
    "power_law": "fleeting memory, Thamma & Heilbron 2025",
    "logarithmic": "ACT-R's base-level activation",
    "forgetting": "Forgetting Transformer",
    "fofe": "FOFE, fixed-size ordinally forgetting encoding",
    "srnn": "SRNN, sequential recurrent network",
    "log_bilinear": "LBL",
    "rnn": "Elman's network",
    "lsrc": "long-short range context",
}
#: Forms for masked LMs.
BOTH = ("linear_both", "one_sided", "two_slopes")
#: Values of parameters without a default, or with one that shows little.
EXAMPLES = {"window": {"width": 5}, "fofe": {"decay": 0.7}, "log_bilinear": {"window": 5}}
HEAD = """\
# Forms of bias and memory

*This page and those of the forms are made from the forms' files* (`setup/forms_page.py`). [Biases](biases.md) and
[memories](memories.md) have how they are applied, verified and trained, and how a form is added; `recency biases` lists
the biases in a terminal.
"""
ABOUT = {
    "biases": """\
## Biases of attention

A bias changes the score s of a query i and a key j to a·s + b.""",
    "memories": """\
## Memories

A memory is a recurrent state P or H, which each word's vector u changes.""",
}
#: Captions of the pictures.
SHOWN = {
    "biases": f"""\
All scores are 1, so that weights show the bias alone. Left, the weight of a token by its distance from the query, in {HEADS}
heads (the first is the darkest); right, the first head's weights of {TOKENS} tokens, a row per query.""",
    "memories": f"""\
How much the vector of an earlier word changes what the memory returns (norm of the derivative, relative to the largest), with
{WIDTH} units before training: left, by distance; right, of {TOKENS} words, a row per word read.""",
}
COLOURS = ("#0b3c5d", "#0072b2", "#56b4e9", "#a9d6f0")


def weights(name: str) -> torch.Tensor | None:
    """Return a bias's weights (heads, queries, keys) of scores of 1; None if they depend on the tokens."""
    form = plugins.load(KINDS["biases"][0], name).Form
    if form.uses_width:
        return None
    with torch.no_grad():
        a, b = form(HEADS, **EXAMPLES.get(name, {})).dense(
            TOKENS, TOKENS, torch.device("cpu"), torch.float32, name not in BOTH
        )
    return torch.softmax(a * torch.ones(TOKENS, TOKENS) + b, -1)[0]


def influence(name: str) -> torch.Tensor:
    """Return norms (1, words read, earlier words) of a memory's derivatives, with new weights."""
    spec = {"form": name} | EXAMPLES.get(name, {})
    generator = torch.Generator().manual_seed(0)
    memory = memories.build(spec, WIDTH, WIDTH, TOKENS)
    memory.draw(generator)
    memory.double()
    inputs = torch.randn(TOKENS, WIDTH, generator=generator, dtype=torch.float64)
    # A copy of the text for each number of the output, whose derivatives one backward pass has.
    copies = inputs.repeat(TOKENS * WIDTH, 1, 1).requires_grad_()
    words = torch.arange(TOKENS).expand(TOKENS * WIDTH, TOKENS)
    outputs = memory(copies, memory.start(TOKENS * WIDTH), words)[0].flatten(1)
    (derivatives,) = torch.autograd.grad(outputs.diagonal().sum(), copies)
    return derivatives.view(TOKENS, WIDTH, TOKENS, WIDTH).norm(dim=(1, 3))[None]


def picture(table: torch.Tensor, both: bool) -> str:
    """Return an SVG of weights: by distance, relative to the largest, and a map of the first head's."""
    wide, high, left, top = 220, 120, 34, 10
    middle = TOKENS // 2 if both else TOKENS - 1
    lines = []
    for head in reversed(range(len(table))):
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


def page(kind: str, name: str, configured: dict[str, dict], shown: bool) -> str:
    """Return a form's page: definition, parameters, picture, a line of config, its file."""
    package, config = KINDS[kind]
    form = plugins.load(package, name)
    first, _, rest = (form.__doc__ or "").strip().partition("\n\n")
    noun = {"biases": "bias of attention", "memories": "memory before attention"}[kind]
    lines = [f"# {name}", "", f"*A {noun}{f': {KNOWN_AS[name]}' if name in KNOWN_AS else ''}*", ""]
    lines += [
        " ".join(part.split()) + "\n" for part in [first, *rest.split("\n\n")] if part.strip()
    ]
    for key, schema in form.PARAMETERS.items():
        default = (
            f"default: `{json.dumps(schema['default'])}`" if "default" in schema else "required"
        )
        lines.append(f"- `{key}`: {schema['description']} ({default})")
    if shown:
        what = {"biases": "Weights", "memories": "Influence of earlier words"}[kind]
        lines += ["", f"![{what} in {name} by distance, and as a map]({name}.svg)"]
        lines += ["", SHOWN[kind]]
    mine = {key: spec for key, spec in configured.items() if spec["form"] == name}
    example = {"form": name} | EXAMPLES.get(name, {})
    best = (item for item in mine.items() if example.items() <= item[1].items())
    key, spec = next(best, next(iter(mine.items()), (f"my-{name}", example)))
    written = ", ".join(f"{k}: {json.dumps(v)}" for k, v in spec.items() if k != "form")
    lines += [
        "",
        "```yaml",
        f"{kind}:",
        f"  {key}: {{form: {name}{', ' if written else ''}{written}}}",
        "```",
        "",
    ]
    if len(mine) > 1:
        lines += [f"In {config}: {', '.join(f'`{each}`' for each in mine)}.", ""]
    source = f"`src/{package.replace('.', '/')}/{name}.py`"
    return "\n".join([*lines, f"Source: {source}. [All forms](../forms.md)", ""])


def pages() -> dict[str, str]:
    """Return file below docs/ → its content."""
    files, index = {}, [HEAD]
    for kind, (package, config) in KINDS.items():
        configured = yaml.safe_load((ROOT / config).read_text())[kind]
        index += [ABOUT[kind], "", "| form | known as | definition |", "|---|---|---|"]
        for name in plugins.names(package, "PARAMETERS"):
            text = plugins.load(package, name).__doc__ or ""
            first = " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")
            anchor = f'<a id="{name}"></a>'  # of links to this page when it had all forms
            index.append(
                f"| {anchor}[`{name}`](forms/{name}.md) | {KNOWN_AS.get(name, '')} | {first} |"
            )
            table = weights(name) if kind == "biases" else influence(name)
            if table is not None:
                files[f"forms/{name}.svg"] = picture(table, name in BOTH)
            files[f"forms/{name}.md"] = page(kind, name, configured, table is not None)
        index.append("")
    return {"forms.md": "\n".join(index)} | files


def main() -> None:
    """Write the pages and their pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    (folder / "forms").mkdir(exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
