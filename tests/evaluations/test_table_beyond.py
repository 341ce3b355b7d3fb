"""The matrix of what LMs add to one another: sums over responses, means over seeds, intervals."""

import math

import pandas as pd
import pytest
from scipy import stats

from project import show
from recency.evaluations.reading_times import tables_of_fits

LMS = [
    {"lm": name, "label": name, "bias": {"form": "none"}, "applied": "none"} for name in ("A", "B")
]
RESPONSES = [{"dataset": "ucl", "measure": m, "label": f"UCL {m}"} for m in ("SPR", "FP")]
TRAININGS = [{"lm": f"{a}{s}", "but_for_seed": a} for a in "AB" for s in (1, 2, 3)]


def nested(seeds):
    """Return rows of nested.csv: B adds 5, 6 and 7 in self-paced reading and 10 in eye tracking."""
    rows = []
    for seed in seeds:
        for added, over, spr, fp in (("B", "A", 4 + seed, 10), ("A", "B", 1, -1)):
            for measure, value in (("SPR", spr), ("FP", fp)):
                rows.append(
                    {
                        "added": f"{added}{seed}",
                        "over": f"{over}{seed}",
                        "dataset": "ucl",
                        "measure": measure,
                        "delta_loglik": value,
                        "low_sentence": value - 1.959964 * 3,
                        "high_sentence": value + 1.959964 * 3,
                    }
                )
    return pd.DataFrame(rows)


@pytest.mark.parametrize("seeds", [(1,), (1, 2, 3)], ids=["one seed", "three seeds"])
def test_sums_over_responses_and_means_over_seeds(tmp_path, seeds):
    nested(seeds).to_csv(tmp_path / "nested.csv", index=False)
    out = [tmp_path / f"table.{kind}" for kind in ("csv", "html", "tex")]
    show(
        tables_of_fits.table_beyond,
        nested=tmp_path / "nested.csv",
        out=out,
        lms=LMS,
        responses=RESPONSES,
        trainings=TRAININGS,
    )
    rows = pd.read_csv(out[0]).set_index(["added", "over"])
    b, a = rows.loc[("B", "A")], rows.loc[("A", "B")]
    assert b.delta_loglik == pytest.approx(14 + sum(seeds) / len(seeds)) and a.delta_loglik == 0
    assert b.responses == 2 and b.seeds == len(seeds)
    sampling = 1.959964 * math.sqrt(3**2 + 3**2)  # two responses of standard error 3
    of_seeds = stats.t.ppf(0.975, 2) / math.sqrt(3) if len(seeds) > 1 else 0.0  # seeds' sd is 1
    reach = math.hypot(sampling, of_seeds)
    assert b.high - b.delta_loglik == pytest.approx(reach, rel=1e-6)
    assert a.high == pytest.approx(sampling, rel=1e-6)
    page = out[1].read_text()
    assert page.index("to A") < page.index("to B") and ("Student" in page) is (len(seeds) > 1)
    assert page.count("<b>") + page.count("<strong>") == 1  # B adds to A for sure, A nothing to B
