"""Checks of language models that are not trained: tables, n-grams, mixes, and what a training kept."""

from pathlib import Path

from recency import config as configuration
from recency.evaluations import registry
from recency.names import nearest
from recency.reading import join_keys
from recency.workflow import mixes

#: What such an LM may say beside what it is.
BESIDE = {"label", "accept", "surprisals", "ngram", "interpolate"}
#: Where weights come from that an LM is not trained to.
ELSEWHERE = ("checkpoint", "weights", "checkpoint_of")
CALLED = {"table": "a table of surprisals", "ngram": "an n-gram model", "mix": "a mix of LMs"}
KEY = {"table": "surprisals", "ngram": "ngram", "mix": "interpolate"}


def problems(config: dict, known) -> list[str]:
    """List settings of tables, n-grams and kept checkpoints that do not go together, lost files too."""
    found = []
    for name, lm in config["lms"].items():
        kind, where = configuration.kind_of(lm), f"lms → {name}"
        if kind == "network":
            other = config["lms"].get(lm.get("weights"), {})
            if configuration.kind_of(other) != "network":
                is_a = CALLED[configuration.kind_of(other)]
                found.append(f"{where} → weights: {lm['weights']!r} is {is_a} and has no weights")
            found += _kept_problems(config, where, lm, known)
            found += [
                f"{where} → {key}: it goes with `interpolate`, which names the LMs that are mixed"
                for key in mixes.KEYS
                if key in lm
            ]
            continue
        found += [
            f"{where}: `{key}` does not go with `{KEY[kind]}`; {CALLED[kind]} is no network"
            for key in lm
            if key not in BESIDE | (set(mixes.KEYS) if kind == "mix" else set())
            and not (key == "seed" and configuration.has_seeds(lm))
            or (key in KEY.values() and key != KEY[kind])
        ]
        if kind == "mix":
            found += mixes.problems(config, name, known)
            continue
        own = _table_problems if kind == "table" else _ngram_problems
        found += own(config, f"{where} → {KEY[kind]}", lm[KEY[kind]], known)
    return found


def _kept_problems(config: dict, where: str, lm: dict, known) -> list[str]:
    """List what keeps an LM from being what a training kept at a step."""
    if not lm.keys() & {"checkpoint_of", "step"}:
        return []
    if lacking := [key for key in ("checkpoint_of", "step") if key not in lm]:
        return [f"{where}: `{lacking[0]}` is missing: `checkpoint_of` and `step` go together"]
    of, where = lm["checkpoint_of"], f"{where} → checkpoint_of"
    if own := [key for key in ("bias", "applied", *ELSEWHERE[:2]) if key in lm]:
        return [
            f"{where}: `{own[0]}` does not go with it; to put a bias on, name this LM in `weights` of another"
        ]
    if not known(where, of, "lms"):
        return []
    if problem := not_trained(config, of):
        return [f"{where}: {problem}"]
    return [f"{where} → step: {said}" for said in _not_kept(config, of, lm["step"])]


def not_trained(config: dict, name: str) -> str:
    """Say why an LM has no steps of a training, and the way out; "" if it is trained here."""
    lm = config["lms"][name]
    if configuration.is_trained(lm):
        return ""
    if "checkpoint" in lm:
        return (
            f"{name!r} is not trained here; if its makers put revisions on the Hub, name one: "
            f"`checkpoint: {lm['checkpoint'].partition('@')[0]}@<revision>`"
        )
    if "checkpoint_of" in lm:
        return f"{name!r} is a checkpoint itself; name the LM that was trained, {lm['checkpoint_of']!r}"
    if "weights" in lm:
        return (
            f"{name!r} has the weights of {lm['weights']!r}; name that, and this bias in another LM"
        )
    return f"{name!r} is {CALLED[configuration.kind_of(lm)]}, and was not trained here"


def _not_kept(config: dict, name: str, step: int, last: bool = False) -> list[str]:
    """Say that an LM's training keeps no such step, with those that it keeps.

    With `last` the end of the training counts, which needs no checkpoint.
    """
    called, recipe = _recipe(config, name)
    steps = sorted(recipe.get("checkpoints", []))
    if not recipe or step in steps or (last and step == recipe.get("steps")):
        return []
    kept = f"keeps {', '.join(map(str, steps))}" if steps else "keeps none"
    return [
        f"the training of {name!r} keeps no step {step}: recipes → {called} → checkpoints {kept}"
    ]


def _recipe(config: dict, name: str) -> tuple[str | None, dict]:
    """Return the recipe of an LM that is trained here, by name; empty where there is none such."""
    scale = config["scales"].get(config["scale"], {})
    called = config["lms"][name].get("recipe", scale.get("recipe"))
    return called, config["recipes"].get(called, {})


