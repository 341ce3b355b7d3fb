"""Rules on LMs and their parts: architectures, recipes, biases, tables of surprisal, unigram models."""

import json
from collections.abc import Iterator, Mapping

from recency.regression import predictor_names as names
from recency.workflow.lint import Finding, Plan, contexts, is_idle

RULES = {
    "frequency_as_lm": {
        "warns": "A unigram LM next to unigram surprisal as a control",
        "table": "lms",
        "why": "The LM's surprisal is the frequency control itself, so that no design can separate the two.",
        "reference": "docs/regression.md",
    },
    "frequency_order": {
        "warns": "A frequency predictor of an order above 1",
        "table": "unigrams",
        "why": "An n-gram of a higher order is a probability in context, which is what surprisal is tested for.",
        "reference": "Shain (2024), Open Mind 8, 177-201",
    },
    "idle_bias": {
        "warns": "Biases that change no attention score",
        "table": "lms",
        "why": "An LM whose bias has no effect is the LM without it, under another name.",
        "reference": "docs/biases.md",
    },
    "implausible_architecture": {
        "warns": "Networks with implausible shapes",
        "table": "architectures",
        "why": "A window of a few words is a limit on memory of its own, and dropout of most units leaves little to learn with.",
        "reference": "Kuribayashi, Oseki, Brassard & Inui (2022), EMNLP, 10421-10436",
    },
    "implausible_training": {
        "warns": "Recipes with implausible settings",
        "table": "recipes",
        "why": "Rates, decays and schedules far outside published ones give networks that diverge or hardly learn.",
        "reference": "Brown et al. (2020), NeurIPS, Table 2.1; Loshchilov & Hutter (2019), ICLR",
    },
    "long_stride": {
        "warns": "Windows that do not overlap",
        "table": "lms",
        "why": "With a stride of the window's size, the first words of every window are scored without their context.",
        "reference": "docs/surprisal.md",
    },
    "missing_words": {
        "warns": "Tables that may lack many words",
        "table": "lms",
        "why": "Words without surprisal are left out, so that the LM is judged on other words than the others.",
        "reference": "docs/surprisal.md",
    },
    "mixed_units": {
        "warns": "LMs of one table with surprisal in different units",
        "table": "lms",
        "why": "One table rarely has two units; a wrong one scales surprisal, and with it every effect in ms per bit.",
        "reference": "docs/surprisal.md",
    },
    "unseen_begin_token": {
        "warns": "A begin token that the LM has never seen in training",
        "table": "scales",
        "why": "The token's embedding is random then, and affects the surprisal of every text's first words.",
        "reference": "docs/surprisal.md",
    },
}


def frequency_as_lm(plan: Plan) -> Iterator[Finding]:
    """Yield unigram LMs of the corpus that the frequency predictor is estimated from."""
    scale = plan.config["scales"][plan.config["scale"]]
    unigram = plan.config["unigrams"][scale["unigram"]]
    for name in plan.experiments:
        formulas = [plan.designs[r["design"]].formula for r in plan.responses(name)]
        if not any("unigram" in names.used(formula) for formula in formulas):
            continue
        for lm in plan.lms(name):
            ngram = plan.config["lms"][lm].get("ngram", {})
            same = ngram.get("corpus") is not None and ngram["corpus"] == unigram.get("corpus")
            if same and ngram.get("order", 5) == unigram.get("order", 1):
                yield Finding(
                    lm,
                    "ngram",
                    f"it is estimated like {scale['unigram']!r}, the predictor unigram of its designs",
                    "use a design without unigram for it, or an n-gram LM of a higher order",
                )


def frequency_order(plan: Plan) -> Iterator[Finding]:
    """Yield the scale's unigram model, if it is of a higher order."""
    unigram = plan.config["scales"][plan.config["scale"]]["unigram"]
    entry = plan.config["unigrams"][unigram]
    for name in dict.fromkeys(entry.get("languages", {"": unigram}).values()):
        order = plan.config["unigrams"][name].get("order", 1)
        if order > 1 and any("unigram" in names.used(d.formula) for d in plan.designs.values()):
            text = f"the predictor unigram is of order {order}"
            yield Finding(name, "order", text, "write `order: 1`, or leave it out")


def idle_bias(plan: Plan) -> Iterator[Finding]:
    """Yield LMs of the run whose bias has no effect at its parameters."""
    for name in plan.experiments:
        for lm in plan.lms(name):
            if (
                plan.is_biased(lm)
                and "languages" not in plan.config["lms"][lm]
                and is_idle(plan, lm)
            ):
                yield Finding(
                    lm,
                    "bias",
                    f"its bias, of the form {plan.settings(lm)['bias']['form']}, changes nothing",
                    "correct its parameters, or remove the LM",
                )


LEAST_CONTEXT, MOST_DROPOUT = 32, 0.5


def implausible_architecture(plan: Plan) -> Iterator[Finding]:
    """Yield architectures of the run's trainings with a tiny window or much dropout."""
    for name in dict.fromkeys(plan.settings(root)["architecture"] for root in plan.trained):
        shape = plan.config["architectures"][name]
        if shape.get("context", LEAST_CONTEXT) < LEAST_CONTEXT:
            text = f"its window of {shape['context']} tokens is shorter than most sentences"
            yield Finding(name, "context", text, f"write at least {LEAST_CONTEXT}")
        for key in ("dropout", "attention_dropout"):
            if shape.get(key, 0) > MOST_DROPOUT:
                text = f"{shape[key]:.0%} of the units are dropped"
                yield Finding(name, key, text, f"write at most {MOST_DROPOUT:g}")


