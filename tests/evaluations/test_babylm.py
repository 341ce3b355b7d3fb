"""The BabyLM challenge's formats and scores equal a direct computation, text by text."""

import json
import math
import shutil

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
import torch
import yaml
from scipy.optimize import curve_fit
from scipy.stats import pearsonr, spearmanr

import recency
from checkpoints import checkpoint
from masked_networks import roberta
from project import copy_project, show, snakemake
from recency.errors import InputError
from recency.evaluations.babylm import parts, score, spec, table
from recency.scoring.lm_spec import LMSpec
from small_networks import TEXTS

WORDS = sorted({word for text in TEXTS for word in text.split()})
SUBSETS = {
    "blimp_filtered/anaphor": lambda r: {
        "field": "syntax", "UID": "anaphor_agreement", "linguistics_term": "anaphor",
        "sentence_good": text(r), "sentence_bad": text(r)},
    "blimp_filtered/island": lambda r: {
        "field": "syntax", "UID": "island", "linguistics_term": "island",
        "sentence_good": text(r), "sentence_bad": text(r)},
    "supplement_filtered/hypernym": lambda r: {"sentence_good": text(r), "sentence_bad": text(r)},
    "ewok_filtered/social": lambda r: {
        "Domain": str(r.choice(["social", "spatial"])), "Context1": text(r), "Context2": text(r),
        "Target1": text(r, 2), "Target2": text(r, 3), "ContextType": "direct", "ContextDiff": "x",
        "TargetDiff": "y"},
    **{f"entity_tracking/{split}": lambda r: {
        "input_prefix": text(r) + " and", "numops": int(r.integers(2)),
        "options": [" " + text(r, 2) for _ in range(3)]} for split in parts.SPLITS},
    "wug_adj_nominalization/wug": lambda r: {
        "sentences": f"{text(r)}\t{text(r)}", "ratio": float(r.random())},
    "wug_past_tense/wug": lambda r: {
        "sentences": f"{text(r)}\t{text(r)}", "ratio": str(r.random())},
    **{f"comps/{stem}": lambda r: {
        "prefix_acceptable": text(r), "prefix_unacceptable": text(r), "property_phrase": text(r, 2)}
       for stem in parts._COMPS},
}  # fmt: skip


def text(random, length=4):
    return " ".join(random.choice(WORDS, length))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Write every part in the challenge's layout; return the folder and its lines."""
    folder, random, lines = tmp_path_factory.mktemp("full_eval"), np.random.default_rng(3), {}
    for name, make in SUBSETS.items():
        lines[name] = [make(random) for _ in range(4)]
        path = folder / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines[name]))
    rows = 25
    reading = pd.DataFrame(random.random((rows, 9)), columns=[
        *table.EYE_TRACKING, table.SELF_PACED, *table.OF_WORD, "prev_length"])  # fmt: skip
    reading["item"] = [text(random) for _ in range(rows)]
    reading["word"] = [" " + text(random, 1 + n % 2) for n in range(rows)]
    reading["prev_item"], reading["prev_word"] = reading["item"].shift(), reading.word.shift()
    reading.loc[3, "RTgopast"] = np.nan
    (folder / "reading").mkdir()
    reading.to_csv(folder / "reading" / "reading_data.csv", index=False)
    return folder, lines


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {
        "causal": str(checkpoint(folder / "causal", TEXTS)),
        "masked": str(roberta(folder / "masked", WORDS, context=64)),
    }


