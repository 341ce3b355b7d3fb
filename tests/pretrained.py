"""A real pretrained language model, where there is one, for tests that random weights cannot replace.

$RECENCY_PRETRAINED names a folder with a causal LM and its tokenizer, as save_pretrained writes it.
"""

import os

import pytest

FOLDER = os.environ.get("RECENCY_PRETRAINED", "")
needs_pretrained = pytest.mark.skipif(
    not FOLDER, reason="$RECENCY_PRETRAINED names no folder of a pretrained LM"
)
