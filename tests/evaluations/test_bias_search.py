"""The search of a bias's parameters: its objective is the workflow's fit, and a killed one goes on."""

import json

import pandas as pd
import pytest

from checkpoints import checkpoint
from item_means import DESIGN, fitted, items, observed
from recency.attention import biased
from recency.errors import InputError
from recency.evaluations.bias_search import figure as figure_bias_search
from recency.evaluations.bias_search import search as bias_search
from recency.scoring import surprisal
from recency.scoring.lm_spec import LMSpec

SEARCH = {
    "form": "exponential",
    "layers": "last",
    "parameters": {"decay": [0.001, 100], "weight": [0, 1]},
    "trials": 6,
    "seed": 3,
}
BIASES = [
    {"form": "exponential", "decay": 0.5, "weight": 0.9, "layers": "last"},
    {"form": "primacy_recency"},
    {"form": "window", "width": 2},
    {"form": "exponential", "decay": 82.86, "weight": 0.37},
]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    out = observed(folder / "made", items(folder / "items.tsv", sentences=12))
    words = pd.read_parquet(out["words"])
    return out, checkpoint(folder / "model", words.groupby("item").word.agg(" ".join))


def run(study, folder, **changes):
    """Search; return the trials and what was found best."""
    out, model = study
    folder.mkdir(exist_ok=True)
    settings = {
        "search": SEARCH | changes.pop("search", {}),
        "responses": [{"dataset": "d", "measure": "SPR", "design": DESIGN}],
    }
    bias_search.main(
        words=[out["words"]],
        fit=[out["fit"]],
        lm=LMSpec("gpt2", model, **{"bos": False} | changes.pop("lm", {})),
        out_trials=folder / "trials.csv",
        out_best=folder / "best.json",
        **settings | changes,
    )
    return pd.read_csv(folder / "trials.csv"), json.loads((folder / "best.json").read_text())


def scores(model, out):
    return surprisal.score_words(pd.read_parquet(out["words"]), model, bos=False).table


def by_the_workflow(study, bias, name):
    """Return the log-likelihood that the rules surprisal and regression give, with one bias."""
    out, model = study
    lm = LMSpec(name, model, bias=bias, bos=False)
    surprisal.main(out["words"], lm, out["words"].with_name(f"{name}.parquet"), "d")
    return json.loads(fitted(out, name).read_text())["loglik"]["fit"]


def test_a_checkpoint_that_cannot_be_had_is_named(monkeypatch):
    def unreachable(name, **settings):
        raise OSError("We couldn't connect to the Hub\nand more")

    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", unreachable)
    with pytest.raises(
        InputError, match="'gpt2' is no folder .* couldn't connect to the Hub\\); wi"
    ):
        surprisal.load("gpt2")


def test_biases_do_not_stack(study):
    """After any number of them, the scores are those of the last one on a network just loaded."""
    out, folder = study
    model = surprisal.load(folder)
    plain = scores(model, out)
    for bias in BIASES:
        bias_search.apply_bias(model.network, bias)
        found = scores(model, out)
        pd.testing.assert_frame_equal(found, scores(surprisal.load(folder, bias=bias), out))
        assert (found.surprisal_bits - plain.surprisal_bits).abs().max() > 1e-3
    modules = biased.attention_modules(model.network)
    assert len({type(module.recency_bias).__module__ for module in modules}) == 1
    bias_search.apply_bias(model.network, {"form": "none"})
    pd.testing.assert_frame_equal(scores(model, out), plain, atol=1e-5, rtol=1e-5)


def test_what_is_maximised_is_the_workflow_s_fit(study, tmp_path):
    known = {"form": "exponential", "decay": 82.86, "weight": 0.37}
    trials, best = run(study, tmp_path, mark={"dVM": known})
    assert list(trials) == ["trial", "decay", "weight", "loglik"] and len(trials) == 6
    assert trials.decay.between(0.001, 100).all() and trials.weight.between(0, 1).all()
    for name, bias, value in (
        ("plain", None, best["unbiased"]),
        ("marked", known, best["marked"]["dVM"]["loglik"]),
        ("best", best["bias"], best["loglik"]),
    ):
        assert by_the_workflow(study, bias, name) == value, name
    top = trials.loc[trials.loglik.idxmax()]
    assert top.loglik == best["loglik"] and top.trial == best["trial"]
    assert best["bias"] == {
        "form": "exponential", "layers": "last", "decay": top.decay, "weight": top.weight
    }  # fmt: skip
    assert trials.loglik.nunique() == 6


