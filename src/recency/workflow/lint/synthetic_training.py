"""Real readers and an LM, or frequencies, of synthetic text."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan, corpus_of

RULE = {
    "table": "experiments",
    "why": "An LM of the workflow's synthetic language knows almost no word that real readers read.",
    "reference": "docs/corpora.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
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
                "use a corpus of real text, as config.open.yaml does",
            )
