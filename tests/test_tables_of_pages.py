"""Each table of measured numbers on a page is made again from its file, or is one of another test."""

import re

import pandas as pd
import pytest
from scipy import stats

from written import DOCS, between, cells, number, percent, run_of, said, tables

#: (page, first cells of its header) → a function that returns its rows, by its files.
MADE = {}
#: Those of other tests, by page and first cell of the header.
ELSEWHERE = {
    ("attention_heads.md", "reading"): "tests/evaluations/test_dependencies.py",
    ("benchmarks.md", "measurement"): "tests/benchmarks/test_results_table.py",
    ("corpora.md", "dataset"): "tests/reading/test_published_counts.py",
    ("endpoint.md", "baseline"): "tests/test_claims_of_pages.py",
    ("endpoint.md", "readers"): "tests/test_claims_of_pages.py",
    ("open-study/README.md", "finding (Clark et al. 2025)"): "tests/test_open_study.py",
    ("penn_treebank.md", "one layer"): "tests/test_thesis_pages.py",
    ("penn_treebank.md", "two layers"): "tests/test_thesis_pages.py",
    ("penn_treebank.md", "WD-SRNN"): "tests/test_thesis_pages.py",
    ("penn_treebank.md", "small network"): "tests/test_thesis_pages.py",
    ("penn_treebank.md", "on half of the text"): "tests/test_thesis_pages.py",
    ("penn_treebank.md", "network"): "tests/test_thesis_pages.py",
    ("penn_treebank.md", "model"): "tests/test_thesis_pages.py",
    ("readers-memory.md", "data"): "tests/test_claims_of_pages.py",
    ("scaling.md", "rule"): "tests/benchmarks/test_benchmark_rehearsal.py",
    ("surprisal.md", "entropy of the"): "tests/test_claims_of_pages.py",
}
#: Definitions with numbers in them, records of runs, and a profile, whose stored values are compared below.
NO_MEASUREMENT = {
    ("attention_heads.md", "column"),
    ("thesis_measures.md", "measure"),
    ("faults.md", "target"),
    ("benchmarks.md", "what"),
    ("scaling.md", "what"),
    ("scaling.md", "work"),
}


def of(page, *head):
    """Register the function that makes a table's rows."""

    def register(made):
        MADE[page, head] = made
        return made

    return register


@of("conditions.md", "construction")
def predicted_effects():
    rows, singular, text = [], 0, said("conditions.md")
    fillers = pd.read_csv(DOCS / "conditions" / "fillers.csv")
    at = [between(row.estimate, row.low, row.high, 1) for row in fillers.itertuples()]
    at[0] = at[0].replace("(", "(95 % interval ")
    assert (
        "{} ms per bit at the word, {} at the next and {} at the one after it".format(*at) in text
    )
    assert "18 items each" in text
    for name, label in (("npz", "NP/Z"), ("agreement", "agreement")):
        effects = pd.read_csv(DOCS / "conditions" / f"{name}.csv").set_index(["region", "source"])
        assert set(effects["items"]) == {18}
        for region, word in (
            ("critical", "critical"),
            ("spillover_1", "next"),
            ("spillover_2", "second"),
        ):
            read, predicted = effects.loc[region, "readers"], effects.loc[region, "LSTM-gulordava"]
            # Bonferroni's correction for six, by Student's t of 18 items.
            wider = stats.t.ppf(1 - 0.025 / 6, 17) / stats.t.ppf(0.975, 17)
            assert predicted.excess - wider * (predicted.excess - predicted.excess_low) > 0
            singular += isinstance(read.note, str) and "singular" in read.note
            rows.append([
                label if region == "critical" else "",
                word,
                between(read.effect, read.low, read.high),
                between(predicted.effect, predicted.low, predicted.high, 1),
                between(predicted.share, predicted.share_low, predicted.share_high, 2),
            ])  # fmt: skip
    assert {3: "Three of the six mixed models are singular"}[singular] in text
    return rows


