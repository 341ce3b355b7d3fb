"""Settings of lossy contexts: the erasure of context words, and the sampling."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from readingtimes.names import nearest
from recency import plugins
from recency.errors import InputError
from recency.networks import erasures

FORMS = "recency.networks.erasures"
#: Treatments of an erased word.
ERASED = ("deleted", "masked")
#: Fewest samples of a word: fewer give no standard error.
FEWEST = 8


@dataclass(frozen=True)
class Lossy:
    """Settings of lossy contexts.

    Attributes
    ----------
    erasure
        A form of recency.networks.erasures with its parameters.
    samples
        Most patterns of erasure that are scored for a word.
    tolerance
        Target standard error of a word's surprisal, bits; None for no target.
    seed
        Seed of the drawn patterns.
    reach
        Most context words; None for the form's own.
    erased
        "deleted", or "masked" (replaced by mask tokens); None: masked for masked LMs.
    """

    erasure: Mapping[str, Any]
    samples: int = 32
    tolerance: float | None = None
    seed: int = 1
    reach: int | None = None
    erased: str | None = None

    @property
    def form(self) -> erasures.Erasure:
        """The form of erasure."""
        return erasures.build(self.erasure)


def check(lossy: Mapping[str, Any] | Lossy) -> Lossy:
    """Return checked settings of lossy contexts.

    The values of the form's parameters are checked elsewhere: by a config's schema, or by
    `recency.form_parameters`, since jobs have no JSON Schema.

    Parameters
    ----------
    lossy : mapping
        Attributes of `Lossy`; only `erasure` is required.

    Returns
    -------
    Lossy

    Raises
    ------
    InputError
        For an unknown key, form or parameter, and for an impossible value.
    """
    if isinstance(lossy, Lossy):
        return lossy
    if not isinstance(lossy, Mapping) or "erasure" not in lossy:
        raise InputError(
            f"lossy: {lossy!r} is no mapping with `erasure`, such as "
            '{"erasure": {"form": "exponential", "half_life": 3}}'
        )
    names = list(Lossy.__dataclass_fields__)
    for name in lossy:
        if name not in names:
            raise InputError(f"lossy: no setting is called {nearest(str(name), names)}")
    settings = Lossy(**lossy)
    whole = {"samples": FEWEST, "seed": 0} | ({} if settings.reach is None else {"reach": 0})
    for name, least in whole.items():
        value = getattr(settings, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"lossy: {name} is {value!r}, and is a whole number from {least} on")
    tolerance = settings.tolerance
    number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if tolerance is not None and not (number and tolerance > 0):
        raise InputError(f"lossy: tolerance is {tolerance!r}, and is a number of bits above 0")
    if settings.erased not in (None, *ERASED):
        raise InputError(f"lossy: erased is {settings.erased!r}, and is {' or '.join(ERASED)}")
    if not isinstance(settings.erasure, Mapping) or "form" not in settings.erasure:
        raise InputError(f"lossy: erasure {settings.erasure!r} is no mapping with `form`")
    form = settings.erasure["form"]
    if form not in plugins.names(FORMS):
        raise InputError(f"no form of erasure is called {plugins.unknown(FORMS, form)}")
    try:
        erasures.build(settings.erasure)  # checks constraints between parameters
    except TypeError as error:
        raise InputError(f"erasure {form!r}: {error}") from None
    return settings


def refuse_measures(what: str, asked, tokens: bool) -> None:
    """Refuse measures, short contexts and rows of tokens for `what`, `lossy` or `scanpath`.

    `asked` is the return value of `recency.scoring.measures.check`.
    """
    if asked.measures or asked.contexts or tokens:
        kind = "rows of tokens" if tokens else "`context`" if asked.contexts else "`measures`"
        raise InputError(
            f"{what}: {kind} are of the whole context, and are not defined for parts of it; compute "
            f"them with the same network without `{what}`"
        )


def refuse_ngrams(lossy: object) -> None:
    """Refuse lossy contexts for an n-gram model."""
    if lossy is not None:
        raise InputError(
            "lossy: an n-gram model reads only the last n - 1 words; take a network, or a lower order"
        )
