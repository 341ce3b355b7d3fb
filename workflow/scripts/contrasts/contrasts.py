"""Rule contrasts: differences between words in responses and surprisal, by item and over items."""

from recency.evaluations.contrasts.item_effects import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
