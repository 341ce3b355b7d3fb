"""Rule remember_lists: recognition and free recall of lists of words."""

from recency.evaluations.serial_position.remember import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
