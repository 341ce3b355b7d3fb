"""Tables of surprisals and n-grams as language models: what is refused, planned and fitted."""

import json
import re
import shutil

import pandas as pd
import pytest
import yaml

from project import SCHEMA, TINY, copy_project, load, merged, plan, planned, show, snakemake
from recency import config as configuration
from recency import grids
from recency.command import lists
from recency.errors import InputError
from recency.evaluations.rank_metrics import spec
from recency.evaluations.reading_times import figure_perplexity, intervals
from recency.evaluations.sensitivity import grid as sensitivity
from recency.figures import comparison
from recency.workflow.config import checks as config_checks
from recency.workflow.config import loading
from recency.workflow.engine import machine
from recency.workflow.plan.study import Study

TABLE = (
    "{columns: {surprisal: s, word_id: word_id}, unit: bits, table: {url: 'https://a.org/x.csv'}}"
)
GPT3 = f"lms:\n  gpt3: {{surprisals: {TABLE}}}\n"
BROKEN = {
    "lms: {gpt3: {surprisals: {columns: {surprisal: s, word_id: w}, table: {url: 'https://a.org/x'}}}}": (
        "lms → gpt3 → surprisals: `unit` is missing: bits, nats or log10"
    ),
    "lms: {gpt3: {surprisals: {unit: bits, columns: {word_id: w}, table: {url: 'https://a.org/x'}}}}": (
        "lms → gpt3 → surprisals → columns: one of surprisal, logprob and probability must name the column of values"
    ),
    "lms: {gpt3: {surprisals: {unit: bits, columns: {surprisal: s}, table: {url: 'https://a.org/x'}}}}": (
        "lms → gpt3 → surprisals → columns: the table has no join key; map word_id, or position with item or sentence, or word or token"
    ),
    "lms: {gpt3: {surprisals: {unit: bits, columns: {surprisal: s, position: p}, table: {url: 'https://a.org/x'}}}}": (
        "position counts within an item or a sentence; map item, sentence or both"
    ),
    "lms: {gpt3: {surprisals: {unit: bits, columns: {surprisal: s, word_id: w}, table: {local: no.csv}}}}": (
        "lms → gpt3 → surprisals → table → local: no file 'no.csv'"
    ),
    "lms: {gpt3: {surprisals: {unit: bits, columns: {surprisal: s, word_id: w}, table: {supplied: here}}}}": (
        "lms → gpt3 → surprisals → table: 'url', 'hub', 'local' or 'stand_in' must name the file"
    ),
    "lms: {gpt3: {surprisals: {unit: bits, columns: {surprisal: s, word_id: w}, tables: {provoo: {url: 'https://a.org/x'}}}}}": (
        "lms → gpt3 → surprisals → tables: no dataset is called 'provoo'; did you mean 'provo'?"
    ),
    "lms: {gpt3: {surprisals: {unit: bitss, columns: {surprisal: s, word_id: w}, table: {url: 'https://a.org/x'}}}}": (
        "lms → gpt3 → surprisals → unit: 'bitss' is not one of"
    ),
    f"lms: {{gpt3: {{surprisals: {TABLE}, bias: dVM}}}}": (
        "lms → gpt3: `bias` cannot be combined with `surprisals`: a table of surprisals is not a network"
    ),
    f"lms: {{gpt3: {{surprisals: {TABLE}, ngram: {{corpus: pile}}}}}}": "`ngram` cannot be combined with `surprisals`: a table of surprisals is not a network",
    GPT3 + "  X: {bias: dVM, applied: inference, weights: gpt3}": (
        "lms → X → weights: 'gpt3' is a table of surprisals and has no weights"
    ),
    "lms: {five: {ngram: {corpus: piles}}}": "lms → five → ngram → corpus: no corpus is called 'piles'",
    "lms: {five: {ngram: {corpus: open_english, order: 9}}}": "order: 9 is greater than the maximum of 6",
    "lms: {five: {ngram: {file: {local: x.arpa}, order: 5}}}": "order: it cannot be combined with `file`, whose n-grams are already estimated",
    "lms: {five: {ngram: {file: {local: x.arpa}}}}": "lms → five → ngram → file → local: no file 'x.arpa'",
    "lms: {five: {ngram: {corpus: openwebtext, smoothing: katz}}}": "smoothing: 'katz'",
    "lms: {m: {interpolate: [Pythia, Pithia], shares: [0.5, 0.5]}}": "lms → m → interpolate: no lm is called 'Pithia'",
    "lms: {m: {interpolate: [Pythia], shares: [1]}}": "one LM cannot be interpolated; name another, or add a `cache`",
    "lms: {m: {interpolate: [Pythia, dVM-TI]}}": "lms → m: set either `held_out`, the corpus or dataset",
    "lms: {m: {interpolate: [Pythia], cache: {words: 9}, shares: [0.5, 0.4]}}": "shares: 2 numbers that sum to 1, one for each",
    "lms: {m: {interpolate: [Pythia, dVM-TI], shares: [0.5, 0.5], bias: dVM}}": "lms → m: `bias` cannot be combined with `interpolate`: a mixture of LMs is not a network",
    "lms: {m: {held_out: {corpus: pile}}}": "lms → m → held_out: it requires `interpolate`, the list of LMs to mix",
    "lms: {five: {ngram: {corpus: openwebtext, text_rule: lower}}, m: {interpolate: [Pythia, five], shares: [0.5, 0.5]}}": (
        "'five' has `text_rule: lower`, so its probabilities are over other words"
    ),
    "lms: {m: {interpolate: [Pythia, dVM-TI], shares: [0.5, 0.5]}, n: {interpolate: [m, Pythia], shares: [0.5, 0.5]}}": (
        "lms → n → interpolate: 'm' is itself a mixture"
    ),
    "lms: {roberta: {checkpoint: roberta-base, scoring: {metric: original}}, m: {interpolate: [Pythia, roberta], shares: [0.5, 0.5]}}": (
        "'roberta' is masked; its word scores are not probabilities"
    ),
    "lms: {m: {interpolate: [Pythia, dVM-TI], held_out: {dataset: provo}}}\n"
    "experiments: {mine: {title: M, lms: [m, Pythia], baseline: Pythia, responses: {spr: [provo.SP]}}}": (
        "experiments → mine → responses: the weights of 'm' are estimated on provo's text, on which it is compared"
    ),
    "lms: {five: {ngram: {corpus: openwebtext}}, m: {interpolate: [Pythia, five], held_out: {corpus: openwebtext}}}\n"
    "experiments: {mine: {title: M, lms: [m], baseline: m, perplexity: {validation: openwebtext, test: openwebtext}}}": (
        "'m' has no perplexity of a text: 'Pythia' and 'five' have different tokens"
    ),
    "lms: {three: {ngram: {corpus: openwebtext, order: 3}}, c: {ngram: {cdlm: {of: three, span: 3, validation: pile}}}}": (
        "lms → c → ngram → cdlm → span: 3 must exceed the order of 'three', 3"
    ),
    "lms: {three: {ngram: {corpus: openwebtext, order: 3}}, c: {ngram: {cdlm: {of: three, span: 6, grown_from: three, validation: pile}}}}": (
        "cdlm → grown_from: 'three' is not a CDLM with span 5 of 'three'"
    ),
    "lms: {c: {ngram: {cdlm: {of: Pythia, span: 4, validation: pile}}}}": (
        "lms → c → ngram → cdlm → of: 'Pythia' is not an n-gram model of a corpus"
    ),
    "lms: {d: {ngram: {corpus: openwebtext, distance: 3}}}": "lms → d → ngram → distance: `distance` requires `order: 2` and no `prune`",
    "lms: {d: {ngram: {corpus: openwebtext, order: 2, distance: 3}}, c: {ngram: {cdlm: {of: d, span: 4, validation: pile}}}}": (
        "cdlm → of: 'd' is not an n-gram model of a corpus with `text_rule: displayed` and without `distance`"
    ),
    "datasets: {provo: {scored_by: [gpt33]}}": "datasets → provo → scored_by: no lm is called 'gpt33'",
    GPT3 + "experiments: {mine: {title: M, lms: [gpt3, Pythia], baseline: Pythia, minimal_pairs: blimp}}": (
        "experiments → mine → minimal_pairs: 'gpt3' is a table of surprisals, and this needs a network"
    ),
    GPT3 + "experiments: {exp1: {lms: [gpt3, Pythia], attention: provo}}": (
        "experiments → exp1 → attention: 'gpt3' is a table of surprisals"
    ),
    GPT3 + "experiments: {exp1: {lms: [gpt3, Pythia]}}": (
        "experiments → exp1 → responses: lms → gpt3 → surprisals has one table for"
    ),
    GPT3 + "searches: {dVM: {lm: gpt3}}": "searches → dVM → lm: 'gpt3' is not a network and takes no bias",
    GPT3 + "designs: {spr: {surprisal: corrected}}\n"
    "experiments: {mine: {title: M, lms: [gpt3, Pythia], baseline: Pythia, responses: {spr: [provo.SP]}}}": (
        "responses → spr: 'gpt3' is a table of surprisals without corrected surprisal; map a `corrected` column"
    ),
    GPT3 + "experiments: {mine: {title: M, lms: [gpt3, Pythia], baseline: Pythia, responses: {spr: [provo.SP]}, "
    "sensitivity: {surprisal: [plain, corrected]}}}": "sensitivity → surprisal: 'gpt3' is a table",
}  # fmt: skip


