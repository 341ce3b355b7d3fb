"""Language models with a memory like a reader's, their surprisal, and mixed models of reading times.

    recency.load(checkpoint, bias=None)        open a language model
    recency.surprisal(texts, model, ...)       surprisal of every word, a data frame
    recency.attention.bias(form, ...)          describe a bias of attention
    recency.attention.attach(model, bias)      put it on a transformers model
    recency.lmer(formula, data, ...)           fit a mixed model of any data frame
    recency.permutation_test(a, b, ...)        compare two models' losses of the same observations
    recency.InputError                         what is raised for input at fault

`import recency` loads none of them: each is loaded when it is first asked for.
"""

from importlib import import_module

#: Public name → `module:attribute`, or a module.
_PUBLIC = {
    "InputError": "recency.errors:InputError",
    "attention": "recency.attention",
    "lmer": "recency.mixed.model:lmer",
    "load": "recency.scoring.public:load",
    "permutation_test": "recency.stats.permutation:permutation_test",
    "surprisal": "recency.scoring.public:surprisal",
}


def __getattr__(name: str):
    """Load a public name."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    found = import_module(module)
    globals()[name] = getattr(found, attribute) if attribute else found
    return globals()[name]


def __dir__() -> list[str]:
    """Name the public names and what is loaded."""
    return sorted({*globals(), *_PUBLIC})
