"""Rule treebank: the syntactic words of a treebank in CoNLL-U, with their heads and relations."""

from recency.evaluations.probe.treebank import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
