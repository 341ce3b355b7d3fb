"""Fill in docs/open-study/README.md, from the study's results or from the files stored there.

    ./run --cores 2 --configfile config/open.yaml docs/open-study/stored.yaml
    python setup/open_study.py results/open_stored/night    # store the results' files, and fill in
    python setup/open_study.py                              # fill in from the stored files

matched.csv and matched_curves.csv are curves_matched.csv and curves.csv of docs/open-study/matched.yaml.

The page's text is setup/open_study.md: `{contrast primary}` is a difference with its interval,
`{claim primary}` its verdict, `{table lms}` a table.
"""

import json
import math
import re
import shutil
import sys
from pathlib import Path

import pandas as pd

from crosslmm.stats import claims, multiple_tests

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "open-study"
TEXT = Path(__file__).with_suffix(".md")
#: Differences between LMs in Table 2 of the paper: contrast → LM, reference.
PUBLISHED = {
    "mixed": ("ALiBi-mix-TI", "Pythia"),
    "slope-1": ("ALiBi-1-TI", "Pythia"),
    "mixed-slope-1": ("ALiBi-mix-TI", "ALiBi-1-TI"),
    "mixed-inference": ("ALiBi-mix-I", "Pythia"),
    "slope-1-inference": ("ALiBi-1-I", "Pythia"),
}
LEAD = 0.188  # smallest effect of interest: the paper's lead, share of the ΔLogLik of no bias
#: The paper's responses that were run, by their columns of Table 2.
SHARED = ["Natural Stories SPR", "UCL SPR", "UCL FP", "UCL GP", "Provo FP", "Provo GP"]
BASELINE = "no-bias"
#: The contrasts of PUBLISHED among the LMs here.
CONTRASTS = {
    "mixed": ("mixed", BASELINE),
    "slope-1": ("slope-1", BASELINE),
    "mixed-slope-1": ("mixed", "slope-1"),
    "mixed-inference": ("mixed-inference", BASELINE),
    "slope-1-inference": ("slope-1-inference", BASELINE),
}
PAPER = ROOT / "data" / "published" / "clark2025_table2.csv"
#: Robustness of the primary contrast: experiment → its description.
ANALYSES = {
    "primary": "**primary: `crossed`**",
    "modelblocks": "endpoint `modelblocks`, the paper's",
    "in_sample": "endpoint `in_sample`",
    "conditional": "endpoint `conditional`",
    "first_four_seeds": "seeds 3 to 6, the first four",
    "previous_word": "length and frequency of the previous word as controls",
    "lognormal": "lognormal times",
    "offset_0": "Natural Stories at `offset: 0`",
    "without_ucl": "without UCL",
    "without_natural_stories": "without Natural Stories",
    "without_provo": "without Provo",
    "without_geco": "without GECO",
    "means": "item means of MECO, in the sample",
}
#: Experiments with all five LMs, every pair of which is stored.
PAIRS = ["secondary", "shared", "shared_modelblocks"]
PAIR_COLUMNS = ["analysis", "lm", "against", "value", "low", "high", "low_all", "high_all"]
PAIR_COLUMNS += ["share", "share_low", "share_high", "p", "n"]


def store(results: Path) -> None:
    """Write the study's tables to docs/open-study; setup/pictures.py draws its figure from them."""
    experiments = results / "experiments"
    contrasts = [_contrast(experiments, name, "mixed") for name in ANALYSES]
    for name in PAIRS:
        for contrast, (lm, other) in CONTRASTS.items():
            row = _contrast(experiments, name, lm, other)
            contrasts.append(row | {"analysis": f"{name} {contrast}"})
    pairs = [
        {"analysis": name} | pair for name in PAIRS for pair in _verdict(experiments, name)["pairs"]
    ]
    pd.DataFrame(pairs)[PAIR_COLUMNS].round(6).to_csv(FOLDER / "pairs.csv", index=False)
    table = pd.DataFrame(contrasts)
    table.insert(1, "label", table.analysis.map(ANALYSES).fillna(""))
    table.round(6).to_csv(FOLDER / "contrasts.csv", index=False)
    shutil.copyfile(
        experiments / "secondary" / "figure_delta_loglik_by_response.csv",
        FOLDER / "by_response.csv",
    )
    for experiment, name, stored in (
        ("primary", "figure", "by_corpus"),
        ("primary", "table", "by_corpus_pooled"),
        ("first_four_seeds", "figure", "by_corpus_first_four_seeds"),
    ):
        shutil.copyfile(experiments / experiment / f"{name}_pooled.csv", FOLDER / f"{stored}.csv")
    _lms(experiments / "secondary").round(4).to_csv(FOLDER / "lms.csv", index=False)


