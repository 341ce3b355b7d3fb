"""Perplexities of LMs with different lists of words."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "Words outside a shorter list share one probability, so that an LM with fewer words has a lower perplexity.",
    "reference": "Cotterell, Mielke, Eisner & Roark (2018), NAACL, 536-541",
}


def findings(plan: Plan) -> Iterator[Finding]:
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
