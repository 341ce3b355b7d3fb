"""What each addition of `additions` computes, run as a script in a project that has them.

It prints a JSON object: the name of each function of the command line → what it returned.
"""

import json
import sys
from pathlib import Path


def listed():
    """Return the plugins of each kind."""
    from recency import plugins

    return {group: plugins.names(kind.package) for group, kind in plugins.KINDS.items()}


def of_bias():
    """Return the scores of the last of four queries."""
    import torch

    from recency.attention import biases

    built = biases.build({"form": "root", "slope": 0.5}, 1)
    return built.dense(1, 4, torch.device("cpu"), torch.float32)[1][0, 0, 0].tolist()


def of_export():
    """Return the same scores by the code that an exported LM brings along, in one file."""
    import torch

    from recency.export import modelling
    from recency.networks import architectures

    classes = architectures.BiasedGPTNeoXConfig, architectures.BiasedGPTNeoXForCausalLM
    Path("exported.py").write_text(modelling.source("root", *classes))
    sys.path.insert(0, ".")
    import exported

    built = exported.Form(1, slope=0.5)
    return built.dense(1, 4, torch.device("cpu"), torch.float32)[1][0, 0, 0].tolist()


def of_memory():
    """Return what a memory of weight 1 gives after inputs 1, 0, 0."""
    import torch

    from recency.networks import memories

    built = memories.build({"form": "leaky", "decay": 0.5}, 1, 1, 10)
    with torch.no_grad():
        built.read.weight.fill_(1)
        built.read.bias.fill_(0)
        outputs, _ = built(
            torch.tensor([[[1.0], [0], [0]]]), built.start(1), torch.zeros(1, 3).long()
        )
    return outputs[0, :, 0].tolist()


def of_erasure():
    """Return the retention of words 1, 2 and 5 back."""
    import numpy as np

    from recency.networks import erasures

    built = erasures.build({"form": "fading", "width": 4})
    return erasures.retention(built, erasures.ContextWords(np.array([1, 2, 5]))).tolist()


def of_parser():
    """Return a column of the words."""
    from readingtimes import parsers

    return parsers.parser("lists").words({"table": "words.csv"}).loudness.tolist()


def of_reader():
    """Return the documents."""
    from recency.text import readers

    return list(readers.reader("paragraphs")([Path("words.txt")]))


def of_measure():
    """Return the varentropy of words, bits², and the same from the whole logits of a pass."""
    import numpy as np
    import torch

    from recency.networks import architectures
    from recency.scoring.surprisal import Model, score_words
    from small_networks import NONE, TEXTS, TINY, byte_tokenizer

    tokenizer = byte_tokenizer()
    network = architectures.new(TINY, NONE, tokenizer.get_vocab_size(), 1).eval()
    asked = ["rank", "varentropy", "entropy"]
    table = score_words(TEXTS, Model(network, tokenizer), bos=True, measures=asked).table
    alone = score_words(TEXTS, Model(network, tokenizer), bos=True, measures=["entropy"]).table
    assert table.entropy_bits.equals(alone.entropy_bits)
    expected = []
    for text in TEXTS:
        words = [tokenizer.encode(" " * (n > 0) + w).ids for n, w in enumerate(text.split())]
        with torch.no_grad():
            ids = torch.tensor([[0, *(i for word in words for i in word)]])
            logs = network.double()(ids).logits[0].log_softmax(-1).numpy() / np.log(2)
        network.float()
        first = np.cumsum([0, *map(len, words[:-1])])
        p = 2.0 ** logs[first]
        expected += list((p * logs[first] ** 2).sum(-1) - (p * logs[first]).sum(-1) ** 2)
    return [table.varentropy_bits2.tolist(), expected]


