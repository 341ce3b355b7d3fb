"""Rule effects_by_item: effects of contrasts by item, partially pooled, and their prediction."""

from recency.evaluations.effects_by_item.observed_and_predicted import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