@of("endpoint.md", "baseline", "likelihood", "r")
def agreement_with_the_paper():
    names = {
        "conditional": "conditional",
        "fixed effects only": "fixed_effects",
        "the script's (`modelblocks`)": "modelblocks",
        "in-sample, marginal": "in_sample",
    }
    rows = pd.read_csv(DOCS / "endpoint" / "table2_agreement.csv").set_index(["base", "endpoint"])
    values = pd.read_csv(DOCS / "endpoint" / "table2_values.csv")
    made = []
    for base, *likelihoods in (("all", *names), ("fixed", *list(names)[:2])):
        for likelihood in likelihoods:
            row = rows.loc[base, names[likelihood]]
            cells_ = values[(values.base == base) & (values.endpoint == names[likelihood])]
            apart = cells_.delta_loglik - cells_.published
            assert len(cells_) == row.cells == 84
            assert (apart**2).mean() ** 0.5 == pytest.approx(row.rms_difference, abs=0.006)
            assert apart.mean() == pytest.approx(row.mean_difference, abs=0.006)
            r = cells_.delta_loglik.corr(cells_.published)
            among = [x.delta_loglik.corr(x.published) for _, x in cells_.groupby("response")]
            assert r == pytest.approx(row.correlation, abs=0.006)
            assert sum(among) / 6 == pytest.approx(row.correlation_within, abs=0.006)
            correlations = [number(row[name], 2) for name in ("correlation", "correlation_within")]
            differences = [number(row[name]) for name in ("rms_difference", "mean_difference")]
            made.append([f"`{base}`", likelihood, *correlations, *differences])
    return made


@of("how_sure.md", "setting")
def false_positives_by_setting():
    rows = pd.read_csv(DOCS / "endpoint" / "dependence.csv")
    nothing = (rows.by_subject == 0) & (rows.by_text == 0) & (rows.by_sentence == 0)
    skewed = rows[rows.noise == "lognormal"]
    seeds = rows[rows.by_seed > 0]
    rest = rows[(rows.by_seed == 0) & (rows.noise != "lognormal")]
    shared, alone = rest[rest.share], rest[~rest.share]
    others, cells_ = alone[~nothing[alone.index]], rest[nothing[rest.index]]

    def ends(rows, name="by_larger", digits=1):
        low, high = (f"{value + 1e-9:.{digits}f}" for value in (rows[name].min(), rows[name].max()))
        return f"{low} to {high}"

    two, four, six = (seeds[seeds.seeds.isin(n)] for n in ([2], [3, 4], [6]))
    names = "{} to {} subjects, {} to {} texts of {} to {} sentences, {} to {} responses".format(
        *(
            getattr(others[name], end)()
            for name in ("subjects", "texts", "sentences", "responses")
            for end in ("min", "max")
        )
    )
    most = others[["by_sentences", "by_independent"]].max().max()
    return [
        [
            f"{names}; normal or heavy tails, autocorrelation, unread texts",
            f"{ends(others)} %, median {others.by_larger.median() + 1e-9:.1f}",
            f"up to {most + 1e-9:.0f} % where texts differ",
        ],
        [
            "2, 5 and 10 responses that share texts",
            f"{ends(shared)} %",
            f"{ends(shared, 'by_independent', 0)} %",
        ],
        ["nothing varies but cells", f"{ends(cells_)} %", ""],
        [
            "seeds vary: two, three or four, six",
            ", ".join(f"{ends(each, digits=0)} %" for each in (two, four, six)),
            "",
        ],
        ["skewed (lognormal) effects of 30 subjects and texts", f"{ends(skewed, digits=0)} %", ""],
    ]  # fmt: skip


