"""The history of a model travels with it, and it is not evaluated on text that it was trained on."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import torch

from readingtimes import files
from recency import history
from recency.errors import REFUSALS
from recency.evaluations import summary
from recency.evaluations.report import page
from recency.networks import checkpoints, states, stored_steps, train
from recency.scoring import mix, ngram_surprisal, plausible, surprisal
from recency.scoring.lm_spec import LMSpec
from training_job import RECIPE, write_stream

RNG = np.random.default_rng(1)


def write_corpus(folder, name, words):
    """Write a corpus as the workflow has it: its text, its tokens and what these are."""
    where = folder / "corpora" / name
    (where / "tokens").mkdir(parents=True, exist_ok=True)
    documents = [" ".join(words[start : start + 50]) for start in range(0, len(words), 50)]
    pd.DataFrame({"document": range(len(documents)), "text": documents}).to_parquet(
        where / "text.parquet"
    )
    return write_stream(where / "tokens", RNG.integers(1, 32, 400))


def drawn(letter, number=1000):
    return [f"{letter}{n}" for n in RNG.integers(0, 200, number)]


@pytest.fixture
def trained(job, tmp_path):
    """Train on a corpus, keeping a checkpoint; return the job and the corpus's words."""
    words = drawn("a")
    job["tokens"], job["info"] = write_corpus(tmp_path, "stories", words)
    job |= {"recipe": RECIPE | {"steps": 4, "checkpoints": [2]}, "code": {"recency.a": "1"}}
    train.main(**job)
    return job, words


def test_config_json_has_the_history_and_it_travels(trained, tmp_path):
    job, _ = trained
    folder = job["out"].parent
    made = history.read(folder)
    (text,) = made["texts"]
    assert text["corpus"] == "stories" and text["sha256"] == files.sha256(job["tokens"])
    assert made["seed"] == 1 and made["code"] == {"recency.a": "1"} and "resumed" not in made
    # A step that was kept, as a folder and as an LM of its own.
    own = tmp_path / "step2" / "config.json"
    stored_steps.copy_checkpoint(folder / "training.csv", own, lm="step2", of="lm", step=2)
    # Trained on by others, who know nothing of a history.
    network = checkpoints.load(folder)
    network.save_pretrained(tmp_path / "tuned")
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    for other in (stored_steps.folder(folder, 2), own.parent, tmp_path / "tuned", copied):
        assert history.read(other) == made
    seen = tmp_path / "corpora" / "stories" / "text.parquet"
    for other in (folder, stored_steps.folder(folder, 2), own.parent, copied):
        with pytest.raises(REFUSALS, match=r"was trained on 100% of seen \(passages of 8 words"):
            history.require_unseen(seen, "seen", {"lm": other})


def test_vectors_bring_their_history(trained, job, tmp_path):
    """A text that only the network was trained on whose vectors another begins with."""
    folder = trained[0]["out"].parent
    tokens, info = write_corpus(tmp_path, "others", drawn("b"))
    tokens_of = {"sha256": "0"}
    specification = {"seed": 2, "recipe": {}, "code": {}, "tokens": tokens_of, "vectors": "1"}
    new = tmp_path / "new"
    made = history.of_training(
        new, tokens, info, specification, {}, vectors=folder / "model.safetensors"
    )
    assert [each["corpus"] for each in history.texts(made)] == ["others", "stories"]
    (new / "config.json").write_text(json.dumps({history.KEY: made}))
    for corpus in ("others", "stories"):
        with pytest.raises(REFUSALS, match=f"are in {corpus}"):
            history.require_unseen(
                tmp_path / "corpora" / corpus / "text.parquet", "it", {"new": new}
            )