def of_text(lm, whole, start, bos=True):
    """Return the log probability of the end of a text, by one forward pass (or one a token)."""
    encoding = lm.tokenizer.encode(whole, add_special_tokens=False)
    inside = [n for n, (_, end) in enumerate(encoding.offsets) if end > start]
    total = 0.0
    with torch.no_grad():
        if lm.masked:
            ids = [*lm.around.before, *encoding.ids, *lm.around.after]
            for n in inside:
                hidden = list(ids)
                hidden[n + len(lm.around.before)] = lm.around.mask
                log = lm.network(torch.tensor([hidden])).logits[0].double().log_softmax(-1)
                total += float(log[n + len(lm.around.before), encoding.ids[n]])
            return total
        ids = [0, *encoding.ids] if bos else encoding.ids
        log = lm.network(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        for n in inside:
            place = n + 1 if bos else n
            total += float(log[place - 1, ids[place]]) if place else 0.0
    return total


def candidates(name, line):
    """Return subset, texts and starts of one line, as the challenge's rules have them."""
    part, stem = name.split("/")
    if part in ("blimp_filtered", "supplement_filtered"):
        return line.get("UID", stem), [(line[f"sentence_{k}"], 0) for k in ("good", "bad")]
    if part == "ewok_filtered":
        context = line["Context1"]
        return line["Domain"], [
            (f"{context} {line[t]}", len(context)) for t in ("Target1", "Target2")
        ]
    if part == "entity_tracking":
        prefix = line["input_prefix"]
        return f"{stem}_{line['numops']}", [
            (prefix + each, len(prefix)) for each in line["options"]
        ]
    if part == "comps":
        phrase = line["property_phrase"]
        sides = [line["prefix_acceptable"], line["prefix_unacceptable"]]
        return stem, [(f"{each} {phrase}", len(each) + 1) for each in sides]
    return "all", [(each, 0) for each in line["sentences"].split("\t")]


def expected_scores(lm, lines, bos=True):
    """Return part → score, by loops over lines, subsets and splits."""
    found = {}
    for name, part in parts.PARTS.items():
        files = [each for each in lines if part.item and each.split("/")[0] in part.places]
        right, shares, ratios = {}, [], []
        for file in files:
            for line in lines[file]:
                subset, listed = candidates(file, line)
                log = [of_text(lm, *each, bos) for each in listed]
                right.setdefault(subset, []).append(log[0] == max(log))
                shares.append(math.exp(log[0]) / sum(map(math.exp, log)))
                ratios.append(float(line.get("ratio", 0)))
        if part.score == "correlation":
            found[name] = 100 * spearmanr(shares, ratios)[0]
        elif name == "entity_tracking":
            means = {subset: np.mean(each) for subset, each in right.items()}
            split = [
                np.mean([v for k, v in means.items() if k.startswith(s)]) for s in parts.SPLITS
            ]
            found[name] = 100 * np.mean(split)
        elif files:
            found[name] = 100 * np.mean([np.mean(each) for each in right.values()])
    return found


def files_of(folder):
    found = {name: parts.files(folder, name) for name in (*parts.ZERO_SHOT, "reading")}
    return {name: list(map(str, paths)) for name, paths in found.items() if paths}


@pytest.mark.parametrize(("kind", "bos"), [("causal", True), ("causal", False), ("masked", True)])
def test_scores_are_those_of_loops_over_the_texts(data, models, tmp_path, kind, bos):
    folder, lines = data
    lm = LMSpec("lm", models[kind], bos=bos)
    score.main(lm, files_of(folder), tmp_path / "scores.parquet")
    scored = pd.read_parquet(tmp_path / "scores.parquet")
    found = table.challenge_scores(scored, folder / "reading" / "reading_data.csv")
    overall = found[found.group == "overall"].set_index("part").score
    lm = recency.load(models[kind])
    expected = expected_scores(lm, lines, bos)
    assert list(overall.index) == parts.ZERO_SHOT
    assert overall.to_dict() == pytest.approx(expected, abs=1e-6)
    assert 5 < overall.std()


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["causal", "masked"])
def test_reading_is_what_statsmodels_says_of_surprisals_of_single_passes(data, models, kind):
    folder, _ = data
    path = folder / "reading" / "reading_data.csv"
    frame, lm = pd.read_csv(path), recency.load(models[kind])

    def of_word(context, word):
        total = 0.0
        for token in lm.tokenizer.encode(word, add_special_tokens=False).ids:
            ids = lm.tokenizer.encode(context, add_special_tokens=False).ids
            ids, place = ([0, *ids], -1)
            if lm.masked:
                ids = [*lm.around.before, *ids[1:], *[lm.around.mask] * 3, *lm.around.after]
                place = -3 - len(lm.around.after)
            with torch.no_grad():
                log = lm.network(torch.tensor([ids])).logits[0].double().log_softmax(-1)
            total -= float(log[place, token])
            context += lm.tokenizer.decode([token], skip_special_tokens=False)
        return total

    frame["pred"] = [of_word(*pair) for pair in zip(frame["item"], frame.word)]
    frame["prev_pred"] = frame.pred.shift()
    own = score._reading(lm, LMSpec("lm", models[kind]), path)
    found = {group: value for group, value, _ in table._reading(own, path)}
    base = "Subtlex_log10 + length + context_length"

    def gain(response, predictors):
        formula = f"{response} ~ ({predictors})**2"
        used = frame[[response, *predictors.split(" + "), "pred"]].dropna()
        before, after = (smf.ols(f, used).fit().rsquared for f in (formula, formula + " + pred"))
        return 100 * (after - before) / (1 - before)

    eye = np.mean([gain(each, base) for each in table.EYE_TRACKING])
    assert found["eye tracking"] == pytest.approx(eye, rel=1e-4)
    spr = gain(table.SELF_PACED, f"{base} + prev_length + prev_pred")
    assert found["self-paced reading"] == pytest.approx(spr, rel=1e-4)