def _verdict(experiments: Path, name: str) -> dict:
    return json.loads((experiments / name / "verdict.json").read_text(encoding="utf-8"))


def _contrast(experiments: Path, name: str, lm: str, against: str = BASELINE) -> dict:
    """Return an LM's difference from another, of the interval that decides about it."""
    verdict = _verdict(experiments, name)
    signs = {(lm, against): 1, (against, lm): -1}
    pair, sign = next(
        (pair, signs[pair["lm"], pair["against"]])
        for pair in verdict["pairs"]
        if (pair["lm"], pair["against"]) in signs
    )
    ends = [pair["low"], pair["high"]]
    if pair["low_all"] is not None:
        ends = [pair["low_all"], pair["high_all"]]
    shares = [pair["share_low"], pair["share_high"]]
    percents = [math.nan if share is None else 100 * share for share in (*shares, pair["share"])]
    low, high = sorted(sign * end for end in ends)
    percent_low, percent_high = [sign * end for end in percents[:2]][::sign]
    baseline = next(r for r in verdict["ranking"] if r["lm"] == BASELINE)["delta_loglik"]["value"]
    return {
        "analysis": name,
        "difference": sign * pair["value"],
        "low": low,
        "high": high,
        "p": pair["p"],
        "observations": pair["n"],
        "baseline": baseline,
        "percent": sign * percents[2],
        "percent_low": percent_low,
        "percent_high": percent_high,
        "claim": claims.judge_share(low, high, percent_high / 100, LEAD),
        "reverse": claims.judge_share(-high, -low, -percent_low / 100, LEAD),
    }


def _lms(folder: Path) -> pd.DataFrame:
    """Return each LM's ΔLogLik, by seed too, its difference from no bias, and its perplexity."""
    verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    perplexity = pd.read_csv(folder / "perplexity.csv")
    perplexity["lm"] = perplexity.lm.str.partition("@")[0]
    perplexity["bits"] = perplexity.bits_per_token * perplexity.tokens
    sums = perplexity.groupby("lm")[["bits", "tokens"]].sum()
    fits = pd.read_csv(folder / "delta_loglik_by_seed.csv")
    seeds = fits.pivot_table("delta_loglik", "lm", "seed", aggfunc="sum").add_prefix("seed_")
    rows = []
    for row in verdict["ranking"]:
        over = row["over_baseline"] or {}
        rows.append(
            {"lm": row["lm"], "label": row["label"]}
            | {key: row["delta_loglik"][value] for key, value in VALUES.items()}
            | {f"{key}_over_baseline": over.get(value) for key, value in ALL_VALUES.items()}
            | {"claim": over.get("claim"), "perplexity": 2 ** (sums.bits / sums.tokens)[row["lm"]]}
            | seeds.loc[row["lm"]].to_dict()
        )
    table = pd.DataFrame(rows)
    p = table.p_over_baseline.dropna()
    table["p_holm_over_baseline"] = pd.Series(multiple_tests.holm(p.tolist()), p.index)
    return table


VALUES = {"delta_loglik": "value", "low": "low", "high": "high"}
ALL_VALUES = VALUES | {"low_all": "low_all", "high_all": "high_all", "p": "p"}


def number(value: float, digits: int = 0, sign: bool = False) -> str:
    """Return a number as pages write it: thousands separated, a real minus sign."""
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    text = text.lstrip("+-") if float(text.replace(",", "")) == 0 else text
    return text.replace("-", "−")


def interval(row, low: str = "low", high: str = "high") -> str:
    """Return the interval in parentheses."""
    return f"({number(row[low])} to {number(row[high])})"


