"""What the config states of an experiment, for its methods section (recency.evaluations.report.methods)."""

from collections.abc import Iterable, Mapping

from crosslmm.formula import Formula
from recency import config as configuration
from recency import endpoints, grids, overrides, plugins
from recency.regression import designs, predictor_names
from recency.workflow.plan import products, regressions
from recency.workflow.plan.study import Study


def inputs(study: Study, experiment: str) -> dict[str, list[str] | str]:
    """Return keyword → input files of an experiment's methods section."""
    return {
        "fits": regressions.fits(study, experiment),
        "counts": regressions.counts(study, experiment),
        "verdict": f"{products.EXPERIMENT}/verdict.json".format(experiment=experiment),
    }


def settings(study: Study) -> dict:
    """Return keyword → function of wildcards, for the parameters of the rule of methods sections."""
    return {
        "cells": lambda wildcards: study.named_cells(wildcards.experiment, "label"),
        "about": lambda wildcards: _about(study, wildcards.experiment),
    }


def _about(study: Study, experiment: str) -> dict:
    """Return what the config states of an experiment's data, LMs, regressions and comparison."""
    config, entry = study.config, study.experiment(experiment)
    all_responses = study.all_responses(experiment)
    kinds = {configuration.kind_of(config["lms"][lm]) for lm in entry["lms"]}
    asked = {r["design"]: config["designs"][r["design"]] for r in all_responses}
    lms = list(entry["lms"])
    if grids.seeds_of(entry, config["scale"]):
        lms = list(dict.fromkeys(map(study.but_for_seed, lms)))
    return {
        "title": entry["title"],
        "responses": [_about_response(study, r) for r in all_responses],
        "training": _about_training(study, lms),
        "lms": [
            dict(zip(("label", "bias", "source"), row, strict=True))
            | {"bias": "" if row[1] == "none" else row[1]}
            for row in products.lms_in_words(study, lms)
        ],
        "biased": _equations(study, lms),
        "seeds": list(grids.seeds_of(entry, config["scale"]) or ()),
        "surprisal": _about_surprisal(study, lms),
        "designs": {name: _about_design(design) for name, design in asked.items()},
        "endpoint": study.endpoint(experiment),
        "draws": entry.get("draws", endpoints.DRAWS),
        "units": "items" if study.is_of_items(experiment) else "sentences",
        "unasked": study.reason_unasked(experiment),
        "networks": bool(kinds - {"ngram", "table"}),
        "ngrams": "ngram" in kinds or "corpus" in config["unigrams"][study.scale["unigram"]],
        "unigram": products.unigram_in_words(study, study.scale["unigram"]),
    }


def _about_response(study: Study, response: Mapping) -> dict:
    """Return corpus, filters and overrides of a response."""
    dataset, measure = response["dataset"], response["measure"]
    entry = study.config["datasets"][dataset]
    accepted = overrides.lines([(entry["label"], study.accepted(dataset))], [])
    return {
        "label": entry["label"],
        "dataset": dataset,
        "measure": measure,
        "design": response["design"],
        "cite": entry.get("cite", ""),
        "filters": dict(entry.get("filters", {})),
        "simulated": "simulate" in entry,
        "partitioned": study.partitioned(dataset),
        "accepted": accepted,
    }


def _about_training(study: Study, lms: Iterable[str]) -> list[str]:
    """Return a paragraph per recipe and architecture by which LMs are trained."""
    config, paragraphs = study.config, {}
    trained = set(study.lms_that_are("trained"))
    for name in lms:
        lm = study.lms[study.trained_as(name)]
        if study.trained_as(name) not in trained:
            continue
        recipe, shape = config["recipes"][lm["recipe"]], config["architectures"][lm["architecture"]]
        text = config["corpora"][lm["corpus"]]
        shown = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in shape.items())
        steps = {
            key: value
            for key, value in recipe.items()
            if not isinstance(value, Mapping | list) and key not in ("device", "label", "note")
        }
        settings = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in steps.items())
        cite = f" ({text['cite']})" if text.get("cite") else ""
        paragraphs.setdefault(
            f"Networks were trained on {text.get('label', lm['corpus'])}{cite}. Architecture: {shown}. "
            f"Training: {settings}.",
            None,
        )
    return list(paragraphs)


def _equations(study: Study, lms: Iterable[str]) -> list[str]:
    """Return the first line of the documentation of each form of bias: its name and equation."""
    forms = {study.lms[lm]["bias"]["form"] for lm in lms if study.lms[lm].get("bias")}
    lines = []
    for form in sorted(forms - {"none"}):
        document = plugins.docstring(
            "recency.attention.biases", form
        )  # PyTorch is not loaded for it
        line = document.partition("\n\n")
        stated = (
            line[0]
            if ":" in line[0] and "=" in line[0]
            else f"{line[0]} {line[2].partition(chr(10) * 2)[0]}"
        )
        lines.append(" ".join(stated.split()).rstrip("."))
    return lines


def _about_surprisal(study: Study, lms: Iterable[str]) -> str:
    """Return a sentence on surprisal: its unit, context and the begin of a text."""
    text = (
        "Surprisal is in bits, the sum over a word's tokens given all words before it in its text"
    )
    networks = [lm for lm in lms if configuration.kind_of(study.lms[lm]) == "network"]
    begins = {bool(study.lms[lm].get("bos")) for lm in networks if "bos" in study.lms[lm]}
    if begins == {True}:
        text += ", after a token that begins a text"
    elif begins == {False}:
        text += ", without a token that begins a text"
    return text + "."


def _about_design(design: Mapping) -> dict:
    """Return a design's kind, formula and, in words, its other settings."""
    formula = designs.read(design)
    interest = [designs.term_of(term) for term in design["of_interest"]]
    is_shared = designs.bases(design)[0] == "all"
    base = designs.base_of(formula, interest, is_shared, predictor_names.lm_columns(formula, {}))
    mixed = design["engine"] != "ols"
    family = design.get("family", "gaussian")
    kind = (
        ("Linear mixed models" if family == "gaussian" else f"Mixed models of the family {family}")
        if mixed
        else "Least-squares regressions"
    )
    text = (
        "Predictors were centred and scaled by their mean and standard deviation in the fitted rows"
    )
    text += "; responses were log-transformed" if design["response"] == "log" else ""
    text += "; fits are by maximum likelihood" if mixed else ""
    text += f". The baseline model is `{_without_quotes(base)}`."
    if design["surprisal"] == "corrected":
        text += " Surprisal is corrected for the space that ends a word."
    return {"kind": kind, "formula": _without_quotes(formula), "settings": text}


def _without_quotes(formula: Formula) -> str:
    """Return a formula with names such as surprisal[Pythia] as the config writes them."""
    return str(formula).replace("`", "")
