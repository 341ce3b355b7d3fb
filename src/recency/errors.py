"""The classes of errors and warnings for users, and the page of the documentation about an error."""

import traceback

from crosslmm.errors import InputError as InputError  # noqa: PLC0414, one class for both
from readingtimes import errors as reading_errors
from readingtimes.errors import InputWarning as InputWarning  # noqa: PLC0414
from readingtimes.errors import first_line as first_line  # noqa: PLC0414
from readingtimes.errors import warn as warn  # noqa: PLC0414
from readingtimes.errors import warnings_in_lines as warnings_in_lines  # noqa: PLC0414

#: The errors of invalid input: of this package and crosslmm, and of readingtimes.
REFUSALS = (InputError, reading_errors.InputError)

#: Page of the documentation → packages whose errors it explains.
_PACKAGES = {
    "config/README.md": "workflow",
    "docs/abusive_words.md": "evaluations.abusive_words",
    "docs/attention_heads.md": "evaluations.attention_by_distance evaluations.attention_maps evaluations.dependencies",
    "docs/babylm.md": "evaluations.babylm",
    "docs/biases.md": "attention",
    "docs/corpora.md": "reading evaluations.conditions evaluations.contrasts evaluations.dataset_check",
    "docs/devarda_marelli.md": "evaluations.bias_search evaluations.item_means",
    "docs/explorer.md": "evaluations.explore",
    "docs/extensions.md": "plugins",
    "docs/faults.md": "lineage",
    "docs/conditions.md": "evaluations.conditions",
    "docs/how_sure.md": "evaluations.pooled evaluations.power evaluations.reading_times",
    "docs/installation.md": "networks.hub_download",
    "docs/languages.md": "languages",
    "docs/learning_curves.md": "evaluations.curves",
    "docs/lossy.md": "scoring.lossy networks.erasures",
    "docs/masked_evaluations.md": "evaluations.glue evaluations.length",
    "docs/masked_lms.md": "networks.roberta networks.masked_training",
    "docs/measured_memory.md": "evaluations.measured_memory evaluations.context_information evaluations.temporal_correlation evaluations.triggering",
    "docs/memories.md": "networks.memories evaluations.nearest_words",
    "docs/minimal_pairs.md": "evaluations.minimal_pairs",
    "docs/mixed_models.md": "export",
    "docs/penn_treebank.md": "evaluations.text_perplexity evaluations.corpus_sizes evaluations.learned_weights",
    "docs/probing.md": "evaluations.probe",
    "docs/rare_words.md": "evaluations.rare_words",
    "docs/regression.md": "regression evaluations.linearity evaluations.sensitivity",
    "docs/serial_position.md": "evaluations.serial_position",
    "docs/surprisal.md": "scoring networks",
    "docs/text.md": "text",
    "docs/thesis_measures.md": "evaluations.families evaluations.maze evaluations.rank_metrics evaluations.turing_test "
    "evaluations.word_length",
}
PAGES = {
    f"recency.{package}": page
    for page, packages in _PACKAGES.items()
    for package in packages.split()
}
PAGES |= {"crosslmm": "docs/mixed_models.md", "crosslmm.stats": "docs/how_sure.md"}
PAGES |= {"readingtimes": "docs/corpora.md", "readingtimes.joins": "docs/joins.md"}


def with_page(error: BaseException, message: str) -> str:
    """Return the message and the page about the package that raised the error, unless it names one."""
    if "docs/" in message:
        return message
    while isinstance(error.__cause__, REFUSALS):  # raised again with file or job
        error = error.__cause__
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        name = frame.f_globals.get("__name__", "")
        while name:
            if name in PAGES:
                return f"{message} ({PAGES[name]})"
            name = name.rpartition(".")[0]
    return message
