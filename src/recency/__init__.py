"""Language models with a memory like a reader's, their surprisal, and mixed models of reading times.

    recency.load(checkpoint, bias=None)        open a language model
    recency.surprisal(texts, model, ...)       surprisal of every word, a data frame
    recency.next_words(model, context, n=20)   the most probable next words, and their probability
    recency.cloze(model, context, word)        probability of a word in a context
    recency.attention.bias(form, ...)          describe a bias of attention
    recency.attention.attach(model, bias)      apply it to a transformers model
    recency.lmer(formula, data, ...)           fit a mixed model of any data frame
    recency.anova(a, b, ...)                   compare such models by likelihood ratio tests
    recency.explore(words, ...)                show words, surprisals and reading times as a page
    recency.permutation_test(a, b, ...)        compare two models' losses of the same observations
    recency.InputError                         raised for invalid input
    recency.InputWarning                       warns of doubtful input, which is read

`import recency` loads none of them: each is loaded at its first use.
"""

from recency.public import lazily

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazily(__name__, __file__)
