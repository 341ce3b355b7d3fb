"""Designs of the config: the formula of a regression, with all its names checked."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from crosslmm import families
from crosslmm import formula as formulas
from crosslmm.expressions import written
from crosslmm.families import BINOMIAL, GAUSSIAN, LOGNORMAL, SHIFTED
from crosslmm.formula import Formula, without
from readingtimes.names import nearest
from readingtimes.response_names import EVENT, RESPONSES
from recency import plugins
from recency.errors import InputError
from recency.regression import predictor_names as names

FEWEST_LEVELS = 8
"""Number of levels of a grouping factor below which its variance is hardly estimated."""
SURPRISAL = {"plain": "surprisal_bits", "corrected": "corrected_bits"}
CHOICES = {
    "base": ("fixed", "all"),
    "engine": ("cross_products", "lme4", "ols"),
    "response": ("raw", "log"),
    "surprisal": tuple(SURPRISAL),
    "controls": ("own", "spillover"),
}
SPILLED = ("length", "unigram")
"""Controls that `controls: spillover` also adds for the preceding word."""
SPILLOVER = ("item", "sentence", "fixation")
"""Units within which the preceding or following word is looked up; the first is the default.

With `fixation`, the preceding word is the one that the reader fixated before.
"""


def bases(design: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a design's kinds of base: the one of its ranking first, then the second one if any."""
    named = design["base"]
    return (named,) if isinstance(named, str) else tuple(named)


def with_one_base(design: Mapping[str, Any], lm: bool) -> Mapping[str, Any]:
    """Return a design with one base: of several, the LM's own, or the shared one without an LM."""
    return design if len(bases(design)) == 1 else {**design, "base": "fixed" if lm else "all"}