def step_problems(config: dict, name: str) -> list[str]:
    """List LMs of an experiment with `steps` that have no such steps of a training."""
    experiment, where = config["experiments"][name], f"experiments → {name} → steps"
    found, sizes = [], {}
    for lm in experiment["lms"]:
        if lm not in config["lms"]:
            continue
        of = config["lms"][lm].get("weights", lm)
        if of not in config["lms"]:
            continue
        if problem := not_trained(config, of):
            found.append(f"{where}: {problem}")
            continue
        called, recipe = _recipe(config, of)
        if not recipe:
            continue
        sizes[lm] = recipe["batch_sequences"] * recipe["sequence_length"]
        if experiment["steps"] == "all":  # who asks for no curves, need keep nothing
            if name in config["run"] and not recipe["checkpoints"]:
                found.append(
                    f"{where}: the training of {of!r} keeps no checkpoints; name some in recipes → "
                    f"{called} → checkpoints"
                )
            continue
        for step in experiment["steps"]:
            found += [f"{where}: {said}" for said in _not_kept(config, of, step, last=True)]
    if len(set(sizes.values())) > 1:
        (a, one), *rest = sizes.items()
        b, other = next((lm, size) for lm, size in rest if size != one)
        found.append(
            f"{where}: a step is {one:,} tokens to {a!r} and {other:,} to {b!r}; give each recipe an "
            "experiment of its own"
        )
    return list(dict.fromkeys(found))


def _table_problems(config: dict, where: str, entry: dict, known) -> list[str]:
    """List what is wrong with an LM's `surprisals`."""
    columns, found = entry["columns"], []
    values = [name for name in ("surprisal", "logprob", "probability") if name in columns]
    if len(values) != 1:
        found.append(
            f"{where} → columns: one of surprisal, logprob and probability must say what is read, not "
            f"{' and '.join(values) or 'none'}"
        )
    elif values != ["probability"] and "unit" not in entry:
        found.append(f"{where}: `unit` is missing: bits, nats or log10")
    if not columns.keys() & {"word_id", "unique_id", "position", "word", "token"}:
        found.append(
            f"{where} → columns: nothing says whose surprisal it is; map word_id, or position with item or "
            "sentence, or word or token"
        )
    elif "position" in columns and not columns.keys() & {
        "word_id",
        "unique_id",
        "item",
        "sentence",
    }:
        found.append(f"{where} → columns: position is in an item or a sentence; map one, or both")
    if {"token", "corrected"} <= columns.keys():
        found.append(f"{where} → columns: corrected is of a word; a table of tokens has it not")
    if problem := join_keys.problem(entry.get("join")):
        found.append(f"{where} → {problem}")
    tables = {dataset: file for dataset, file in entry.get("tables", {}).items()}
    for dataset in (*tables, *entry.get("datasets", {})):
        known(where, dataset, "datasets")
    files = {f"tables → {name}": file for name, file in tables.items()}
    files |= {"table": entry["table"]} if "table" in entry else {}
    for key, file in files.items():
        found += _file_problems(f"{where} → {key}", file)
        found += _column_problems(f"{where} → columns", file, entry)
    return found


def _ngram_problems(config: dict, where: str, entry: dict, known) -> list[str]:
    """List what is wrong with an LM's `ngram`."""
    if "cdlm" in entry:
        return _cdlm_problems(config, where, entry, known)
    if "file" in entry:
        estimated = [key for key in ("order", "smoothing", "memory", "prune", "distance") if key in entry]  # fmt: skip
        found = [f"{where} → {key}: this is of n-grams estimated here, not of a file's" for key in estimated]  # fmt: skip
        return found + _file_problems(f"{where} → file", entry["file"])
    known(f"{where} → corpus", entry["corpus"], "corpora")
    pretokenized = "pretokenized" in config["corpora"].get(entry["corpus"], {})
    if pretokenized:
        return [f"{where} → corpus: {entry['corpus']!r} is published as tokens; n-grams need text"]
    if "distance" in entry and (entry.get("order", 5) != 2 or "prune" in entry):
        return [f"{where} → distance: it is of pairs of words; write `order: 2`, and no `prune`"]
    if len(entry.get("prune", [])) > entry.get("order", 5):
        return [f"{where} → prune: more numbers than orders ({entry.get('order', 5)})"]
    return []


def _cdlm_problems(config: dict, where: str, entry: dict, known) -> list[str]:
    """List what is wrong with an LM's `cdlm`."""
    own, at = entry["cdlm"], f"{where} → cdlm"
    found = [
        f"{where} → {key}: this is of n-grams that are counted; say it of lms → {own['of']}"
        for key in ("order", "smoothing", "memory", "prune", "text_rule", "bos", "distance")
        if key in entry
    ]
    known(f"{at} → validation", own["validation"], "corpora")
    if not known(f"{at} → of", own["of"], "lms"):
        return found
    base = config["lms"][own["of"]].get("ngram", {})
    displayed = base.get("text_rule", "displayed") == "displayed"
    if "corpus" not in base or "distance" in base or not displayed:
        return [
            *found,
            f"{at} → of: {own['of']!r} is no n-gram model of a corpus with `text_rule: displayed`, of words "
            + "side by side; name one",
        ]
    order = base.get("order", 5)
    if not 2 <= order < own["span"]:
        found.append(
            f"{at} → span: {own['span']} is not beyond the order of {own['of']!r}, {order}, which must be 2 or more"
        )
    if "grown_from" in own and known(f"{at} → grown_from", own["grown_from"], "lms"):
        smaller = config["lms"][own["grown_from"]].get("ngram", {}).get("cdlm", {})
        if (smaller.get("span"), smaller.get("of")) != (own["span"] - 1, own["of"]):
            found.append(
                f"{at} → grown_from: {own['grown_from']!r} is no CDLM of span {own['span'] - 1} of {own['of']!r}"
            )
    return found


