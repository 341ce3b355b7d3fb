"""Explorer pages walked through in a browser."""

import html
import json
import re

from browsing import _run
from project import ROOT

WALK = ROOT / "tests" / "walk_explorer.js"


def walked_pages(browser, pages, folder):
    """Open pages, {name, width, height, text, steps} each; return what was seen of each, by name."""
    data = json.dumps(pages).replace("<", r"\u003c")
    script = f"<script>const pages = {data};{WALK.read_text()}</script>"
    shown = in_browser(browser, script, folder)
    errors = [each["error"] for each in shown if "error" in each]
    assert errors == [], errors
    return {each["name"]: each for each in shown}


def in_browser(browser, body, folder):
    """Open a page with this body, whose script leaves JSON in <pre id="shown">; return that."""
    copy = folder / "walked.html"
    copy.write_text(f"<!DOCTYPE html><meta charset='utf-8'><body>{body}</body>", encoding="utf-8")
    run = _run(browser, folder, copy, "--window-size=1500,1000", "--dump-dom")
    found = re.search(r'<pre id="shown">(.*?)</pre>', run.stdout.decode(), re.DOTALL)
    assert found, f"{browser} ended with {run.returncode}: {run.stderr.decode()[-2000:]}"
    return json.loads(html.unescape(found[1]))
