"""Reading-time texts that are in an LM's training text."""

from collections.abc import Iterator, Mapping

from recency import sources
from recency.workflow.lint import Finding, Plan, corpus_of

RULE = {
    "table": "experiments",
    "why": "An LM has seen the words of its training text, so that its surprisal of them is no expectation.",
    "reference": "docs/text.md, Training text is not evaluated on",
}

#: Part of a list of sources → mark of datasets whose texts are from it.
PARTS = {"brown": "Smith & Levy (2013)"}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with a dataset whose file, or source, is in a training corpus."""
    for name in plan.experiments:
        asked = dict.fromkeys(response["dataset"] for response in plan.responses(name))
        members = plan.members_of(name)
        for dataset in asked:
            for lm in members:
                corpus = corpus_of(plan, lm)
                if corpus is not None and _holds(plan, corpus, dataset):
                    yield Finding(
                        name,
                        "responses",
                        f"the text of {dataset} is in {corpus!r}, on which {lm!r} is trained",
                        "exclude it from the corpus (`exclude`), or leave the dataset out",
                    )
                    break


def _holds(plan: Plan, corpus: str, dataset: str) -> bool:
    """Return whether a training corpus has the text of a dataset, as far as files are named."""
    entry, words = plan.config["corpora"][corpus], plan.config["datasets"][dataset]
    named = [f for f in words["words"].values() if isinstance(f, Mapping)]
    own = [entry["file"]] if "file" in entry else []
    own += [{"local": path} for path in entry.get("files", ())]
    same = any(f.get(k) == o[k] for f in named for o in own for k in KEYS if k in o)
    if same or "sources" not in entry:
        return same
    parts = [part for part, mark in PARTS.items() if mark in words.get("cite", "")]
    held = sources.read(sources.resolve(entry["sources"], plan.root), entry.get("exclude", []))
    return any(source.part in parts for source in held) if parts else False


KEYS = ("url", "sha256", "local")
