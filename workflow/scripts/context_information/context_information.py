"""Rule context_information: surprisal of words after their whole context, and after its last k words."""

from recency.evaluations.context_information.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
