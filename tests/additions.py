"""One addition of every kind that a user can make: texts of files, put into a project.

`write` puts them into the project's own folders, or into another package, `others`, next to
`recency`. `computed_additions` computes what each gives.
"""

import yaml

BIAS = '''"""Recency bias by the root of the distance: a = 1, b = -m √(i - j)."""

from recency.attention.biases import Bias

PARAMETERS = {"slope": {"description": "m", "type": "number", "exclusiveMinimum": 0}}


class Form(Bias):
    """Scores decrease with the root of the distance."""

    def __init__(self, heads: int, slope: float):
        super().__init__(heads)
        self.slope = slope

    def forward(self, head, query, key, length):
        """Return a = 1, b = -m √(i - j)."""
        return 1.0, -self.slope * (query - key).clamp(min=0).float().sqrt()
'''
MEMORY = '''"""A leaky sum of the inputs: H_t = d H_{t-1} + W u_t."""

import torch
from torch import nn

from recency.networks.memories import Memory

PARAMETERS = {"decay": {"description": "d", "type": "number", "minimum": 0, "maximum": 1}}


class Form(Memory):
    """A state that decays."""

    def __init__(self, inputs, width, vocabulary, decay):
        super().__init__(inputs, width, vocabulary)
        self.read, self.decay, self.shapes = nn.Linear(inputs, width), decay, ((width,),)

    def forward(self, inputs, state, words):
        """Return H, and the last one."""
        (current,), states = state, []
        for step in self.read(inputs).unbind(1):
            current = self.decay * current + step
            states.append(current)
        return torch.stack(states, 1), (current,)
'''
ERASURE = '''"""Linear erasure: q(d) = max(0, 1 - d / width)."""

import numpy as np

from recency.networks.erasures import Erasure

PARAMETERS = {"width": {"description": "words", "type": "number", "exclusiveMinimum": 0}}


class Form(Erasure):
    """Retention falls by the same number at every word."""

    def __init__(self, width):
        self.width = width

    def retention(self, words):
        """Return max(0, 1 - d / width)."""
        return np.maximum(0.0, 1 - words.distance / self.width)
'''
PARSER = '''"""Lists: a table of words and one of times."""

import pandas as pd

MEASURES = ("T",)
COLUMNS = {"words": {"loudness": ("number", "loudness of the word, dB")}}


def words(files):
    """Read the words."""
    return pd.read_csv(files["table"])


def responses(files, words, measure):
    """Read the times."""
    return pd.read_csv(files["table"])
'''
READER = '''"""Paragraphs, each a document."""


def read(paths):
    """Yield each paragraph."""
    for path in paths:
        for number, text in enumerate(path.read_text(encoding="utf-8").split("\\n\\n")):
            yield f"{path.stem} {number}", text
'''
MEASURE = '''"""Varentropy: the variance of -log p of the next token."""

MEASURE = {"unit": 2, "masked": True}


def statistic(log_probabilities, targets):
    """Return Σ p (log p)² - H², nats²."""
    p = log_probabilities.exp()
    mean = (p * log_probabilities).sum(-1)
    return (p * log_probabilities**2).sum(-1) - mean**2
'''
LIKELIHOOD = '''"""Laplace's density of residuals without random effects: robust to slow responses."""

import numpy as np

ENDPOINT = {
    "observations": "held out",
    "effects": "Laplace's density",
    "of": "of the exploratory partition, by Laplace's density",
}


def parts(scored):
    """Return the log density (n,) of each row."""
    scale = scored.record["sigma"] / np.sqrt(2)
    return -np.log(2 * scale) - np.abs(scored.residuals) / scale
'''
STATISTIC = '''"""The mean of the clusters' means: every cluster counts the same."""


def columns(totals, sizes):
    """Return the clusters' means."""
    return [totals / sizes]


def value(sums, totals, sizes):
    """Return their mean."""
    return sums[0] / len(sizes)
'''
SPEC = '''"""How long the words of a list are."""

from recency.evaluations.registry import Data, Evaluation

EVALUATION = Evaluation(
    key="lengths",
    uses_lms=False,
    applies=lambda study, experiment: bool(study.data_here(experiment, "lengths")),
    wildcards={"list": "lists"},
    data=Data("lists", ("words",)),
    inputs={"lengths": lambda study, experiment: (
        f"<results>/lengths/{study.experiment(experiment)['lengths']}.csv"
    )},
    jobs={"lengths": ("list of words", 7200.0)},
)
'''
SCHEMA = """
experiment:
  lengths: {type: string, description: "an entry of `lists`"}
tables:
  lists:
    title: list of words
    type: object
    additionalProperties:
      type: object
      additionalProperties: false
      properties: {label: {type: string}, words: {$ref: "#/$defs/file"}}
"""
RULES = """
rule lengths:
    input:
        lambda wildcards: files.data("lengths", wildcards.list, "words"),
    output:
        "<results>/lengths/{list}.csv",
    log:
        "<logs>/lengths/{list}.log",
    script:
        "lengths.py"
"""
SCRIPT = '''"""Count the letters of a list's words."""

from pathlib import Path

if __name__ == "__main__":
    words = Path(snakemake.input[0]).read_text().split()
    Path(snakemake.output[0]).write_text("\\n".join(["length", *(str(len(w)) for w in words)]) + "\\n")
'''
VIEW = '''"""The lengths of the words."""

PRODUCTS = {
    "table_lengths": {
        "makes": {"out": ("table_lengths", "Lengths of words")},
        "reads": ["lengths"],
    }
}


def table_lengths(*, lengths, out):
    """Write the longest to each file."""
    from pathlib import Path

    longest = max(map(int, Path(lengths).read_text().split()[1:]))
    for path in out:
        Path(path).write_text(f"longest\\n{longest}\\n")
'''
#: Group of entry points → the plugin's name, and the text of its file.
FAMILY = '''"""Student's t with 5 degrees of freedom, location mu and scale sigma."""

import numpy as np

PREDICTORS = ("mu", "sigma")
LINKS = ("identity",)
POSITIVE = False
DF = 5


def log_density(y, eta):
    mu, log_sigma = eta.T
    z = (y - mu) * np.exp(-log_sigma)
    return np.log(8 / (3 * np.pi * np.sqrt(DF))) - log_sigma - (DF + 1) / 2 * np.log1p(z**2 / DF)


def derivatives(y, eta):
    mu, log_sigma = eta.T
    inverse = np.exp(-log_sigma)
    z = (y - mu) * inverse
    slope = (DF + 1) * z / (DF + z**2)
    bend = (DF + 1) * (DF - z**2) / (DF + z**2) ** 2
    gradient = np.stack([slope * inverse, slope * z - 1], axis=-1)
    hessian = np.empty((len(y), 2, 2))
    hessian[:, 0, 0] = -bend * inverse**2
    hessian[:, 0, 1] = hessian[:, 1, 0] = -inverse * (slope + z * bend)
    hessian[:, 1, 1] = -z * (slope + z * bend)
    return gradient, hessian


def start(y):
    return np.log([y.std() * np.sqrt((DF - 2) / DF)])


def expectation(eta):
    return eta[:, 0]
'''
LINT = '''"""Experiments with one measure."""

from recency.workflow.lint import Finding

RULES = {
    "one_measure": {
        "warns": "One measure",
        "table": "experiments",
        "why": "One measure is one view.",
        "reference": "nobody",
    }
}


def one_measure(plan):
    """Yield experiments with one measure."""
    for name in plan.experiments:
        if len({response["measure"] for response in plan.responses(name)}) == 1:
            yield Finding(name, "responses", "one measure", "add one")
'''
MODULES = {
    "biases": ("root", BIAS),
    "memories": ("leaky", MEMORY),
    "erasures": ("fading", ERASURE),
    "parsers": ("lists", PARSER),
    "readers": ("paragraphs", READER),
    "measures": ("varentropy", MEASURE),
    "likelihoods": ("laplace", LIKELIHOOD),
    "statistics": ("by_cluster", STATISTIC),
    "families": ("student", FAMILY),
    "lint": ("one_measure", LINT),
}
EVALUATION = {
    "__init__.py": "",
    "spec.py": SPEC,
    "schema.yaml": SCHEMA,
    "rules.smk": RULES,
    "lengths.py": SCRIPT,
    "view.py": VIEW,
    "table_lengths.rst": "Lengths.\n",
}
CORPUS = """
datasets:
  spoken:
    label: Spoken lists
    licence: none
    cite: nobody
    parser: lists
    words: {table: {local: words.csv}}
    responses: {table: {local: times.csv}}
    measures: {T: {filters: []}}
    filters: {}
"""
CONFIG = {
    "lists": {"mine": {"label": "Mine", "words": {"local": "words.txt"}}},
    "biases": {"root": {"form": "root", "slope": 0.5}},
    "memories": {"leaky": {"form": "leaky", "decay": 0.5}},
    "scales": {"cores": {"measures": ["varentropy", "renyi_0.5"]}},
    "lms": {
        "Root": {"bias": "root"},
        "Faded": {
            "weights": "Pythia",
            "lossy": {"erasure": {"form": "fading", "width": 4}},
            "measures": [],
        },
    },
    "corpora": {"mine": {"files": ["words.txt"], "reader": "paragraphs"}},
    "designs": {
        "varied": {
            "formula": "time_ms ~ length + previous_varentropy + surprisal + (1 | subject)",
            "of_interest": ["surprisal"],
            "base": "all",
            "engine": "cross_products",
            "response": "raw",
            "surprisal": "plain",
        }
    },
    "experiments": {
        "mine": {
            "title": "Mine",
            "lms": ["Pythia", "Root"],
            "baseline": "Pythia",
            "responses": {"varied": ["simulated_spr.SPR"]},
            "endpoint": "laplace",
            "test_statistic": "by_cluster",
            "lengths": "mine",
        }
    },
}