def of_likelihood():
    """Return the sum of the parts that a fit's record has, and that of its own residuals."""
    import numpy as np
    import pandas as pd
    from made_readers import MIXED, columns, files, parted, readings, texts

    from recency.regression import fit

    folder = Path("readers")
    words = texts(folder)
    parted(folder, readings(words, lambda bits: 5 * bits, subjects=6), words)
    fit.main(
        files(folder), out="fit.json", out_observations="rows.parquet", lm="lm", design=MIXED,
        model="full",
    )  # fmt: skip
    record = json.loads(Path("fit.json").read_text())
    rows, scaling = columns(folder, "exploratory"), record["scaling"]
    effects = {effect["term"]: effect["estimate"] for effect in record["fixed"]}
    predicted = effects["(Intercept)"] + sum(
        effects[name] * (rows[name] - scaling[name]["mean"]) / scaling[name]["sd"]
        for name in ("length", "surprisal")
    )
    scale = record["sigma"] / np.sqrt(2)
    expected = (-np.log(2 * scale) - (rows.time_ms - predicted).abs() / scale).sum()
    written = pd.read_parquet("rows.parquet").loglik_laplace.sum()
    return [record["loglik"]["exploratory_laplace"], written, expected]


def of_family():
    """Return the location and scale that a mixed model of this family finds, and its log-likelihood's error."""
    import numpy as np
    from scipy import stats

    from crosslmm import families
    from crosslmm.factors import Levels
    from crosslmm.formula import parse
    from crosslmm.generalised import fit_generalised

    random = np.random.default_rng(2)
    subject = np.repeat(np.arange(20), 40)
    y = 300 + 30 * random.normal(size=20)[subject] + 50 * random.standard_t(5, 800)
    groups = {"subject": Levels(subject, [f"s{i}" for i in range(20)])}
    fit = fit_generalised("student", "identity", parse("y ~ 1 + (1 | subject)"), {}, y, groups)
    eta = np.tile([300.0, np.log(50.0)], (800, 1))
    error = families.density("student").log_density(y, eta) - stats.t.logpdf(y, 5, 300, 50)
    return [fit.location.fixed["(Intercept)"], fit.location.sigma, float(np.abs(error).max())]


def of_statistic():
    """Return the p value of a test of six clusters, whose 64 permutations are all known."""
    import itertools

    import numpy as np

    from crosslmm.stats import permutation

    random = np.random.default_rng(1)
    cluster = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 6])
    a = random.normal(0.6, 1, len(cluster))
    test = permutation.permutation_test(
        a, 0 * a, cluster=cluster, permutations=40_000, statistic="by_cluster"
    )
    means = np.array([a[cluster == c].mean() for c in range(6)])
    every = [abs(np.dot(signs, means)) for signs in itertools.product([1, -1], repeat=6)]
    return [test.p, float(np.mean(np.array(every) >= abs(means.sum()) - 1e-12))]


def of_evaluation():
    """Return what the evaluation's table has, made from a list of lengths."""
    from recency import plugins

    Path("lengths.csv").write_text("length\n3\n5\n")
    view = plugins.load("recency.evaluations", "lengths.view", "evaluation", "table_lengths")
    view.table_lengths(lengths="lengths.csv", out=["longest.csv"])
    return Path("longest.csv").read_text()


def of_config():
    """Check the config; return a dataset's label and the endpoints that the schema knows."""
    from recency.workflow.config import checks, loading

    config = loading.load(".", "config/demo.yaml", "tests/config.tiny.yaml", "mine.yaml")
    checks.check(config, Path("config.schema.yaml"))
    return config["datasets"]["spoken"]["label"]


def of_lint():
    """Return the warnings of the rule, and of a config that accepts it at the top level."""
    from recency.workflow import lint
    from recency.workflow.config import checks, loading

    config = loading.load(".", "config/demo.yaml", "tests/config.tiny.yaml", "mine.yaml")
    shown = []
    for accept in ([], ["one_measure"]):
        config |= {"accept": accept}
        checks.check(config, Path("config.schema.yaml"))
        doubts = lint.check(lint.Plan(config, ["mine"]), ["one_measure"])
        shown += [lint.lines(doubts, accepted=bool(accept))]
    return shown


def of_rule():
    """Return the files whose fingerprints the evaluation's own rule has, and how its jobs count."""
    from recency.workflow.plan import cost_model, costs

    configs = ["config/demo.yaml", "tests/config.tiny.yaml", "mine.yaml"]
    with costs.opened(Path.cwd(), configs, []) as workflow:
        params = [str(value) for value in workflow.get_rule("lengths").params]
    cost = cost_model.of_rule("lengths")
    return [[value.split()[0] for value in params], [cost.kind, cost.core]]


if __name__ == "__main__":
    print(json.dumps({name: globals()[name]() for name in sys.argv[1:]}))