def tables() -> dict[str, str]:
    """Return the page's values by their placeholder."""
    contrasts = pd.read_csv(FOLDER / "contrasts.csv").set_index("analysis")
    lms = pd.read_csv(FOLDER / "lms.csv")
    filled = {}
    for name, row in contrasts.iterrows():
        filled[f"contrast {name}"] = f"{number(row.difference, sign=True)} {interval(row)}"
        filled[f"claim {name}"] = row.claim
        filled[f"reverse {name}"] = row.reverse
        filled[f"lead {name}"] = f"{number(row.percent, 1, sign=True)} %"
        ends = (number(row[end], 1) for end in ("percent_low", "percent_high"))
        filled[f"percent {name}"] = f"{number(row.percent, 1, sign=True)} % ({' to '.join(ends)})"
        if math.isnan(row.percent):  # no bias has no ΔLogLik above 0 to compare with
            filled[f"percent {name}"] = "–"
        tenth = claims.judge_share(row.low, row.high, row.percent_high / 100, 0.1)
        filled[f"tenth claim {name}"] = tenth
        filled[f"observations {name}"] = number(row.observations)
    published = pd.read_csv(PAPER).set_index("lm")[SHARED].sum(axis=1)
    for name, (lm, other) in PUBLISHED.items():
        expected = 100 * (published[lm] - published[other]) / published["Pythia"]
        filled[f"expected {name}"] = f"{number(expected, 1, sign=True)} %"
        both = (
            contrasts.loc[f"{analysis} {name}"] for analysis in ("shared", "shared_modelblocks")
        )
        inside = (row.percent_low <= expected <= row.percent_high for row in both)
        filled[f"inside {name}"] = "; ".join("yes" if is_inside else "no" for is_inside in inside)
    pairs = pd.read_csv(FOLDER / "pairs.csv")
    for name in ("shared", "shared_modelblocks"):
        over = pairs[(pairs.analysis == name) & (pairs.against == BASELINE)].set_index("lm").value
        under = pairs[(pairs.analysis == name) & (pairs.lm == BASELINE)].set_index("against").value
        leads = pd.concat([over, -under, pd.Series({BASELINE: 0.0})])
        rho = leads.corr(lms.set_index("lm").perplexity, method="spearman")
        filled[f"rho {name}"] = number(rho, 2)
    for _, row in pd.read_csv(FOLDER / "matched.csv").iterrows():
        ends = interval(row, "low_all", "high_all")
        filled[f"matched {row.lm}"] = f"{number(row.difference, sign=True)} {ends}"
    filled["table lms"] = _rows(
        ["LM", "ΔLogLik (95 %)", "− no bias (95 %)", "simultaneous", "p", "better", "perplexity"],
        [
            [
                row.label,
                f"{number(row.delta_loglik)} {interval(row)}",
                *_differences(row),
                number(row.perplexity, 1),
            ]
            for _, row in lms.iterrows()
        ],
    )
    filled["table robustness"] = _rows(
        ["analysis", "mixed slopes − no bias (95 %)", "of no bias, % (95 %)", "claim"],
        [
            [
                label,
                f"{number(row.difference, sign=True)} {interval(row)}",
                filled[f"percent {name}"].replace(" %", ""),
                row.claim,
            ]
            for name, label in ANALYSES.items()
            for row in [contrasts.loc[name]]
        ],
    )
    return filled


def _differences(row) -> list[str]:
    """Return the cells of an LM's difference from no bias; empty for no bias itself."""
    if pd.isna(row.delta_loglik_over_baseline):
        return [""] * 4
    ends = [number(row[f"{end}_all_over_baseline"]) for end in ("low", "high")]
    interval_ = interval(row, "low_over_baseline", "high_over_baseline")
    difference = f"{number(row.delta_loglik_over_baseline, sign=True)} {interval_}"
    return [difference, " to ".join(ends), number(row.p_holm_over_baseline, 3), row.claim]


def _rows(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page() -> str:
    """Return the page: the text with its values."""
    values = tables()

    def value(match: re.Match) -> str:
        if match[1] not in values:
            raise SystemExit(f"{TEXT}: {match[0]} is none of {', '.join(values)}")
        return values[match[1]]

    return re.sub(r"\{([a-z][^{}\n]*)\}", value, TEXT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        store(Path(sys.argv[1]))
    (FOLDER / "README.md").write_text(page(), encoding="utf-8")