@of("languages.md", "corpora")
def leads_by_language():
    folder = DOCS / "languages"
    effects = pd.read_csv(folder / "pooled_effects.csv")
    rows = [
        [
            f"{row.label}, both" if row.measure == "all" else f"{row.label} {row.measure}",
            between(row.effect, row.low, row.high, 2),
        ]
        for row in effects.itertuples()
    ]
    pooled = pd.read_csv(folder / "pooled.csv").set_index("language")
    for language, name, kinds in (
        ("en", "English", ["random"]),
        ("all", "all", ["fixed", "random"]),
    ):
        for kind in kinds:
            ends = (pooled[f"{kind}{end}"][language] for end in ("", "_low", "_high"))
            effect = "fixed effect" if kind == "fixed" else "random effects"
            rows.append([f"{name}, {effect}", between(*ends, 2)])
    every, text = pooled.loc["all"], said("languages.md")
    assert (
        f"(Q({every.df_between:.0f}) = {every.q_between:.2f}, p .{100 * every.p_between:.0f})"
        in text
    )
    assert every.k == 3 and f"I² ({every.i2:.0f} %) of three corpora says little" in text
    assert every.random_low < 0 < every.random_high and every.fixed_low > 0
    whole = effects[effects.measure == "all"].set_index("label").low
    assert whole.index[whole > 0].tolist() == ["UCL", "Provo"]
    assert (
        "The intervals of UCL (FP, both), Provo (GP, both) and the fixed effect exclude zero"
        in text
    )
    measures = effects[effects.low > 0]
    assert list(zip(measures.label, measures.measure)) == [
        ("UCL", "FP"),
        ("UCL", "all"),
        ("Provo", "GP"),
        ("Provo", "all"),
    ]
    return rows


@of("abusive_words.md", "features")
def abusive_words():
    rows = pd.read_csv(DOCS / "abusive_words" / "features.csv").fillna({"lm": "", "missing": ""})
    f1 = rows[rows.missing == ""].set_index(["features", "lm"])

    def of_lms(features):
        return ", ".join(
            number(f1.f1[features, lm], 1) for lm in ("Pythia", "dVM-TI", "ALiBi-mix-TI")
        )

    names = {
        "MAJORITY": "majority class",
        "WNusage": "WordNet 3.0: usage",
        "WNsuper": "supersenses",
        "WNgloss": "glosses",
        "WNusage+WNsuper+WNgloss": "all three",
    }
    made = [
        [label, f"{number(f1.f1[key, ''], 1)} ({number(f1.published_f1[key, ''], 1)})"]
        for key, label in names.items()
    ]
    entries = f1.entries["embeddings", "Pythia"]
    both = "linguistic, those here+embeddings"
    published = f1.published_f1["embeddings", "Pythia"]
    made += [
        [
            f"vectors of no bias, dVM, mixed slopes, which only {entries:.0f} of the 1,650 entries have",
            f"{of_lms('embeddings')} (word2vec of 3.5 billion words: {published})",
        ],
        ["with vectors made of similar words", of_lms("embeddings+SWordSS")],
        ["WordNet and vectors", of_lms(both)],
        ["with vectors made of similar words", of_lms(f"{both}+SWordSS")],
    ]
    (ranking,) = pd.read_csv(DOCS / "abusive_words" / "agreement.csv").itertuples()
    assert (ranking.features, ranking.lm) == (f"{both}+SWordSS", "ALiBi-mix-TI")
    text = said("abusive_words.md")
    alone = rows[rows.features.isin(["embeddings", "embeddings+SWordSS"])].recall
    assert f"their recall is {alone.min():.1f} to {alone.max():.1f} %" in text
    assert (
        f"of the {ranking.entries:,} entries that are not in the base lexicon {ranking.overlap:.0f} %"
        in text
    )
    assert (
        f"ρ = {ranking.spearman:.2f}, area under the ROC curve {ranking.auc:.2f}".replace("0.", ".")
        in text
    )
    return made


@of("lossy.md", "erasure")
def errors_of_erasures():
    runs = [run_of(f"{name}.amd-epyc-25-1-thread") for name in ("erasures", "erasures_smollm2")]
    assert f"{runs[0]['words']} words of Provo" in said("lossy.md") and runs[0]["words"] == runs[1]["words"]  # fmt: skip
    settings = {
        "truncation_words_3": "`truncation`, `words: 3`",
        "exponential_half_life_1": "`exponential`, `half_life: 1`",
        "exponential_half_life_3": "`exponential`, `half_life: 3`",
        "power_law_exponent_1": "`power_law`, `exponent: 1`",
    }
    columns = {"standard_error_bits": 2, "above_0_1_bits": 0, "error_variance": 2, "times_plain": 0}
    return [
        [label, *("; ".join(number(run[f"{key}.{name}"], n) for run in runs) for name, n in columns.items())]
        for key, label in settings.items()
    ]  # fmt: skip


