"""Does an analysis see whether readers use their own context? Size and power, with both controls.

python benchmarks/scanpath_controls.py --mirror FOLDER [--repeats 40] [--draws 100] [--quick] [--out FILE]

Real fixations of Provo and a network of the package give the surprisal of each fixated word after the whole text
(`whole`), after what the reader had fixated (`own`), and after what another reader had (`another`). First-pass
times of readers are simulated: they depend on one of the three, or on none, and on the saccade to the word and on
how much was skipped before. Baselines know the saccades, or do not. By the crossed bootstrap of subjects and
sentences, a study claims that readers use their own context if the 95 % intervals of own − whole and of own −
another both lie above 0.

The table is docs/endpoint/scanpaths.csv: the shares of studies with each of the two leads and with the claim; it is
written after each setting, and settings that are in it are not run again.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import checkout
import numpy as np
import pandas as pd
from scipy import stats

checkout.use()

from factorial import collect_gains

import readingtimes
import recency
from crosslmm.factors import Levels
from crosslmm.formula import parse
from recency.regression import crossed
from recency.regression.predictors import Rows

LMS = ("whole", "own", "another")
TRUTHS = ("own", "whole", "another", "none")
SACCADES = ("saccade", "skipped")
EFFECTS = (3.0, 1.0, 0.5)
"""ms per bit, the last two for readers who use their own context; standard deviation over subjects: a third."""
SACCADE, SKIPPED = 8.0, 6.0
"""ms per standard deviation of the saccade's length, and of the share of the text that was skipped."""
NOISE, SUBJECTS, SENTENCES = 90.0, 30.0, 10.0
"""Standard deviations, ms."""


def observations(mirrors: list[Path], subjects: int, texts: int) -> pd.DataFrame:
    """Return a row per subject and fixated word: surprisal by each context, saccade, share skipped."""
    words, fixations = readingtimes.load_fixations("provo", mirrors=mirrors)
    chosen = sorted(set(words["item"]))[:texts]
    words = words[words["item"].isin(chosen)].reset_index(drop=True)
    fixations = fixations[fixations["item"].isin(chosen)]
    fixations = fixations[fixations.subject.isin(sorted(set(fixations.subject))[:subjects])]
    lm = recency.load("small-english")
    whole = recency.surprisal(words, lm).set_index("word_id")
    own = recency.surprisal(words, lm, scanpath=fixations)
    another = recency.surprisal(words, lm, scanpath=fixations, reader={"of": "another"})
    assert own.word_id.equals(another.word_id) and own.subject.equals(another.subject)
    of_text = whole.loc[own.word_id]
    place = pd.Series(np.arange(len(words)), words.word_id)
    before = place.reindex(own.previous_word_id).to_numpy()
    here = place.loc[own.word_id].to_numpy()
    seen = own.context_tokens.to_numpy() / of_text.context_tokens.clip(lower=1).to_numpy()
    return pd.DataFrame({
        "subject": own.subject, "word": own.word_id,
        "sentence": words.set_index("word_id").sentence.loc[own.word_id].to_numpy(),
        "whole": of_text.surprisal_bits.to_numpy(), "own": own.surprisal_bits,
        "another": another.surprisal_bits,
        "saccade": stats.zscore(np.where(np.isnan(before), 0, np.clip(here - before, -5, 5))),
        "skipped": stats.zscore(1 - seen),
    })  # fmt: skip


def times(frame: pd.DataFrame, truth: str, effect: float, seed: int) -> np.ndarray:
    """Return simulated times (n,), ms."""
    random = np.random.default_rng([seed, TRUTHS.index(truth)])
    subject, sentence = (pd.factorize(frame[name])[0] for name in ("subject", "sentence"))
    ms = 240 + random.normal(0, SUBJECTS, subject.max() + 1)[subject]
    ms += random.normal(0, SENTENCES, sentence.max() + 1)[sentence]
    ms += SACCADE * frame.saccade.to_numpy() + SKIPPED * frame.skipped.to_numpy()
    if truth != "none":
        slopes = random.normal(effect, effect / 3, subject.max() + 1)
        ms += slopes[subject] * (frame[truth] - frame[truth].mean()).to_numpy()
    return ms + random.normal(0, NOISE, len(ms))


FRAME: list[pd.DataFrame] = []
"""The observations, which workers inherit."""


def judge(truth: str, effect: float, saccades: bool, draws: int, seed: int) -> dict[str, bool]:
    """Return which leads a study finds."""
    (frame,), tables = FRAME, {}
    ms = times(frame, truth, effect, seed)
    groups = {
        name: Levels(codes, [str(level) for level in range(codes.max() + 1)])
        for name in ("subject", "sentence")
        for codes in [pd.factorize(frame[name])[0]]
    }
    controls = " + ".join(SACCADES) if saccades else "1"
    for lm in (None, *LMS):
        of_lm = "+ surprisal + (1 + surprisal | subject)" if lm else "+ (1 | subject)"
        values = {name: frame[name].to_numpy() for name in SACCADES if saccades}
        if lm:
            values["surprisal"] = stats.zscore(frame[lm])
        rows = Rows(values, ms, groups, frame.word.to_numpy())
        formula = parse(f"time_ms ~ {controls} {of_lm} + (1 | sentence)")
        tables[lm] = crossed.scores(formula, rows, values, draws, name="study")
    scores = collect_gains(tables)
    leads = {other: (scores["own"] - scores[other]).ends() for other in ("whole", "another")}
    found = {f"leads_{other}": ends["low"] > 0 for other, ends in leads.items()}
    return found | {"claim": all(found.values())}


def main() -> None:
    """Simulate, print and store the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    parser.add_argument("--repeats", type=int, default=40, help="studies of each setting")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="a minute: few readers, few studies")
    parser.add_argument("--out", type=Path, help="the CSV to write, after each setting")
    given = parser.parse_args()
    subjects, texts = (12, 6) if given.quick else (42, 24)
    repeats, draws = (2, 60) if given.quick else (given.repeats, given.draws)
    FRAME.append(observations(given.mirror, subjects, texts))
    stored = given.out is not None and given.out.exists()
    rows = pd.read_csv(given.out).to_dict("records") if stored else []
    done = {(row["readers_use"], row["ms_per_bit"], row["baseline"]) for row in rows}
    settings = [
        (truth, EFFECTS[0] * (truth != "none"), baseline)
        for truth in TRUTHS
        for baseline in ("saccades", "without")
    ]
    settings += [("own", effect, "saccades") for effect in EFFECTS[1:]]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for truth, effect, baseline in settings:
            if (truth, effect, baseline) in done:
                continue
            job = partial(judge, truth, effect, baseline == "saccades", draws)
            found = pd.DataFrame(pool.map(job, range(repeats)))
            setting = {"readers_use": truth, "ms_per_bit": effect, "baseline": baseline}
            rows.append(setting | {"studies": repeats} | found.mean().to_dict())
            print(pd.DataFrame(rows[-1:]).round(2).to_string(index=False), flush=True)
            if given.out:
                pd.DataFrame(rows).to_csv(given.out, index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
