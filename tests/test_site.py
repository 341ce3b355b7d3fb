"""The documentation as a site: every page is in it, links lead somewhere, formulas are MathML."""

import html
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import browsing
from browsing import browser  # noqa: F401, a fixture
from project import ROOT
from recency.evaluations import registry

DOCS = ROOT / "docs"
TOOLS = ROOT / ".tools" / "docs" / "bin" / "mkdocs"


class Loader(yaml.SafeLoader):
    """Reads setup/mkdocs.yml, whose tags name Python's objects."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
SETTINGS = yaml.load((ROOT / "setup" / "mkdocs.yml").read_text(encoding="utf-8"), Loader)


#: Folders whose pages are generated, and listed in the navigation by setup/site.py.
GENERATED = ("config", "forms")


def pages(entries):
    for entry in entries:
        for target in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(target, str) and target.endswith("/"):
                yield from (f"{target}{path.name}" for path in (DOCS / target).glob("*.md"))
            else:
                yield from pages(target) if isinstance(target, list) else [target]


def test_the_navigation_has_every_page_and_the_readme_names_them():
    listed = list(pages(SETTINGS["nav"]))
    from_root = {"index.md", "contributing.md", "changelog.md", "config.md"}
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert set(listed) == there | from_root and len(set(listed)) == len(listed)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    unnamed = [
        name
        for name in there
        if f"docs/{name.removesuffix('README.md')}" not in readme
        and name.partition("/")[0] not in GENERATED
    ]
    # A part of the site alone, and examples that a page shows.
    assert set(unnamed) == {"api.md", "methods/demo.md", "methods/open.md"}


def prose(path):
    """Return a page without its examples."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(path):
    """Return what links to a page's headings end with."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_files_lead_somewhere():
    """On the site mkdocs looks; this is for who reads the files."""
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^()\s]+)\)", prose(path)):
            if not re.match(r"https?:", target):
                name, _, anchor = target.partition("#")
                page = path.parent / name if name else path
                assert page.exists(), f"{path.name}: {target}"
                assert not anchor or anchor in anchors(page), f"{path.name}: {target}"


def test_the_reference_of_the_config_is_the_schemas():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "setup/config_reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    made = reference.pages()
    for name, text in made.items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, "python setup/config_reference.py"
    assert {f"docs/config/{path.name}" for path in (DOCS / "config").iterdir()} == made.keys() - {
        "config/README.md"
    }
    assert "| `endpoint` " in made["docs/config/experiments.md"]
    keys = {
        Path(name).stem: re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)
        for name, text in made.items()
        if name != "config/README.md"
    }
    assert all(len(set(listed)) == len(listed) for listed in keys.values())
    # Each key of the schema is on exactly one page: that of its table, or that of settings.
    properties = registry.complete_schema(
        yaml.safe_load((ROOT / "config.schema.yaml").read_text(encoding="utf-8"))
    )["properties"]
    settings = [key for key in keys.pop("settings") if "." not in key]
    listed = [*settings, *keys]
    current = [name for name, value in properties.items() if value.get("not") != {}]
    assert sorted(listed) == sorted(current) and "probe" in settings
    assert sum(map(len, keys.values())) > 800


def test_the_tools_are_pinned_apart_from_the_workflow_s():
    lines = (DOCS / "requirements.txt").read_text().splitlines()
    pinned = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+", line) for line in pinned)
    locked = (ROOT / "envs/requirements.lock").read_text()
    assert "mkdocs" in "".join(pinned) and "mkdocs" not in locked


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site, strictly; return its folder."""
    mkdocs = [TOOLS] if TOOLS.exists() else [sys.executable, "-m", "mkdocs"]
    installed = all(map(importlib.util.find_spec, ("mkdocs", "material", "mkdocstrings")))
    if not TOOLS.exists() and not installed:
        pytest.skip("mkdocs is not installed; make docs installs it")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [*mkdocs, "build", "--strict", "-f", "setup/mkdocs.yml", "--site-dir", folder],
        check=False, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    return folder


def content(site, page):
    return (site / page).read_text(encoding="utf-8").partition("<article")[2]


@pytest.mark.long
def test_pages_of_the_root_are_in_it_with_their_links(site):
    start = content(site, "index.html")
    assert 'src="memories.png"' in start and (site / "memories.png").exists()
    for page in ("tutorial.html", "open-study/index.html", "contributing.html", "changelog.html"):
        assert f'href="{page}"' in start and (site / page).exists()
    assert (site / "tutorial.ipynb").exists() and not (site / "requirements.txt").exists()


@pytest.mark.long
def test_formulas_are_mathml(site):
    page = content(site, "regression.html")
    assert page.count("<math") > 20 and "arithmatex" not in page
    source = (DOCS / "regression.md").read_text(encoding="utf-8")
    assert r"\Lambda_f^\top" in source and r"\Lambda" not in page


@pytest.mark.long
def test_the_reference_has_what_the_package_offers(site):
    import recency

    page = content(site, "api.html")
    for name in set(recency.__all__) - {"attention"} | {"bias", "attach"}:
        assert re.search(rf'id="(?:recency|crosslmm|readingtimes)\.[\w.]*\b{name}"', page), name
    assert page.count("Parameters:") > 15 and "the word's number in the text" in page


