"""Rules on experiments: whether the LMs that they compare can be compared."""

from collections.abc import Iterator, Mapping

from recency import config as configuration
from recency import sources
from recency.workflow.lint import Finding, Plan, contexts, corpus_of, differences, identity

RULES = {
    "biased_baseline": {
        "warns": "Biases that are compared with a bias",
        "table": "experiments",
        "why": "The effect of a bias is the difference from an LM without one; between two biases, a difference may be of either.",
        "reference": "Clark, Oh & Schuler (2025), COLING",
    },
    "perplexity_vocabularies": {
        "warns": "Perplexities of LMs with different lists of words",
        "table": "experiments",
        "why": "Words outside a shorter list share one probability, so that an LM with fewer words has a lower perplexity.",
        "reference": "Cotterell, Mielke, Eisner & Roark (2018), NAACL, 536-541",
    },
    "reader_is_candidate": {
        "warns": "Simulated readers whose LM is one of those compared",
        "table": "experiments",
        "why": "The LM that made the reading times predicts them best by construction.",
        "reference": "Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102",
    },
    "searched_on_tested": {
        "warns": "Biases that were searched on the responses that test them",
        "table": "experiments",
        "why": "Parameters chosen to fit a response fit its noise too, so that response no longer tests them.",
        "reference": "Kriegeskorte, Simmons, Bellgowan & Baker (2009), Nature Neuroscience 12, 535-540",
    },
    "sees_later_words": {
        "warns": "Masked LMs that see the words after the scored one",
        "table": "experiments",
        "why": "A pseudo-log-likelihood given later words is no expectation that a reader could have had.",
        "reference": "Salazar, Liang, Nguyen & Kirchhoff (2020), ACL, 2699-2712",
    },
    "single_training": {
        "warns": "Claims about biases in training from one training each",
        "table": "experiments",
        "why": "Two trainings that differ in their seed alone differ too; with one of each, this looks like an effect of the bias.",
        "reference": "Sellam et al. (2022), The MultiBERTs, ICLR",
    },
    "synthetic_training": {
        "warns": "Real readers and an LM, or frequencies, of synthetic text",
        "table": "experiments",
        "why": "An LM of the workflow's synthetic language knows almost no word that real readers read.",
        "reference": "docs/corpora.md",
    },
    "text_in_training": {
        "warns": "Reading-time texts that are in an LM's training text",
        "table": "experiments",
        "why": "An LM has seen the words of its training text, so that its surprisal of them is no expectation.",
        "reference": "docs/text.md, Training text is not evaluated on",
    },
    "twins": {
        "warns": "One network under two names, or an LM listed twice",
        "table": "experiments",
        "why": "Two entries that compute the same surprisal are one LM, which is ranked, tested and corrected for twice.",
        "reference": "docs/how_sure.md",
    },
    "unlike_scoring": {
        "warns": "LMs that are compared, and read texts in different ways",
        "table": "experiments",
        "why": "Windows, and whether a text begins with a token of its own, affect surprisal like a limit on memory.",
        "reference": "Kuribayashi, Oseki, Brassard & Inui (2022), EMNLP, 10421-10436",
    },
    "unlike_trainings": {
        "warns": "A comparison of biases between LMs that were trained differently",
        "table": "experiments",
        "why": "Training text, vocabulary, amount and recipe affect how well surprisal predicts reading times, like the bias itself.",
        "reference": "Oh & Schuler (2023), Findings of EMNLP, 1915-1921",
    },
}


def biased_baseline(plan: Plan) -> Iterator[Finding]:
    """Yield experiments whose baseline LM has a bias, or whose biases have no unbiased LM."""
    for name, experiment in plan.experiments.items():
        lms = plan.lms(name)
        if len(lms) < 2 or not plan.is_biased(experiment["baseline"]):
            continue
        unbiased = [lm for lm in lms if not plan.is_biased(lm)]
        way = (
            f"write `baseline: {unbiased[0]}`" if unbiased else "add the LM without a bias to `lms`"
        )
        yield Finding(
            name,
            "baseline",
            f"{experiment['baseline']!r} has a bias itself",
            f"{way}, and name it as the baseline" if not unbiased else way,
        )


