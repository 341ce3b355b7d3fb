"""Rule estimate_unigrams: a unigram model of a corpus, by KenLM's lmplz."""

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
from job import InputError, logged, progress, whole

#: What lmplz takes for its own; they would stop it, and no reading-time corpus has them.
RESERVED = ("<s>", "</s>", "<unk>")


def main(text: Path, out: Path, memory: str = "1G", lmplz: str = "lmplz") -> None:
    """Stream a corpus through `lmplz -o 1` and write the ARPA file.

    Words are what white space delimits; each line of the text is a sentence to KenLM. Memory is
    flat in the corpus's size. Raises InputError if lmplz is not there or fails.
    """
    table = pq.ParquetFile(text)
    shown = progress(table.num_row_groups, "count unigrams", "row groups")
    with whole(out) as arpa:
        # Small corpora lack the counts of counts that discounts are estimated from.
        command = [lmplz, "-o", "1", "-S", memory, "-T", str(arpa.parent)]
        command += ["--discount_fallback", "--skip_symbols", "--arpa", str(arpa)]
        try:
            job = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=sys.stderr)
        except FileNotFoundError:
            raise InputError(
                f"KenLM's {lmplz} is not on the PATH; `make setup` builds it, and "
                "`snakemake --use-conda` brings it"
            ) from None
        try:
            for group in range(table.num_row_groups):
                for document in table.read_row_group(group, ["text"])["text"].to_pylist():
                    job.stdin.write(document.encode() + b"\n")
                shown.update(group + 1)
            job.stdin.close()
        except BrokenPipeError:
            pass  # lmplz died; its status tells
        if job.wait() != 0:
            raise InputError(f"lmplz failed on {text} (status {job.returncode}); its words are above")


if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(text=snakemake.input.text, out=snakemake.output[0], memory=snakemake.params.memory)