def logistic(x, a, b, c, d):
    return a / (1 + np.exp(-b * (x - c))) + d


def test_ages_of_acquisition_are_crossings_of_fitted_curves(tmp_path):
    random = np.random.default_rng(0)
    months = np.arange(16, 31)
    read = np.array([1e6, 2e6, 4e6, 8e6, 2e7, 4e7, 1e8])
    rows, curves, expected = [], {each: [] for each in read}, []
    for number in range(8):
        middle, late = random.uniform(19, 27), random.uniform(6.4, 7.6)
        shares = logistic(months, 0.9, 0.5, middle, 0.02) + random.normal(0, 0.01, len(months))
        values = 16 - logistic(np.log10(read), 12, 4, late, 0) + random.normal(0, 0.05, len(read))
        rows.append([f"word{number}", *shares])
        for each, value in zip(read, values, strict=True):
            curves[each].append((f"word{number}", value))
        limits = ([0, 0, 16, -0.5], [2, 1, 30, 0.5])
        a, b, c, d = curve_fit(logistic, months, shares, [1, 0.1, 23, 0], bounds=limits)[0]
        fine = np.linspace(16, 30, 2_000_001)
        child = fine[np.argmin(np.abs(logistic(fine, a, b, c, d) - 0.5))]
        x, start = np.log10(read + 1), [values.max() - values.min(), 1, 0, -values.max()]
        a, b, c, d = curve_fit(logistic, x, -values, [*start[:2], x.mean(), start[3]])[0]
        fine = np.linspace(6, 8, 2_000_001)
        level = -(np.log2(300_000) + values.min()) / 2
        model = fine[np.argmin(np.abs(logistic(fine, a, b, c, d) - level))]
        expected.append((model, child))
    rows.append(["known by few", *[0.1] * 15])
    columns = ["word", *map(str, months)]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "cdi_human.csv", index=False)
    frames = {
        each: pd.DataFrame(v, columns=["word", "surprisal_nats"]) for each, v in curves.items()
    }
    found, count = table.acquisition(frames, tmp_path / "cdi_human.csv")
    assert count == len(expected) == 8
    assert found == pytest.approx(pearsonr(*zip(*expected))[0], abs=1e-4)
    assert table.acquisition(
        {each: frames[each][:2] for each in read}, tmp_path / "cdi_human.csv"
    ) == (0.0, 2)


