"""`recency convert`: convert a masked LM of fairseq to a folder."""

from recency.networks import fairseq_checkpoints
from recency.scoring import tokenizer as tokenizer_files


def run(checkpoint: str, dictionary: str, tokenizer: str, out: str, allow_pickle: bool) -> None:
    """Convert a checkpoint; parameters as for `fairseq_checkpoints.convert`."""
    of_gpt2, _ = tokenizer_files.load(tokenizer, tokenizer if tokenizer.endswith(".json") else None)
    fairseq_checkpoints.convert(checkpoint, dictionary, of_gpt2, out, allow_pickle)
