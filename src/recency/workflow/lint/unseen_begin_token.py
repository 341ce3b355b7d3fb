"""A begin token that the LM has never seen in training."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "scales",
    "why": "The token's embedding is random then, and affects the surprisal of every text's first words.",
    "reference": "docs/surprisal.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
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
