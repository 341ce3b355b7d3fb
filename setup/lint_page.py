"""Print docs/lint.md, the page of the linter's rules, from the rules.

.venv/bin/python setup/lint_page.py > docs/lint.md, after a change of a rule.
"""

from recency import plugins
from recency.workflow import lint

HEAD = """\
# The linter

Some configs are valid and doubtful science: a predictor that depends on others, a network under two names, a filter that
cuts one tail of the times. Each run checks its experiments by the rules below and warns, with the name of the rule: in the
plan (`./run -n`), in `summary.txt` and in `report.html`. Warnings stop nothing. Rules read the config alone; *fewer than
eight subjects* and *linear dependence* are also reported of the data, once models are fitted.

## Accepting a finding

A finding may be intended: a replication has the weaknesses of its paper. `accept` silences a rule, at the top level or in
the entry that it names, with the reason as a comment. Summary and report list what was accepted.

```yaml
designs:
  eye_tracking:
    accept: [random_slopes]           # as published: the slope of previous_surprisal did not converge
accept: [single_training]             # in all experiments
```

Entries of %s have `accept`. In `datasets` and `lms` it also names [checks of data](corpora.md#checks-that-stop-an-analysis).
A name that is neither is refused, with the nearest one.

## Rules

`recency extensions` lists these and those of other packages."""

TAIL = """
## A rule of your own

A rule is a function in a file of `src/recency/workflow/lint/`, or of a module of another package
([extensions](extensions.md)), and an entry of the file's `RULES`, with what it warns of, the table whose entries it reports,
why, and a reference. The function yields each doubtful entry with its key, the problem, and the way out. `Plan` has the
experiments of the run with their LMs, designs and datasets.

```python
\"""Rules on corpora.\"""

from recency.workflow.lint import Finding, Plan

RULES = {
    "one_corpus": {
        "warns": "Experiments with a single corpus",
        "table": "experiments",
        "why": "An effect in one corpus may be of its texts.",
        "reference": "Clark (1973), Journal of Verbal Learning and Verbal Behavior 12, 335-359",
    },
}


def one_corpus(plan: Plan):
    \"""Yield experiments whose responses are of one dataset.\"""
    for name in plan.experiments:
        if len({response["dataset"] for response in plan.responses(name)}) == 1:
            yield Finding(name, "responses", "one dataset", "add another corpus")
```

Add overlays that it warns of, and one that it does not, to `tests/doubtful_configs.py`, and run
`python setup/lint_page.py > docs/lint.md`."""
TITLES = {"": "top level"}


def page() -> str:
    """Return the page."""
    tables = [f"`{table}`" for table in lint.ACCEPTING]
    lines = [HEAD % f"{', '.join(tables[:-1])} and {tables[-1]}"]
    others = plugins.provided(lint.PACKAGE)
    ours = {name: rule for name, rule in lint.rules().items() if rule.module not in others}
    for table in dict.fromkeys(rule.table for rule in ours.values()):
        where = (
            f"of `{table}`"
            if table in lint.ACCEPTING
            else f"of `{table}` (accepted at the top level)"
        )
        lines += ["", f"### Entries {where}", "", "| rule | warns of | why | reference |"]
        lines.append("|---|---|---|---|")
        for name, rule in ours.items():
            if rule.table == table:
                cells = (f"`{name}`", rule.warns, rule.why.rstrip("."), rule.reference)
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, TAIL])


if __name__ == "__main__":
    print(page())
