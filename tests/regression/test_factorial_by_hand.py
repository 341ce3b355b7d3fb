"""Public factorial experiments, from their files to the effect and interval of `lmer()` by hand in R."""

import json
import shutil
import subprocess

import pandas as pd
import pytest
import yaml

import recency
from project import ROOT, copy_project, snakemake
from recency.workflow.config import loading

pytestmark = pytest.mark.merge

ENTRIES = loading.entries_of(loading.corpus_files(ROOT))["datasets"]
DATA = ROOT.parent / "shared" / "data"
DESIGN = {
    "of_interest": ["surprisal"],
    "base": "all",
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}
FIT = """
suppressPackageStartupMessages(library(lme4))
fit <- lmer(formula, d, REML = FALSE,
            control = lmerControl(optCtrl = list(xtol_abs = 1e-10, ftol_abs = 1e-12)))
cat(sprintf("%.10f", c(nrow(d), logLik(fit), fixef(fit)["bits"], sqrt(diag(as.matrix(vcov(fit))))["bits"])))
"""
#: Times of the disambiguating word, joined with the words' surprisal by sentence.
SAP = """
d <- readRDS(args[1])
d <- d[d$Type == "NPZ" & d$ROI == 0 & d$RT > 100 & d$RT < 3000, ]
d <- merge(d, read.csv(args[2])[c("sentence", "condition", "stimulus", "bits")], by.x = "Sentence", by.y = "sentence")
formula <- RT ~ condition + bits + (1 | participant) + (1 | stimulus)
"""
#: Chosen words but the first and last; the two lists share fillers.
WITZEL = """
d <- read.delim(gzfile(args[1]))
words <- read.csv(args[2])
d <- d[d$type != "practice" & d$correct == 1 & d$rt > 100 & d$rt < 5000, ]
d <- merge(d, words, by = c("list", "item", "word_num"))
d <- d[d$word_num > 0 & d$word_num < d$last, ]
formula <- rt ~ type + bits + (1 | subject) + (1 | sentence)
"""


def by_hand(folder, code, *files):
    """Fit in R; return the number of rows, the log-likelihood, the slope in ms per bit and its SE."""
    script = folder / "by_hand.R"
    script.write_text(f"args <- commandArgs(TRUE)\n{code}\n{FIT}")
    run = subprocess.run(
        ["Rscript", "--vanilla", script, *files], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return [float(number) for number in run.stdout.split()]


def bits_of(sentences):
    """Return a row per word of the sentences, in their order: sentence, place (from 0), bits, last."""
    sentences = list(sentences)
    table = recency.surprisal(sentences, "small-english")
    lengths = [len(sentence.split()) for sentence in sentences]
    words = [
        (s, place, n - 1) for s, n in zip(sentences, lengths, strict=True) for place in range(n)
    ]
    rows = pd.DataFrame(words, columns=["sentence", "place", "last"])
    assert (
        len(rows) == len(table)
        and (table.word.to_numpy() == [s.split()[k] for s, k, _ in words]).all()
    )
    return rows.assign(bits=table.surprisal_bits.to_numpy())


def workflow(folder, dataset, measure, formula, change):
    """Run a study of one dataset, all of whose observations are fitted; return the fit's record."""
    copy_project(folder)
    overlay = {
        "study": "factorial", "run": ["factorial"],
        "lms": {"small": {"label": "small", "checkpoint": "small-english", "bos": True}},
        "datasets": {"whole": ENTRIES[dataset] | {"partitioned": False} | change},
        "designs": {"factorial": DESIGN | {"formula": formula}},
        "experiments": {"factorial": {
            "title": "Factorial", "lms": ["small"], "baseline": "small",
            "responses": {"factorial": [f"whole.{measure}"]},
        }},
    }  # fmt: skip
    (folder / "factorial.yaml").write_text(yaml.safe_dump(overlay))
    results = "results/factorial/paper"
    fit = f"{results}/regression/factorial/whole.{measure}/small.full.json"
    page = f"{results}/experiments/factorial/table_delta_aic.html"
    run = snakemake(
        folder, "--nocolor", fit, page, configs=["factorial.yaml"], RECENCY_MIRROR=str(DATA)
    )
    assert run.returncode == 0, run.stdout[-4000:]
    return json.loads((folder / fit).read_text())


def assert_same(fit, expected):
    n, loglik, slope, se = expected
    assert fit["n"]["fit"] == n
    assert fit["loglik"]["fit"] == pytest.approx(loglik, abs=2e-4)
    (effect,) = (each for each in fit["fixed"] if each["term"] == "surprisal")
    sd = fit["scaling"]["surprisal"]["sd"]
    assert (effect["estimate"] / sd, effect["se"] / sd) == pytest.approx((slope, se), rel=1e-3)


@pytest.mark.skipif(not (DATA / "sap").exists(), reason="../shared/data/sap is not there")
@pytest.mark.skipif(not shutil.which("Rscript"), reason="Rscript is not there")
def test_garden_paths(tmp_path):
    """NP/Z: 2,000 readers, 18 items in two conditions, the disambiguating word."""
    items = pd.read_csv(DATA / "sap" / "items_ClassicGP.gpt2.csv.gz")
    items = items[items.condition.isin(["NPZ_AMB", "NPZ_UAMB"])].drop_duplicates("Sentence")
    bits = bits_of(items.Sentence)
    table = bits.merge(items, left_on="sentence", right_on="Sentence").rename(
        columns={"item": "stimulus"}
    )
    table = table[table.place == table.disambPosition_0idx]
    table.to_csv(tmp_path / "words.csv", index=False)
    expected = by_hand(tmp_path, SAP, DATA / "sap" / "agreement_data.rds", tmp_path / "words.csv")
    fit = workflow(
        tmp_path / "study", "sap_npz", "SPR",
        "time_ms ~ condition + surprisal + (1 | subject) + (1 | stimulus)",
        {"measures": {"SPR": {"filters": ["times", "critical"]}},
         "filters": ENTRIES["sap_npz"]["filters"] | {"critical": "region == 'critical'"}},
    )  # fmt: skip
    assert_same(fit, expected)


@pytest.mark.skipif(
    not (DATA / "maze_witzel2012").exists(), reason="../shared/data/maze_witzel2012 is not there"
)
@pytest.mark.skipif(not shutil.which("Rscript"), reason="Rscript is not there")
def test_a_maze(tmp_path):
    """Witzel et al.: 32 readers, 104 sentences in each of two lists, all words but the outer ones."""
    folder = DATA / "maze_witzel2012"
    sentences = pd.read_csv(folder / "witzel2012_gmaze_sentences.tsv", sep="\t")
    bits = bits_of(sentences.sentence.drop_duplicates())
    table = sentences.merge(bits, on="sentence").rename(columns={"place": "word_num"})
    table.to_csv(tmp_path / "words.csv", index=False)
    times = folder / "witzel2012_gmaze.tsv.gz"
    expected = by_hand(tmp_path, WITZEL, times, tmp_path / "words.csv")
    fit = workflow(
        tmp_path / "study", "maze", "Maze",
        "time_ms ~ type + surprisal + (1 | subject) + (1 | item)", {},
    )  # fmt: skip
    assert_same(fit, expected)
