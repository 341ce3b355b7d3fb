"""Pages opened in a browser, on screens of three widths and on paper, light and dark."""

import html
import json
import re
import shutil
import subprocess
import zlib

import pytest

from project import ROOT

BROWSERS = (
    "chromium", "chromium-browser", "chromium-headless-shell", "google-chrome",
    "google-chrome-stable", "microsoft-edge",
)  # fmt: skip
#: A4 across, less its margins of 12 mm, at CSS's 96 pixels to the inch.
PAPER = (round((297 - 24) / 25.4 * 96), round((210 - 24) / 25.4 * 96))


@pytest.fixture
def browser():
    """Return a browser that can open the report, or skip."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser on the path to open the report in: {', '.join(BROWSERS)}")
    return found


def _run(browser, folder, page, *options):
    options = ["--headless", "--no-sandbox", "--disable-gpu", *options]
    options += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=120000"]
    return subprocess.run([browser, *options, page.as_uri()], capture_output=True, check=False)


def walked(browser, report, folder):
    """Open a page as `wide` (1,400 × 900), `narrow` (800), `phone` (390) and on `paper`; return what was seen."""
    page = report.read_text(encoding="utf-8")
    printing = page.replace("@media print {", "@media all {").replace(
        "@media screen", "@media print"
    )
    assert page.count("@media print {") == page.count("@media screen") == 1
    reports = [
        ["wide", 1400, 900, page],
        ["narrow", 800, 900, page],
        ["phone", 390, 844, page],
        ["paper", *PAPER, printing],
    ]
    data = json.dumps(reports).replace("<", r"\u003c")
    walk = (ROOT / "tests" / "walk_report.js").read_text()
    copy = folder / "walked.html"
    copy.write_text(
        f"<!DOCTYPE html><meta charset='utf-8'><body><script>const reports = {data};{walk}</script></body>",
        encoding="utf-8",
    )
    run = _run(browser, folder, copy, "--window-size=1500,1000", "--dump-dom")
    found = re.search(r'<pre id="shown">(.*?)</pre>', run.stdout.decode(), re.DOTALL)
    assert found, f"{browser} ended with {run.returncode}: {run.stderr.decode()[-2000:]}"
    shown = json.loads(html.unescape(found[1]))
    assert [each["error"] for each in shown if "error" in each] == []
    return {each["name"]: each for each in shown}


def check_layout(shown):
    """No column is cut, nothing scrolls sideways, all can be read, and the first screen has the answer.

    A phone's tables scroll within themselves.
    """
    for name, seen in shown.items():
        assert seen["wide"] <= 0 and seen["faint"] == [], (name, seen["wide"], seen["faint"])
        assert seen["letters"] >= 8, name
        assert seen["cut"] == [] or name == "phone", (name, seen["cut"])
    for name in ("wide", "narrow"):
        for what, place in shown[name]["first"].items():
            assert place and place["top"] < 900 and place["right"] > place["left"] + 200, (
                name,
                what,
            )
    for what, place in shown["wide"]["first"].items():
        assert place["bottom"] <= 900 and place["right"] <= 1400, (what, place)
    for seen in shown.values():
        assert not seen["hostile"] and seen["other"] == 0 and seen["broken"] == 0
        assert set(seen["sources"]) <= {"data:image/svg+"}
        assert all(link.startswith(("#", "./")) for link in seen["links"])


def opened(browser, page, folder):
    """Open a page; return what it has become, as HTML."""
    return _run(browser, folder, page, "--dump-dom").stdout.decode()


def drawn_by_page(pdf):
    """Return the bytes of what is drawn on each page of a PDF that Chromium printed."""
    numbered = dict(re.findall(rb"^(\d+) 0 obj(.*?)endobj", pdf, re.DOTALL | re.MULTILINE))
    contents = [
        numbered[re.search(rb"/Contents (\d+) 0 R", page)[1]].partition(b"stream")[2].lstrip()
        for page in numbered.values()
        if re.search(rb"/Type /Page\b", page)
    ]
    return [len(zlib.decompressobj().decompress(content)) for content in contents]


def printed(browser, report, folder):
    """Print a report; return the PDF's bytes."""
    pdf = folder / "printed.pdf"
    _run(browser, folder, report, f"--print-to-pdf={pdf}", "--no-pdf-header-footer")
    return pdf.read_bytes()
