"""Rule triggering: how much likelier a word is so many words after another one."""

from recency.evaluations.triggering.count import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