def _file_problems(where: str, file: dict) -> list[str]:
    """List a file that is said to be nowhere, or that is not where it is said to be."""
    if not file.keys() & {"url", "local", "stand_in"}:
        return [f"{where}: 'url' or 'local' must say where it is"]
    local = file.get("local")
    if local and not file.keys() & {"url", "placed"} and not Path(local).exists():
        return [f"{where} → local: no file {local!r}"]
    return []


def _column_problems(where: str, file: dict, entry: dict) -> list[str]:
    """List columns that a table, if it is here, does not have."""
    path = Path(file.get("local", ""))
    if not path.is_file():
        return []
    from recency.reading import tables

    header = tables.header(path).strip("\ufeff\r\n")
    if header.startswith("PAR1"):
        import pyarrow.parquet as pq

        there = pq.read_schema(path).names
    elif "\0" in header or "\ufffd" in header or header in ("X", "A", "B"):
        return []  # no text, or R's data: who reads it says what is wrong
    else:
        there = [name for s in "\t,;" for name in (f.strip().strip('"') for f in header.split(s))]
    asked = {
        key: column
        for key, columns in {**entry["columns"], **entry.get("measures", {})}.items()
        for column in ([columns] if isinstance(columns, str) else columns)
    }
    there = [name for name in there if name in asked.values() or len(name) < 40]
    return [
        f"{where} → {key}: {path} has no column {nearest(column, there)}"
        for key, column in asked.items()
        if column not in there
    ]


def experiment_problems(config: dict, name: str) -> list[str]:
    """List what an experiment asks of LMs that are no network and cannot give it."""
    experiment, where = config["experiments"][name], f"experiments → {name}"
    kinds = {
        lm: configuration.kind_of(config["lms"][lm])
        for lm in experiment["lms"]
        if lm in config["lms"] and configuration.kind_of(config["lms"][lm]) != "network"
    }
    found = step_problems(config, name) if "steps" in experiment else []
    found += mixes.experiment_problems(config, name)
    for evaluation in registry.evaluations().values():
        if evaluation.network and evaluation.key in experiment:
            found += [
                f"{where} → {evaluation.key}: {lm!r} is {CALLED[kind]}, and this needs a network; give the "
                f"LMs that are one an experiment of their own"
                for lm, kind in kinds.items()
            ]
    asked = configuration.responses(config, name) if "responses" in experiment else []
    grid = experiment.get("sensitivity", {})
    designs = {r["design"] for r in asked if r["design"] in config["designs"]}
    corrected = [d for d in designs if config["designs"][d]["surprisal"] == "corrected"]
    varied = "corrected" in grid.get("surprisal", [])
    for lm, kind in kinds.items():
        has = kind == "table" and "corrected" in config["lms"][lm]["surprisals"]["columns"]
        has = has or (kind == "mix" and mixes.has_corrected(config, lm))
        if (corrected and "surprisal" not in grid or varied) and not has:
            what = "sensitivity → surprisal" if varied else f"responses → {min(corrected)}"
            way = "map a `corrected` column, or take" if kind == "table" else "take"
            found.append(
                f"{where} → {what}: {lm!r} is {CALLED[kind]} without corrected surprisal; {way} a design of "
                "`surprisal: plain`"
            )
        datasets = dict.fromkeys(r["dataset"] for r in asked)
        for table in [lm, *config["lms"][lm].get("interpolate", [])]:
            if "surprisals" not in config["lms"].get(table, {}):
                continue
            found += _dataset_problems(
                where, table, config["lms"][table]["surprisals"], list(datasets)
            )
    return found


def _dataset_problems(where: str, lm: str, entry: dict, datasets: list[str]) -> list[str]:
    """List the datasets that an LM's tables do not have."""
    if "tables" in entry:
        return [
            f"{where} → responses: lms → {lm} → surprisals → tables has none for {dataset!r}"
            for dataset in datasets
            if dataset not in entry["tables"]
        ]
    if len(datasets) > 1 and "dataset" not in entry["columns"]:
        has = f"lms → {lm} → surprisals has one table for {' and '.join(datasets[:3])}"
        return [
            f"{where} → responses: {has}; map its `dataset` column, or give `tables:`, one a dataset"
        ]
    return []