@pytest.mark.parametrize(("copied", "refused"), [(0.0, False), (0.2, False), (0.9, True)])
def test_what_may_overlap(trained, tmp_path, capsys, copied, refused):
    """Text that is repeated here and there is noted; a copy, cut and written otherwise, is refused."""
    job, words = trained
    first = int(1000 * copied)
    write_corpus(tmp_path, "test", [*(w.upper() for w in words[:first]), *drawn("c", 1000 - first)])
    text, folder = tmp_path / "corpora" / "test" / "text.parquet", job["out"].parent
    capsys.readouterr()
    if refused:
        with pytest.raises(REFUSALS, match="lm was trained on 9.% of the test text"):
            history.require_unseen(text, "the test text", {"lm": folder})
        return
    history.require_unseen(text, "the test text", {"lm": folder})
    assert ("lm was trained on 2" in capsys.readouterr().err) == bool(copied)


def test_reading_texts_that_were_trained_on_are_not_scored(trained, tmp_path, capsys):
    """Unless the config says so; other texts are scored in silence."""
    job, words = trained
    folder, table = job["out"].parent, tmp_path / "words.parquet"

    def written(shown):
        rows = {"item": 1, "sentence": 1, "position": [*range(1, 301)], "word_id": [*range(300)]}
        pd.DataFrame(rows | {"word": shown}).to_parquet(table)

    written(words[:300])
    refused = r"^lm: it was trained on 8.% of novel .* set `accept: \[trained_on\]` under lms → lm"
    spec = LMSpec("lm", folder, tokenizer=job["tokenizer"])
    with pytest.raises(REFUSALS, match=refused):
        surprisal.main(table, spec, tmp_path / "surprisal.parquet", "novel", accept=[()])
    arpa = tmp_path / "3-gram" / "n.arpa"
    arpa.parent.mkdir()
    arpa.write_text("\\data\\\n")
    history.of_ngrams(tmp_path / "corpora" / "stories" / "text.parquet", arpa)
    settings = {"lm": "3-gram", "dataset": "novel", "require_unseen": True}
    with pytest.raises(REFUSALS, match=r"^3-gram: it was trained on 8.% of novel"):
        ngram_surprisal.main(table, arpa, tmp_path / "surprisal.parquet", **settings)
    capsys.readouterr()
    plausible.require_unseen(table, "novel", "lm", folder, ["trained_on"])
    assert "The config permits this" in capsys.readouterr().err
    written(drawn("c", 300))
    plausible.require_unseen(table, "novel", "lm", folder)
    assert capsys.readouterr().err == ""


def test_a_training_is_not_validated_on_its_own_text(job, tmp_path):
    words = drawn("a")
    job["tokens"], job["info"] = write_corpus(tmp_path, "stories", words)
    job["held_out"], _ = write_corpus(tmp_path, "copy", words)
    job["recipe"] = RECIPE | {
        "steps": 2,
        "validation": {"corpus": "copy", "tokens": 64, "every": 1},
    }
    with pytest.raises(REFUSALS, match="trained on .* of the validation text copy"):
        train.main(**job)
    job["held_out"], _ = write_corpus(tmp_path, "other", drawn("b"))
    train.main(**job)


def test_shares_are_not_found_on_training_text(tmp_path, monkeypatch):
    words = drawn("a")
    write_corpus(tmp_path, "stories", words)
    text, arpa = tmp_path / "corpora" / "stories" / "text.parquet", tmp_path / "5-gram" / "n.arpa"
    arpa.parent.mkdir()
    arpa.write_text("")
    history.of_ngrams(text, arpa)
    mix.write_words(text, tmp_path / "words.parquet")
    for held_out in ({"text": text}, {"words": tmp_path / "words.parquet"}):
        with pytest.raises(REFUSALS, match="^5-gram was trained on 100% of the held-out text"):
            mix.shares([], tmp_path / "out.json", ["5-gram"], histories=[arpa], **held_out)


