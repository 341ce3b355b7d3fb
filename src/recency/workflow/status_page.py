"""`status.html`: the state of a run as a self-contained page that reloads itself during the run."""

import html
import time
from collections.abc import Mapping, Sequence

from recency.workflow.costs import duration

#: Seconds between reloads of the page.
RELOAD = 5
#: Seconds without an update after which a run may have been killed.
STALE = 60
STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #595959; --line: #ccc; --paper: #fff;
  --done: #1f5a96; --running: #5a9bd4; --failed: #b03a00; --other: #b35900; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --soft: #b0b0b0; --line: #555;
  --paper: #1b1b1b; --done: #6cb0ee; --running: #3f75a8; --failed: #ff8a5c; --other: #f0a95c; } }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 0 auto; padding: 12px; max-width: 1000px; overflow-wrap: anywhere; }
h1 { font-size: 1.35em; margin: .2em 0; } h2 { font-size: 1.1em; margin: 1.4em 0 .3em; }
h3 { font-size: 1em; margin: 1em 0 .2em; }
p { margin: .3em 0; } .note { color: var(--soft); font-size: 13px; }
.failed, #stale { border-left: 4px solid var(--failed); padding-left: .6em; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 6px; text-align: right; border-bottom: 1px solid var(--line); }
th, td + td { overflow-wrap: normal; }
th:first-child, td:first-child { text-align: left; }
pre { font-size: 12px; white-space: pre-wrap; margin: .2em 0; padding: 6px; border: 1px solid var(--line); }
svg { display: block; width: 100%; max-width: 700px; height: auto; }
svg text { fill: var(--soft); font-size: 11px; }
@media (max-width: 500px) { th, td { padding: 3px; font-size: 13px; } svg text { font-size: 18px; } }
.bar { height: 10px; background: var(--line); display: flex; } .bar i { height: 100%; }
"""
SCRIPT = """
const stale = document.getElementById("stale"), updated = Number(stale.dataset.updated);
const look = () => { stale.hidden = Date.now() / 1000 - updated < STALE; };
look(); setInterval(look, 5000);
setInterval(() => { if (getSelection().isCollapsed) location.reload(); }, RELOAD * 1000);
""".replace("STALE", str(STALE)).replace("RELOAD", str(RELOAD))


def page(state: Mapping, headline: str) -> str:
    """Return the page of a run's state (`recency.workflow.run_status`) with its headline."""
    runs = state["state"] == "running"
    title = f"{state['state'].capitalize()}: {state['study']}"
    updated = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(state["updated"]))
    reload = f"<noscript><meta http-equiv='refresh' content='{RELOAD}'></noscript>" if runs else ""
    stale = (
        f"<p id='stale' role='status' hidden data-updated='{state['updated']:.0f}'>This page was last "
        f"written at {updated}: the run may have been killed. The same command continues from what "
        "is complete.</p>"
    )
    body = [
        f"<h1>{_text(title)}</h1><p>{_text(headline)}</p>",
        f"<p class='note'>Last update: {updated}, on {_text(state['host'])}. {_free(state)}</p>",
        stale if runs else "",
        *_failures(state["failures"]),
        _kinds(state["kinds"]),
        *_trainings([job for job in state["jobs"] if "losses" in job]),
        *_logs(state["jobs"], state["updated"]),
        f"<p class='note'>Full log: {_text(state['log'])}</p>" if state["log"] else "",
        f"<script>{SCRIPT}</script>" if runs else "",
    ]
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"{reload}<title>{_text(title)}</title><style>{STYLE}</style></head>\n<body>"
        + "\n".join(filter(None, body))
        + "</body></html>\n"
    )


def _text(value: object) -> str:
    """Return a label as HTML with isolated text direction."""
    return f"\N{FIRST STRONG ISOLATE}{html.escape(str(value))}\N{POP DIRECTIONAL ISOLATE}"


def _free(state: Mapping) -> str:
    """Return a sentence on free disk and memory."""
    parts = [
        f"{name}: {state[f'{key}_free'] / 1e9:,.1f} of {state[key] / 1e9:,.1f} GB free"
        for name, key in (("Memory", "memory"), ("disk of the results", "disk"))
    ]
    return "; ".join(parts) + "."


