"""GLUE: tasks whose answer is known, files that are wrong, and tables that show a collapse."""

import os
import signal

import numpy as np
import pandas as pd
import pytest
import torch

from masked_networks import roberta
from project import SCHEMA, load, show
from recency.errors import InputError
from recency.evaluations.glue import fine_tune, runs, view
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import load as open_model
from recency.workflow.config import checks

WORDS = [f"w{number}" for number in range(30)]
TASK = {
    "columns": {"sentence": "text", "label": "label"}, "labels": ["no", "yes"],
    "measure": "matthews", "learning_rate": 3e-3, "batch": 16, "updates": 250, "warmup_updates": 15,
}  # fmt: skip
SETTINGS = {
    "epochs": 4, "seeds": [1, 2], "examples": None, "betas": [0.9, 0.98], "epsilon": 1e-6,
    "weight_decay": 0.1, "dropout": 0.1, "context": 32,
}  # fmt: skip


def written(path, rows, header="text\tlabel"):
    path.write_text("\n".join([header, *("\t".join(row) for row in rows)]) + "\n")
    return path


def made(count, seed, wrong=0):
    """Sentences with w0 are "yes"; of the first `wrong` of each label the label is the other one."""
    random = np.random.default_rng(seed)
    rows = []
    for label in ("yes", "no"):
        for number in range(count):
            words = list(random.choice(WORDS[1:], 6))
            words[random.integers(6)] = "w0" if label == "yes" else "w1"
            shown = {"yes": "no", "no": "yes"}[label] if number < wrong else label
            rows.append((" ".join(words), shown))
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return roberta(tmp_path_factory.mktemp("roberta"), WORDS)


def test_a_made_task_is_learned_to_its_known_matthews_and_a_killed_job_goes_on(folder, tmp_path):
    """A fifth of dev has the wrong label, half of either: who has learned the rule has Matthews 0.6."""
    files = {
        "train": written(tmp_path / "train.tsv", made(200, 1)),
        "dev": written(tmp_path / "dev.tsv", made(50, 2, wrong=10)),
    }
    arguments = {"files": files, "lm": LMSpec("rob", folder), "name": "made"}
    arguments |= {"task": TASK, "out": tmp_path / "runs.csv"}
    fine_tune.main(**arguments, settings=SETTINGS | {"seeds": [1]})
    one = pd.read_csv(tmp_path / "runs.csv")
    last = one.iloc[-1]
    assert (last.accuracy, last.matthews, last.f1) == pytest.approx((0.8, 0.6, 0.8))
    assert list(one.epoch) == [1, 2, 3, 4] and not last.constant and last.majority == 0.5
    assert (last.train, last.dev, last.cut) == (400, 100, 0)

    # Killed in its second run: the first is not run again.
    state = tmp_path / ".runs.csv.state.json"
    run = fine_tune.run
    seeds = []

    def dying(*given):
        seeds.append(given[5])
        if given[5] == 2 and len(seeds) == 2:
            raise KeyboardInterrupt
        return run(*given)

    fine_tune.run = dying
    try:
        short = SETTINGS | {"epochs": 1}
        with pytest.raises(KeyboardInterrupt):
            fine_tune.main(**arguments, settings=short)
        assert state.exists()
        fine_tune.main(**arguments, settings=short)
    finally:
        fine_tune.run = run
    assert seeds == [1, 2, 2] and not state.exists()
    assert list(pd.read_csv(tmp_path / "runs.csv").seed) == [1, 2]


