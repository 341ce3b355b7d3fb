"""Config examples of all pages are right as they stand there, each over the page's config."""

import copy
import re
from collections.abc import Iterator

import pytest
import yaml

from project import ROOT, SCHEMA, load, merged
from recency.workflow.config import checks, loading

#: Pages whose examples are overlays of another config than config.open.yaml.
CONFIGS = {
    "docs/languages.md": "config.languages.yaml",
    "docs/tutorial.md": "config.demo.yaml",
}
PAGES = [
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if re.search(r"^```yaml", path.read_text(encoding="utf-8"), re.MULTILINE)
]


def texts(value: object) -> Iterator[str]:
    """Yield all strings of a YAML value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


#: What a page's examples expect of the user: files, folders (which end in "/").
SUPPLIED = {
    "docs/babylm.md": [
        "data/supplied/babylm/full_eval/blimp_filtered/",
        "data/supplied/babylm/full_eval/aoa/cdi_childes.json",
        "data/supplied/babylm/full_eval/aoa/cdi_human.csv",
    ]
}


def blocks(page: str) -> Iterator[dict]:
    """Yield a page's config examples; those that are no overlay have "keys of …" as their title."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for title, block in re.findall(r"^```yaml([^\n]*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if "keys of" not in title:
            lines = [line for line in block.splitlines() if "needs the package" not in line]
            whole = re.sub(r"(?<=: )(\w{4})?…", "a" * 64, "\n".join(lines))  # checksums
            yield yaml.safe_load(whole)


def place(folder, names):
    """Make the empty files and folders that a user supplies."""
    for name in names:
        path = folder / name.replace("*", "mine")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith("/") else path.touch()


@pytest.mark.parametrize("page", PAGES)
def test_config_examples_of_a_page_are_right(page, tmp_path, monkeypatch):
    config = load(CONFIGS.get(page, "config.open.yaml"))
    recipe = config["recipes"][config["scales"][config["scale"]]["recipe"]]
    place(tmp_path, SUPPLIED.get(page, []))
    for overlay in blocks(page):
        for name in overlay.get("recipes", {}):  # "and the keys of any recipe"
            config["recipes"].setdefault(name, copy.deepcopy(recipe))
        merged(config, overlay)
        local = r"data/(supplied|mine)/.*\.\w+|[\w-]+\.csv"
        place(tmp_path, [name for name in texts(overlay) if re.fullmatch(local, name)])
    loading.complete(config, ROOT)
    monkeypatch.chdir(tmp_path)
    checks.check(config, SCHEMA)
