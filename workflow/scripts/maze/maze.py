"""Rule maze_choices: choices between words and foils, and contrasts between versions of items."""

from recency.evaluations.maze.choices import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
