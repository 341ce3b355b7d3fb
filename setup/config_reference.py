"""Write config/README.md, the index of all config keys, and a page per table in docs/config/, from the schemas.

    .venv/bin/python setup/config_reference.py [FOLDER]

After a change in a schema.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from recency.evaluations import registry

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = """\
# Configuration

`config/config.yaml` overrides the workflow's `config.yaml`: write only the differences. Unknown keys and names are
refused before anything runs. The top-level tables define LMs, datasets and experiments; `run` selects the experiments
to make. [Additions](../docs/additions.md) shows common changes, [the tutorial](../docs/tutorial.md) a new study.

*This page and those of the tables are generated from the schemas (`setup/config_reference.py`).* In them, "entry of `x`" is
a name defined in the table `x`; `name → …` is a mapping from names of your choice.

| table | entries |
|---|---|"""


def kind_of(schema: dict) -> str:
    """Return the type of a value, in one or two words."""
    if "x-table" in schema and schema.get("type") != "array":
        return f"entry of `{schema['x-table']}`"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " \\| ".join(f"`{yaml_name(value)}`" for value in schema["enum"])
    types = schema.get("type")
    if types is None and isinstance(schema.get("else"), dict):
        types = [name for part in ("then", "else") for name in [schema[part].get("type")] if name]
    if isinstance(types, list):
        return " or ".join(types)
    if types == "array":
        items = schema.get("items", {})
        inner = f"entries of `{schema['x-table']}`" if "x-table" in schema else kind_of(items)
        return f"list of {inner}" if inner else "list"
    if types == "object" and schema.get("additionalProperties") not in (None, False):
        return "name → …"
    return types or ""


def yaml_name(value) -> str:
    """Return a value in YAML syntax."""
    return value if isinstance(value, str) else json.dumps(value)


def resolved(schema: dict, definitions: dict) -> dict:
    """Return a schema with its reference resolved; its own keywords take precedence."""
    while isinstance(schema, dict) and "$ref" in schema:
        target = {"$defs": definitions}
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target | {key: value for key, value in schema.items() if key != "$ref"}
    return schema


def bounds(schema: dict) -> str:
    """Return a number's limits."""
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    return ", ".join(f"{sign} {schema[key]:,}" for key, sign in signs.items() if key in schema)


def rows(schema: dict, definitions: dict, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """Yield a table row for each key of an object, nested keys after their parent."""
    required = schema.get("required", [])
    for name, value in schema.get("properties", {}).items():
        if not isinstance(value, dict) or value.get("not") == {}:  # a former name
            continue
        value = resolved(value, definitions)
        limits = bounds(value)
        kind = kind_of(value) + (f", {limits}" if limits else "")
        text = " ".join(str(value.get("description", "")).split())
        if "default" in value:
            text += f"; default {yaml_name(value['default'])}"
        text = text.replace("|", "\\|").replace("<", "&lt;")
        star = " (required)" if name in required else ""
        yield f"| `{prefix}{name}`{star} | {kind} | {text} |"
        if depth < 3:
            yield from rows(value, definitions, f"{prefix}{name}.", depth + 1)
            items = resolved(value.get("items") or {}, definitions)
            if isinstance(items, dict) and "properties" in items:
                yield from rows(items, definitions, f"{prefix}{name}[].", depth + 1)
            entry = value.get("additionalProperties")
            if isinstance(entry, dict):
                entry = resolved(entry, definitions)
                yield from rows(entry, definitions, f"{prefix}{name}.<name>.", depth + 1)


def pages() -> dict[str, str]:
    """Return file below the root folder → its content: the index, and a page per table."""
    schema = yaml.safe_load((ROOT / "config.schema.yaml").read_text(encoding="utf-8"))
    schema = registry.complete_schema(schema)
    definitions = schema["$defs"]
    head = ["", "| key | value | meaning |", "|---|---|---|"]
    settings: list[str] = []
    about = {"settings": "Keys outside tables, such as `study`, `run` and `threads`."}
    tables = {"settings": settings}
    for name, value in schema["properties"].items():
        value = resolved(value, definitions)
        entry = value.get("additionalProperties")
        if isinstance(entry, dict) and (entry := resolved(entry, definitions)).get("properties"):
            text = " ".join(str(value.get("description", "")).split()).replace("<", "&lt;")
            about[name] = f"{text[:1].upper()}{text[1:]}.".replace("..", ".")
            tables[name] = [*rows(entry, definitions)]
        else:
            alone = {"properties": {name: value}, "required": schema.get("required", [])}
            settings += rows(alone, definitions)
    index = [INTRODUCTION]
    files = {}
    for name, lines in tables.items():
        anchor = f'<a id="{name}"></a>'  # of links to this page when it had all keys
        title = name.capitalize() if name == "settings" else f"`{name}`"
        index.append(f"| {anchor}[{title}](../docs/config/{name}.md) | {about[name]} |")
        back = "[All tables](../../config/README.md)"
        top = [f"# Config: {name}", "", f"{about[name]} {back}", *head]
        files[f"docs/config/{name}.md"] = "\n".join([*top, *lines, ""])
    return {"config/README.md": "\n".join([*index, ""])} | files


def main() -> None:
    """Write the pages."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    for name, text in pages().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
