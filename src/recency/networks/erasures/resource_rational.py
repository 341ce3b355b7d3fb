"""Resource-rational erasure: the retention that predicts best within a budget of retained words.

q = logistic(intercept + Σ slope_k · x_k), where x are the natural logarithm of the distance, the
Zipf frequency and the position in the sentence, or some of these. The slopes minimise the expected
surprisal of the dataset's words, with the intercept set so that the expected number of retained
words meets the budget (Hahn, Futrell, Levy & Gibson 2022, who use a network with a parameter for
each word and distance instead of a logistic model of three features).
`recency.scoring.lossy.rational_erasure` fits them; with `slopes` and `intercept` nothing is fitted.
"""

import numpy as np

from recency.errors import InputError
from recency.networks.erasures import Erasure, logistic

PARAMETERS = {
    "features": {
        "description": "x: distance, frequency, position, or some of them",
        "type": "array",
        "items": {"enum": ["distance", "frequency", "position"]},
        "minItems": 1,
        "uniqueItems": True,
        "default": ["distance", "frequency", "position"],
    },
    "budget": {
        "description": "mean retained part of a context: {share: of its words} or {words: number}",
        "anyOf": [
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["share"],
                "properties": {
                    "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
                },
            },
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["words"],
                "properties": {"words": {"type": "number", "exclusiveMinimum": 0}},
            },
            {"type": "null"},
        ],
        "default": None,
    },
    "slopes": {
        "description": "feature → slope, instead of fitting; the intercept still meets the budget",
        "anyOf": [
            {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": False,
                "properties": {
                    "distance": {"type": "number"},
                    "frequency": {"type": "number"},
                    "position": {"type": "number"},
                },
            },
            {"type": "null"},
        ],
        "default": None,
    },
    "intercept": {
        "description": "instead of a budget, with `slopes`: log odds where all features are 0",
        "type": ["number", "null"],
        "default": None,
    },
    "words": {
        "description": "number of evenly spaced words of the dataset whose surprisal is minimised",
        "type": "integer",
        "minimum": 1,
        "default": 100,
    },
    "patterns": {
        "description": "erasure patterns per word: all if there are no more, else random ones",
        "type": "integer",
        "minimum": 2,
        "default": 16,
    },
    "evaluations": {
        "description": "largest number of slopes that are tried",
        "type": "integer",
        "minimum": 1,
        "default": 60,
    },
}
RULES = {
    "allOf": [
        {
            "if": {"required": ["intercept"], "properties": {"intercept": {"type": "number"}}},
            "then": {
                "required": ["slopes"],
                "properties": {"slopes": {"type": "object"}, "budget": {"type": "null"}},
            },
            "else": {"required": ["budget"], "properties": {"budget": {"type": "object"}}},
            "x-message": "give either a `budget`, or `slopes` and `intercept`",
        }
    ]
}


class Form(Erasure):
    """Log odds of retention are linear in log distance, log frequency and position."""

    features = ("distance", "frequency", "position")
    reach = 20  # the context of Hahn et al. (2022)

    def __init__(
        self,
        features=("distance", "frequency", "position"),
        budget=None,
        slopes=None,
        intercept: float | None = None,
        words: int = 100,
        patterns: int = 16,
        evaluations: int = 60,
    ):
        if (intercept is None) == (budget is None) or (intercept is not None and not slopes):
            raise InputError(
                "resource_rational: give either a `budget`, or `slopes` and `intercept`"
            )
        self.features = tuple(slopes) if slopes else tuple(features)
        self.budget, self.slopes, self.intercept = budget, slopes, intercept
        self.words, self.patterns, self.evaluations = words, patterns, evaluations

    def values(self, words) -> np.ndarray:
        """Return the features (…, features) of words, in the order of `features`."""
        named = {
            "distance": lambda: np.log(words.distance),
            "frequency": lambda: words.frequency,
            "position": lambda: words.position,
        }
        columns = [np.asarray(named[name](), np.float64) for name in self.features]
        return np.stack(np.broadcast_arrays(*columns), -1)

    def retention(self, words):
        """Return logistic(intercept + Σ slope · x)."""
        if self.intercept is None:
            raise InputError(
                "resource_rational: its weights depend on a dataset and a network; this needs `slopes` "
                "and `intercept`"
            )
        slopes = np.array([self.slopes[name] for name in self.features])
        return logistic(self.intercept + self.values(words) @ slopes)
