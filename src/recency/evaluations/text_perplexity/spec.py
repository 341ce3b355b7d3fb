"""Perplexity of a text, for LMs alone and interpolated with another LM."""

from recency import config as configuration
from recency.evaluations.registry import Evaluation
from recency.planned import Planned

PARTS = ("validation", "test")


def _lms(study: Planned, experiment: str) -> list[str]:
    """Return an experiment's LMs, and last the LM for interpolation."""
    settings = study.experiment(experiment)
    other = settings["perplexity"].get("interpolated_with")
    return list(dict.fromkeys([*settings["lms"], *([other] if other else [])]))


def _variants(study: Planned, experiment: str) -> list[dict]:
    """Return the descriptions of `_lms` without their seeds; `variant` is the LM itself.

    `unknown_as` is its token for unknown words, which may be a word of the text itself.
    """
    of = study.one_for_seeds(experiment)
    return [
        study.description(of.get(lm, lm))
        | {"variant": lm, "seed": study.lms[lm]["seed"]}
        | {"unknown_as": configuration.unknown_word(study.config, lm)}
        for lm in _lms(study, experiment)
    ]


def _pairs(study: Planned, experiment: str) -> list[tuple[str, str]]:
    """Return the pairs of `compare`, without seeds."""
    of = study.one_for_seeds(experiment)
    asked = study.experiment(experiment).get("compare", [])
    return list(dict.fromkeys((of[a], of[b]) for a, b in asked))


def _scores(study: Planned, experiment: str) -> list[str]:
    asked = study.experiment(experiment)["perplexity"]
    return [
        f"<results>/text_perplexity/{lm}/{asked[part]}.parquet"
        for lm in _lms(study, experiment)
        for part in PARTS
    ]


def _texts(study: Planned, experiment: str) -> list[str]:
    """Return the test text, and the training text for rare words if requested."""
    asked = study.experiment(experiment)["perplexity"]
    named = [asked["test"], asked["rare"]] if "rare" in asked else []
    return [f"<results>/corpora/{corpus}/text.parquet" for corpus in named]


def _scored_texts(study: Planned, experiment: str) -> list[str]:
    """Return the validation and the test text, if a token for unknown words may be in them."""
    asked = study.experiment(experiment)["perplexity"]
    signs = [configuration.unknown_word(study.config, lm) for lm in _lms(study, experiment)]
    return [f"<results>/corpora/{asked[part]}/text.parquet" for part in PARTS if any(signs)]


def _problems(config, name) -> list[str]:
    asked, where = config["experiments"][name].get("perplexity"), f"experiments → {name}"
    if asked is None:
        return []
    other = asked.get("interpolated_with")
    lms = [*config["experiments"][name]["lms"], *([other] if other else [])]
    problems = [
        f"{where} → lms: {lm!r} is a table of surprisal, which covers no other text; list networks and n-grams"
        for lm in lms
        if configuration.kind_of(config["lms"][lm]) == "table"
    ]
    problems += [
        f"{where} → lms: {lm!r} is masked, and `perplexity` scores next tokens; use `length` for masked tokens"
        for lm in lms
        if configuration.is_masked(config, lm)
    ]
    drawn = asked.get("curves", {"of": {}})["of"]
    problems += [
        f"{where} → perplexity → curves: {lm!r} is not among the experiment's `lms`; list it there"
        for points in drawn.values()
        for _, lm in points
        if lm not in lms
    ]
    rules = {lm: config["lms"][lm].get("ngram", {}).get("text_rule", "displayed") for lm in lms}
    problems += [
        f"{where} → lms: {lm!r} reads words by `text_rule: {rule}`, and `perplexity` scores the text's words "
        "unchanged; use an n-gram model without a `text_rule`"
        for lm, rule in rules.items()
        if rule != "displayed"
    ]
    for lm in lms:
        entry = config["lms"][lm]
        if "interpolate" not in entry:
            continue
        if why := configuration.mix_over_tokens(config, lm):
            problems.append(f"{where} → lms: {lm!r} has no perplexity of a text: {why}")
        if entry.get("held_out", {}).get("corpus") == asked.get("test"):
            problems.append(
                f"{where} → test: {lm!r} has its shares from this text; use another `held_out`"
            )
    return problems


def _compared_texts(config, name) -> list[tuple[str, str, str]]:
    """Return the texts for comparing an experiment's LMs: part, LM, corpus."""
    experiment = config["experiments"][name]
    asked = experiment["perplexity"]
    lms = [*experiment["lms"], *filter(None, [asked.get("interpolated_with")])]
    return [(part, lm, asked.get(part, "")) for part in PARTS for lm in lms]


EVALUATION = Evaluation(
    key="perplexity",
    shares=("compare",),
    inputs={"scores": _scores, "texts": _texts, "scored_texts": _scored_texts},
    conditions={
        "curves": lambda study, experiment: "curves" in study.experiment(experiment)["perplexity"],
        "rare": lambda study, experiment: "rare" in study.experiment(experiment)["perplexity"],
        "pairs": lambda study, experiment: bool(_pairs(study, experiment)),
    },
    settings={
        "curves": lambda study, experiment: study.experiment(experiment)["perplexity"].get(
            "curves"
        ),
        "every_variant": _variants,
        "pairs": _pairs,
        "interpolated_with": lambda study, experiment: study.experiment(experiment)[
            "perplexity"
        ].get("interpolated_with"),
        "baseline": lambda study, experiment: study.ranked_baseline(experiment),
    },
    problems=_problems,
    texts=_compared_texts,
)
