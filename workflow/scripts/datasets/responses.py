"""Read each subject's response to each word of a reading-time corpus, without filters."""

from recency.reading.responses import main
from recency.workflow.engine.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        settings = dict(snakemake.params)
        files = dict(zip(settings.pop("roles"), snakemake.input.files, strict=True))
        words = snakemake.input.words
        main(files=files, words=words, out=snakemake.output[0], **settings)