@pytest.mark.merge
def test_a_killed_search_goes_on_where_it_was(study, tmp_path, monkeypatch):
    calls, real = [], bias_search.loglik

    def counted(*args):
        if len(calls) == limit:
            raise KeyboardInterrupt
        calls.append(0)
        return real(*args)

    monkeypatch.setattr(bias_search, "loglik", counted)
    limit = 99
    run(study, tmp_path / "whole")
    assert len(calls) == 7  # without a bias, and six trials
    calls.clear()
    limit = 4
    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "killed")
    state = tmp_path / "killed" / ".trials.state.jsonl"
    assert not (tmp_path / "killed" / "trials.csv").exists()
    state.write_text(state.read_text() + '{"bias": {"form": "expo')  # died while it was writing
    calls.clear()
    limit = 99
    run(study, tmp_path / "killed")
    assert len(calls) == 3
    for name in ("trials.csv", "best.json"):
        whole, killed = (tmp_path / folder / name for folder in ("whole", "killed"))
        assert whole.read_bytes() == killed.read_bytes()

    calls.clear()  # more trials begin where these ended; another seed or design begins anew
    more, _ = run(study, tmp_path / "killed", search={"trials": 8})
    assert len(calls) == 2 and len(more) == 8
    calls.clear()
    short = DESIGN | {"formula": "time_ms ~ given_length + surprisal"}
    run(study, tmp_path / "killed", responses=[{"dataset": "d", "measure": "SPR", "design": short}])
    assert len(calls) == 7


def test_whole_numbers_and_values_that_stay(study, tmp_path):
    window = {"form": "window", "parameters": {"width": [1, 3]}, "layers": "all", "trials": 8}
    trials, best = run(study, tmp_path / "window", search=window)
    assert set(trials.width) <= {1, 2, 3} and trials.width.dtype == "int64"
    assert trials.groupby("width").loglik.nunique().max() == 1
    logistic = {"form": "logistic", "parameters": {"steepness": 0.4, "midpoint": [1, 12]}}
    trials, best = run(study, tmp_path / "logistic", search=logistic)
    assert list(trials) == ["trial", "midpoint", "loglik"]
    assert best["bias"]["steepness"] == 0.4
    assert by_the_workflow(study, best["bias"], "logistic") == best["loglik"]
    out = [tmp_path / f"f.{ending}" for ending in ("svg", "csv")]
    figure_bias_search.main(
        trials=tmp_path / "logistic" / "trials.csv",
        best=tmp_path / "logistic" / "best.json",
        out=out,
    )
    rows = pd.read_csv(out[1])
    assert rows.gain.tolist() == pytest.approx((rows.loglik - best["unbiased"]).tolist())


def test_trials_without_a_fit(study, tmp_path, monkeypatch):
    """Such a trial is a row without a value; if all are, or the unbiased LM, that is an error."""
    real, numbers = bias_search.loglik, iter(range(99))
    lost = {2, 3}
    monkeypatch.setattr(
        bias_search, "loglik", lambda *args: None if next(numbers) in lost else real(*args)
    )
    trials, best = run(study, tmp_path / "some")
    assert trials.loglik.isna().tolist() == [False, True, True, False, False, False]
    assert best["loglik"] == trials.loglik.max()
    for first, said in ((0, "the regression on its surprisal failed"), (1, "none of the 6 trials")):
        numbers, lost = iter(range(99)), set(range(first, 99))
        with pytest.raises(InputError, match=said):
            run(study, tmp_path / f"all{first}")


def test_figure_marks_best_and_known(tmp_path):
    rows = [(0, 10.0, 0.2, -105.0), (1, 80.0, 0.4, -101.0), (2, 30.0, 0.6, None)]
    table = pd.DataFrame(rows, columns=["trial", "decay", "weight", "loglik"])
    table.to_csv(tmp_path / "trials.csv", index=False)
    best = {
        "lm": "gpt2",
        "bias": {"form": "exponential", "decay": 80.0, "weight": 0.4},
        "trial": 1,
        "loglik": -101.0,
        "unbiased": -104.0,
        "marked": {"dVM": {"bias": {"decay": 82.86, "weight": 0.37}, "loglik": -101.5}},
        "responses": ["items_provo.FP"],
        "searched": {"decay": [0.001, 100], "weight": [0, 1]},
    }
    (tmp_path / "best.json").write_text(json.dumps(best))
    for name in ("a", "b"):
        out = [tmp_path / f"{name}.{ending}" for ending in ("svg", "png", "csv")]
        figure_bias_search.main(
            trials=tmp_path / "trials.csv", best=tmp_path / "best.json", out=out
        )
    for ending in ("svg", "png", "csv"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    svg = (tmp_path / "a.svg").read_text()
    assert all(f'id="{name}"' in svg for name in ("trials", "best", "dVM", "notes"))
    assert pd.read_csv(tmp_path / "a.csv").gain.tolist()[:2] == [-1.0, 3.0]
    sentences = figure_bias_search.sentences(table, best)
    assert "\N{MINUS SIGN}104.00 without a bias, \N{MINUS SIGN}101.00 with the best" in sentences[0]
    assert sentences[1].startswith("with dVM (decay 82.86, weight 0.37)")
    assert sentences[2].endswith("fit: 1")
    labels = {"gpt2": "GPT-2", "items_provo.FP": "Provo (items) FP"}
    named = figure_bias_search.sentences(table, best, labels)
    assert sentences[0].startswith("3 trials on gpt2, items_provo.FP;")
    assert named[0].startswith("3 trials on GPT-2, Provo (items) FP;")
