"""Rules on designs: formulas, baseline models, responses and fits."""

import re
from collections.abc import Iterator

from crosslmm.formula import INTERCEPT, factors
from recency import grids
from recency.reading import declared_columns
from recency.regression import designs
from recency.regression import predictor_names as names
from recency.workflow.lint import Finding, Plan

RULES = {
    "baseline_lacks_predictors": {
        "warns": "A baseline model without predictors of the LM that are not of interest",
        "table": "designs",
        "why": "With `base: all`, the baseline model lacks all predictors of the LM, so that ΔLogLik includes effects that `of_interest` does not name.",
        "reference": "docs/regression.md, Baseline models",
    },
    "cluster_effects": {
        "warns": "Intervals and tests by a unit without a random effect",
        "table": "designs",
        "why": "Intervals and tests resample subjects and sentences; without a random effect of the unit, the fitted model contradicts them.",
        "reference": "Baayen, Davidson & Bates (2008), Journal of Memory and Language 59, 390-412",
    },
    "entropy_of_tokens": {
        "warns": "Entropy of the next token as a predictor",
        "table": "designs",
        "why": "The entropy of a word's first token and that of the word predict reading times differently.",
        "reference": "Clark, Oh & Schuler (2025), COLING; docs/surprisal.md",
    },
    "fixed_base": {
        "warns": "A ranking by baseline models that keep each LM's slopes",
        "table": "designs",
        "why": "With `base: fixed`, each LM has a baseline model of its own with its slopes, so that its ΔLogLik hardly shows how good it is.",
        "reference": "docs/endpoint.md",
    },
    "implausible_linking": {
        "warns": "Effects of interest with an implausible power",
        "table": "designs",
        "why": "Estimated powers of surprisal are near 1 or a little above; far from them, a few words decide the fit.",
        "reference": "Hoover, Sonderegger, Piantadosi & O'Donnell (2023), Open Mind 7, 350-391",
    },
    "interaction_without_effects": {
        "warns": "Interactions without their main effects",
        "table": "designs",
        "why": "Without both main effects, a product of predictors depends on where their zeros are.",
        "reference": "Nelder (1977), Journal of the Royal Statistical Society A 140, 48-77",
    },
    "interest_without_lm": {
        "warns": "Effects of interest that no LM affects",
        "table": "designs",
        "why": "ΔLogLik tests the effects of interest: without a measure of the LM among them, it is the same for every LM.",
        "reference": "docs/regression.md",
    },
    "later_words": {
        "warns": "Predictors of words that readers had not seen",
        "table": "designs",
        "why": "In self-paced reading and mazes the next word is not visible, so that it cannot affect the time of the word.",
        "reference": "Just, Carpenter & Woolley (1982), Journal of Experimental Psychology: General 111, 228-238",
    },
    "length_and_frequency": {
        "warns": "Surprisal without length or frequency as a control",
        "table": "designs",
        "why": "Length and frequency correlate with surprisal and slow reading themselves, so surprisal takes credit for them.",
        "reference": "Rayner (1998), Psychological Bulletin 124, 372-422",
    },
    "log_twice": {
        "warns": "A logarithm stated twice: of the response, and by its family or column",
        "table": "designs",
        "why": "Two statements of one logarithm leave open on which scale effects are additive, and a logarithm of logarithms fits neither.",
        "reference": "Lo & Andrews (2015), Frontiers in Psychology 6, 1171",
    },
    "no_intercept": {
        "warns": "Formulas without a fixed or random intercept",
        "table": "designs",
        "why": "Without an intercept, slopes take over the differences of means, and depend on where predictors are 0.",
        "reference": "Barr, Levy, Scheepers & Tily (2013), Journal of Memory and Language 68, 255-278",
    },
    "random_slopes": {
        "warns": "Effects of interest without a random slope by subject",
        "table": "designs",
        "why": "Without slopes by subject, readers' differences in the effect count as evidence for it, and intervals are too narrow.",
        "reference": "Barr, Levy, Scheepers & Tily (2013), Journal of Memory and Language 68, 255-278",
    },
    "slope_without_effect": {
        "warns": "Random slopes of predictors that are no fixed effect",
        "table": "designs",
        "why": "A random slope without the fixed effect assumes that the mean effect is 0.",
        "reference": "Barr, Levy, Scheepers & Tily (2013), Journal of Memory and Language 68, 255-278",
    },
    "spillover": {
        "warns": "Self-paced reading without predictors of preceding words",
        "table": "designs",
        "why": "In self-paced reading, the effect of a word largely falls on the times of the next words.",
        "reference": "Smith & Levy (2013), Cognition 128, 302-319",
    },
    "unconfirmed_fits": {
        "warns": "Fits that are never compared with lme4",
        "table": "designs",
        "why": "A comparison with an independent implementation is what shows a faulty fit.",
        "reference": "docs/regression.md",
    },
}