def with_response(design: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a design with a logarithmic response if its family is lognormal."""
    if design.get("family") != LOGNORMAL:
        return design
    return {**design, "response": "log"}


def kind_of_base(
    design: Mapping[str, Any], columns: Mapping[str, Collection[str]] | None = None
) -> str:
    """Return the kind of a design's base: `all` if both kinds give the same formula.

    They do if no effect of the LM varies by subject.
    """
    formula = read(design)
    interest = [term_of(text) for text in design["of_interest"]]
    of_lm = names.lm_columns(formula, columns or {})
    fixed, shared = base_of(formula, interest, False, ()), base_of(formula, interest, True, of_lm)
    return "all" if str(fixed) == str(shared) else bases(design)[0]


def parse(text: str, mixed: bool = True) -> Formula:
    """Read a formula of times or amplitudes; only a mixed model has, and needs, random terms."""
    formula = formulas.parse(names.quoted(text))
    _check_response(formula.response, text)
    if mixed and not formula.random:
        raise InputError(
            f"formula {text!r} has no random term such as '(1 | subject)'; "
            "for least squares on subject means set `engine: ols` in the design"
        )
    if formula.random and not mixed:
        raise InputError(
            f"formula {text!r} has a random term, and `engine: ols` supports none; leave "
            f"{formula.random[0]} out or take the engine cross_products"
        )
    return formula


def _check_response(response: str, text: str) -> None:
    if response not in (*RESPONSES, EVENT):
        raise InputError(
            f"formula {text!r}: the left side is {response!r} and must be "
            f"{' or '.join((*RESPONSES, EVENT))} (for the logarithm of a time set `response: log` "
            "in the design)"
        )


def read(design: Mapping[str, Any]) -> Formula:
    """Read a design's formula, without checking its names."""
    formula = parse(design["formula"], mixed=design["engine"] != "ols")
    if "sigma" in design:
        formula = replace(formula, scale=_scale(design["sigma"]))
    if (function := design.get("linking", "linear")) != "linear":
        formula = apply_linking(formula, design["of_interest"], function)
    return add_spillover(formula) if design.get("controls") == "spillover" else formula


def apply_linking(formula: Formula, of_interest: Collection[str], function: float | str) -> Formula:
    """Return a formula in which the effects of interest have a nonlinear linking function.

    Parameters
    ----------
    formula
        The formula with linear effects.
    of_interest
        The predictors whose effects change, in fixed and random terms.
    function
        `log`, for log(1 + x), or the power k of x^k.

    Raises
    ------
    InputError
        If one of these predictors is not a plain one.
    """
    terms = {}
    for name in of_interest:
        if name not in formula.predictors:
            raise InputError(
                f"design: linking changes effects of plain predictors, and {name!r} is none of "
                f"'{formula}'; write its function in the formula and leave linking out"
            )
        terms[name] = [f"log1p({name})" if function == "log" else f"I({name}^{function:g})"]
    return formulas.replace_predictors(formula, terms)


def _scale(text: str) -> Formula:
    """Read the formula of log sigma, `~ surprisal + (1 | subject)`."""
    if not text.lstrip().startswith("~"):
        raise InputError(
            f"design: sigma is {text!r} and must begin with '~', as '~ surprisal + (1 | subject)'"
        )
    return formulas.parse(names.quoted(f"sigma {text.strip()}"))


def add_spillover(formula: Formula) -> Formula:
    """Add length and unigram surprisal of the preceding word to a formula that has the word's."""
    more = [f"previous_{name}" for name in SPILLED if name in formula.fixed]
    if not more:
        raise InputError(
            f"formula '{formula}': `controls: spillover` adds previous_length and previous_unigram "
            "to length and unigram, and it has neither as a term; leave `controls` out"
        )
    last = formula.fixed.index(next(c for c in reversed(formula.fixed) if c in SPILLED)) + 1
    new = [name for name in more if name not in formula.fixed]
    return replace(formula, fixed=(*formula.fixed[:last], *new, *formula.fixed[last:]))


def formula_of(
    design: Mapping[str, Any],
    model: str,
    columns: Mapping[str, Collection[str]] | None = None,
    second_lm: str | None = None,
) -> Formula:
    """Return the formula of a model, with all its names checked.

    `model` is `full` or `base`. `columns` are the dataset's columns of `words` and of `responses`. The base omits the effects of
    interest and, if all LMs share it (`base: all`), all other columns of the LM. With `second_lm`,
    another LM, the full model has its terms too.
    """
    for key, choices in (*CHOICES.items(), ("spillover", SPILLOVER)):
        given = bases(design) if key == "base" else (design.get(key, choices[0]),)
        if odd := [value for value in given if value not in choices]:
            raise InputError(f"design: {key} is {odd[0]!r} and must be one of {', '.join(choices)}")
    if model not in ("full", "base"):
        raise InputError(f"model is {model!r} and must be 'full' or 'base'")
    formula = read(design)
    check_model(design, formula)
    if design["response"] == "log" and formula.response == "amplitude_uv":
        raise InputError(
            f"design: {formula.response} has no logarithm, since amplitudes are below 0 as well; "
            "set `response: raw` in the design"
        )
    columns = columns or {}
    names.check(formula, columns)
    of_lm = names.lm_columns(formula, columns)
    shared = bases(design)[0] == "all"
    interest = [term_of(text) for text in design["of_interest"]]
    base = base_of(formula, interest, shared, of_lm if shared else ())
    if model == "base":
        return base
    return names.add_lm(formula, of_lm, second_lm) if second_lm is not None else formula


def base_of(
    formula: Formula, interest: Collection[str], slopes: bool, of_lm: Collection[str]
) -> Formula:
    """Return a formula without effects of interest (with `slopes`, their slopes too) and `of_lm`."""
    return without(formula, interest, slopes, of_lm)


def term_of(text: str) -> str:
    """Write a name or term of `of_interest` in the notation of formulas."""
    reader = formulas.Reader(names.quoted(text))
    parts = [written(reader.expression())]
    while reader.next == ":":
        reader.take()
        parts.append(written(reader.expression()))
    if reader.next:
        raise InputError(f"of_interest has {text!r}, which is no term of a formula")
    return ":".join(parts)


def column_names(
    words: str | PathLike, observations: str | PathLike | None
) -> dict[str, list[str]]:
    """Return the columns of two Parquet files; a missing file has none."""
    import pyarrow.parquet as pq

    files = {"words": words, "responses": observations}
    return {
        name: pq.read_schema(path).names if path is not None and Path(path).exists() else []
        for name, path in files.items()
    }


def check_model(design: Mapping[str, Any], formula: Formula) -> None:
    """Raise an InputError if family, engine and response are incompatible."""
    check_family(design, formula.response)


def family_names() -> list[str]:
    """Return the families of responses, without those that are set aside (`plugins.unreadable`)."""
    broken = plugins.unreadable("crosslmm.densities")
    return [name for name in families.names() if name not in broken]


def check_family(design: Mapping[str, Any], response: str) -> None:
    """Raise an InputError if family, engine and response are incompatible."""
    family = design.get("family", GAUSSIAN)
    if family not in (there := family_names()):
        raise InputError(f"design: family is {nearest(family, there)}")
    if (family == BINOMIAL) != (response == EVENT):
        raise InputError(
            f"design: the left side is {response} and the family {family}; `family: binomial` and "
            f"'{EVENT} ~ …' go together"
        )
    if family == BINOMIAL and design["response"] != "raw":
        raise InputError("design: events have no logarithm; set `response: raw`")
    if response == "amplitude_uv" and families.is_positive(family):
        raise InputError(
            f"design: family {family} needs responses above 0, and amplitudes are below 0 as well"
        )
    if family not in (GAUSSIAN, LOGNORMAL) and design["response"] == "log":
        raise InputError(
            f"design: family {family} needs the response as measured; write `response: raw`"
        )
    _check_scale(design, family)


def _check_scale(design: Mapping[str, Any], family: str) -> None:
    """Raise an InputError if the link, shift or formula of sigma does not fit the family."""
    if "shift" in design and family != SHIFTED:
        raise InputError(f"design: shift needs the family {SHIFTED}, and this one is {family}")
    if "link" in design and design["link"] not in (links := families.links(family)):
        choices = f"has the links {' and '.join(links)}" if links else "has one link"
        raise InputError(f"design: link is {design['link']!r}, and family {family} {choices}")
    if "sigma" in design and family in (BINOMIAL, SHIFTED) and "shift" not in design:
        way = "; state its `shift`" if family == SHIFTED else "; leave it out"
        raise InputError(f"design: family {family} has no formula of sigma{way}")
    if has_density(design) and design["engine"] != "cross_products":
        raise InputError(
            f"design: {_density_because(design)} is fitted by Laplace's approximation; write "
            f"`engine: cross_products` in place of {design['engine']}"
        )


def _density_because(design: Mapping[str, Any]) -> str:
    if "sigma" in design:
        return "a model with a formula of sigma"
    return f"family {design.get('family', GAUSSIAN)}"


def has_density(design: Mapping[str, Any]) -> bool:
    """Return whether a design is fitted by Laplace's approximation."""
    family = design.get("family", GAUSSIAN)
    return family not in families.LINEAR or "sigma" in design or design.get("link") == "log"


def is_mixed(design: Mapping[str, Any]) -> bool:
    """Return whether a design is a linear mixed model of the response or its logarithm."""
    family = design.get("family", GAUSSIAN)
    is_linear = family in (GAUSSIAN, LOGNORMAL) and not has_density(design)
    return design["engine"] in ("cross_products", "lme4") and is_linear


def check_mixed(design: Mapping[str, Any], what: str) -> None:
    """Raise an InputError unless a design is a linear mixed model; `what` names the method."""
    if not is_mixed(design):
        raise InputError(
            f"{what} needs a linear mixed model, and the design has `engine: {design['engine']}`, "
            f"family {design.get('family', GAUSSIAN)}; take one of `engine: cross_products`"
        )
