"""Configs with faults drawn at random that are accepted: no job of the tiny study refuses them.

A learning rate at which the training diverges is one that only the training can know.
"""

import copy
import random

import pytest
import yaml

import mutated_configs
from project import TINY, load, snakemake

pytestmark = pytest.mark.long

#: What the tiny study is made of, …
USED = (
    "architectures → gpt-neox-2-4-128", "biases → ALiBi-1 ", "biases → ALiBi-mix", "biases → dVM ",
    "corpora → simulated", "datasets → simulated", "designs → eye", "designs → spr", "experiments → simulated",
    "lms → ALiBi-mix-TI", "lms → Pythia", "lms → dVM-I", "lms → reader", "recipes → demo",
    "tokenizers → simulated", "unigrams → simulated", "threads", "intervals",
)  # fmt: skip
#: … and what of it decides how long that takes, up to years, or nothing.
LARGE = ("steps", "batch", "sequence", "documents", "permutations", "resamples", "stories", "subjects", "context",
         "layers", "width", "feed_forward", "heads", "items", "threads", "label", "title", "memory", "doubled")  # fmt: skip


def accepted(seed):
    """Return what was done to the tiny study's config, and the config: the first drawn that is accepted."""
    draw, sound = random.Random(seed), load(*TINY)
    while True:
        config = copy.deepcopy(sound)
        done = mutated_configs.mutate(config, draw)
        used = done.startswith(USED) and not any(word in done for word in LARGE)
        if used and config != sound and mutated_configs.outcome(copy.deepcopy(config))[0]:
            return done, config


@pytest.mark.parametrize("seed", range(16))
def test_a_config_that_is_accepted_is_run(study, seed):
    """Over the finished study, so that what the fault changes is made, and what follows from it."""
    done, config = accepted(seed)
    for path in (study / "data" / "corpora").glob("*.yaml"):
        path.unlink()  # the config has all that they say
    (study / "config.yaml").write_text(yaml.safe_dump(config, allow_unicode=True, sort_keys=False))
    run = snakemake(study, "--keep-going")
    diverged = "learning_rate" in done and "Lower the recipe's `learning_rate`" in run.stdout
    assert run.returncode == 0 or diverged, (done, run.stdout[-3000:])