def baseline_lacks_predictors(plan: Plan) -> Iterator[Finding]:
    """Yield designs with `base: all` whose baseline lacks more than the effects of interest."""
    for name, design in plan.designs.items():
        if designs.bases(design.entry)[0] != "all":
            continue
        others = sorted({*names.lm_columns(design.formula, {})} - {*design.interest})
        if others:
            yield Finding(
                name,
                "of_interest",
                f"the baseline model also lacks {', '.join(others)}, which `of_interest` does not name",
                f"write `{others[0]}[<lm>]` in the formula to keep it, or name it in `of_interest`",
            )


def cluster_effects(plan: Plan) -> Iterator[Finding]:
    """Yield designs of single responses without a random effect of subjects, or of texts."""
    for name, design in plan.designs.items():
        if design.entry["engine"] == "ols":  # of means over subjects
            continue
        groups = {part for group in names.grouping(design.formula) for part in group.split(":")}
        lacking = [] if "subject" in groups else ["subject"]
        lacking += [] if groups - {"subject"} else ["sentence"]
        if lacking:
            terms = " + ".join(f"(1 | {unit})" for unit in lacking)
            yield Finding(
                name,
                "formula",
                f"intervals and tests are by {' and by '.join(lacking)}, of which it has no random effect",
                f"add {terms}",
            )


OF_TOKENS = {"entropy", "entropy_reduction"}


def entropy_of_tokens(plan: Plan) -> Iterator[Finding]:
    """Yield designs with the entropy of the next token, where the LMs have it."""
    for name, design in plan.designs.items():
        lms = dict.fromkeys(lm for experiment, *_ in design.uses for lm in plan.lms(experiment))
        given = {measure for lm in lms for measure in plan.settings(lm).get("measures") or ()}
        stems = {names.measure_of(names.split(n).stem) for n in names.used(design.formula)}
        if stems & given & OF_TOKENS:
            yield Finding(
                name,
                "formula",
                "`entropy` is of the next token, the first of a word",
                "use the measure `word_entropy`, which is of the next word",
            )


def fixed_base(plan: Plan) -> Iterator[Finding]:
    """Yield designs with `base: fixed` and slopes of the LM, in experiments with several LMs."""
    for name, design in plan.designs.items():
        several = any(len(plan.lms(experiment)) > 1 for experiment, *_ in design.uses)
        fixed = designs.kind_of_base(design.entry) == "fixed"
        if several and fixed and design.slopes & set(design.interest):
            yield Finding(
                name,
                "base",
                "LMs are ranked by `base: fixed`, with a baseline model of its own for each LM",
                "write `base: all`, or `base: [all, fixed]` to see both",
            )


POWERS = (0.25, 3)


def implausible_linking(plan: Plan) -> Iterator[Finding]:
    """Yield designs with a power, stated or varied by `sensitivity`, outside the limits."""
    for name, design in plan.designs.items():
        powers = [design.entry.get("linking")]
        for experiment in dict.fromkeys(experiment for experiment, *_ in design.uses):
            powers += plan.experiments[experiment].get("sensitivity", {}).get("linking", [])
        for power in (p for p in powers if isinstance(p, int | float)):
            if not POWERS[0] <= power <= POWERS[1]:
                yield Finding(
                    name,
                    "linking",
                    f"the power {power:g} is outside {POWERS[0]:g} to {POWERS[1]:g}",
                    "write linear, log, or a power near 1",
                )


def interaction_without_effects(plan: Plan) -> Iterator[Finding]:
    """Yield designs with a product of numeric predictors that lacks one of them."""
    numeric = {*names.PREDICTORS, *names.EXTRA}
    for name, design in plan.designs.items():
        fixed = {frozenset(factors(column)) for column in design.formula.fixed}
        for column in design.formula.fixed:
            parts = factors(column)
            known = all(p in numeric or names.split(p).of_lm for p in parts)
            lacking = [part for part in parts if frozenset([part]) not in fixed]
            if len(parts) > 1 and known and lacking:
                yield Finding(
                    name,
                    "formula",
                    f"{column} without {' and '.join(lacking)}",
                    f"write {'*'.join(parts)}",
                )


def interest_without_lm(plan: Plan) -> Iterator[Finding]:
    """Yield designs, in experiments with several LMs, without a measure of the LM of interest."""
    for name, design in plan.designs.items():
        several = any(len(plan.lms(experiment)) > 1 for experiment, *_ in design.uses)
        if several and not design.interest:
            listed = ", ".join(design.entry["of_interest"])
            yield Finding(
                name,
                "of_interest",
                f"{listed} is the same for every LM",
                "name a measure of the LM, such as surprisal",
            )


def later_words(plan: Plan) -> Iterator[Finding]:
    """Yield designs of self-paced times and mazes with a predictor of a later word."""
    for name, design in plan.designs.items():
        later = [n for n in names.used(design.formula) if names.split(n).shift > 0]
        if later and plan.tasks(name) & {"self_paced", "maze"}:
            yield Finding(
                name,
                "formula",
                f"{later[0]} is of a word that its readers had not seen yet",
                "leave it out, or use a separate design for eye tracking",
            )


LENGTHS = ("length", "given_length", "letters", "characters", "nchar")
SURPRISAL = ("surprisal", "corrected")