def test_words_are_scored_after_their_contexts(models, tmp_path):
    contexts = {
        "a": [{"context": "the"}],
        WORDS[3]: [{"context": text(np.random.default_rng(n)) + " "} for n in (1, 2)],
    }
    (tmp_path / "cdi.json").write_text(json.dumps(contexts))
    score.score_words(LMSpec("lm", models["causal"]), tmp_path / "cdi.json", tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    lm = recency.load(models["causal"])
    texts = [each["context"].strip() + " " + WORDS[3] for each in contexts[WORDS[3]]]
    expected = [-of_text(lm, each, len(each) - len(WORDS[3])) for each in texts]
    np.testing.assert_allclose(found.surprisal_nats, expected, rtol=1e-5)
    (tmp_path / "cdi.json").write_text('{"dog": ["a"]}')
    with pytest.raises(InputError, match="expected word → list of contexts"):
        score.read(tmp_path / "cdi.json")


def test_the_table_has_a_column_a_part_and_names_what_was_not_supplied(data, models, tmp_path):
    folder, _ = data
    some = {name: paths for name, paths in files_of(folder).items() if name in ("blimp", "reading")}
    score.main(LMSpec("lm", models["causal"]), some, tmp_path / "scores.parquet")
    lms = [{"lm": "lm", "label": "LM", "bias": {"form": "none"}, "applied": "none", "network": {}}]
    missing = [name for name in parts.PARTS if name not in some]
    show(table.main, 
        scores=[tmp_path / "scores.parquet"], reading=some["reading"], words=[], children=[],
        out=[tmp_path / f"table.{end}" for end in ("csv", "html", "tex")], lms=lms, title="T",
        stages={}, missing=missing,
    )  # fmt: skip
    shown = (tmp_path / "table.html").read_text()
    assert "EWoK, Entity tracking" in shown and "Not run" in shown
    written = pd.read_csv(tmp_path / "table.csv")
    assert set(written.part) == {"blimp", "reading"} and len(written) == 3 + 2


def problems(folder, **more):
    """Return what is found wrong with an experiment of one LM when the config is read."""
    entry = {"lms": ["Pythia"], "babylm": {"data": str(folder), **more}}
    return spec.EVALUATION.problems({"experiments": {"mine": entry}}, "mine")


FAULTS = {
    "blimp_filtered/a.jsonl": ('{"sentence_good": "a"}', "line 1: BLiMP has no sentence_bad"),
    "ewok_filtered/a.jsonl": ("{", "line 1: not JSON"),
    "comps/other.jsonl": ("{}", "COMPS has no a file of this name"),
    "entity_tracking/other.jsonl": ("{}", "Entity tracking has no a file of this name"),
    "wug_past_tense/a.jsonl": (
        '{"sentences": "a\\tb", "ratio": "?"}',
        "no item of WUG, past tense",
    ),
    "wug_adj_nominalization/a.jsonl": ('{"sentences": "a", "ratio": 1}', "1 candidates"),
    "supplement_filtered/a.jsonl": ("", "has no items"),
}


@pytest.mark.parametrize("path", FAULTS)
def test_files_of_another_layout_are_refused_when_the_config_is_read(tmp_path, path):
    content, message = FAULTS[path]
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_text(content)
    (found,) = problems(tmp_path)
    assert found.startswith("experiments → mine → babylm: ") and message in found
    assert path in found and "\n" not in found


def test_folders_and_stages_that_are_wrong_are_refused(data, tmp_path):
    assert problems(data[0]) == []
    (found,) = problems(tmp_path)
    assert "has none of blimp_filtered" in found and parts.ADDRESS in found
    stages = {"dVM-TI": {"Pythia-32": 1, "Pythia-125": 2, "Pythia": 2}}
    lacking, other, twice = problems(data[0], stages=stages)
    assert "lacks cdi_childes.json or cdi_human.csv" in lacking
    assert "'dVM-TI' is not among the experiment's LMs" in other
    assert "two stages have read the same number of words" in twice


@pytest.mark.merge
@pytest.mark.apart
def test_one_target_gives_the_leaderboards_scores(data, tmp_path):
    """Three checkpoints, which are the stages of the last one's training as well."""
    project = copy_project(tmp_path / "project")
    folder = tmp_path / "full_eval"
    shutil.copytree(data[0], folder)
    months = [str(month) for month in range(16, 31)]
    children = pd.DataFrame(np.linspace(0, 1, 15)[None].repeat(3, 0), columns=months)
    children.insert(0, "word", WORDS[-3:])
    (folder / "aoa").mkdir()
    children.to_csv(folder / "aoa" / parts.CHILDREN, index=False)
    contexts = {word: [{"context": "the"}, {"context": "a"}] for word in WORDS[-3:]}
    (folder / "aoa" / parts.WORDS).write_text(json.dumps(contexts))
    lms = {}
    for name in ("early", "later", "last"):
        place = str(checkpoint(tmp_path / name, TEXTS))
        lms[name] = {"bias": "none", "checkpoint": place, "bos": "<|endoftext|>"}
    stages = {"last": {"early": 1e6, "later": 1e7, "last": 1e8}}
    experiment = {"lms": ["last"], "baseline": "last"}
    experiment["babylm"] = {"data": str(folder), "stages": stages}
    overlay = {"lms": lms, "experiments": {"babylm": experiment}}
    (project / "mine.yaml").write_text(yaml.safe_dump(overlay))
    configs = ["config/open.yaml", "config/babylm.yaml", "mine.yaml"]
    run = snakemake(project, "babylm", configs=configs)
    assert run.returncode == 0, run.stdout[-3000:]
    (path,) = project.glob("results/*/*/experiments/babylm/table_babylm.csv")
    found = pd.read_csv(path)
    assert set(found.part) == set(parts.PARTS) and (found.lm == "last").all()
    expected = expected_scores(recency.load(lms["last"]["checkpoint"]), data[1])
    overall = found[(found.group == "overall") & found.part.isin(parts.ZERO_SHOT)]
    assert overall.set_index("part").score.to_dict() == pytest.approx(expected, abs=1e-6)
    refused = snakemake(project, "babylm", configs=configs[:2])
    assert refused.returncode != 0 and "download them from https://osf.io/ryjfm" in refused.stdout