def perplexity_vocabularies(plan: Plan) -> Iterator[Finding]:
    """Yield experiments on perplexity whose networks of words have different tokenizers."""
    for name, experiment in plan.experiments.items():
        if "perplexity" not in experiment:
            continue
        known: dict[str, str] = {}
        for lm in plan.lms(name):
            for root in map(plan.trained_as, plan.members(lm)):
                tokenizer = plan.settings(root).get("tokenizer")
                if (
                    root in plan.trained
                    and plan.config["tokenizers"][tokenizer].get("kind") == "words"
                ):
                    known.setdefault(tokenizer, root)
        if len(known) > 1:
            (a, first), (b, second), *_ = known.items()
            yield Finding(
                name,
                "perplexity",
                f"{first!r} has the words of {a!r}, and {second!r} those of {b!r}",
                "use one tokenizer for all of them",
            )


def reader_is_candidate(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with simulated readers and an LM that computes the same as theirs."""
    for name in plan.experiments:
        for dataset in dict.fromkeys(response["dataset"] for response in plan.responses(name)):
            simulate = plan.config["datasets"][dataset].get("simulate")
            if simulate is None:
                continue
            reader = simulate["reader"]
            made_by = {reader, plan.trained_as(reader)}
            for lm in plan.lms(name):
                same = lm in made_by or identity(plan, lm) == identity(plan, reader)
                if same or plan.trained_as(lm) in made_by:
                    yield Finding(
                        name,
                        "lms",
                        f"{lm!r} is, or has the weights of, {reader!r}, the LM of the readers of {dataset}",
                        "remove it, or train a separate LM for the readers",
                    )


def searched_on_tested(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with a response on which a bias of its LMs was searched."""
    for name, experiment in plan.experiments.items():
        if "search" not in experiment:
            continue
        search = plan.config["searches"][experiment["search"]]
        tested = {(r["dataset"], r["measure"]) for r in plan.responses(name)}
        used = configuration.responses(plan.config, experiment["search"], "searches")
        both = [r for r in used if (r["dataset"], r["measure"]) in tested]
        biases = {plan.config["lms"][lm].get("bias") for lm in plan.lms(name)}
        if both and biases & set(search.get("mark", ())):
            response = "{dataset}.{measure}".format(**both[0])
            yield Finding(
                name,
                "responses",
                f"{response} tests a bias that the search {experiment['search']!r} chose by it",
                "leave the response out, or search on other data",
            )


def sees_later_words(plan: Plan) -> Iterator[Finding]:
    """Yield experiments on reading times with masked LMs scored with `future: seen`."""
    for name, experiment in plan.experiments.items():
        if not experiment.get("responses"):
            continue
        seeing = [
            lm
            for lm in plan.lms(name)
            if plan.settings(lm).get("scoring", {}).get("future", "seen") == "seen"
            and any(configuration.is_masked(plan.config, m) for m in plan.members(lm))
        ]
        if seeing:
            more = f" (and {len(seeing) - 1} more)" if seeing[1:] else ""
            yield Finding(
                name,
                "lms",
                f"{seeing[0]!r}{more} predicts a word from the words after it too",
                "set `scoring: {future: removed}` for reading times",
            )


def single_training(plan: Plan) -> Iterator[Finding]:
    """Yield experiments that compare separately trained networks with one seed."""
    for name, experiment in plan.experiments.items():
        if len(plan.seeds(name)) > 1 or not experiment.get("responses"):
            continue
        baseline = [plan.trained_as(m) for m in plan.members(experiment["baseline"])]
        for lm in plan.lms(name):
            roots = [plan.trained_as(member) for member in plan.members(lm)]
            others = [root for root in roots if root in plan.trained and root not in baseline]
            if others and plan.is_biased(lm) and plan.settings(lm)["applied"] == "training":
                yield Finding(
                    name,
                    "seeds",
                    "biases in training are compared by one training of each LM",
                    "write `seeds: [1, 2, 3]`, which trains each LM three times",
                )
                break


def synthetic_training(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with real reading times and LMs or a unigram model of simulated text."""
    corpora = plan.config["corpora"]
    scale = plan.config["scales"][plan.config["scale"]]
    unigram = plan.config["unigrams"][scale["unigram"]].get("corpus")
    for name in plan.experiments:
        asked = dict.fromkeys(response["dataset"] for response in plan.responses(name))
        real = [d for d in asked if "simulate" not in plan.config["datasets"][d]]
        if not real:
            continue
        members = plan.members_of(name)
        texts = {lm: corpus_of(plan, lm) for lm in members} | {scale["unigram"]: unigram}
        made = [lm for lm, text in texts.items() if "simulate" in corpora.get(text or "", {})]
        if made:
            yield Finding(
                name,
                "responses",
                f"{real[0]} has real readers, and {made[0]!r} knows synthetic text alone",
                "use a corpus of real text, as config/open.yaml does",
            )


#: Part of a list of sources → mark of datasets whose texts are from it.
PARTS_OF_SOURCES = {"brown": "Smith & Levy (2013)"}
FILE_KEYS = ("url", "sha256", "local")


def text_in_training(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with a dataset whose file, or source, is in a training corpus."""
    for name in plan.experiments:
        asked = dict.fromkeys(response["dataset"] for response in plan.responses(name))
        members = plan.members_of(name)
        for dataset in asked:
            for lm in members:
                corpus = corpus_of(plan, lm)
                if corpus is not None and _has_text(plan, corpus, dataset):
                    yield Finding(
                        name,
                        "responses",
                        f"the text of {dataset} is in {corpus!r}, on which {lm!r} is trained",
                        "exclude it from the corpus (`exclude`), or leave the dataset out",
                    )
                    break


def _has_text(plan: Plan, corpus: str, dataset: str) -> bool:
    """Return whether a training corpus has the text of a dataset, as far as files are named."""
    entry, words = plan.config["corpora"][corpus], plan.config["datasets"][dataset]
    named = [f for f in words["words"].values() if isinstance(f, Mapping)]
    own = [entry["file"]] if "file" in entry else []
    own += [
        file if isinstance(file, Mapping) else {"local": file} for file in entry.get("files", ())
    ]
    same = any(f.get(k) == o[k] for f in named for o in own for k in FILE_KEYS if k in o)
    if same or "sources" not in entry:
        return same
    parts = [part for part, mark in PARTS_OF_SOURCES.items() if mark in words.get("cite", "")]
    held = sources.read(sources.resolve(entry["sources"], plan.root), entry.get("exclude", []))
    return any(source.part in parts for source in held) if parts else False


def twins(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with LMs that have the same settings, and with an LM that is listed twice."""
    for name, experiment in plan.experiments.items():
        lms = experiment["lms"]
        for lm in dict.fromkeys(lm for lm in lms if lms.count(lm) > 1):
            yield Finding(name, "lms", f"{lm!r} is listed twice", "name it once")
        first: dict[str, str] = {}
        for lm in plan.lms(name):
            other = first.setdefault(identity(plan, lm), lm)
            if other != lm:
                yield Finding(
                    name,
                    "lms",
                    f"{lm!r} computes the same as {other!r}: no setting distinguishes them",
                    "remove one, or correct its settings",
                )


#: Settings of `scoring` that change surprisal, but for `future`, which experiments compare on purpose.
AFFECTING = ("correction", "first_word", "leading_space", "metric")


def unlike_scoring(plan: Plan) -> Iterator[Finding]:
    """Yield experiments whose networks differ in window, stride or begin token."""
    for name in plan.experiments:
        networks = [
            member
            for lm in plan.lms(name)
            for member in plan.members(lm)
            if configuration.kind_of(plan.settings(member)) == "network"
        ]
        ways = {
            "window": lambda lm: contexts(plan, lm),
            "stride": lambda lm: plan.settings(lm).get("stride"),
            "scoring": lambda lm: {
                key: value
                for key, value in plan.settings(lm).get("scoring", {}).items()
                if key in AFFECTING
            },
            "bos": lambda lm: bool(plan.settings(lm).get("bos", True)),
        }
        for key, way in ways.items():
            values = {lm: way(lm) for lm in networks}
            known = {
                lm: value for lm, value in values.items() if key == "stride" or value is not None
            }
            (first, *others) = known.items() if known else ((None, None),)
            other = next((item for item in others if item[1] != first[1]), None)
            if other is not None:
                lm, value = other
                yield Finding(
                    name,
                    "lms",
                    f"{first[0]!r} has the {key} {first[1]}, and {lm!r} {value}",
                    "give all of them the same, or compare the settings by `sensitivity`",
                )


def unlike_trainings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments about biases with LMs that differ from the baseline in another respect."""
    for name, experiment in plan.experiments.items():
        baseline = experiment["baseline"]
        if not any(plan.is_biased(lm) for lm in plan.lms(name)):
            continue
        different: dict[tuple[str, ...], list[str]] = {}
        for lm in plan.lms(name):
            if kinds := differences(plan, lm, baseline):
                different.setdefault(tuple(kinds), []).append(lm)
        for kinds, lms in different.items():
            more = f" (and {len(lms) - 1} more)" if lms[1:] else ""
            yield Finding(
                name,
                "lms",
                f"{lms[0]!r}{more} differs from the baseline {baseline!r} in {' and '.join(kinds)} too",
                "use a baseline that differs in the bias alone, or a separate experiment",
            )