def write(project, packages=None):
    """Write the additions into a project: into its folders, or those of kinds into a package."""
    from recency import plugins

    source, points = project / "src", []
    for group, (name, text) in MODULES.items():
        package = plugins.KINDS[group].package
        above = "" if package.startswith("recency.") else f"packages/{package.partition('.')[0]}"
        ours = project / above / "src" / package.replace(".", "/")
        folder = source / "others" / group if packages else ours
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(text)
        points.append(f"[recency.{group}]\n{name} = others.{group}.{name}\n")
    folder = source / ("others" if packages else "recency/evaluations") / "lengths"
    folder.mkdir(parents=True)
    for name, text in EVALUATION.items():
        (folder / name).write_text(text)
    if packages:
        provide(source, points + ["[recency.evaluations]\nlengths = others.lengths\n"])
    (project / "data" / "corpora" / "spoken.yaml").write_text(CORPUS)
    (project / "words.txt").write_text("one two\n\nthree\n")
    (project / "words.csv").write_text("item,sentence,position,word,loudness\na,0,1,one,60\n")
    (project / "times.csv").write_text("subject,word_id,time_ms\ns1,0,350\n")
    (project / "mine.yaml").write_text(yaml.safe_dump(CONFIG))
    return project


def provide(folder, points):
    """Write what an installed package `others` says of itself: its entry points."""
    about = folder / "others-1.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1\n")
    (about / "entry_points.txt").write_text("\n".join(points))
