"""The order of the tokens that are trained on, and the text that is held out."""

import numpy as np
import pytest

from recency.errors import InputError
from recency.networks.stream import TokenStream
from training_job import write_stream


def test_sequential_order_is_the_file_and_starts_over(tmp_path):
    stream = TokenStream(*write_stream(tmp_path, range(25)), 4, "sequential", 0)
    inputs, targets = stream.batch(0, 5)
    assert inputs[:, 0].tolist() == [0, 5, 10, 15, 20]
    assert targets[1].tolist() == [6, 7, 8, 9]
    assert stream.batch(5, 1)[0].tolist() == [[0, 1, 2, 3]]


def test_shuffled_order_sees_each_row_once_an_epoch(tmp_path):
    stream = TokenStream(*write_stream(tmp_path, range(1000)), 4, "shuffled", 3)
    first = stream.batch(0, 200)[0][:, 0].tolist()
    second = stream.batch(200, 200)[0][:, 0].tolist()
    assert sorted(first) == sorted(second) == list(range(0, 1000, 5))
    assert first != second
    assert stream.batch(57, 1)[0][0, 0] == first[57]


def test_too_little_text(tmp_path):
    with pytest.raises(InputError, match="7 tokens do not fill one row of 17"):
        TokenStream(*write_stream(tmp_path, range(7)), 16, "sequential", 0)


def test_held_out_documents_are_trained_on_by_no_row(tmp_path):
    """Documents of ten tokens and their end (0), numbered; a stretch of 16 tokens is two of them."""
    documents = np.repeat(np.arange(1, 201), 11)
    documents[10::11] = 0
    stream = TokenStream(*write_stream(tmp_path, documents, 256), 4, "shuffled", 0, 128)
    trained = np.unique(stream.batch(0, stream.rows)[0])
    inputs, targets = stream.validation_batch(0, 100)
    held_out = np.unique(np.append(inputs, targets))
    assert not set(trained) & set(held_out) - {0}
    starts = stream.validation[np.append(True, np.diff(stream.validation) > 5)]
    assert len(starts) == 8 and (starts % 11 == 0).all()  # each where a document begins
    assert np.ptp(np.diff(starts)) <= 22  # evenly spaced
    assert len(stream.validation) * 5 <= 8 * 22


def test_a_long_document_is_cut_for_validation(tmp_path):
    stream = TokenStream(*write_stream(tmp_path, np.ones(4000)), 4, "sequential", 0, 160)
    assert len(stream.validation) == 8 * 4 and stream.rows == 800 - 8 * 4


@pytest.mark.parametrize("tokens", [8, 3000])
def test_validation_of_too_few_or_too_many_tokens_is_refused(tmp_path, tokens):
    files = write_stream(tmp_path, np.ones(4000))
    with pytest.raises(InputError, match=f"`validation` of {tokens:,} tokens.*another number"):
        TokenStream(*files, 4, "sequential", 0, tokens)
