"""Examples of all pages: configs are right, each over the page's config, and commands can be given."""

import argparse
import copy
import re
import shlex
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from project import ROOT, SCHEMA, SOURCES, environment, load, merged
from project import command as snakemake
from recency.command import main as command
from recency.workflow.config import checks, loading

#: Pages whose examples are overlays of another config than config/open.yaml.
CONFIGS = {
    "docs/languages.md": "config/languages.yaml",
    "docs/tutorial.md": "config/demo.yaml",
}
#: Pages that are checked together.
FORMS = "docs/forms/*.md"
PAGES = [
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if re.search(r"^```yaml", path.read_text(encoding="utf-8"), re.MULTILINE)
    and not path.relative_to(ROOT).match(FORMS)
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


#: Options of ./run in pages that take values.
OPTIONS = argparse.ArgumentParser(allow_abbrev=False)
OPTIONS.add_argument("targets", nargs="*")
OPTIONS.add_argument("--cores")
for option in ("--configfile", "--config", "--until"):
    OPTIONS.add_argument(option, nargs="+", default=())
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
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob(page)))
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


@pytest.mark.parametrize("page", [*PAGES, FORMS])
def test_config_examples_of_a_page_are_right(page, tmp_path, monkeypatch):
    config = load(CONFIGS.get(page, "config/open.yaml"))
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


def commands() -> list[tuple[str, list[str]]]:
    """Return (page, words) of each line of a block of commands; comments are dropped."""
    found = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for block in re.findall(
            r"^```sh[^\n]*\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            for line in block.splitlines():
                words = shlex.split(line, comments=True)
                words = words[words.index("|") + 1 :] if "|" in words else words
                found += [(str(path.relative_to(ROOT)), words)] if words else []
    return found


def test_commands_of_pages_have_options_that_there_are(monkeypatch):
    given = []
    monkeypatch.setattr(command, "_run", lambda name, arguments: given.append(name))
    asked = [words[1:] for _, words in commands() if words[0] == "recency"]
    for words in asked:
        assert command.main(words) == 0, words
    assert given == [words[0] for words in asked] and {"surprisal", "lmer"} <= set(given)


@pytest.mark.merge
def test_targets_of_pages_are_those_of_their_studies():
    asked = {}
    for page, words in commands():
        if words[0] != "./run" or page == "docs/tutorial.md" or "mine.yaml" in words:
            continue  # test_tutorial.py runs the one; the other is the user's
        given, _ = OPTIONS.parse_known_args([word for word in words[1:] if word != "--list"])
        asked.setdefault(tuple(given.configfile), {}).update(dict.fromkeys(given.targets, page))
    assert len(asked) > 5
    for configs, targets in asked.items():
        run = subprocess.run(
            snakemake("--list-rules", configs=configs),
            cwd=ROOT, env=environment() | {"PYTHONPATH": SOURCES}, check=True, text=True, capture_output=True,
        )  # fmt: skip
        known = set(run.stdout.split())
        assert "verdict" in known
        missing = {name for name in targets if "/" not in name} - known
        assert not missing - {"targets"}, configs
