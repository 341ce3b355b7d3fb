"""Check language models: weights of others, steps of a training, n-grams and tables of surprisals."""

from collections.abc import Iterator, Mapping

from recency import config as configuration
from recency.evaluations import registry
from recency.names import nearest
from recency.workflow import headers, mixes


def problems(config: dict) -> list[str]:
    """List settings of LMs that are incompatible with other entries."""
    faults: list[str] = []
    for name, lm in config["lms"].items():
        where = f"lms → {name}"
        if name == "none":  # in file names, the baseline model without an LM
            faults.append(f"{where}: this name is reserved; use another, such as no-bias")
        if "interpolate" in lm:
            faults += mixes.problems(config, name)
        elif "surprisals" in lm:
            faults += _surprisals(f"{where} → surprisals", lm["surprisals"])
        elif "ngram" in lm:
            faults += _ngram(config, f"{where} → ngram", lm["ngram"])
        else:
            faults += _network(config, where, lm)
    for name in config["experiments"]:
        faults += [*_experiment(config, name), *mixes.experiment_problems(config, name)]
    return faults


def _network(config: dict, where: str, lm: Mapping) -> Iterator[str]:
    """Yield faults of `weights` and `checkpoint_of`."""
    if of := lm.get("weights"):
        other = config["lms"][of]
        if (kind := configuration.kind_of(other)) != "network":
            yield f"{where} → weights: {of!r} is {configuration.CALLED[kind]} and has no weights"
        source = config["lms"][other["checkpoint_of"]] if "checkpoint_of" in other else other
        biased = "bias" in source and configuration.bias_of(config, of)["form"] != "none"
        otherwise = not {"bias", "applied"} & lm.keys()  # the same network with other scoring
        if (biased and not otherwise) or "weights" in other:
            yield f"{where} → weights: {of!r} is itself a biased LM"
    if of := lm.get("checkpoint_of"):
        if problem := configuration.not_trained(config, of):
            yield f"{where} → checkpoint_of: {problem}"
        else:
            kept = configuration.not_kept(config, of, lm["step"])
            yield from (f"{where} → checkpoint_of → step: {problem}" for problem in kept)


def _surprisals(where: str, entry: Mapping) -> Iterator[str]:
    """Yield columns that a local table of surprisals lacks."""
    asked = {
        key: column
        for key, columns in {**entry["columns"], **entry.get("measures", {})}.items()
        for column in ([columns] if isinstance(columns, str) else columns)
    }
    for file in (*entry.get("tables", {}).values(), *filter(None, [entry.get("table")])):
        there = headers.of_file(file.get("local", ""), {})
        for key, column in asked.items() if there is not None else ():
            if column not in there:
                short_names = [name for name in there if len(name) < 40]
                near = nearest(column, short_names)
                yield f"{where} → columns → {key}: {file['local']} has no column {near}"


def _ngram(config: dict, where: str, entry: Mapping) -> Iterator[str]:
    """Yield incompatible settings of an n-gram model."""
    prune, order = entry.get("prune", []), entry.get("order", 5)
    if prune != sorted(prune):
        rising = [max(prune[: order_index + 1]) for order_index in range(len(prune))]
        yield f"{where} → prune: {prune} decreases; thresholds may not decrease with the order; write {rising}"
    if "corpus" in entry and len(prune) > order:
        yield f"{where} → prune: more numbers than orders ({order})"
    if "cdlm" not in entry:
        return
    cdlm, at = entry["cdlm"], f"{where} → cdlm"
    base = config["lms"][cdlm["of"]].get("ngram", {})
    displayed = base.get("text_rule", "displayed") == "displayed"
    if "corpus" not in base or "distance" in base or not displayed:
        yield (
            f"{at} → of: {cdlm['of']!r} is not an n-gram model of a corpus with `text_rule: displayed` and "
            "without `distance`; name one"
        )
        return
    order = base.get("order", 5)
    if not 2 <= order < cdlm["span"]:
        yield f"{at} → span: {cdlm['span']} must exceed the order of {cdlm['of']!r}, {order}, which must be 2 or more"
    if "grown_from" in cdlm:
        smaller = config["lms"][cdlm["grown_from"]].get("ngram", {}).get("cdlm", {})
        if (smaller.get("span"), smaller.get("of")) != (cdlm["span"] - 1, cdlm["of"]):
            yield f"{at} → grown_from: {cdlm['grown_from']!r} is not a CDLM with span {cdlm['span'] - 1} of {cdlm['of']!r}"


def _experiment(config: dict, name: str) -> Iterator[str]:
    """Yield evaluations of an experiment that its LMs without a network do not support."""
    experiment, where = config["experiments"][name], f"experiments → {name}"
    kinds = {lm: configuration.kind_of(config["lms"][lm]) for lm in experiment["lms"]}
    for evaluation in registry.evaluations().values():
        for lm, kind in (
            kinds.items() if evaluation.network and evaluation.key in experiment else ()
        ):
            if kind != "network":
                yield (
                    f"{where} → {evaluation.key}: {lm!r} is {configuration.CALLED[kind]}, and this needs a "
                    "network; use a separate experiment for the networks"
                )
    datasets = [
        *dict.fromkeys(response["dataset"] for response in configuration.responses(config, name))
    ]
    mixed = [response for lm in kinds for response in config["lms"][lm].get("interpolate", [])]
    for lm in dict.fromkeys([*kinds, *mixed]):
        entry = config["lms"][lm].get("surprisals", {})
        of, tables = f"{where} → responses: lms → {lm} → surprisals", entry.get("tables")
        for dataset in datasets if tables else ():
            if dataset not in tables:
                yield f"{of} → tables has none for {dataset!r}"
        if "table" in entry and len(datasets) > 1 and "dataset" not in entry["columns"]:
            way = "map its `dataset` column, or give `tables:`, one per dataset"
            yield f"{of} has one table for {' and '.join(datasets[:3])}; {way}"