@of("rare_words.md", "pairs")
def similarity_of_rare_words():
    rows = pd.read_csv(DOCS / "open-study" / "rare_words.csv")
    rows = rows.assign(set=rows.set.str.partition(" (")[0], rho=100 * rows.spearman)
    made = []
    for name in ("RW", "WordSim-353", "Gur65"):
        pairs = rows[rows.set == name]
        assert pairs.label.nunique() == 2
        without = pairs[pairs.similarity == "without"].rho.sort_values()
        built = pairs[pairs.similarity != "without"].rho
        known, every = int(pairs.known_pairs.iloc[0]), number(pairs.pairs.iloc[0])
        cells_ = " and ".join(number(value, 1) for value in without.dropna()) or "–"
        made.append([name, f"{known} of {every}", cells_, f"{number(built.min(), 1)} to {number(built.max(), 1)}"])  # fmt: skip
    return made


@of("readers-memory.md", "readers use")
def simulated_readers():
    users = {"own": "own context", "whole": "the whole text", "another": "another's context", "none": "none"}  # fmt: skip
    baselines = {"saccades": "with saccades", "without": "without"}
    rows = pd.read_csv(DOCS / "endpoint" / "scanpaths.csv", keep_default_na=False)
    assert set(rows.studies) == {40}
    return [
        [
            users[row.readers_use],
            number(row.ms_per_bit, 1).removesuffix(".0") if row.ms_per_bit else "",
            baselines[row.baseline],
            *(
                f"{100 * share + 1e-9:.0f}"
                for share in (row.leads_whole, row.leads_another, row.claim)
            ),
        ]
        for row in rows.itertuples()
    ]


@of("surprisal.md", "", "networks of 2.5 M")
def refused_tables():
    kinds = {
        "network (2.5 M)": 0, "5-gram": 1, "LSTM": 1, "GPT-2": 1, "Transformer-XL": 1,
        "Pythia, RWKV, Mamba (130 to 430 M)": 2, "Pythia, RWKV, Mamba (0.8 to 3 B)": 3,
    }  # fmt: skip
    rows = pd.read_csv(DOCS / "surprisal" / "plausible.csv")
    rows = rows.assign(column=rows.kind.map(kinds), hits=rows.refused * rows.tables)
    sums = rows.groupby(["damage", "column"])[["hits", "tables"]].sum()
    share = (sums.hits / sums.tables).unstack()
    shown = [row[0] for row in cells("surprisal.md", "", "networks of 2.5 M")]
    return [
        [name, *(f"{100 * x:.0f} %" if pd.notna(x) else "" for x in share.loc[name])]
        for name in shown
    ]


@of("benchmarks.md", "network", "processor")
def other_networks():
    def linked(name, file):
        return f"[{name}](../benchmarks/results/{file}.json)"

    masked, rows = run_of("masked.amd-epyc-1-thread"), []
    for entries, where in (
        ("8192", linked("EPYC", "masked.amd-epyc-1-thread")),
        ("50265", "the same"),
    ):
        ratios = {
            kind: [masked[f"{each}.{entries}.{kind}_vs_sparse"] for each in ("fp32", "bf16")]
            for kind in ("ratio", "memory")
        }
        for precision in ("fp32", "bf16"):
            peers = ("loop", "sparse", "trainer")
            ratio = [masked[f"{precision}.{entries}.ratio_vs_{peer}"] for peer in peers]
            assert min(ratio) == ratio[1]
        speed, memory = (
            "; ".join(f"{x:.{n}f}" for x in ratios[kind])
            for kind, n in (("ratio", 1), ("memory", 2))
        )
        entries = f"{int(entries):,}"
        rows.append(
            [f"masked LM, {entries} entries, fp32; bf16", where, f"{speed} ×", f"{memory} ×"]
        )
    for label, name, file in (
        ("LSTM, 10,000; 50,304 entries", "Zen 5", "recurrent.amd-epyc-26-1-thread"),
        ("the same", "Zen 4", "recurrent.amd-epyc-1-thread"),
        ("the same", "Xeon with AMX", "recurrent.intel-xeon-1-thread"),
    ):
        metrics = run_of(file)
        speed, memory = (
            "; ".join(f"{metrics[f'{n}.{kind}_vs_torch']:.{digits}f}" for n in (10000, 50304))
            for kind, digits in (("ratio", 1), ("memory", 2))
        )
        rows.append([label, linked(name, file), f"{speed} ×", f"{memory} ×"])
    return rows