def _failures(failures: Sequence[Mapping]) -> list[str]:
    """Return the failed jobs: names, logs and the logs' last lines."""
    if not failures:
        return []
    items = [
        f"<div class='failed'><h3>{_text(failure['name'])}</h3><p>{_text(failure['line'])}</p>"
        f"<p class='note'>Its log: {_text(failure['log'])}</p></div>"
        for failure in failures
    ]
    return ["<h2>Failed</h2>", *items]


def _kinds(kinds: Sequence[Mapping]) -> str:
    """Return a table of jobs by kind."""
    rows = []
    for kind in kinds:
        widths = {
            key: 100 * kind[key] / max(kind["jobs"], 1) for key in ("done", "running", "failed")
        }
        bar = "".join(
            f"<i style='width:{w:.1f}%;background:var(--{k})'></i>" for k, w in widths.items()
        )
        cells = "".join(f"<td>{kind[key]:,}</td>" for key in ("done", "running", "left", "failed"))
        rows.append(
            f"<tr><td>{_text(kind['kind'])}<div class='bar' aria-hidden='true'>{bar}</div></td>{cells}</tr>"
        )
    head = "".join(
        f"<th scope='col'>{name}</th>" for name in ("Kind", "Done", "Running", "Left", "Failed")
    )
    return f"<h2>Jobs by kind</h2><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _trainings(jobs: Sequence[Mapping]) -> list[str]:
    """Return the loss curves of the running trainings."""
    parts = []
    for job in jobs:
        losses, validation = job["losses"]
        curve = (
            _curve(losses, validation) if len(losses) > 1 else "<p class='note'>No losses yet.</p>"
        )
        parts.append(f"<h3>{_text(job['name'])}</h3>{curve}")
    return ["<h2>Losses of running trainings, nats per token</h2>", *parts] if parts else []


def _curve(losses: Sequence, validation: Sequence) -> str:
    """Return loss by step as SVG: a line, and rings for the held-out text."""
    width, height, left, top, bottom = 640, 180, 58, 12, 26
    every = [*losses, *validation]
    last = max(step for step, _ in every)
    low, high = min(loss for _, loss in every), max(loss for _, loss in every)

    def place(step: float, loss: float) -> tuple[float, float]:
        share = (high - loss) / (high - low) if high > low else 0.5
        return left + (width - left - 8) * step / last, top + (height - top - bottom) * share

    points = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in losses)
    rings = "".join(
        "<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='none' stroke='var(--other)' stroke-width='1.5'>"
        "<title>held-out text, step {:,}: {:.3f}</title></circle>".format(*place(*point), *point)
        for point in validation
    )
    now = f"loss {losses[-1][1]:.3f} at step {losses[-1][0]:,}"
    held_out = f"; held-out text {validation[-1][1]:.3f}" if validation else ""
    labels = "".join(
        f"<text x='{left - 6}' y='{place(0, loss)[1] + 4:.1f}' text-anchor='end'>{loss:.2f}</text>"
        for loss in dict.fromkeys((high, low))
    )
    return (
        f"<p>{now}{held_out}</p><svg viewBox='0 0 {width} {height}' role='img' aria-label='{now}{held_out}'>"
        f"<polyline points='{points}' fill='none' stroke='var(--done)' stroke-width='1.5'/>{rings}{labels}"
        f"<text x='{left}' y='{height - 6}'>step 0</text>"
        f"<text x='{width - 8}' y='{height - 6}' text-anchor='end'>{last:,}</text></svg>"
        + ("<p class='note'>Line: training; rings: held-out text.</p>" if validation else "")
    )


def _logs(jobs: Sequence[Mapping], now: float) -> list[str]:
    """Return the running jobs with the last lines of their logs."""
    parts = []
    for job in jobs:
        lines = "\n".join(map(_text, job["lines"])) or "Nothing yet."
        since = duration(now - job["since"])
        parts.append(f"<h3>{_text(job['name'])}, for {since}</h3><pre>{lines}</pre>")
        if job["log"]:
            parts.append(f"<p class='note'>{_text(job['log'])}</p>")
    return ["<h2>Running jobs and the ends of their logs</h2>", *parts] if parts else []
