"""Power from simulated readers."""

import numpy as np
import pandas as pd
import pytest

from recency.errors import InputError
from recency.evaluations.power import figure as figure_power
from recency.evaluations.power import simulate as simulate_power

DESIGN = {
    "formula": (
        "time_ms ~ length + surprisal + previous_surprisal + (1 + surprisal | subject)"
        " + (1 | sentence)"
    ),
    "of_interest": ["surprisal", "previous_surprisal"],
    "base": "all",
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}
READERS = {
    "subjects": 9,
    "seed": 0,
    "sentence_sd": 10,
    "residual_sd": 60,
    "coefficients": {"intercept": 320, "length": 3, "surprisal": 4, "previous_surprisal": 2},
    "subject_sd": {"intercept": 40, "surprisal": 1},
}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    random = np.random.default_rng(0)
    n = 60 * 7
    words = pd.DataFrame({"item": np.repeat(["a", "b"], n // 2), "sentence": np.arange(n) // 7})
    words["position"], words["word_id"] = np.arange(n) % 7 + 1, np.arange(n)
    words["word"] = ["w" * k for k in random.integers(1, 10, n)]
    words.to_parquet(folder / "words.parquet")
    for name in ("unigram", "lm"):
        frame = pd.DataFrame({"word_id": np.arange(n), "surprisal_bits": random.gamma(4, 2, n)})
        frame.to_parquet(folder / f"{name}.parquet")
    return folder


def run(text, out, **settings):
    simulate_power.main(
        words=text / "words.parquet",
        surprisal=text / "lm.parquet",
        unigram=text / "unigram.parquet",
        out=out,
        readers=READERS | settings.pop("readers", {}),
        design=DESIGN | settings.pop("design", {}),
        **{"permutations": 199, "repeats": 12} | settings,
    )
    return pd.read_csv(out)


def test_power_grows_with_the_data_and_the_effect(text, tmp_path):
    sizes = {"subjects": [8, 32], "sentences": [15, 45], "effects": [0.0, 1.0]}
    table = run(text, tmp_path / "a.csv", delta_loglik=[5], **sizes)
    assert list(table) == simulate_power.COLUMNS and len(table) == 2 * 2 * 2 * 2
    tests = table[table["found"] == "p < 0.05"]
    chance = tests.set_index(["effect", "subjects", "sentences"])["chance"]
    assert (chance[0.0] <= 0.25).all()  # 12 repeats each; false alarms are one-sided, 2.5 %
    assert chance[0.0].mean() <= 0.1
    assert chance[1.0, 32, 45] == 1.0 > chance[1.0, 8, 15]
    delta = tests.set_index(["effect", "subjects", "sentences"])["delta_loglik"]
    assert delta[1.0, 32, 45] > delta[1.0, 32, 15] > delta[1.0, 8, 15]
    assert ((table["low"] <= table["chance"]) & (table["chance"] <= table["high"])).all()


def test_two_runs_write_the_same_bytes(text, tmp_path):
    files = [tmp_path / f"curve{suffix}" for suffix in (".csv", ".pdf", ".svg", ".png")]
    written = []
    for _ in range(2):
        sizes = {"subjects": [8, 12], "sentences": [12], "repeats": 2}
        run(text, tmp_path / "chances.csv", **sizes, delta_loglik=[5])
        figure_power.main(tmp_path / "chances.csv", files)
        written.append([path.read_bytes() for path in files])
    assert written[0] == written[1] and all(len(one) > 100 for one in written[0])
    assert list(pd.read_csv(files[0]).found) == ["p < 0.05"] * 2  # what is drawn


def test_eye_movements_leave_skipped_words_out(text, tmp_path):
    skipping = {"intercept": 0.5, "length": 0.3, "subject_sd": 0.4}
    sizes = {"subjects": [12], "sentences": [40], "repeats": 2}
    all_words = run(text, tmp_path / "a.csv", **sizes)
    fixated = run(text, tmp_path / "b.csv", readers={"skipping": skipping}, **sizes)
    assert fixated["n_exploratory"][0] < 0.9 * all_words["n_exploratory"][0]


def test_too_many_sentences_are_named(text, tmp_path):
    with pytest.raises(InputError, match="99 sentences were asked for, .* has 60"):
        run(text, tmp_path / "a.csv", subjects=[8], sentences=[99])


def test_words_before_and_after_are_predictors_and_what_readers_lack_is_named(text, tmp_path):
    formula = DESIGN["formula"].replace("length +", "length + next_length + previous2_surprisal +")
    sizes = {"subjects": [12], "sentences": [20], "repeats": 3}
    made = run(text, tmp_path / "a.csv", design={"formula": formula}, **sizes)
    assert made.delta_loglik.notna().all()
    assert (made.delta_loglik != run(text, tmp_path / "b.csv", **sizes).delta_loglik).all()
    with pytest.raises(InputError, match="no predictor is called 'cloze'"):
        run(
            text,
            tmp_path / "c.csv",
            design={"formula": formula.replace("next_", "cloze + ")},
            **sizes,
        )
    with pytest.raises(InputError, match=r"simulated readers have no log\(length\)"):
        log = DESIGN["formula"].replace("length +", "log(length) +")
        run(text, tmp_path / "c.csv", design={"formula": log}, **sizes)