def test_the_trainer_of_masked_networks():
    masked = run_of("masked.amd-epyc-1-thread")
    ratios = [
        masked[f"{each}.{n}.ratio_vs_trainer"] for n in (8192, 50265) for each in ("fp32", "bf16")
    ]
    told = "`Trainer`: {:.1f} and {:.1f} ×, with 50,265 entries {:.1f} and {:.1f} ×".format(*ratios)
    assert told in said("benchmarks.md")


@of("benchmarks.md", "model", "here", "peer")
def other_regressions():
    files = {
        "families": "families.amd-epyc-25-1-thread",
        "factors": "several_factors.amd-epyc-26-1-thread",
        "profiles": "profile_intervals.amd-epyc-26-1-thread",
    }
    families, factors, profiles = map(run_of, files.values())

    def linked(name, kind):
        return f"[{name}](../benchmarks/results/{files[kind]}.json)"

    return [
        ["gamma, log link", f"{families['gamma_s']:.1f}", f"{families['gamma_glmmtmb_s']:.1f} (glmmTMB)",
         f"{families['gamma_ratio_vs_glmmtmb']:.1f}", linked("Zen 4", "families")],
        ["location-scale, Gaussian; with scale effects by subject",
         f"{families['location_scale_s']:.1f}; {families['location_scale_by_subject_s']:.1f}",
         f"{families['location_scale_glmmtmb_s']:.1f} (glmmTMB)",
         f"{families['location_scale_ratio_vs_glmmtmb']:.1f}", "the same"],
        ["ex-Gaussian; inverse Gaussian",
         f"{families['exgaussian_s']:.1f}; {families['inverse_gaussian_s']:.1f}", "", "", "the same"],
        ["three crossed factors, 385,000 rows: intercepts; with slopes",
         f"{factors['seconds']:.1f}; {factors['slopes_seconds']:.1f}",
         f"{factors['lme4_seconds']:.1f}; {factors['slopes_lme4_seconds']:.0f} (lme4)",
         f"{factors['ratio_vs_lme4']:.0f}; {factors['slopes_ratio_vs_lme4']:.0f}", linked("Zen 5", "factors")],
        ["profile intervals of six fixed effects, Provo's size", f"{profiles['seconds']:.2f}",
         f"{profiles['lme4_seconds']:.0f} (lme4)", f"{profiles['ratio_vs_lme4']:,.0f}", linked("Zen 5", "profiles")],
    ]  # fmt: skip