@pytest.mark.merge
@pytest.mark.parametrize("mistake", BROKEN)
def test_what_does_not_go_together_is_refused(mistake):
    with pytest.raises(InputError, match=re.escape(BROKEN[mistake])) as error:
        config_checks.check(merged(load(), yaml.safe_load(mistake)), SCHEMA)
    assert all(len(line) < 300 for line in str(error.value).splitlines()[1:])


def test_what_a_folder_and_a_file_are_is_looked_at_before_anything_runs(tmp_path):
    """A masked LM that says so in its config.json alone; KenLM's binary, which cannot be listed."""
    for name, kind in {"mlm": "RobertaForMaskedLM", "clm": "GPT2LMHeadModel"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps({"architectures": [kind]}))
    (tmp_path / "five.bin").write_bytes(spec.BINARY + b" format version 5\n\0")
    mine = f"""
lms:
  mlm: {{checkpoint: {tmp_path}/mlm}}
  clm: {{checkpoint: {tmp_path}/clm}}
  five: {{ngram: {{file: {{local: {tmp_path}/five.bin}}}}}}
  mix: {{interpolate: [mlm, clm], shares: [0.5, 0.5]}}
experiments:
  ranks: {{title: R, lms: [clm, five], baseline: clm, rank_metrics: {{dataset: provo}}}}
  pieces: {{title: P, lms: [clm, mlm], baseline: mlm, length: {{corpus: pile, trained: 64}}}}
"""
    with pytest.raises(InputError) as error:
        config_checks.check(merged(load(), yaml.safe_load(mine)), SCHEMA)
    said = str(error.value)
    assert "lms → mix → interpolate: 'mlm' is masked" in said and "'clm' is masked" not in said
    assert "experiments → ranks → rank_metrics: 'five' is KenLM's binary" in said
    assert "experiments → pieces → length: 'clm' predicts next tokens" in said