def length_and_frequency(plan: Plan) -> Iterator[Finding]:
    """Yield designs with surprisal of interest that lack one of the two controls."""
    for name, design in plan.designs.items():
        if not any(names.measure_of(names.split(n).stem) in SURPRISAL for n in design.interest):
            continue
        stems = [names.split(used).stem for used in names.used(design.formula)]
        lacking = [] if any(stem in LENGTHS or "length" in stem for stem in stems) else ["length"]
        frequent = any(stem == "unigram" or "freq" in stem for stem in stems)
        lacking += [] if frequent else ["unigram"]
        if lacking:
            yield Finding(
                name,
                "formula",
                f"surprisal without {' or '.join('frequency' if c == 'unigram' else c for c in lacking)}",
                f"add {' + '.join(lacking)}",
            )


ON_LOGS = ("lognormal", "shifted_lognormal", "gamma", "inverse_gaussian")
LOGS = re.compile(r"(?:^|[^a-z])(?:log|ln)(?:[^a-z]|$)|^log", re.IGNORECASE)


def log_twice(plan: Plan) -> Iterator[Finding]:
    """Yield designs, also as varied by `sensitivity`, with two logarithms of the response."""
    for name, design in plan.designs.items():
        variants = [design.entry]
        for experiment in dict.fromkeys(experiment for experiment, *_ in design.uses):
            settings = grids.settings_of_design(plan.experiments[experiment])
            variants += [grids.varied_design(dict(design.entry), one) for one in settings]
        twice = [v for v in variants if v["response"] == "log" and v.get("family") == "lognormal"]
        if twice:
            yield Finding(
                name,
                "response",
                "`response: log` with `family: lognormal`, which is the normal distribution of the logarithm",
                "keep one of them: `response: raw` with this family",
            )
        if any(v["response"] == "log" or v.get("family") in ON_LOGS for v in variants):
            for _, dataset, measure in design.uses:
                column = declared_columns.mapped(plan.config["datasets"][dataset]).get(measure)
                if isinstance(column, str) and LOGS.search(column):
                    yield Finding(
                        name,
                        "response",
                        f"the logarithm of {dataset}.{measure}, whose column {column!r} seems to be one already",
                        "map the column of times, or write `response: raw` and `family: gaussian`",
                    )


def no_intercept(plan: Plan) -> Iterator[Finding]:
    """Yield designs without an intercept, and groups that have slopes alone."""
    for name, design in plan.designs.items():
        if INTERCEPT not in design.formula.fixed:
            yield Finding(name, "formula", "no intercept", "remove `0 +` or `- 1`")
        terms = getattr(design.formula, "random", ())
        groups = {term.group for term in terms if INTERCEPT in term.columns}
        for group in dict.fromkeys(term.group for term in terms if term.group not in groups):
            text = f"slopes by {group} without an intercept by {group}"
            yield Finding(name, "formula", text, f"write (1 + … | {group})")


def random_slopes(plan: Plan) -> Iterator[Finding]:
    """Yield mixed designs with measures of interest that have no by-subject slope."""
    for name, design in plan.designs.items():
        if not design.is_mixed or "subject" not in design.formula.groups:
            continue
        if lacking := [measure for measure in design.interest if measure not in design.slopes]:
            yield Finding(
                name,
                "formula",
                f"{', '.join(lacking)} of interest without a slope by subject",
                f"write (1 + {' + '.join(lacking)} | subject)",
            )


def slope_without_effect(plan: Plan) -> Iterator[Finding]:
    """Yield mixed designs with a slope that is no fixed effect."""
    for name, design in plan.designs.items():
        if not design.is_mixed:
            continue
        fixed = {frozenset(factors(column)) for column in design.formula.fixed}
        for term in design.formula.random:
            for column in term.columns:
                if column != INTERCEPT and frozenset(factors(column)) not in fixed:
                    yield Finding(
                        name,
                        "formula",
                        f"{column} has a slope by {term.group} and no fixed effect",
                        f"add {column} as a fixed effect, or remove the slope",
                    )


def spillover(plan: Plan) -> Iterator[Finding]:
    """Yield designs of self-paced times without a predictor of a preceding word."""
    for name, design in plan.designs.items():
        used = names.used(design.formula)
        if any(names.split(used_name).shift < 0 for used_name in used):
            continue
        if "self_paced" in plan.tasks(name):
            yield Finding(
                name,
                "formula",
                "self-paced reading without a predictor of a preceding word",
                "add previous_surprisal, previous_length and previous_unigram",
            )


def unconfirmed_fits(plan: Plan) -> Iterator[Finding]:
    """Yield designs with `confirm: 0` whose fits lme4 could confirm."""
    for name, design in plan.designs.items():
        entry = design.entry
        searched = entry["engine"] == "cross_products" and designs.is_mixed(entry)
        if searched and entry.get("confirm") == 0:
            yield Finding(
                name,
                "confirm",
                "no fit is compared with lme4",
                "write `confirm: 0.1`, the default, or leave it out",
            )
