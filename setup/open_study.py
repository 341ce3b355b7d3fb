"""Fill in docs/open-study/README.md, from the study's results or from the files stored there.

    ./run --cores 2 --configfile config.open.yaml docs/open-study/stored.yaml
    python setup/open_study.py results/open_stored/night    # store the results' files, and fill in
    python setup/open_study.py                              # fill in from the stored files

The page's text is setup/open_study.md: `{contrast primary}` is a difference with its interval,
`{claim primary}` its verdict, `{table lms}` a table.
"""

import json
import re
import shutil
import sys
from pathlib import Path

import pandas as pd

from recency.stats import claims

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "open-study"
TEXT = Path(__file__).with_suffix(".md")
#: Findings of the paper: name → an LM and its reference, here and in Table 2.
FINDINGS = {
    "mixed": (("mixed", "no-bias"), ("ALiBi-mix-TI", "Pythia")),
    "slope-1": (("slope-1", "no-bias"), ("ALiBi-1-TI", "Pythia")),
    "mixed-slope-1": (("mixed", "slope-1"), ("ALiBi-mix-TI", "ALiBi-1-TI")),
    "mixed-inference": (("mixed-inference", "no-bias"), ("ALiBi-mix-I", "Pythia")),
    "slope-1-inference": (("slope-1-inference", "no-bias"), ("ALiBi-1-I", "Pythia")),
}
#: Statements of the paper on each.
SAID = {
    "mixed": '"attains a better ΔLogLik than the baseline LM" (mixed slopes in training, 5.2)',
    "slope-1": 'slope 1 in training "performed better than the baseline LM" (6.2)',
    "mixed-slope-1": '"a mixture of slopes is necessary for obtaining optimal reading-time estimates" (6.2): '
    "mixed slopes − slope 1",
    "mixed-inference": '"LMs including a recency bias" at inference only show "a worse fit" (4.2): mixed slopes',
    "slope-1-inference": "the same: slope 1",
}
#: Responses that the paper has as well: columns of its Table 2.
SHARED = ["UCL SPR", "Natural Stories SPR", "UCL FP", "UCL GP", "Provo FP", "Provo GP"]
#: Experiments with all five LMs: on all responses, and on those of the paper.
FIVE = ("secondary", "shared")
LEAD = 0.188  # smallest effect of interest: the paper's lead, share of the ΔLogLik of no bias
BASELINE = "no-bias"
PAPER = ROOT / "data" / "published" / "clark2025_table2.csv"
#: Robustness of the primary contrast: experiment → its description.
ANALYSES = {
    "primary": "**primary: `crossed`**",
    "modelblocks": "endpoint `modelblocks`, the paper's",
    "in_sample": "endpoint `in_sample`",
    "conditional": "endpoint `conditional`",
    "previous_word": "length and frequency of the previous word as controls",
    "lognormal": "lognormal times",
    "offset_0": "Natural Stories at `offset: 0`",
    "without_ucl": "without UCL",
    "without_natural_stories": "without Natural Stories",
    "without_provo": "without Provo",
    "without_geco": "without GECO",
    "means": "item means of MECO, in the sample",
}


def store(results: Path) -> None:
    """Write the study's tables and its figure to docs/open-study."""
    experiments = results / "experiments"
    contrasts = [_contrast(experiments, name, "mixed") for name in ANALYSES]
    for name in FIVE:
        contrasts += [
            _contrast(experiments, name, *pair) | {"analysis": f"{name} {finding}"}
            for finding, (pair, _) in FINDINGS.items()
        ]
    table = pd.DataFrame(contrasts)
    table.insert(1, "label", table.analysis.map(ANALYSES).fillna(""))
    shares = list(zip(table.percent_low, table.percent_high, strict=True))
    table["claim"] = [claims.judge(low, high, 100 * LEAD) for low, high in shares]
    table["reverse"] = [claims.judge(-high, -low, 100 * LEAD) for low, high in shares]
    table.round(4).to_csv(FOLDER / "contrasts.csv", index=False)
    shutil.copyfile(
        experiments / "secondary" / "figure_delta_loglik_by_response.csv",
        FOLDER / "by_response.csv",
    )
    shutil.copyfile(experiments / "primary" / "figure_pooled.png", FOLDER / "by_corpus.png")
    shutil.copyfile(experiments / "primary" / "figure_pooled.csv", FOLDER / "by_corpus.csv")
    _lms(experiments / "secondary").round(4).to_csv(FOLDER / "lms.csv", index=False)


def _verdict(experiments: Path, name: str) -> dict:
    return json.loads((experiments / name / "verdict.json").read_text(encoding="utf-8"))


def _contrast(experiments: Path, name: str, lm: str, against: str = BASELINE) -> dict:
    """Return an LM's difference from another, with the intervals that decide about it."""
    verdict = _verdict(experiments, name)
    signs = {(lm, against): 1, (against, lm): -1}
    pair, sign = next(
        (pair, signs[pair["lm"], pair["against"]])
        for pair in verdict["pairs"]
        if (pair["lm"], pair["against"]) in signs
    )
    ends = "low_all", "high_all"
    low, high = (sign * pair[end] for end in ends[::sign])
    share_low, share_high = (100 * sign * pair[f"share_{end}"] for end in ("low", "high")[::sign])
    baseline = next(r for r in verdict["ranking"] if r["lm"] == BASELINE)["delta_loglik"]["value"]
    return {
        "analysis": name,
        "difference": sign * pair["value"],
        "low": low,
        "high": high,
        "percent": 100 * sign * pair["share"],
        "percent_low": share_low,
        "percent_high": share_high,
        "p": pair["p"],
        "observations": pair["n"],
        "baseline": baseline,
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
            | {f"{key}_over_baseline": over.get(value) for key, value in PAIR_VALUES.items()}
            | {"claim": over.get("claim"), "perplexity": 2 ** (sums.bits / sums.tokens)[row["lm"]]}
            | seeds.loc[row["lm"]].to_dict()
        )
    return pd.DataFrame(rows)