@pytest.mark.parametrize("how", ["signal", "kill"])
def test_a_killed_job_continues_within_a_seed_to_the_same_scores(
    folder, tmp_path, monkeypatch, how
):
    """In the second of three epochs; no update is done twice after a signal, whose state is that moment's."""
    files = {
        "train": written(tmp_path / "train.tsv", made(60, 1)),
        "dev": written(tmp_path / "dev.tsv", made(20, 2)),
    }
    given = {"files": files, "lm": LMSpec("rob", folder), "name": "made", "task": TASK}
    given["settings"] = SETTINGS | {"epochs": 3, "seeds": [7]}
    fine_tune.main(**given, out=tmp_path / "whole.csv")

    updates, padded = [], fine_tune.padded

    def ended(data, batch, pad):
        if len(data.ids) == 120:  # of train
            updates.append(1)
            if len(updates) == 12 and how == "signal":  # of 8 an epoch
                os.kill(os.getpid(), signal.SIGTERM)
            if len(updates) == 12 and how == "kill":
                raise KeyboardInterrupt
        return padded(data, batch, pad)

    monkeypatch.setattr(fine_tune, "padded", ended)
    state = tmp_path / ".runs.csv.state.pt"
    if how == "kill":  # some updates after its last state
        old = iter([False] * 9 + [True])
        monkeypatch.setattr(fine_tune.SeedState, "is_old", lambda self: next(old, False))
        with pytest.raises(KeyboardInterrupt):
            fine_tune.main(**given, out=tmp_path / "runs.csv")
    else:
        with pytest.raises(InputError, match="seed 7: ended by SIGTERM; its state is saved"):
            fine_tune.main(**given, out=tmp_path / "runs.csv")
    assert state.exists()
    before = len(updates)
    fine_tune.main(**given, out=tmp_path / "runs.csv")
    assert len(updates) - before == 24 - {"signal": 12, "kill": 9}[how] and not state.exists()
    assert (tmp_path / "runs.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_signal_in_a_seed_s_last_batch_ends_the_job_before_the_next_seed(
    folder, tmp_path, monkeypatch
):
    files = {
        "train": written(tmp_path / "train.tsv", made(20, 1)),
        "dev": written(tmp_path / "dev.tsv", made(20, 2)),
    }
    given = {"files": files, "lm": LMSpec("rob", folder), "name": "made", "task": TASK}
    given |= {"settings": SETTINGS | {"epochs": 1, "seeds": [7, 8]}, "out": tmp_path / "runs.csv"}
    measure, seen = fine_tune.measure, []

    def signalled(*arguments):
        seen.append(1)
        if len(seen) == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return measure(*arguments)

    monkeypatch.setattr(fine_tune, "measure", signalled)
    with pytest.raises(InputError, match="seed 8: ended by SIGTERM"):
        fine_tune.main(**given)
    assert len(seen) == 1
    fine_tune.main(**given)
    assert len(seen) == 2 and list(pd.read_csv(tmp_path / "runs.csv").seed) == [7, 8]
    assert [path.name for path in tmp_path.glob(".*state*")] == []


def test_a_seed_s_state_of_another_task_or_a_damaged_one_is_not_used(folder, tmp_path, capsys):
    classifier = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(classifier.parameters())
    path, order = tmp_path / "state.pt", np.random.default_rng(1)
    state = fine_tune.SeedState(path, {"task": 1})
    state.save(classifier, optimizer, order.bit_generator.state, fine_tune.Position(update=9))
    assert state.restore(classifier, optimizer, order).update == 9
    other = fine_tune.SeedState(path, {"task": 2})
    assert other.restore(classifier, optimizer, order).update == 0
    assert "another specification" in capsys.readouterr().err
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match="cut or damaged"):
        state.restore(classifier, optimizer, order)


def test_scores_are_those_of_brute_force():
    random = np.random.default_rng(0)
    true, said = random.integers(0, 2, 200), random.integers(0, 2, 200)
    said[:80] = true[:80]
    found = runs.score_labels(said, true)
    assert found["matthews"] == pytest.approx(np.corrcoef(true, said)[0, 1])
    hits = ((true == 1) & (said == 1)).sum()
    assert found["f1"] == pytest.approx(2 * hits / ((true == 1).sum() + (said == 1).sum()))
    three, guess = random.integers(0, 3, 300), random.integers(0, 3, 300)
    guess[:150] = three[:150]
    x, y = np.eye(3)[three], np.eye(3)[guess]
    both = [((a - a.mean(0)) * (b - b.mean(0))).sum() for a, b in ((x, y), (x, x), (y, y))]
    found = runs.score_labels(guess, three)
    assert found["matthews"] == pytest.approx(both[0] / np.sqrt(both[1] * both[2]))
    one = runs.score_labels(np.ones(200, int), true)
    assert one["constant"] and one["matthews"] == 0
    assert runs.majority(true, True)["majority"] == max(true.mean(), 1 - true.mean())
    a, b = random.random(50), random.random(50)
    found = runs.score_numbers(a, b)
    assert found["pearson"] == pytest.approx(np.corrcoef(a, b)[0, 1]) and not found["constant"]
    flat = runs.score_numbers(0.5 + a / 100, b)
    assert flat["constant"] and flat["mse"] >= runs.majority(b, False)["majority"]


