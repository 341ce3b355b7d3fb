"""Compare effects estimated from simulated readers with the true effects of the simulation."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from recency.errors import InputError
from recency.figures import comparison, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files

Z95 = 1.959963984540054
INTERCEPT = "(Intercept)"
NAMES = {
    INTERCEPT: "Intercept",
    "length": "Length",
    "position": "Position",
    "unigram": "Unigram surprisal",
    "surprisal": "Surprisal",
    "previous_surprisal": "Previous surprisal",
    "previous_fixated": "Previous fixated",
}
COLUMNS = [
    "lm", "label", "part", "term", "truth", "estimate", "se", "low", "high", "covered",
    "truth_per_unit", "estimate_per_unit", "unit",
]  # fmt: skip


def standardised(truth: Mapping, scaling: Mapping[str, Mapping[str, float]]) -> dict[str, dict]:
    """Return the truth in the units of a regression whose predictors are (x - mean) / sd.

    Returns `fixed`, `subject`, `sentence` and `residual`: ms by term, the last three being standard
    deviations. A slope per unit becomes one per sd; the intercept moves from the mean of the words
    to the mean of the observations, which changes the subjects' slopes accordingly.
    """
    fixed = {row["term"]: row["value"] for row in truth["fixed"]}

    def scale(term: str) -> tuple[float, float]:
        centre = truth["centres"].get(term, 0.0)
        if term not in scaling:
            return 0.0, 1.0  # an unscaled predictor, such as a binary one
        return scaling[term]["mean"] - centre, scaling[term]["sd"]

    slopes = {term: value for term, value in fixed.items() if term != INTERCEPT}
    shifted = {term: value * scale(term)[1] for term, value in slopes.items()}
    shifted[INTERCEPT] = fixed[INTERCEPT] + sum(slopes[term] * scale(term)[0] for term in slopes)

    subject = truth["random"]["subject"]
    terms, sd = subject["terms"], np.array(subject["sd"])
    change = np.zeros((len(terms), len(terms)))
    for row, term in enumerate(terms):
        shift, size = scale(term)
        change[row, row] = 1.0 if term == INTERCEPT else size
        if term != INTERCEPT and INTERCEPT in terms:
            change[terms.index(INTERCEPT), row] = shift
    covariance = change @ (np.array(subject["correlation"]) * np.outer(sd, sd)) @ change.T
    spread = np.sqrt(np.diag(covariance)) if terms else []
    return {
        "fixed": {term: shifted[term] for term in fixed},
        "subject": dict(zip(terms, map(float, spread), strict=True)),
        "sentence": {INTERCEPT: truth["random"]["sentence"]["sd"][0]},
        "residual": {"": truth["sigma"]},
    }


def compare(truth: Mapping, fits: Described, labels: Mapping[str, str]) -> pd.DataFrame:
    """Return one row per effect and fit, in ms: the truth, the estimate, its 95 % interval.

    The truth for every LM is the effect of one sd of the readers' own surprisal, with the scaling
    of the fit for the readers' LM if there is one. The truth of an effect that the readers lack is
    0. Raises InputError for a fit without one of the effects, such as a base model's.
    """
    fits = list(fits)
    of_reader = next((fit for fit in fits if fit["lm"] == truth["reader"]), None)
    units = {row["term"]: (row["value"], row["unit"]) for row in truth["fixed"]}
    rows = []
    for fit in fits:
        if fit.get("response", "raw") != "raw":
            raise InputError(
                f"recovery: the fit of {fit['lm']} is of {fit['response']} times, but the simulated "
                "readers' effects are in ms; use fits of a design with response: raw"
            )
        target = standardised(truth, (of_reader or fit)["scaling"])
        first = (fit["lm"], labels.get(fit["lm"], fit["lm"]))
        if lost := target["fixed"].keys() - {row["term"] for row in fit["fixed"]}:
            raise InputError(
                f"recovery: the fit of {fit['lm']} has no {min(lost)}, which the simulated "
                "readers have; use full fits of a design with all of their effects"
            )
        for row in fit["fixed"]:
            term, estimate, se = row["term"], row["estimate"], row["se"]
            value, unit = units.get(term, (0.0, ""))
            true = target["fixed"].get(term, 0.0)
            low, high = estimate - Z95 * se, estimate + Z95 * se
            natural = (None, None, None)
            if term in fit["scaling"]:
                natural = (value, estimate / fit["scaling"][term]["sd"], unit)
            rows.append(
                (*first, "fixed", term, true, estimate, se, low, high, low <= true <= high)
                + natural
            )
        estimated = {"residual": {"": fit["sigma"]}}
        for group in ("subject", "sentence"):
            random = fit["random"].get(group, {"sd": []})
            terms = random.get("terms", [INTERCEPT])
            estimated[group] = dict(zip(terms, np.atleast_1d(random["sd"]).tolist(), strict=True))
        for group in ("subject", "sentence", "residual"):
            for term in target[group] | estimated[group]:
                values = (target[group].get(term, 0.0), estimated[group].get(term))
                rows.append((*first, f"{group} sd", term, *values) + (None,) * 7)
    return pd.DataFrame(rows, columns=COLUMNS).astype({"covered": "boolean"})


def draw(table: pd.DataFrame, reader: str, lms: list[LM], notes: list[str]) -> Figure:
    """Draw a panel per fixed effect, with LMs beneath one another, and a panel of the spreads."""
    order = list(dict.fromkeys(table.lm))
    looks = style.looks(lms)
    fixed = table[table.part == "fixed"]
    terms = list(dict.fromkeys(fixed.term))
    chosen = reader if reader in order else order[0]
    spreads = table[(table.lm == chosen) & (table.part != "fixed")]
    across = 3 if len(terms) % 3 == 0 else 4
    down = math.ceil(len(terms) / across)
    heights = [max(0.19 * len(order), 0.5)] * down + [0.16 * len(spreads)]
    figure = style.figure(sum(heights) + 0.72 * len(heights) + 0.3)
    grid = figure.add_gridspec(down + 1, across, height_ratios=heights)
    for index, term in enumerate(terms):
        axes = figure.add_subplot(grid[index // across, index % across])
        rows = fixed[fixed.term == term].set_index("lm").loc[order]
        _effect(axes, rows, looks)
        axes.set_title(NAMES.get(term, term), loc="left")
        axes.set_xlabel("ms" if term == INTERCEPT else "ms per sd")
        axes.set_yticks(range(len(order)), rows.label if index % across == 0 else [""] * len(rows))
        for text, lm in zip(axes.get_yticklabels(), order, strict=True):
            text.set_fontweight("bold" if lm == reader else "normal")
    axes = figure.add_subplot(grid[down, :])
    _spreads(axes, spreads)
    axes.set_title(f"Standard deviations, {spreads.label.iloc[0]}", loc="left")
    handles = [
        style.handle(color="black", ls=(0, (4, 2)), lw=1, label="put in"),
        style.handle(color=style.GREY, marker="o", ls="-", label="estimate, with 95 % interval"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2)
    if reader in order:
        note = f"Bold: {spreads.label.iloc[0]}, whose surprisal was used to simulate the times."
        notes = [note, *notes]
    style.notes(figure, notes)
    return figure


def _effect(axes: Axes, rows: pd.DataFrame, looks: Mapping) -> None:
    axes.axvline(rows.truth.iloc[0], color="black", lw=1, ls=(0, (4, 2)), zorder=1)
    for height, (lm, row) in enumerate(rows.iterrows()):
        look = looks[lm]
        axes.plot([row.low, row.high], [height, height], color=look.colour, lw=1.2)
        axes.plot(row.estimate, height, look.marker, mfc=look.face, mec=look.colour, zorder=3)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.margins(x=0.12)
    axes.locator_params(axis="x", nbins=4)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")


def _spreads(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw standard deviations of subjects, sentences and residual on one log axis."""
    names = {"sentence sd": "sentence", "residual sd": "residual"}
    labels = [
        names.get(row.part, f"subject: {NAMES.get(row.term, row.term).lower()}")
        for row in rows.itertuples()
    ]
    heights = range(len(rows))
    axes.plot(rows.estimate.astype(float), heights, "o", color=style.GREY, zorder=2)
    axes.plot(rows.truth.astype(float), heights, "|", color="black", ms=10, mew=1.4, zorder=3)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(heights, labels)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("ms, of slopes ms per sd (log scale)")
    axes.grid(axis="x")


def main(*, truth: File, fits: Files, out: Files, lms: Described = ()) -> None:
    """Compare full fits with the truth; `out` has a .csv and figures (.pdf, .svg, .png).

    `lms` are mappings of lm, label, bias and applied, as for the other figures.
    """
    parameters = json.loads(Path(truth).read_text(encoding="utf-8"))
    every = [json.loads(Path(path).read_text(encoding="utf-8")) for path in fits]
    fitted = [fit for fit in every if fit["fixed"]]  # the other fits failed
    if not fitted:
        raise InputError(f"recovery: no fits to compare with {truth}; list LMs to fit")
    records = {lm.lm: lm for lm in comparison.records(lms, [])[0]}
    shown = [
        records.get(fit["lm"], LM(fit["lm"], fit["lm"], {"form": "unknown"}, "training"))
        for fit in every
    ]
    table = compare(parameters, fitted, {lm.lm: lm.label for lm in shown})
    done = {fit["lm"] for fit in fitted}
    notes = [f"Not fitted: {lm.label}." for lm in shown if lm.lm not in done]
    style.write(out, table, draw, table, parameters["reader"], shown, notes)
