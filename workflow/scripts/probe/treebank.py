"""Rule treebank: the syntactic words of a treebank in CoNLL-U, with their heads and relations."""

from recency.evaluations.probe.treebank import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(dict(snakemake.input.items()), snakemake.output[0])