def test_a_pair_is_cut_from_its_longer_sentence_and_counted(folder, tmp_path, capsys):
    rows = [(" ".join(["w3"] * 12), "w4 w5", "yes"), ("w3", "w4", "no")]
    pairs = TASK | {"columns": {"sentence1": 0, "sentence2": 1, "label": 2}}
    path = written(tmp_path / "pairs.tsv", rows, header="one\ttwo\tlabel")
    part = fine_tune.read_part([("train", path)], pairs)
    tokenizer = open_model(folder).tokenizer
    found = fine_tune.encode(part, tokenizer, 10, "made")
    ids = [tokenizer.id_to_token(number) for number in found.ids[0]]
    assert ids == ["<s>", *["w3"] * 4, "</s>", "</s>", "w4", "w5", "</s>"] and found.cut == 1
    assert "1 of 2 examples were longer than 10 tokens" in capsys.readouterr().err
    assert len(fine_tune.encode(part, tokenizer, 30, "made").ids[0]) == 18


@pytest.mark.parametrize(
    ("copy", "sentence"),
    [
        ('"""Is it?"" he asked"\tyes\nw\tno\n', '"Is it?" he asked'),  # by pandas
        ('"Is it?" he asked\tyes\n"w\tno\n', '"Is it?" he asked'),  # as distributed
    ],
)
def test_copies_with_and_without_quotes_are_one_task(tmp_path, copy, sentence):
    path = tmp_path / "t.tsv"
    path.write_text("text\tlabel\n" + copy)
    assert fine_tune.read_part([("train", path)], TASK).texts[0] == (sentence,)


def test_real_rte_in_two_copies(shared_data):
    task = {"columns": {"sentence1": "sentence1", "sentence2": "sentence2", "label": "label"}}
    quoted = shared_data / "glue_sst2_rte" / "RTE" / "train.tsv.gz"
    part = fine_tune.read_part([("train", quoted)], task | {"labels": ["0", "1"]})
    assert len(part.texts) == 2490
    assert not any('""' in text for pair in part.texts for text in pair)


def test_updates_are_in_proportion_and_the_rate_ends_at_zero():
    rate = fine_tune.Rate(TASK, SETTINGS | {"epochs": 10}, 25)
    highest = max(rate(update) for update in range(250))
    assert highest == pytest.approx(TASK["learning_rate"]) == rate(15)
    assert 0 < rate(249) < highest / 100 and rate(250) == 0 == rate(260)
    assert fine_tune.Rate(TASK, SETTINGS | {"epochs": 2, "examples": 48}, 3).last == 6