#: (optimiser, key) → least and largest plausible value.
USUAL_SETTINGS = {
    ("adamw", "learning_rate"): (1e-6, 1e-2),
    ("adamw", "weight_decay"): (0, 0.5),
    ("adamw", "epsilon"): (1e-12, 1e-4),
    ("sgd", "learning_rate"): (1e-4, 5),
    ("sgd", "weight_decay"): (0, 1e-2),
    ("sgd", "momentum"): (0, 0.99),
}
LEAST_CLIP, MOST_EPOCHS, MOST_WARMUP, MOST_MASKED = 1e-2, 100, 0.5, 0.6
FEWEST_STEPS, LEAST_HIDDEN = 20, 0.5


def implausible_training(plan: Plan) -> Iterator[Finding]:
    """Yield recipes of the run's trainings with values outside the limits."""
    asked = dict.fromkeys(plan.settings(root)["recipe"] for root in plan.trained)
    for name in asked:
        recipe = plan.config["recipes"][name]
        optimizer = recipe.get("optimizer", "adamw")
        for (of, key), (low, high) in USUAL_SETTINGS.items():
            if of == optimizer and key in recipe and not low <= recipe[key] <= high:
                yield Finding(
                    name,
                    key,
                    f"{recipe[key]:g} is outside {low:g} to {high:g}, the usual range of {optimizer}",
                    "correct it",
                )
        for key, problem in _implausible_schedule(recipe):
            yield Finding(name, key, problem, "correct it")


def _implausible_schedule(recipe: Mapping) -> Iterator[tuple[str, str]]:
    """Yield key and problem of settings that depend on others."""
    steps = recipe.get("steps")
    if recipe.get("clip") is not None and recipe["clip"] < LEAST_CLIP:
        yield "clip", f"gradients are cut to a norm of {recipe['clip']:g}, which stops training"
    if steps and steps < FEWEST_STEPS:
        yield "steps", f"{steps} steps leave the network at its random start"
    if (
        recipe["schedule"] != "halving"
        and recipe.get("minimum_learning_rate") == recipe["learning_rate"]
    ):
        yield "minimum_learning_rate", "the learning rate never decreases"
    if recipe.get("epochs", 0) > MOST_EPOCHS:
        yield "epochs", f"the text is read {recipe['epochs']:g} times, and will be memorised"
    if steps and recipe.get("warmup_steps", 0) > MOST_WARMUP * steps:
        yield "warmup_steps", f"{recipe['warmup_steps']:,} of {steps:,} steps are warm-up"
    if list(recipe.get("betas", [])) != sorted(recipe.get("betas", [])):
        yield "betas", f"β₁, {recipe['betas'][0]:g}, is above β₂, {recipe['betas'][1]:g}"
    share = recipe.get("masking", {}).get("share", 0)
    hidden = recipe.get("masking", {}).get("masked", 1)
    if hidden < LEAST_HIDDEN:
        yield "masking → masked", f"{1 - hidden:.0%} of the predicted tokens are not masked"
    if share > MOST_MASKED:
        yield "masking → share", f"{share:.0%} of the tokens are masked, and little context is left"


def long_stride(plan: Plan) -> Iterator[Finding]:
    """Yield networks of the run whose stride is over three quarters of their window."""
    for name in plan.experiments:
        for lm in plan.members_of(name):
            window, stride = contexts(plan, lm), plan.settings(lm).get("stride")
            if window and stride and stride > 0.75 * window:
                yield Finding(
                    lm,
                    "stride",
                    f"windows of {window} tokens move by {stride}",
                    "write `stride: null`, half a window, or fewer tokens",
                )


MOST_MISSING = 0.2


def missing_words(plan: Plan) -> Iterator[Finding]:
    """Yield LMs of the run whose table may lack over a fifth of the words."""
    for name in plan.experiments:
        for lm in plan.members_of(name):
            missing = plan.config["lms"][lm].get("surprisals", {}).get("missing", 0)
            if missing > MOST_MISSING:
                yield Finding(
                    lm,
                    "surprisals → missing",
                    f"up to {missing:.0%} of the words may lack surprisal",
                    f"complete the table, or compare on the words that all LMs have and write {MOST_MISSING:g} or less",
                )


def mixed_units(plan: Plan) -> Iterator[Finding]:
    """Yield LMs of the run whose `unit` differs from that of another LM of the same table."""
    first: dict[str, tuple[str, str]] = {}
    for name in plan.experiments:
        for lm in plan.members_of(name):
            table = plan.config["lms"][lm].get("surprisals", {})
            if "unit" not in table or "probability" in table.get("columns", {}):
                continue
            kind = "logprob" if "logprob" in table.get("columns", {}) else "surprisal"
            key = json.dumps([table.get("table"), table.get("tables"), kind], sort_keys=True)
            other, unit = first.setdefault(key, (lm, table["unit"]))
            if unit != table["unit"]:
                yield Finding(
                    lm,
                    "surprisals → unit",
                    f"{table['unit']}, and {other!r} of the same table has {unit}",
                    "state the unit that the table's description gives",
                )


def unseen_begin_token(plan: Plan) -> Iterator[Finding]:
    """Yield a scale with `bos` whose networks are trained on tokens without ends of documents."""
    corpora = plan.config["corpora"]
    for root in plan.trained:
        settings = plan.settings(root)
        if settings.get("bos") and "pretokenized" in corpora[settings["corpus"]]:
            yield Finding(
                plan.config["scale"],
                "bos",
                f"texts are scored after a token that {settings['corpus']!r}, the training text, does not have",
                "write `bos: false`, or compare both by `sensitivity: {bos: [true, false]}`",
            )
