"""Events such as skipping: made from times by the workflow's rules, and fitted as lme4's glmer does."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_readers import DESIGN, columns, files, readings, texts

from crosslmm.densities.binomial import log_density
from recency.errors import REFUSALS
from recency.reading import observations
from recency.regression import fit as regression
from recency.regression import random_effects
from recency.regression.prediction import predict, rows_for

SKIPPING = DESIGN | {
    "engine": "cross_products",
    "family": "binomial",
    "formula": "event ~ length + surprisal + (1 | subject) + (1 | sentence)",
}


def skipped(words, seed=0):
    """Return first-pass times, 0 where a word was skipped: log odds 1 - 0.3 length - 0.15 bits."""
    rows = readings(words, lambda bits: 5 * bits, subjects=20)
    random = np.random.default_rng(seed)
    subject = random.normal(0, 0.8, 20)[rows.subject.str[1:].astype(int)]
    known = words.loc[rows.word_id]
    odds = 1 - 0.3 * known.word.str.len().to_numpy() - 0.15 * known.bits.to_numpy() + subject
    return rows.assign(
        time_ms=rows.time_ms.where(random.random(len(rows)) > 1 / (1 + np.exp(-odds)), 0)
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    words = texts(folder)
    rows = skipped(words)
    rows.to_parquet(folder / "responses.parquet", index=False)
    outs = {name: folder / f"{name}.parquet" for name in ("fit", "exploratory", "held_out")}
    observations.main(
        folder / "words.parquet",
        folder / "responses.parquet",
        [{"name": "edges", "keep": "not sentence_first"}],
        out_counts=folder / "counts.csv",
        event="time_ms == 0",
        **{f"out_{name}": path for name, path in outs.items()},
    )
    return folder


def fitted(folder, model="full", design=SKIPPING, **changed):
    path = folder / f"lm.{model}.json"
    regression.main(
        replace(files(folder, lm=model == "full"), **changed), out=path,
        out_observations=path.with_suffix(".parquet"), lm="lm", design=design, model=model,
    )  # fmt: skip
    return json.loads(path.read_text())


def test_a_word_without_a_time_was_skipped(made):
    """All rows that the filters leave are events or not; those of other partitions are apart."""
    found = pd.concat([pd.read_parquet(made / f"{name}.parquet")
                       for name in ("fit", "exploratory", "held_out")])  # fmt: skip
    rows = pd.read_parquet(made / "responses.parquet")
    words = pd.read_parquet(made / "words.parquet")
    rows = rows[(words.position > 1).to_numpy()[rows.word_id]]
    both = rows.merge(found, on=["subject", "word_id"], validate="1:1")
    assert len(both) == len(rows) == len(found)
    assert (both.event == (both.time_ms == 0)).all() and set(both.event) == {0.0, 1.0}
    assert "time_ms" not in found and 0.1 < found.event.mean() < 0.5


def test_the_fit_is_glmers(made):
    from rpy2 import robjects

    for name in ("fit", "exploratory"):
        columns(made, name).to_csv(made / f"{name}.csv", index=False)
    base, full = fitted(made, "base"), fitted(made, exploratory=None)
    assert full["aic"] == pytest.approx(2 * 5 - 2 * full["loglik"]["fit"])  # no sigma
    full = fitted(made)
    scaled = ", ".join(
        f"{name} = ({name} - {by['mean']!r}) / {by['sd']!r}" for name, by in full["scaling"].items()
    )
    run = robjects.r(f"""function(folder) {{
        library(lme4)
        scaled <- function(file) {{
            data <- transform(read.csv(file.path(folder, file)), {scaled})
            transform(data, subject = factor(subject), sentence = factor(sentence))
        }}
        data <- scaled("fit.csv")
        fit <- glmer(event ~ 1 + length + surprisal + (1 | subject) + (1 | sentence), data,
                     family = binomial)
        base <- update(fit, . ~ . - surprisal)
        other <- predict(fit, scaled("exploratory.csv"), type = "response",
                         allow.new.levels = TRUE)
        list(fixef(fit), sqrt(diag(as.matrix(vcov(fit)))), getME(fit, "theta"),
             c(logLik(fit), logLik(base), AIC(fit), BIC(fit)), as.numeric(other))
    }}""")
    fixed, se, theta, likelihoods, other = map(list, run(str(made)))
    assert [e["estimate"] for e in full["fixed"]] == pytest.approx(fixed, rel=1e-4)
    # The fit is singular: lme4's Hessian reaches across the bound.
    assert [e["se"] for e in full["fixed"]] == pytest.approx(se, rel=1e-2)
    # The order of the factors' levels, as text or as numbers, is all that differs.
    # lme4 orders terms by their numbers of levels.
    assert sorted(full["theta"]) == pytest.approx(sorted(theta), rel=1e-3, abs=1e-4)
    assert full["loglik"]["fit"] == pytest.approx(likelihoods[0], abs=1e-4)
    assert base["loglik"]["fit"] == pytest.approx(likelihoods[1], abs=1e-4)
    rows = columns(made, "exploratory")
    p = np.array(other)
    expected = np.where(rows.event == 1, np.log(p), np.log(1 - p)).sum()
    assert full["loglik"]["exploratory"] == pytest.approx(expected, abs=1e-3)
    assert full["loglik"]["exploratory_marginal"] < 0 and full["sigma"] == 1
    parts = pd.read_parquet(made / "lm.full.parquet")
    assert parts.loglik.sum() == pytest.approx(full["loglik"]["exploratory"])
    read = rows_for(full, made / "exploratory.parquet",
                    files(made).texts(full))  # fmt: skip
    assert predict(full, read) == pytest.approx(p, abs=1e-4)


def test_the_effects_that_were_put_in_are_found(made):
    full, base = fitted(made), fitted(made, "base")
    for name, truth in (("length", -0.3), ("surprisal", -0.15)):
        effect = next(e for e in full["fixed"] if e["term"] == name)
        sd = full["scaling"][name]["sd"]
        assert effect["estimate"] / sd == pytest.approx(truth, abs=4 * effect["se"] / sd)
    assert full["loglik"]["exploratory"] - base["loglik"]["exploratory"] > 20


def test_the_logarithm_of_a_probability_has_no_limit():
    found = log_density(np.array([1.0, 0.0, 1.0]), np.array([[-800.0], [800.0], [0.0]]))
    assert found == pytest.approx([-800, -800, np.log(0.5)])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"engine": "lme4"},
            "family binomial is fitted by Laplace's approximation; write `engine: cr",
        ),
        ({"family": "poisson"}, "family is .poisson.; known: gaussian, lognormal"),
        ({"family": "gaussian"}, "the left side is event and the family gaussian"),
        ({"response": "log"}, "events have no logarithm"),
        ({"formula": "time_ms ~ surprisal + (1 | subject)"}, "'event ~ …' go together"),
    ],
)
def test_designs_that_do_not_go_together(made, change, said):
    with pytest.raises(REFUSALS, match=said):
        fitted(made, design=SKIPPING | change)


def test_what_is_no_event_is_refused(made, tmp_path):
    words = pd.read_parquet(made / "words.parquet")
    rows = pd.read_parquet(made / "fit.parquet")
    shown = tmp_path / "all.parquet"
    rows[rows.event == 0].to_parquet(shown, index=False)
    with pytest.raises(REFUSALS, match="happens in no one of .* such as `time_ms > 0`"):
        fitted(made, fit=shown)
    with pytest.raises(REFUSALS, match="no column event, .* but time_ms"):
        times = pd.read_parquet(made / "responses.parquet").assign(previous_fixated=None)
        times.to_parquet(shown, index=False)
        fitted(made, fit=shown)
    frame = observations.joined(words, pd.read_parquet(made / "responses.parquet"))
    frame["regressed"] = pd.Series(True, frame.index, dtype="boolean").mask(frame.word_id == 3)
    with pytest.raises(REFUSALS, match="needs regressed, which is missing in 20 of"):
        observations.events(frame, "regressed", "times.csv")
    with pytest.raises(REFUSALS, match="no column regresed; did you mean regressed"):
        observations.events(frame, "regresed", "times.csv")
    kept = frame[frame.word_id != 3]
    assert observations.events(kept, "regressed and time_ms > 0", "x").isin([0.0, 1.0]).all()


def test_the_structure_of_other_models_is_not_searched(made, tmp_path):
    with pytest.raises(REFUSALS, match="random effects needs a linear mixed model, and the design"):
        random_effects.main(
            files(made), [tmp_path / "t.csv"], design=SKIPPING,
        )  # fmt: skip
