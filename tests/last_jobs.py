"""The last job of a numbered table or figure, with the config's own settings and made-up inputs."""

import html
import importlib
import inspect
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

import thesis_inputs
from project import ROOT
from recency.config import experiments_of
from recency.evaluations import registry
from recency.evaluations.attention_maps.figure import COLUMNS as MAPS
from recency.evaluations.dependencies import view as dependencies
from recency.evaluations.glue.runs import RUN
from recency.evaluations.item_means.delta_aic import COLUMNS as AIC
from recency.evaluations.minimal_pairs.pairs import ACCURACY_COLUMNS as PAIRS
from recency.evaluations.probe import view as probe
from recency.figures import intervals
from recency.figures.comparison import View
from recency.workflow.plan import products
from recency.workflow.plan.study import Study

SLOPES = [2.0 ** -(2 * head) for head in range(1, 5)]


def make(
    config: dict, targets: list[str], outputs: list[str], folder: Path
) -> dict[str, pd.DataFrame]:
    """Make figures and tables by their last jobs; return output → the table next to it.

    `outputs` are "experiment/stem". Some of each of the numbered `targets` have to be among them.
    Numbers that a table's notes call published are the column `published` of "experiment/stem, notes".
    """
    study = Study(config, ROOT, dry_run=True)
    for target in (name for name in targets if name in study.targets):
        of = study.targets[target]["of"]
        wanted = {f"{name}/{stem}" for name in experiments_of(study.targets[target]) for stem in of}
        assert wanted & set(outputs), f"the inventory describes no file of {target}"
    made, run = {}, set()
    for output in outputs:
        experiment, stem = output.split("/")
        product = next(p for p in registry.products() if stem in p.stems)
        place = folder / experiment
        place.mkdir(parents=True, exist_ok=True)
        if (experiment, product.rule) not in run:  # a function that makes several files runs once
            _run(study, product, experiment, place)
            run.add((experiment, product.rule))
        made[output] = pd.read_csv(place / f"{stem}.csv")
        if stem.startswith("table_"):
            made[f"{output}, notes"] = _told(place / f"{stem}.html")
    return made


def _told(page: Path) -> pd.DataFrame:
    """Return the numbers of a table's notes that follow the word published."""
    text = html.unescape(page.read_text(encoding="utf-8")).replace("\N{MINUS SIGN}", "-")
    told = re.findall(r"published ([^;<]*)", text)
    return pd.DataFrame({"published": re.findall(r"-?\d+(?:\.\d+)?", " ".join(told))})


def _run(study: Study, product, experiment: str, folder: Path) -> None:
    """Run a product's function."""
    module = importlib.import_module(f"recency.evaluations.{product.module}")
    function = getattr(module, product.function)
    wildcards = SimpleNamespace(experiment=experiment)
    settings = {
        key: value(wildcards)
        for key, value in products.parameters(study, product).items()
        if key not in ("module", "function")
    }
    files = products.read_by(study, product, experiment)
    given = {}
    for role, paths in files.items():
        if role == "published":
            given[role] = ROOT / paths
        elif role != "not_run":
            given[role] = _write(product, role, paths, folder, study, experiment, settings)
    outputs = {
        key: [folder / f"{name}.{ending}" for ending in products.FORMATS[name.split("_")[0]]]
        for key, (name, _) in product.makes.items()
    }
    known = inspect.signature(function).parameters
    if "view" in known:
        given["view"] = View.of_job(given | settings)
    function(**{k: v for k, v in (given | outputs | settings).items() if k in known})


def _write(product, role, paths, folder: Path, study: Study, experiment: str, settings: dict):
    """Write the file or files of a role; return their paths. Another product's table is made."""
    key = f"{product.evaluation}.{role}"
    if isinstance(paths, str):
        out = folder / Path(paths).name
        maker = next((p for p in registry.products() if out.stem in p.stems), None)
        if maker:
            _run(study, maker, experiment, folder)
        else:
            content = thesis_inputs.ONE.get(key) or ONE[role]
            _put(content(study, experiment, settings), out)
        return out
    content, written = thesis_inputs.MANY.get(key) or MANY.get(role), []
    for number, path in enumerate(paths):
        out = folder / path.removeprefix("<results>/")
        out.parent.mkdir(parents=True, exist_ok=True)
        _put(content(study, experiment, settings, number), out)
        written.append(out)
    return written


def _put(content, out: Path) -> None:
    """Write a table as Parquet or CSV, and a record as JSON."""
    if out.suffix == ".json":
        out.write_text(json.dumps(content), encoding="utf-8")
    elif out.suffix == ".parquet":
        content.to_parquet(out)
    else:
        content.to_csv(out, index=False)


def _lms(study, experiment, settings) -> list[dict]:
    return settings["lms"] if "lms" in settings else study.lms_of(experiment)


def _cells(study, experiment, settings) -> list[dict]:
    """Return lm, label, dataset and measure of every LM and response."""
    return [
        {"lm": lm["lm"], "label": lm["label"], "dataset": r["dataset"], "measure": r["measure"]}
        for lm in _lms(study, experiment, settings)
        for r in study.responses(experiment)
    ]


