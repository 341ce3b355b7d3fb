"""Corpus sizes: tokens and unknown words of the parts of a corpus (thesis, Tables 3.1 and 4.1)."""

from recency.evaluations.registry import Evaluation, settings
from recency.planned import Planned

KEY = "corpus_sizes"


def _texts(study: Planned, experiment: str) -> list[str]:
    parts = settings(KEY, study.config, experiment)["parts"]
    return [f"<results>/corpora/{corpus}/text.parquet" for corpus in parts.values()]


EVALUATION = Evaluation(
    key=KEY,
    uses_lms=False,
    inputs={"texts": _texts},
    settings={"sizes": lambda study, experiment: settings(KEY, study.config, experiment)},
)
