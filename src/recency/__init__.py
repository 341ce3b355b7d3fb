"""Language models with a memory like a reader's, their surprisal, and mixed models of reading times.

    recency.load(checkpoint, bias=None)        open a language model
    recency.surprisal(texts, model, ...)       surprisal of every word, a data frame
    recency.attention.bias(form, ...)          describe a bias of attention
    recency.attention.attach(model, bias)      put it on a transformers model
    recency.lmer(formula, data, ...)           fit a mixed model of any data frame
    recency.anova(a, b, ...)                   compare such models by likelihood ratio tests
    recency.explore(words, ...)                show words, surprisals and reading times as a page
    recency.permutation_test(a, b, ...)        compare two models' losses of the same observations
    recency.InputError                         what is raised for input at fault

`import recency` loads none of them: each is loaded when it is first asked for.
"""

from recency.public import lazily

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazily(__name__, __file__)