def test_costs_and_times_of_stored_runs():
    """Of tables whose other rows are records, profiles or estimates."""
    large, small = (
        run_of("large_models.amd-epyc-25-1-thread"),
        run_of("planning.amd-epyc-25-1-core"),
    )
    what = {row[0]: row[1:] for row in cells("benchmarks.md", "what", "now")}
    assert what["a mixed model, a million rows of 1,000 × 10,000 levels"][0].startswith(
        f"[{large['unequal_seconds']:.1f}]"
    )
    now, floor = what["plan of the paper's study, 293 jobs; of 12,643"]
    assert small["paper_jobs"] == 293 and small["large_jobs"] == 12643
    assert now.startswith(f"[{small['paper_seconds']:.1f}; {small['large_seconds']:.0f}]")
    assert floor.startswith(
        f"{small['paper_plain_seconds']:.1f}; {small['large_plain_seconds']:.0f}:"
    )
    resident, page = run_of("resident.amd-epyc-25-2-cores"), said("benchmarks.md")
    own, forks = resident["own_seconds"], resident["resident_seconds"]
    assert resident["differing"] == 0
    assert f"{own:.0f} with a Python for each job, {forks:.0f} with" in page
    paper = run_of("regression_paper.amd-epyc-26-2-cores")
    told = f"{paper['minutes']:.1f} minutes and {paper['peak_memory_gib']:.1f} GiB on two cores of a Zen 5"
    confirmed = f"lme4 confirmed {paper['fits_confirmed']} of them to 1e-8"
    assert paper["fits"] == 247 + 13 and paper["largest_difference_from_lme4"] < 1e-8
    assert told in page and confirmed in page
    assert f"{run_of('study_cost.amd-epyc-26-2-cores')['minutes']:.1f} minutes" in page
    work = {row[0]: row[1:] for row in cells("scaling.md", "work", "seconds per million")}
    costs = run_of("scaling.amd-epyc-1-thread")["seconds_per_million"]
    training = work["training, 2 layers of width 128, vocabulary 1,024, tokens"][0]
    scoring = work["scoring with that network, words"][0]
    assert (training, scoring) == (f"{costs['train']:.0f}", f"{costs['surprisal']:.0f}")
    per_million = 60 * paper["cpu_minutes"] / (paper["observations_fitted"] / 1e6)
    fits = work["a mixed model with reading and confirmation, observations"][0]
    assert fits == f"{per_million:.1f}"
    passages = run_of("passages.amd-epyc-25-1-thread")
    source = work["passages of training text, words"][1]
    share = passages["passages_seconds_per_10M_words"] / 10, passages["cpu_share"]
    assert source.endswith("{:.2f}, {:.2f} of tokenizing".format(*share))
    gpu, train = run_of("gpu_rehearsal.nvidia-h200"), run_of("train.nvidia-h200")
    runs = {row[0]: row[1] for row in cells("scaling.md", "what", "result")}
    steps = next(result for name, result in runs.items() if "`train`" in name)
    assert steps.startswith(
        f"{train['bf16.tokens_per_second'] / 1e6:.1f} M tokens a second, "
        f"{train['bf16.ratio_vs_loop']:.1f} × a plain compiled loop and "
        f"{train['bf16.ratio_vs_trainer']:.1f} × `Trainer`, in 0.1 × their memory; "
        f"{percent(train['bf16.share_of_peak'])} % of the products' peak"
    )
    assert max(train["bf16.memory_vs_loop"], train["bf16.memory_vs_trainer"]) < 0.15
    study = next(result for name, result in runs.items() if "`gpu_rehearsal`" in name)
    assert f"{gpu['mixed_slopes.steps']} steps of 2,000 in a minute" in study
    assert round(gpu["mixed_slopes.tokens_per_second"] / 1e6) == 1


@pytest.mark.parametrize(("page", "head"), MADE)
def test_a_table_is_that_of_its_files(page, head):
    assert cells(page, *head) == MADE[page, head]()


def measured(rows):
    """Return whether a third of a table's cells, the first column aside, begin with a number."""
    others = [cell for row in rows for cell in row[1:]]
    begun = [cell for cell in others if re.match(r"[−+(]*[\d.,]+", cell)]
    return len(begun) >= 0.3 * max(1, len(others))


def test_every_table_of_measured_numbers_is_compared():
    missing = []
    for path in sorted(DOCS.rglob("*.md")):
        page = str(path.relative_to(DOCS))
        if page.startswith(("config/", "forms/")):
            continue
        for files, header, rows in tables(page):
            made = any(page == of and header[: len(head)] == [*head] for of, head in MADE)
            known = (page, header[0]) in ELSEWHERE or (page, header[0]) in NO_MEASUREMENT
            if measured(rows) and not (files or made or known):
                missing.append((page, header))
    assert not missing, missing
