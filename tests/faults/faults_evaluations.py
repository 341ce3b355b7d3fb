"""What the tiny study lacks: the scripts of the other rules, each killed once, in three further studies."""

import importlib.util
import shutil
import signal
from itertools import pairwise

import faulty
import pandas as pd
import pytest
import yaml
from faults_jobs import doomed, killed_until_done, parts, project, run
from project import ROOT, TINY, copy_finished

#: Laid over the tiny study, of whose trained LMs and text it makes more.
OVER = """
run: [wide]
recipes: {demo: {checkpoints: [5]}}
tokenizers: {words: {corpus: simulated, vocabulary: 150, kind: words}}
lms:
  early: {checkpoint_of: Pythia, step: 5}
  trigram: {ngram: {order: 3, corpus: simulated, memory: 100M, text_rule: split}}
  mix: {interpolate: [Pythia, trigram], held_out: {corpus: other}}
corpora: {other: {files: [text.txt], reader: plain}}
word_pairs: {pairs: {label: Pairs, pairs: {local: pairs.txt}, vectors: {v: {local: v.vec}}}}
treebanks: {trees: {label: Trees, train: {local: t.conllu}, dev: {local: t.conllu}, test: {local: t.conllu}}}
probe: {epochs: 2, batch: 4, relations: [nsubj, obj]}
sentences: {dog: "the dog ran ."}
power: {simulated_spr: {subjects: [10], sentences: [20], effects: [1], repeats: 4}}
experiments:
  wide:
    title: Wide
    lms: [Pythia, ALiBi-mix-TI]
    baseline: Pythia
    responses: {spr: [simulated_spr.SPR]}
    triggering: {corpus: other, pairs: [[the, the]], reach: 20}
    measured_memory: {dataset: simulated_spr, places: 3, reach: 8, before: 4}
    temporal_correlation: {dataset: simulated_spr, reach: 20}
    probe: trees
    attention_maps: {sentence: dog, lms: [Pythia], layers: 1}
    rare_words: pairs
    nearest_words: {words: [the], neighbours: 2}
    ranks: {replicates: 20}
    nested: [[Pythia, ALiBi-mix-TI]]
  along: {title: Along, lms: [Pythia], baseline: Pythia, responses: {spr: [simulated_spr.SPR]}, steps: [5, 40]}
  mixed: {title: Mixed, lms: [Pythia, mix, trigram], baseline: Pythia, responses: {spr: [simulated_spr.SPR]}}
"""
#: Targets that no experiment has.
WORDS = ["wide", "along", "mixed", "power", "export_Pythia", "export_simulated_spr"]


def module(name):
    """Return a module of tests of this name."""
    spec = importlib.util.spec_from_file_location(name.split("/")[-1], ROOT / "tests" / name)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def wide(finished, folder):
    """Lay OVER over the finished tiny study; return configs and targets."""
    copy_finished(finished, folder)
    doomed(folder)
    documents = pd.read_parquet(folder / "results/tiny/cores/corpora/simulated/text.parquet").text
    (folder / "text.txt").write_text("\n".join(documents[:9]))
    words = sorted({word for text in documents[:9] for word in text.split() if word.isalpha()})
    rows = [f"{a} {b} {number}" for number, (a, b) in enumerate(pairwise(words))]
    (folder / "pairs.txt").write_text("\n".join(rows[:30]))
    vectors = [f"{word} {len(word)} {number % 5} {number % 7}" for number, word in enumerate(words)]
    (folder / "v.vec").write_text("\n".join([f"{len(words)} 3", *vectors]))
    tree = "1\tthe\t_\tX\t_\t_\t2\tdet\t_\t_\n2\tdog\t_\tX\t_\t_\t3\tnsubj\t_\t_\n3\tran\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    (folder / "t.conllu").write_text(tree * 6)
    (folder / "over.yaml").write_text(OVER)
    return [*TINY, "over.yaml"], WORDS


def models(finished, folder):
    """Models on all the data, folds, smooths, masked LMs: the study of another test."""
    made = module("evaluations/test_models_workflow.py")
    made.write(project(folder))
    return ["made.yaml"], ["whole", "parted", "masked"]


def thesis(finished, folder):
    """Mazes, ranks, length by type, a table and an n-gram model as LMs: the study of another test."""
    made = module("evaluations/test_thesis_workflow.py")
    made.corpus(project(folder))
    (folder / "made.yaml").write_text(yaml.safe_dump(made.MADE))
    return ["made.yaml"], [f"results/made/paper/experiments/{each}" for each in made.TARGETS]


@pytest.mark.parametrize("study", [wide, models, thesis])
def test_every_other_rule_s_script_killed_once(finished, tmp_path, study):
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    configs, words = study(finished, folder)
    shutil.copytree(folder, whole, symlinks=True)
    code, text = run(whole, *words, configs=configs)
    assert code == 0, text[-4000:]
    dead = killed_until_done(folder, *words, configs=configs, by=signal.SIGKILL)
    print(sorted(dead))
    assert faulty.digests(folder) == faulty.digests(whole) and parts(folder) == []