def test_a_cdlm_has_the_history_of_its_n_grams(tmp_path, capsys):
    """Which may be in the same folder, and is validated on a text that neither was made from."""
    corpora, arpa = tmp_path / "corpora", tmp_path / "lm" / "ngrams.arpa"
    for corpus in ("stories", "others", "test"):
        write_corpus(tmp_path, corpus, drawn(corpus[0]))
    arpa.parent.mkdir()
    history.of_ngrams(corpora / "stories" / "text.parquet", arpa)
    out = tmp_path / "lm" / "cdlm.npz"
    history.of_ngrams(corpora / "others" / "text.parquet", out, [arpa])
    for corpus in ("stories", "others"):
        with pytest.raises(REFUSALS, match=f"lm was trained on 100% of it .* in {corpus}"):
            history.require_unseen(corpora / corpus / "text.parquet", "it", {"lm": out})
    history.require_unseen(corpora / "test" / "text.parquet", "it", {"lm": out})
    assert "no history" not in capsys.readouterr().err


def test_code_that_changed_in_training_is_said(trained, tmp_path):
    """Twice: by other code on from step 2, and by a third on from step 3."""
    job, _ = trained
    folder = job["out"].parent
    state = states.state_path(folder)
    whole = torch.load(state, weights_only=True) | {"optimizer": {}}
    for code, step, before in (("2", 2, "1"), ("3", 3, "2")):
        specification = json.loads(whole["specification"]) | {"code": {"recency.a": before}}
        torch.save(whole | {"done": step, "specification": json.dumps(specification)}, state)
        states.declare(state, {"recency.a": code})
        assert states.is_declared(state, {"recency.a": before}, {"recency.a": code})
        states.changes(state, step)
        assert states.is_declared(state, {"recency.a": before}, {"recency.a": code})
    made = {"texts": [], **states.changes(state, 3)}
    assert [each["step"] for each in made["resumed"]] == [2, 3]
    lines = history.changes_of_code(made)
    assert [re.search(r"step (\d) on .*\((.*)\)", line).groups() for line in lines] == [
        ("3", "recency.a"),
        ("4", "recency.a"),
    ]
    assert len(history.changes_of_code(made, step=3)) == 1
    (folder / "config.json").write_text(json.dumps({history.KEY: made}))
    assert history.notes([folder / "config.json"])[0].startswith("lm: From step 3 on")
    # From the start it is the new code's alone.
    states.declare_retraining(state, {"recency.b", "recency.a"})
    assert states.changes(state, 0) == {"retrained": [["recency.a", "recency.b"]]}


def test_a_declaration_of_an_older_version_is_read(trained):
    state = states.state_path(trained[0]["out"].parent)
    old = {"begun_by": {"a": "1"}, "goes_on_by": {"a": "2"}}
    state.with_name(f"{state.name}.code.json").write_text(json.dumps(old))
    assert states.is_declared(state, {"a": "1"}, {"a": "2"})
    assert states.changes(state, 7) == {"resumed": [{"step": 7, **old}]}


def test_the_summary_and_the_report_say_so(tmp_path):
    change = {"step": 2, "begun_by": {"recency.a": "1"}, "goes_on_by": {"recency.a": "2"}}
    config = tmp_path / "ALiBi" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({history.KEY: {"resumed": [change]}}))
    (tmp_path / "not_run.csv").write_text("dataset,measure,reason\n")
    nothing = {"experiments": [], "verdicts": [], "others": [], "not_run": tmp_path / "not_run.csv"}
    asked = nothing | {"study": "demo", "notes": [], "histories": [config]}
    files = {"text": tmp_path / "s.txt", "html": tmp_path / "s.html"}
    summary.main(**asked, **files, delta_loglik=[], intervals=[], counts=[], files={})
    out = tmp_path / "report.html"
    page.main(**asked, out=out, shown=[], corpora=[], made=[], lms=[], labels={})
    for path in (*files.values(), out):
        text = " ".join(path.read_text().split())
        assert "ALiBi: From step 3 on it was trained by changed code (recency.a)" in text, path