def _numbers(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(20, 80, count)


def _delta(study, experiment, settings):
    rows = pd.DataFrame(_cells(study, experiment, settings))
    endpoint = study.endpoint(experiment)
    return rows.assign(
        design="any", base="all", endpoint=endpoint, delta_loglik=_numbers(len(rows)),
        n=1000, converged=True,
    )  # fmt: skip


def _perplexity(study, experiment, settings):
    rows = pd.DataFrame(
        {key: [lm[key] for lm in _lms(study, experiment, settings)] for key in ("lm", "label")}
    )
    rows["perplexity"] = _numbers(len(rows))
    rows["bits_per_token"] = np.log2(rows.perplexity)
    return rows.assign(dataset="all", tokens=1000, words=800, word_perplexity=np.nan)


def _aic(study, experiment, settings):
    rows = pd.DataFrame(_cells(study, experiment, settings)).reindex(columns=AIC)
    numbers = dict.fromkeys(AIC[6:-1], 0.5) | {"n": 100, "words_per_text": 20, "design": "any"}
    return rows.assign(**numbers | {"delta_aic": _numbers(len(rows)), "note": ""})


def _pairs(study, experiment, settings):
    phenomena = ["Anaphor agreement", "Binding", "Ellipsis", "Island effects"]
    rows = [
        dict.fromkeys(PAIRS, 0.5)
        | {"lm": lm["lm"], "label": lm["label"], "level": level, "group": group, "accuracy": value}
        | {"tokens": "all tokens", "compared": True, "pairs": 1000, "paradigms": 67}
        for number, lm in enumerate(settings["lms"])
        for level, group, value in [
            ("overall", "overall", 60.0 + number),
            *(("phenomenon", name, 50.0 + number) for name in phenomena),
        ]
    ]
    return pd.DataFrame(rows)


def _heads(study, experiment, settings, number):
    rows = [
        dict.fromkeys(dependencies.COLUMNS, 0.1)
        | {"type": kind, "layer": layer, "head": head + 1, "slope": SLOPES[head], "texts": 10}
        | {"dependencies": 100, "left_out": 0, "windows": 0}
        for kind in dependencies.NAMES
        for layer in (1, 2)
        for head in range(4)
    ]
    return pd.DataFrame(rows)


def _counts(study, experiment, settings, number):
    steps = ["presented", "times", "fit", "exploratory", "held_out"]
    return pd.DataFrame({"step": steps, "kept": [9, 8, 4, 2, 2], "dropped": 0})


def _curve(study, experiment, settings, number):
    steps = [100, 200, 300]
    return pd.DataFrame(
        {"step": steps, "tokens": steps, "loss_nats": 3.0, "validation_nats": [5.0, 4.0, 3.0]}
    )


def _runs(study, experiment, settings, number):
    rows = [
        dict.fromkeys(RUN, 0.5) | {"seed": 1, "epoch": epoch, "train": 10, "dev": 10, "cut": 0}
        for epoch in (1, 2)
    ]
    return pd.DataFrame(rows).assign(constant=False)


def _map(study, experiment, settings, number):
    places = [(q, k) for q in range(3) for k in range(q + 1)]
    rows = [
        dict.fromkeys(MAPS, "a")
        | {"layer": layer, "head": head, "query": q, "key": k, "attention": 1 / (q + 1)}
        for layer in range(1, 13)
        for head in range(1, 13)
        for q, k in places
    ]
    return pd.DataFrame(rows)


def _probe(study, experiment, settings, number):
    rows = [
        {"network": network, "layer": layer, "relation": relation, "n": 10, "uuas": 0.5,
         "spearman": 0.4, "dev_loss": 1.0, "epochs": 3}
        for relation in ["all", *settings["relations"]]
        for network, layers in (("trained", 13), ("untrained", 13), ("adjacent words", 1))
        for layer in range(layers)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=probe.COLUMNS)


def _dependencies(study, experiment, settings):
    rows = [
        {"reading": reading, "type": kind, "tokens": 9, "words": 8, "chosen": reading == "graph"}
        for reading in ("graph", "categories")
        for kind in dependencies.NAMES
    ]
    return pd.DataFrame(rows)


#: Role of a single file → its content.
ONE = {
    "counts": _dependencies,
    "delta_loglik": _delta,
    "intervals": lambda *_: pd.DataFrame(columns=intervals.COLUMNS),
    "by_seed": lambda *_: pd.DataFrame(
        columns=["lm", "variant", "seed", "dataset", "measure", "delta_loglik"]
    ),
    "perplexity": _perplexity,
    "delta_aic": _aic,
    "accuracy": _pairs,
}
#: Role of a list of files → the content of each.
MANY = {
    "counts": _counts,
    "heads": _heads,
    "runs": _runs,
    "curves": _curve,
    "masked_curves": _curve,
    "maps": _map,
    "probes": _probe,
    "others": lambda study, experiment, settings, number: _delta(study, experiment, settings),
}