VALUES = {"delta_loglik": "value", "low": "low", "high": "high"}
PAIR_VALUES = {"delta_loglik": "value", "low": "low_all", "high": "high_all", "p": "p"}
PAIR_VALUES |= {"share_low": "share_low", "share_high": "share_high"}


def number(value: float, digits: int = 0, sign: bool = False) -> str:
    """Return a number as pages write it: thousands separated, a real minus sign."""
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    text = text.lstrip("+-") if float(text.replace(",", "")) == 0 else text
    return text.replace("-", "−")


def interval(row, low: str = "low", high: str = "high") -> str:
    """Return the interval in parentheses."""
    return f"({number(row[low])} to {number(row[high])})"


def percents(row) -> str:
    """Return the interval in percent of the ΔLogLik of no bias, in parentheses."""
    return f"({number(row.percent_low, 1)} to {number(row.percent_high, 1)})"


def tables() -> dict[str, str]:
    """Return the page's values by their placeholder."""
    contrasts = pd.read_csv(FOLDER / "contrasts.csv").set_index("analysis")
    lms = pd.read_csv(FOLDER / "lms.csv")
    filled = {}
    for name, row in contrasts.iterrows():
        filled[f"contrast {name}"] = f"{number(row.difference, sign=True)} {interval(row)}"
        filled[f"percent {name}"] = f"{number(row.percent, 1, sign=True)} %"
        filled[f"percents {name}"] = f"{number(row.percent, 1, sign=True)} {percents(row)}"
        filled[f"smallest {name}"] = number(LEAD * row.baseline)
        filled[f"observations {name}"] = number(row.observations)
    published = pd.read_csv(PAPER).set_index("lm")[SHARED].sum(axis=1)
    filled["table findings"] = _rows(
        [
            "finding (Clark et al. 2025)",
            "expected",
            "six responses (95 %)",
            "expected within",
            "ten responses (95 %)",
            "18.8 % ahead",
            "18.8 % behind",
        ],
        [_finding(contrasts, published, name) for name in FINDINGS],
    )
    by_corpus = pd.read_csv(FOLDER / "by_corpus.csv")
    corpora = by_corpus[by_corpus.kind == "corpus"]
    filled["corpora above"] = ", ".join(corpora.text[corpora.low > 0]) or "none"
    mean = by_corpus[by_corpus.kind == "overall"].iloc[0]
    filled["mean of corpora"] = (
        f"{number(mean.value, 2, sign=True)} ({number(mean.low, 2)} to {number(mean.high, 2)})"
    )
    filled["seeds"] = ("", "", "two", "three", "four", "five", "six")[
        lms.filter(regex=r"^seed_\d").shape[1]
    ]
    filled["rho"] = number(lms.delta_loglik.corr(lms.perplexity, method="spearman"), 2)
    filled["table lms"] = _rows(
        ["LM", "ΔLogLik (95 %)", "− no bias (95 %)", "of no bias, %", "p", "perplexity"],
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
        [
            "analysis",
            "mixed slopes − no bias (95 %)",
            "of no bias, % (95 %)",
            "18.8 % ahead",
            "18.8 % behind",
        ],
        [
            [
                label,
                f"{number(row.difference, sign=True)} {interval(row)}",
                f"{number(row.percent, 1, sign=True)} {percents(row)}",
                row.claim,
                row.reverse,
            ]
            for name, label in ANALYSES.items()
            for row in [contrasts.loc[name]]
        ],
    )
    return filled


def _finding(contrasts: pd.DataFrame, published: pd.Series, name: str) -> list[str]:
    """Return the cells of a finding: what it says, and what was found here."""
    lm, other = FINDINGS[name][1]
    expected = 100 * (published[lm] - published[other]) / published["Pythia"]
    six, ten = (contrasts.loc[f"{experiment} {name}"] for experiment in FIVE[::-1])
    is_inside = six.percent_low <= expected <= six.percent_high
    found = [f"{number(row.percent, 1, sign=True)} {percents(row)}" for row in (six, ten)]
    claimed = [ten.claim, ten.reverse]
    return [
        SAID[name],
        number(expected, 1, sign=True),
        found[0],
        "yes" if is_inside else "no",
        found[1],
        *claimed,
    ]


def _differences(row) -> list[str]:
    """Return the cells of an LM's difference from no bias; empty for no bias itself."""
    if pd.isna(row.delta_loglik_over_baseline):
        return [""] * 3
    interval_ = interval(row, "low_over_baseline", "high_over_baseline")
    difference = f"{number(row.delta_loglik_over_baseline, sign=True)} {interval_}"
    shares = (100 * row[f"share_{end}_over_baseline"] for end in ("low", "high"))
    return [
        difference,
        " to ".join(number(share, 1) for share in shares),
        number(row.p_over_baseline, 3),
    ]


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
