"""Archives and exports hold no texts, times or readers unless they are asked for."""

import json
import zipfile
from pathlib import Path

import pandas as pd
import pytest
import yaml
from rocrate.rocrate import ROCrate

from archives import holding
from checkpoints import checkpoint
from project import ROOT, TINY, load, snakemake
from recency import lineage
from recency.evaluations.explore.view_data import packed
from recency.export import dataset, ro_crate, shareable, write
from recency.scoring.lm_spec import LMSpec
from recency.workflow.engine import results_folder
from recency.workflow.plan import exports
from recency.workflow.plan.study import Study
from small_networks import TEXTS

SENTENCES = ["The quibbling zorvath plodded home", "Every flimsterbund swallowed nine brambletons"]
WORDS = ["zorvath", "flimsterbund", "brambletons"]
READERS = ["jane.doe", "rdr07", "rdr08", "rdr11", "rdr12"]
TIMES = ["411.17", "512.31", "618.29", "733.41", "802.66"]
LM_BITS = 7.03125


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Write results of a synthetic corpus: tables by word and reader, pages, and aggregates."""
    monkeypatch.chdir(tmp_path)
    words = [word for sentence in SENTENCES for word in sentence.split()]
    table = pd.DataFrame({"word_id": range(len(words)), "word": words, "item": "story-1"})
    table["sentence"] = [n for n, s in enumerate(SENTENCES) for _ in s.split()]
    table["position"] = [n + 1 for s in SENTENCES for n in range(len(s.split()))]
    times = pd.DataFrame({"subject": READERS, "word_id": range(5)})
    times["time_ms"] = [float(time) for time in TIMES]
    scores = pd.DataFrame({"word_id": range(len(words)), "surprisal_bits": LM_BITS, "tokens": 1})
    folder = Path("results/datasets/made")
    folder.mkdir(parents=True)
    table.to_parquet(folder / "words.parquet")
    times.to_parquet(folder / "responses.SPR.parquet")
    scores.to_parquet("results/bits.parquet")
    columns = {"times": packed(times.time_ms), "words": words, "readers": READERS}
    page = f"<html><script>{json.dumps(columns)}</script></html>"
    quoted = f"<html><p>{SENTENCES[1]}, read by jane.doe in 411.17 ms</p></html>"
    by_reader = times.groupby("subject").time_ms.mean().rename_axis("of").reset_index(name="ms")
    frames = {
        "figure_delta_loglik": pd.DataFrame({"lm": ["Pythia"], "delta_loglik": [12.5]}),
        "figure_maps": pd.DataFrame({"query_token": words, "attention": 0.1}),
        "figure_readers": by_reader,
        "table_kinds": pd.DataFrame({"kind": words, "attention": 0.1}),
        "figure_quoted": pd.DataFrame({"lm": ["Pythia"], "note": f"as in “{SENTENCES[1]} .”"}),
        "figure_best": pd.DataFrame({"lm": ["Pythia"], "note": ["fastest: rdr07"]}),
    }
    texts = {"report.html": quoted, "summary.html": quoted, "summary.txt": "Pythia predicts best."}
    texts |= {"experiments/mine/explore.html": page, "datasets/made/check.html": quoted}
    texts |= {"logs/words.log": quoted, "experiments/mine/verdict.json": '{"best": "Pythia"}'}
    for name, frame in frames.items():
        texts[f"experiments/mine/{name}.csv"] = frame.to_csv(index=False)
        texts[f"experiments/mine/{name}.svg"] = "<svg>" + "".join(map(str, frame.values)) + "</svg>"
    texts["experiments/mine/table_kinds.html"] = "<html>" + " ".join(words) + "</html>"
    for name, text in texts.items():
        path = Path("results", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    results_folder.open_root("results", "mine", "cores")
    supplied = tmp_path / "jane.doe" / "times.csv"
    supplied.parent.mkdir()
    supplied.write_text("1,2\n")
    figure = lineage.Record(
        file="experiments/mine/figure_delta_loglik.csv",
        rule="figure",
        role="figure",
        identity={"experiment": "mine", "of": "rdr11"},
        settings="",
        sha256="0",
        bytes=6,
        outside={str(supplied): "1"},
    )
    lineage.store(figure, Path("results"))
    return sorted(f"results/{name}" for name in texts)


CONFIG = {
    "study": "mine",
    "supplied": "/home/jane.doe/corpora",
    "designs": {"spr": {"keep": 'subject not in ["rdr08", "rdr12"]'}},
    "sentences": {"quote": "the quibbling zorvath plodded home"},
    "renamed": {"rdr07": "a", "rdr08": "b"},
}


def packed_run(run, tmp_path, **settings):
    supplied = str(tmp_path / "jane.doe" / "times.csv")
    ro_crate.main(
        results=run,
        report="results/report.html",
        summary="results/summary.txt",
        out="rocrate.zip",
        title="mine",
        config=CONFIG,
        inputs={supplied: {"local": "times.csv"}},
        corpora=[],
        project=str(ROOT),
        **settings,
    )
    return "rocrate.zip"


@pytest.mark.parametrize(
    ("value", "stated"),
    [
        ("/home/jane.doe/times.csv", "times.csv"),
        ("~/times.csv", "times.csv"),
        ("../jane.doe/times.csv", "times.csv"),
        ("C:\\Users\\jane.doe\\times.csv", "times.csv"),
        ("data/supplied/times.csv", "data/supplied/times.csv"),
        ("/", "/"),
        ("EleutherAI/pythia-70m@main", "EleutherAI/pythia-70m@main"),
        ({"mirror": ["/home/jane.doe/mirror"], "steps": 4}, {"mirror": ["mirror"], "steps": 4}),
    ],
)
def test_folders_of_this_machine_are_left_out_of_settings(value, stated):
    assert shareable.without_folders(value) == stated
    text = f"see {Path.cwd()}/{'x'}"
    assert shareable.without_folders(text) == "see x"


PRIVATE = [*WORDS, *READERS, *TIMES, "jane"]


def test_a_crate_holds_no_text_time_or_reader(run, tmp_path, capsys):
    corpora = {
        "words": ["results/datasets/made/words.parquet"],
        "responses": ["results/datasets/made/responses.SPR.parquet"],
    }
    crate = packed_run(run, tmp_path, **corpora)
    assert holding(crate, PRIVATE) == {}
    with zipfile.ZipFile(crate) as archive:
        names = archive.namelist()
        config = yaml.safe_load(archive.read("config.yaml"))
    kept = [name for name in names if name.startswith("experiments/")]
    assert sorted(kept) == [
        "experiments/mine/figure_delta_loglik.csv",
        "experiments/mine/figure_delta_loglik.svg",
        "experiments/mine/verdict.json",
    ]
    assert {"summary.txt", "lineage.json", "Snakefile"} < set(names)
    assert config["designs"]["spr"]["keep"] == 'subject not in ["reader-3", "reader-5"]'
    assert config["sentences"]["quote"] == shareable.STIMULUS
    assert config["renamed"] == {"reader-2": "a", "reader-3": "b"}
    assert "explore.html (pages and logs may hold" in capsys.readouterr().err
    opened = ROCrate(crate)
    assert shareable.OPTION in opened.description
    assert {entity.id for entity in opened.data_entities} <= {*names, "./"}


def test_a_crate_holds_all_of_it_where_it_is_asked_for(run, tmp_path):
    """The search finds each of them, whatever it is packed in."""
    found = holding(packed_run(run, tmp_path, texts_and_times=True), PRIVATE)
    assert set(found) == set(PRIVATE)
    assert "rocrate.zip/experiments/mine/explore.html" in found[TIMES[2]]


def exported(asked):
    measure = {"measure": "SPR", "filters": [], "event": None, "partitioned": False}
    measure["filters"] = [{"name": "slow", "keep": 'subject != "rdr07"'}]
    about = {"label": "Made", "study": "mine", "supplied": True, "partitioned": False, "lms": {}}
    dataset.main(
        words="results/datasets/made/words.parquet",
        responses=["results/datasets/made/responses.SPR.parquet"],
        surprisal=["results/bits.parquet"],
        out="exported",
        dataset="made",
        lms=["Pythia"],
        measures=[measure],
        fits=[],
        about=about,
        **asked,
    )
    return "exported"


def test_exports_hold_no_text_time_or_reader(run):
    folder = exported({})
    assert holding(folder, PRIVATE) == {}
    shared = pd.read_parquet("exported/measures.parquet")
    assert list(shared) == [
        "word_id", "surprisal_bits_Pythia", "tokens_Pythia", "previous_surprisal_bits_Pythia",
    ]  # fmt: skip
    listed = pd.read_csv("exported/columns.csv")
    assert set(listed.name) == set(shared) and set(listed.table) == {"measures"}


def test_exports_hold_all_of_it_where_it_is_asked_for(run):
    found = holding(exported({"texts_and_times": True}), PRIVATE)
    assert set(found) == set(PRIVATE)


def test_a_card_names_no_folder_of_the_user():
    config = load(*TINY)
    config["lms"]["mine"] = {"checkpoint": "/home/jane.doe/nets/alibi", "label": "Mine"}
    about = exports.about(Study(config, ROOT), "mine")
    assert about["checkpoint"] == "alibi"


def test_an_exported_lm_names_no_folder_of_the_user(tmp_path):
    folder = tmp_path / "jane.doe" / "brambleton"
    folder.mkdir(parents=True)
    checkpoint(folder, TEXTS)
    about = {"label": "Mine", "study": "mine", "applied": "inference", "checkpoint": "brambleton"}
    lm = LMSpec("mine", str(folder), bias={"form": "linear", "slopes": "mix"})
    write.main(lm, tmp_path / "exported", about=about)
    found = holding(tmp_path / "exported", ["jane", "brambleton"])
    assert found == {"brambleton": {"exported/README.md"}}


@pytest.mark.merge
def test_the_crate_of_a_finished_study(study):
    """Of the simulated corpora: readers' ids, sentences, and words with their times."""
    run = snakemake(study, "rocrate", configs=TINY)
    assert run.returncode == 0, run.stdout[-3000:]
    results = study / "results/tiny/cores"
    wanted = set()
    for words in results.glob("datasets/*/words.parquet"):
        for _, sentence in pd.read_parquet(words).groupby(["item", "sentence"]):
            wanted.add(" ".join(sentence.word.head(6)))
    for responses in results.glob("datasets/*/responses.*.parquet"):
        table = pd.read_parquet(responses)
        wanted |= {f'"{subject}"' for subject in table.subject.unique()}
        wanted |= {f",{subject}," for subject in table.subject.unique()}
    assert len(wanted) > 50
    assert holding(results / "rocrate.zip", wanted) == {}
    assert holding(results / "experiments/simulated/explore.html", wanted) != {}
    with zipfile.ZipFile(results / "rocrate.zip") as archive:
        names = archive.namelist()
    assert "experiments/simulated/figure_delta_loglik.svg" in names
    assert "experiments/simulated/table_delta_loglik.html" in names
    assert not [name for name in names if name.endswith(("explore.html", "check.html", ".log"))]