@pytest.mark.parametrize(
    "rows, task, said",
    [
        ([("a b", "yes"), ("", "no")], {}, r"line 3: sentence is empty"),
        ([("\u200b", "yes"), ("a", "no")], {}, r"line 2: sentence is empty"),
        ([("a b", "yes"), ("c", "maybe")], {}, r"line 3: the label 'maybe' is not one of no, yes"),
        ([("a b", "yes"), ("c", "yes")], {}, r"all of 2 examples have one label"),
        ([("a b", "yes"), ("c",)], {}, r"line 3: 1 columns, but its label should be column 1"),
        ([("a b", "yes")], {"columns": {"sentence": "words", "label": "label"}},
         r"no column 'words', only text, label"),
        ([("a b", "6")], {"scale": 5}, r"line 2: the score '6' is not between 0 and 5"),
        ([("a b", "nan")], {"scale": 5}, r"line 2: the score 'nan'"),
        ([], {}, r"no rows"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_by_line(tmp_path, rows, task, said):
    own = TASK | task
    own = {key: own[key] for key in own if not (key == "labels" and "scale" in own)}
    with pytest.raises(InputError, match=rf"t\.tsv.*{said}"):
        fine_tune.read_part([("train", written(tmp_path / "t.tsv", rows))], own)


def made_runs(folder):
    """Write runs of two LMs, two networks of the first, on a task of labels and one of scores."""
    variants = [("a", "a"), ("a", "a@seed=2"), ("b", "b")]
    variants = [
        {"lm": lm, "label": lm.upper(), "variant": variant, "bias": {"form": "none"}, "applied": "none"}
        for lm, variant in variants
    ]  # fmt: skip
    tasks = [
        {"task": "T", "label": "T", "measure": "f1", "not_run": ""},
        {"task": "S", "label": "S", "measure": "pearson", "not_run": ""},
        {"task": "Q", "label": "Q", "measure": "matthews", "not_run": "Q is not here: place it"},
    ]
    paths = []
    for place, variant in enumerate(variants):
        for task in tasks[:2]:
            rows = []
            for seed in (1, 2):
                for epoch in (1, 2):
                    stuck = place == 0
                    labels = {"accuracy": 0.66 if stuck else 0.7 + 0.1 * (epoch == 1),
                              "matthews": 0.0, "f1": 0.8}  # fmt: skip
                    values = {"mse": 0.1 / epoch, "pearson": 0.5}
                    of = values if task["task"] == "S" else labels
                    rows.append({"seed": seed, "epoch": epoch, **of, "constant": stuck})
            known = {"majority": 0.66, "majority_f1": 0.8, "train": 10, "dev": 5, "cut": 3}
            paths.append(folder / f"{variant['variant']}.{task['task']}.csv")
            own = pd.DataFrame(rows).assign(**known)
            own.reindex(columns=runs.RUN).to_csv(paths[-1], index=False)
    return paths, variants, tasks


def test_the_table_and_the_figure_show_which_runs_ended_on_one_answer(tmp_path):
    paths, variants, tasks = made_runs(tmp_path)
    known = tmp_path / "published.csv"
    known.write_text("size,label,ppl,T,S,Q\nbase,A,2.9,83.6,0.03,91\nlarge,B,2.5,84,0.02,92\n")
    curve = tmp_path / "training.csv"
    curve.write_text(f"step,validation_nats\n1,5\n2,{np.log(20)}\n")
    out = [tmp_path / f"table_glue.{ending}" for ending in ("csv", "html", "tex")]
    training = SETTINGS | {"examples": 10}
    show(view.table_glue, 
        runs=paths, curves=[curve], out=out, variants=variants, trained=["b"], tasks=tasks,
        training=training, title="Made", published=known,
    )  # fmt: skip
    rows = pd.read_csv(out[0]).set_index(["lm", "task"])
    a, b = rows.loc[("a", "T")], rows.loc[("b", "T")]
    assert (a.runs, a.ended, b.runs, b.ended) == (4, 2, 2, 0)
    assert (a.best, a.low, a.high) == pytest.approx((73, 66, 80)) and b.last == pytest.approx(70)
    assert (a.published, b.published, a.majority) == (83.6, 84, 66)
    assert a.difference == pytest.approx(73 - 83.6)
    assert rows.loc[("b", "ppl")].difference == pytest.approx(20 - 2.5)
    assert rows.loc[("b", "ppl")].best == pytest.approx(20)
    assert rows.loc[("a", "S")].best == pytest.approx(0.05)
    html = out[1].read_text()
    for said in ("constant: 2 of 4 runs", "not run", "published 83.6", "F1 0.80",
                 "Q is not here: place it", "T 3", "at most 10 examples"):  # fmt: skip
        assert said in html, said
    assert "<b>80.0</b>" in html and "<b>73.0</b>" not in html  # two of its runs learned nothing
    assert "(2/4 constant)" in str(view.summary(out[0]))
    drawn = [tmp_path / f"figure_glue.{ending}" for ending in ("svg", "csv")]
    show(view.figure_glue, runs=paths, out=drawn, variants=variants, tasks=tasks, published=known)
    by_run = pd.read_csv(drawn[1])
    assert by_run.ended.sum() == 4 and set(by_run.published.dropna()) == {83.6, 84, 0.03, 0.02}


@pytest.mark.merge
@pytest.mark.parametrize(
    "change, said",
    [
        (
            {"columns": {"sentence1": "a", "label": "l"}},
            "`sentence1` and `sentence2` go together",
        ),
        (
            {"columns": {"label": "l"}},
            "either `sentence`, or `sentence1` and `sentence2`, is required",
        ),
        ({"measure": "pearson"}, "pearson requires `scale`"),
        ({"header": ["train"]}, "dev has no header, hence no column 'text'"),
        ({"columns": {"sentence": "text", "label": "text"}}, "one column has two roles"),
        ({"warmup_updates": 250}, "as many as the `updates`"),
    ],
)
def test_a_task_that_cannot_be_is_refused_with_the_config(change, said):
    config = load()
    path = {"local": "README.md"}
    config["glue_tasks"]["mine"] = TASK | {"label": "Mine", "train": path, "dev": path} | change
    with pytest.raises(InputError, match=f"glue_tasks → mine → .*{said}"):
        checks.check(config, SCHEMA)