def test_columns_are_looked_for_before_anything_runs(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("word_id;surp\n0;1.5\n")
    mine = yaml.safe_load(GPT3)
    mine["lms"]["gpt3"]["surprisals"]["table"] = {"local": str(path)}
    mine["lms"]["gpt3"]["surprisals"]["columns"]["surprisal"] = "surpp"
    with pytest.raises(
        InputError, match=r"x\.csv has no column 'surpp'; did you mean 'surp'\?"
    ) as error:
        config_checks.check(merged(load(), mine), SCHEMA)
    assert "word_id" not in str(error.value).split("surprisal:")[-1]
    mine["lms"]["gpt3"]["surprisals"]["columns"]["surprisal"] = "surp"
    config_checks.check(merged(load(), mine), SCHEMA)


def test_tables_of_several_datasets_have_units_and_columns_of_their_own(tmp_path):
    (tmp_path / "provo.csv").write_text("id,gpt2,gpt3\nQID1,1.5,1\n")
    (tmp_path / "stories.csv").write_text("story,place,small,gpt3\n1,2,1.5,1\n")
    mine = {
        "tables": {
            name: {"local": str(tmp_path / f"{file}.csv")}
            for name, file in (("provo", "provo"), ("natural_stories", "stories"))
        },
        "unit": "bits",
        "columns": {"two": "gpt2", "three": "gpt3"},
        "by_dataset": {
            "provo": {"keys": {"unique_id": "id"}},
            "natural_stories": {
                "unit": "nats",
                "missing": 0.1,
                "keys": {"item": "story", "position": "place"},
                "columns": {"two": "small"},
            },
        },
    }
    config = merged(load(), {"lms_from": {"mine": mine}})
    loading.expand(config)
    with pytest.raises(InputError, match="the table has no join key"):  # of another dataset
        config_checks.check(config, SCHEMA)
    mine["keys"] = {"word_id": "id"}
    mine["by_dataset"]["natural_stories"]["keys"] = {"word_id": "place"}
    config = merged(load(), {"lms_from": {"mine": mine}})
    loading.expand(config)
    config_checks.check(config, SCHEMA)
    study = Study(config, root=SCHEMA.parent)
    assert study.table_settings("two", "natural_stories") == {
        "columns": {"surprisal": "small", "word_id": "place"}, "unit": "nats", "missing": 0.1,
    }  # fmt: skip
    assert study.table_settings("three", "provo") == {
        "columns": {"surprisal": "gpt3", "unique_id": "id"}, "unit": "bits",
    }  # fmt: skip
    mine["by_dataset"]["natural_stories"]["columns"] = {"two": "smal"}
    config = merged(load(), {"lms_from": {"mine": mine}})
    loading.expand(config)
    with pytest.raises(InputError, match=r"stories\.csv has no column 'smal'"):
        config_checks.check(config, SCHEMA)


def sure(folder, lms):
    """Write the intervals of LMs' total ΔLogLik."""
    rows = [
        {"lm": lm["lm"], "against": "", "kind": "own", "dataset": "all", "measure": "all"}
        | {"delta_loglik": n, "low": n - 1, "high": n + 1}
        for n, lm in enumerate(lms)
    ]
    path = folder / "intervals.csv"
    pd.DataFrame(rows, columns=intervals.COLUMNS).to_csv(path, index=False)
    return path


def test_grids_and_figures_take_them_as_they_are(tmp_path, monkeypatch):
    """No seed, no beginning of text; a label, no bias; a perplexity per word, as their tokens are other ones."""
    mine = GPT3.replace("word_id}", "word_id, dataset: d}") + (
        "  five: {ngram: {corpus: openwebtext, text_rule: split}}\n"
        "experiments: {exp1: {lms: [gpt3, five, Pythia], seeds: [1, 2], compare: [[gpt3, Pythia]]}}"
    )
    config = merged(load(), yaml.safe_load(mine))
    # Next to LMs of several seeds, one training from elsewhere would have no interval of its own.
    with pytest.raises(InputError, match="exp1 → seeds: 'gpt3' is a single network from elsewhere"):
        config_checks.check(config, SCHEMA)
    grids.expand(config)
    exp1 = config["experiments"]["exp1"]
    assert exp1["lms"] == ["gpt3", "five", "Pythia@seed=1", "Pythia@seed=2"]
    assert exp1["compare"] == [["gpt3", f"Pythia@seed={n}"] for n in (1, 2)]
    told = [
        configuration.described(lm, configuration.language_model(config, lm)) for lm in exp1["lms"]
    ]
    assert [lm["applied"] for lm in told] == ["none"] * 4
    assert {lm["bias"]["form"] for lm in told} == {"none"}
    assert configuration.training_words(config, "gpt3") == ""
    assert lists._model(config, "gpt3") == "surprisals from a table"
    assert lists._model(config, "five") == "5-grams of openwebtext, split"
    needed = machine.needs(config, {}, [], [], 0, ngram_lms=["five"])
    assert (needed.memory, needed.memory_for) == (1e9, "lms → five → ngram → memory")

    delta, perplexity = tmp_path / "delta.csv", tmp_path / "perplexity.csv"
    about = {"dataset": "d", "measure": "SPR", "base": "all", "endpoint": "crossed", "n": 10, "converged": True}  # fmt: skip
    rows = [about | {"lm": lm["lm"], "delta_loglik": n} for n, lm in enumerate(told)]
    pd.DataFrame(rows).to_csv(delta, index=False)
    values = pd.DataFrame(
        [{"lm": lm["lm"], "label": lm["label"], "dataset": "all"} for lm in told]
    ).assign(
        tokens=[90, 130, 120, 120],
        perplexity=30.0,
        words=[90, 100, 100, 100],
        word_perplexity=range(50, 54),
    )
    values.to_csv(perplexity, index=False)
    out = [tmp_path / "figure.svg", tmp_path / "figure.csv"]
    response = {"dataset": "d", "measure": "SPR", "label": "D"}
    given, draw = [], figure_perplexity.draw
    monkeypatch.setattr(figure_perplexity, "draw", lambda *all: given.append(all) or draw(*all))
    show(figure_perplexity.main, 
        delta_loglik=delta, intervals=sure(tmp_path, told), perplexity=perplexity, out=out, lms=told,
        responses=[response], baseline="Pythia@seed=1",
    )  # fmt: skip
    drawn = pd.read_csv(out[1])
    assert drawn["lm"].tolist() == [lm["lm"] for lm in told]
    assert drawn["perplexity"].tolist() == pytest.approx([50, 51, 52, 53])
    (_, _, _, said, *_, unit, _) = given[0]
    assert unit == "word" and "tokenizers differ" in said[-2]
    assert said[-1].endswith("over 90 of 100 words")
    models, _ = comparison.records(told, [response])
    assert len(figure_perplexity.series(models)) == 4  # none is joined to another


def test_they_stand_in_every_cell_of_a_grid(tmp_path):
    """An LM with nothing to vary is the same with a beginning of text and without."""
    mine = (
        GPT3.replace("word_id}", "word_id, dataset: d}")
        + "experiments: {exp1: {lms: [gpt3, Pythia], sensitivity: {bos: [true, false]}}}"
    )
    config = merged(load(), yaml.safe_load(mine))
    del config["experiments"]["exp1"]["published"]
    config_checks.check(config, SCHEMA)
    grid = grids.expand(config)["exp1"]
    assert len(grid["lms"]) == 3
    (design,) = list(grid["designs"])[:1]
    about = {"dataset": "d", "measure": "SPR", "base": "all", "endpoint": "crossed", "design": design, "n": 9, "n_exploratory": 9, "loglik": -9.0, "converged": True}  # fmt: skip
    rows = [about | {"lm": lm, "delta_loglik": n} for n, lm in enumerate(grid["lms"])]
    pd.DataFrame(rows).to_csv(tmp_path / "delta.csv", index=False)
    plain = [configuration.described(lm, configuration.language_model(config, lm)) for lm in ("gpt3", "Pythia")]  # fmt: skip
    models, _ = comparison.records(plain, [])
    found = sensitivity.data(tmp_path / "delta.csv", sure(tmp_path, []), grid, models)
    assert found.groupby("lm")["bos"].apply(sorted).to_dict() == {"gpt3": ["no", "yes"], "Pythia": ["no", "yes"]}  # fmt: skip
    assert set(found.delta_loglik[found.lm == "gpt3"]) == {0}


def test_a_table_of_several_seeds_varies_with_them():
    """An experiment without seeds has the LM's own."""
    mine = GPT3.replace("word_id}", "word_id, dataset: d}")
    mine += mine.removeprefix("lms:\n").replace("gpt3", "ours").replace("d}", "d, seed: run}", 1)
    mine += "experiments: {exp1: {lms: [ours, Pythia], seeds: [1, 2]}}"
    config = merged(load(), yaml.safe_load(mine))
    del config["experiments"]["exp1"]["published"]
    config["scales"][config["scale"]]["seed"] = 1
    config_checks.check(config, SCHEMA)
    study = Study(config, root=SCHEMA.parent)
    lms = study.experiment("exp1")["lms"]
    assert lms == ["ours", "ours@seed=2", "Pythia", "Pythia@seed=2"]
    read = {lm: study.table_settings(lm, "provo").get("seed") for lm in lms[:2]}
    assert read == {"ours": 1, "ours@seed=2": 2}
    wrong = yaml.safe_load(mine.replace("{surprisals", "{seed: 2, surprisals"))
    with pytest.raises(
        InputError,
        match="lms → gpt3: `seed` cannot be combined with `surprisals` without a column of seeds",
    ) as said:
        config_checks.check(merged(load(), wrong), SCHEMA)
    assert "ours" not in str(said.value)


MINE = """
lms:
  copied:
    label: Copied
    surprisals:
      tables: {simulated_spr: {local: mine/spr.csv}, simulated_eye_tracking: {local: mine/eye.parquet}}
      columns: {surprisal: bits, item: item, position: place, word: word}
      unit: bits
  lacking:
    surprisals: {tables: {simulated_spr: {local: mine/lacking.csv}}, columns: {surprisal: bits, word_id: word_id}, unit: bits, missing: 0.2}
  trigram: {label: trigram, ngram: {order: 3, corpus: simulated, memory: 100M, text_rule: split}}
  mix: {interpolate: [Pythia, trigram], held_out: {corpus: mixed_on}}
corpora: {mixed_on: {files: [mine/text.txt], reader: plain}}
experiments:
  mine:
    title: Tables
    lms: [Pythia, ALiBi-mix-TI, copied, trigram, mix]
    baseline: Pythia
    responses: {spr: [simulated_spr.SPR], eye_tracking: [simulated_eye_tracking.FP]}
    compare: [[copied, Pythia], [trigram, copied]]
  lacks: {title: Words without surprisal, lms: [Pythia, lacking], baseline: Pythia, responses: {spr: [simulated_spr.SPR]}}
"""
SCORED = """
datasets:
  simulated_spr:
    scored_by: [lacking]
    measures: {SPR: {filters: [times, edges, answers, scored]}}
    filters: {scored: words_since_unscored > 1}
"""


@pytest.mark.merge
@pytest.mark.apart
def test_plans_no_training_for_them(tmp_path):
    project = copy_project(tmp_path / "project")
    (project / "mine").mkdir()
    for name in ("spr.csv", "lacking.csv", "eye.parquet"):
        (project / "mine" / name).write_text("item,place,word,bits,word_id\n")
    (project / "mine" / "text.txt").write_text("words")
    (project / "mine.yaml").write_text(MINE.replace("Pythia, ALiBi-mix-TI, ", "").replace("baseline: Pythia", "baseline: copied", 1).replace("[copied, Pythia], ", ""))  # fmt: skip
    run = plan(project, "mine", configs=[*TINY, "mine.yaml"])
    jobs = planned(run.stdout)
    # The readers are simulated by an LM of their own, which is trained, and Pythia is in the mix.
    assert jobs["surprisal_table"] == 2 and jobs["ngram_lm_surprisal"] == 2, run.stdout[-3000:]
    assert jobs["estimate_ngram_lm"] == 1 and jobs["train"] == 2
    assert jobs["mix_surprisal"] == 2 and jobs["mix_shares"] == 1


@pytest.mark.merge
@pytest.mark.apart
def test_a_copied_model_is_fitted_and_tested_as_the_model_itself(study):
    """ALiBi-mix-TI's surprisals, from tables: every fit, ranking and test of the copy is its own."""
    results = study / "results" / "tiny" / "cores"
    (study / "mine").mkdir()
    for dataset, name in (("simulated_spr", "spr.csv"), ("simulated_eye_tracking", "eye.parquet")):
        words = pd.read_parquet(results / "datasets" / dataset / "words.parquet")
        bits = pd.read_parquet(results / "surprisal" / "ALiBi-mix-TI" / f"{dataset}.parquet")
        place = words.groupby("item").cumcount()
        words = words.assign(bits=bits.surprisal_bits, place=place)
        shuffled = words.drop(columns="word_id").sample(frac=1, random_state=1)
        if name.endswith("csv"):
            shuffled.to_csv(study / "mine" / name, index=False)
            third = words.assign(bits=words.bits.where(words.word_id % 10 != 3))
            third[["word_id", "bits"]].to_csv(study / "mine" / "lacking.csv", index=False)
        else:
            shuffled.to_parquet(study / "mine" / name)
    trained_on = pd.read_parquet(results / "corpora" / "simulated" / "text.parquet").text[:9]
    (study / "mine" / "text.txt").write_text("\n".join(trained_on))
    (study / "mine.yaml").write_text(MINE)
    run = snakemake(study, "--nocolor", "mine", configs=[*TINY, "mine.yaml"])
    assert run.returncode == 1
    assert "was trained on 96% of the held-out text mixed_on" in run.stdout
    unseen = [" ".join(text.split()[::-1]) for text in trained_on]  # words in another order
    (study / "mine" / "text.txt").write_text("\n".join(unseen))
    run = snakemake(study, "--nocolor", "mine", configs=[*TINY, "mine.yaml"])
    assert run.returncode == 0 and "rule train:" not in run.stdout, run.stdout[-3000:]
    where = results / "experiments" / "mine"
    delta = pd.read_csv(where / "delta_loglik.csv").set_index(["lm", "dataset"])["delta_loglik"]
    assert delta["copied"].tolist() == delta["ALiBi-mix-TI"].tolist()
    perplexity = pd.read_csv(where / "perplexity.csv")
    assert set(perplexity.lm) == {"Pythia", "ALiBi-mix-TI", "copied", "trigram", "mix"}
    shares = json.loads((results / "lms" / "mix" / "shares.json").read_text())["shares"]
    words = {
        lm: pd.read_parquet(results / "surprisal" / lm / "simulated_spr.parquet").surprisal_bits
        for lm in ("Pythia", "trigram", "mix")
    }
    parts = {lm: share * 2 ** -words[lm] for lm, share in shares.items()}
    ledger = pd.read_csv(results / "surprisal" / "mix" / "simulated_spr.ledger.csv")
    parts["trigram"][ledger.word_id[ledger.reason == "unknown"]] = 0  # it has none of such a word
    mixed = (parts["Pythia"] + parts["trigram"]).to_numpy()
    assert 2 ** -words["mix"].to_numpy() == pytest.approx(mixed, rel=1e-6)
    tested = pd.read_csv(where / "permutation.csv")
    pairs = list(zip(tested.lm_a, tested.lm_b))
    assert pairs[2:4] == [("copied", "Pythia")] * 2 and ("trigram", "copied") in pairs
    fits = [
        json.loads(p.read_text())["lm"] for p in results.glob("regression/*/*/copied.full.json")
    ]
    assert fits == ["copied", "copied"]
    assert "trigram" in (where / "table_delta_loglik.html").read_text()
    log = (results / "logs" / "ngram_lm_surprisal" / "trigram" / "simulated_spr.log").read_text()
    assert "words are unknown" in log and "of order 3" in log

    run = snakemake(study, "--nocolor", "lacks", configs=[*TINY, "mine.yaml"])
    assert run.returncode != 0
    assert "words_since_unscored > 1" in run.stdout and "scored_by" in run.stdout
    (study / "scored.yaml").write_text(SCORED)
    run = snakemake(study, "--nocolor", "lacks", configs=[*TINY, "mine.yaml", "scored.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    counts = pd.read_csv(results / "observations" / "simulated_spr.SPR" / "counts.csv")
    assert counts.set_index("step").dropped["scored"] > 0
    fit = pd.read_parquet(results / "observations" / "simulated_spr.SPR" / "fit.parquet")
    assert not (fit.word_id % 10).isin([3, 4]).any()
    shutil.rmtree(study / "mine")