@pytest.mark.long
def test_nothing_is_fetched_from_elsewhere(site):
    for path in Path(site).rglob("*.html"):
        fetched = re.findall(r'(?:src|<link[^>]*href)="(https?:[^"]+)"', path.read_text("utf-8"))
        assert fetched == [], path


#: Asks the site's own search, in the frame that stands for its worker in a folder, for each of `terms`.
ASKED = """<!DOCTYPE html><meta charset="utf-8"><body><script src="iframe-worker.js"></script>
<script src="search/search_index.js"></script><script>
const [SETUP, READY, QUERY] = [0, 1, 2], terms = %s, found = [], worker = new Worker("%s");
const ask = () => worker.postMessage({ type: QUERY, data: terms[found.length] });
worker.addEventListener("message", ({ data }) => {
    if (data.type !== READY) found.push(data.data.items.map((page) => page.map((each) => each.location)));
    if (found.length < terms.length) ask();
    else document.body.innerHTML = `<pre id="found">${JSON.stringify(found)}</pre>`;
});
worker.postMessage({ type: SETUP, data: { ...__index, options: {} } });
</script>"""


def found_by_search(program, site, terms, folder):
    """Return term → locations by page, the best first."""
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.js")
    page = site / "asked.html"
    page.write_text(ASKED % (json.dumps(terms), worker.relative_to(site)), encoding="utf-8")
    shown = re.search(r'<pre id="found">(.*?)</pre>', browsing.opened(program, page, folder))
    page.unlink()
    return dict(zip(terms, json.loads(html.unescape(shown[1])), strict=True))


@pytest.mark.merge
def test_the_search_finds_what_defines_a_term_first(browser, site, tmp_path):  # noqa: F811
    """From the folder, without a server."""
    rows = re.findall(r"^\| (.+?) \| .+ \|$", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    heads = {term.removeprefix("-"): row for row in rows[1:] for term in row.split(", ")}
    del heads["I"]  # a single letter begins too many words; its row is that of TI
    assert len(rows) > 40 and {"dVM", "ALiBi", "FP", "held-out", "TI"} <= heads.keys()
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    titles = {each["location"]: each["title"] for each in index["docs"]}
    for term, pages in found_by_search(browser, site, list(heads), tmp_path).items():
        best = [titles[each] for each in pages[0][:2] if each.startswith("glossary.html#")]
        of_form = pages[0][0] == f"forms/{term.lower()}.html"
        assert of_form or heads[term] in best, (term, pages[:3])
    for form, pages in found_by_search(
        browser, site, ["linear", "window", "fofe"], tmp_path
    ).items():
        assert f"forms/{form}.html" in [page[0] for page in pages[:2]], (form, pages[:3])


@pytest.mark.merge
def test_a_page_of_the_folder_searches(browser, site, tmp_path):  # noqa: F811
    page = site / "studies.html"
    with_query = type("Page", (), {"as_uri": lambda _: f"{page.as_uri()}?q=dVM"})()
    results = browsing.opened(browser, with_query, tmp_path).split("md-search-result__item")
    assert len(results) > 5 and "glossary.html#dvm" in results[1]


#: Opens pages, each in a frame as wide as a screen, light and dark, as they lie in the folder.
OPENED = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const pages = %s, seen = [];
const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const open = async ([name, width, text]) => {
    const frame = document.createElement("iframe");
    [frame.width, frame.height, frame.srcdoc] = [width, 844, text];
    const loaded = new Promise((done) => (frame.onload = done));
    document.body.append(frame);
    await loaded;
    const page = frame.contentDocument, root = page.documentElement, contrasts = {};
    for (const scheme of ["default", "slate"]) {
        page.body.setAttribute("data-md-color-scheme", scheme);
        const look = (part) => frame.contentWindow.getComputedStyle(part);
        const [ink, paper] = [light(look(page.querySelector("article p")).color), light(look(page.body).backgroundColor)];
        contrasts[scheme] = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    }
    const broken = [...page.querySelectorAll("article img")].filter((image) => !image.naturalWidth && image.loading !== "lazy").length;
    seen.push({ name, width, wide: root.scrollWidth - root.clientWidth, contrasts, broken });
    frame.remove();
};
(async () => {
    for (const page of pages) await open(page);
    document.body.innerHTML = `<pre id="found"></pre>`;
    document.querySelector("pre").textContent = JSON.stringify(seen);
})();
</script>"""


@pytest.mark.merge
def test_pages_fit_a_phone_and_can_be_read_in_the_dark(browser, site, tmp_path):  # noqa: F811
    opened = []
    for path in sorted(site.glob("*.html")):
        text = path.read_text(encoding="utf-8").replace(
            "<head>", f'<head><base href="{path.as_uri()}">', 1
        )
        text = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
        opened += [[path.name, width, text] for width in (390, 1300) if path.name != "404.html"]
    page = site / "opened.html"
    page.write_text(OPENED % json.dumps(opened).replace("<", r"\u003c"), encoding="utf-8")
    shown = re.search(r'<pre id="found">(.*?)</pre>', browsing.opened(browser, page, tmp_path))
    page.unlink()
    seen = json.loads(html.unescape(shown[1]))
    assert len(seen) == len(opened) > 80
    for each in seen:
        assert each["wide"] <= 0 and each["broken"] == 0, each
        assert min(each["contrasts"].values()) > 4.5, each
