"""REPLICA's predictor store: its files as tables of surprisals.

The schemas are restated here as its predictor_store/layout.py has them (replicaverse 0.0.1).
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from project import assert_is_refused
from readingtimes.contracts import word_table
from recency.errors import REFUSALS
from recency.scoring import surprisal_table
from recency.workflow.config import loading
from recency.workflow.plan.study import Study

WORD_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("dataset", "tag", "predictor", "stimulus_id")),
        ("unit_index", pa.int32()),
        ("text_unit", pa.string()),
        ("value", pa.float64()),
        ("value_unit", pa.string()),
        ("layer", pa.int32()),
        ("storage_class", pa.string()),
        ("unit_rule", pa.string()),
    ]
)
TOKEN_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("dataset", "tag", "predictor", "stimulus_id")),
        *((name, pa.int32()) for name in ("token_index", "span_start", "span_end")),
        ("token_id", pa.int64()),
        ("token", pa.string()),
        ("value", pa.float64()),
        ("value_unit", pa.string()),
    ]
)
TEXTS = {
    "1": [
        "The",
        "miller",
        "slowly",
        "opened",
        "the",
        "old",
        "gate",
        ".",
        "He",
        "went",
        "home",
        "before",
        "the",
        "rain",
    ],
    "2": ["A", "sailor", "painted", "two", "boats", "while", "nobody", "watched", "him", "work"],
    "3": [
        "Every",
        "morning",
        "the",
        "baker",
        "walks",
        "along",
        "the",
        "river",
        "to",
        "his",
        "shop",
    ],
}
RANDOM = np.random.default_rng(8)
BITS = {item: RANDOM.gamma(4, 2, len(words)).round(3) for item, words in TEXTS.items()}


@pytest.fixture
def words():
    flat = [(item, word) for item, text in TEXTS.items() for word in text]
    items, shown = zip(*flat, strict=True)
    return word_table(items, [int(item) for item in items], shown)


def store(
    path, tags=("gpt2_surprisal_mills", "other_surprisal_mills"), change=None, dataset="mills"
):
    """Write a word table of the store: each tag has other values; the first tag's are BITS."""
    rows = []
    for number, tag in enumerate(tags):
        for item, text in TEXTS.items():
            for index, word in enumerate(text):
                bits = float(BITS[item][index]) + number
                base = {"dataset": dataset, "tag": tag, "stimulus_id": f"mill_{item}"}
                base |= {"unit_index": index, "text_unit": word}
                rows.append(base | {"predictor": "surprisal", "value": bits, "value_unit": "bits"})
                nats = -bits * np.log(2)
                rows.append(
                    base | {"predictor": "log_p_observed", "value": nats, "value_unit": "nats"}
                )
    frame = pd.DataFrame(rows).reindex(columns=WORD_SCHEMA.names)
    frame = frame if change is None else change(frame)
    pq.write_table(pa.Table.from_pandas(frame, schema=WORD_SCHEMA, preserve_index=False), path)
    return path


def read(words, path, dataset="mills", **entry):
    """Read a store as the workflow does: the entry in full, its rows for a dataset."""
    config = {
        "lms": {"X": {"surprisals": {"replica": {"tag": "gpt2_surprisal_{dataset}"} | entry}}}
    }
    loading.expand_replica(config)
    settings = Study.table_settings(StudyOf(config), "X", dataset)
    return surprisal_table.score(words, path, dataset=dataset, **settings)


class StudyOf:
    def __init__(self, config):
        self.lms = config["lms"]


@pytest.mark.parametrize("predictor", ["surprisal", "log_p_observed"])
def test_one_tag_of_a_store_is_read_and_verified_by_its_words(tmp_path, words, predictor):
    result = read(words, store(tmp_path / "mills.parquet"), predictor=predictor)
    expected = np.concatenate(list(BITS.values()))
    assert result.table.surprisal_bits.to_numpy() == pytest.approx(expected, rel=1e-12)
    assert "verified by the words, 100 %" in " ".join(result.notes)


def test_the_tokens_of_a_store_are_summed_to_words(tmp_path, words):
    rows, expected = [], []
    for item, text in TEXTS.items():
        place, tokens = 0, []
        for word, bits in zip(text, BITS[item], strict=True):
            cut = len(word) // 2
            parts = [word[:cut], word[cut:]] if cut else [word]
            for number, part in enumerate(parts):
                tokens.append(
                    (
                        part if number or not place else f" {part}",
                        place,
                        place + len(part),
                        bits / len(parts),
                    )
                )
                place += len(part)
            expected.append(bits)
            place += 1
        for index, (token, start, end, bits) in enumerate(tokens):
            rows.append({"dataset": "mills", "tag": "gpt2_surprisal_tokens_mills", "predictor": "log_p_observed",
                         "stimulus_id": f"mill_{item}", "token_index": index, "span_start": start,
                         "span_end": end, "token_id": 7, "token": token,
                         "value": -bits * np.log(2), "value_unit": "nats"})  # fmt: skip
    path = tmp_path / "mills.parquet"
    table = pa.Table.from_pandas(pd.DataFrame(rows), schema=TOKEN_SCHEMA, preserve_index=False)
    pq.write_table(table, path)
    result = read(words, path, tag="gpt2_surprisal_tokens_{dataset}", unit="tokens")
    assert result.table.surprisal_bits.to_numpy() == pytest.approx(expected, rel=1e-12)
    assert result.table.tokens.sum() == len(rows)


def other_words(frame):
    return frame.assign(text_unit=frame.text_unit.map(lambda word: f"x{word[::-1]}"))


def moved(frame):
    texts = frame.groupby(["tag", "predictor", "stimulus_id"])
    return frame.assign(text_unit=texts.text_unit.shift(1).fillna("Well"))


@pytest.mark.parametrize(
    ("change", "entry", "message"),
    [
        (other_words, {}, "no alignment gives the rows their own words"),
        (moved, {}, "the words in order leave out too many rows"),
        (None, {"tag": "gpt3_surprisal_{dataset}"}, "no row has 'gpt3_surprisal_mills' as tag.*'gpt2_surprisal_mills'"),
        (lambda f: f.assign(value_unit="nats"), {}, "no row has 'bits' as value_unit"),
        (lambda f: f.assign(text_unit=None), {}, "text_unit is empty in all selected rows"),
        (lambda f: f[f.stimulus_id != "mill_3"], {}, "11 of 35 words have no value"),
    ],
)  # fmt: skip
def test_a_store_that_cannot_be_verified_is_refused(tmp_path, words, change, entry, message):
    path = store(tmp_path / "mills.parquet", change=change)
    with pytest.raises(REFUSALS, match=message):
        read(words, path, **entry)


def test_a_store_calls_the_dataset_otherwise(tmp_path, words):
    config = {"lms": {"X": {"surprisals": {"replica": {"tag": "gpt2_surprisal_{dataset}"}, "datasets": {"mine": "mills"}}}}}  # fmt: skip
    loading.expand_replica(config)
    settings = Study.table_settings(StudyOf(config), "X", "mine")
    assert settings["rows"]["tag"] == ["gpt2_surprisal_mills"]
    path = store(tmp_path / "mills.parquet")
    result = surprisal_table.score(words, path, dataset="mine", **settings)
    assert not result.table.surprisal_bits.isna().any()


def test_what_replica_says_is_not_said_twice():
    entry = {"replica": {"tag": "a"}, "unit": "nats"}
    with pytest.raises(
        REFUSALS, match="lms → X → surprisals → unit: it cannot be combined with `replica`"
    ):
        loading.expand_replica({"lms": {"X": {"surprisals": entry}}})


def test_many_lms_of_a_store_are_one_entry(tmp_path, words):
    path = store(tmp_path / "mills.parquet")
    tags = {"GPT-2": "gpt2_surprisal_{dataset}", "other": "other_surprisal_{dataset}"}
    config = {
        "lms": {},
        "lms_from": {
            "published": {
                "tags": tags,
                "tables": {"mills": {"local": str(path)}},
                "accept": ["surprisal"],
            },
        },
    }
    for _ in range(2):  # a complete config stays as it is
        loading.expand(config)
        loading.expand_replica(config)
    assert config["lm_groups"] == {"published": ["GPT-2", "other"]}
    assert [lm["accept"] for lm in config["lms"].values()] == [["surprisal"]] * 2
    assert all("accept" not in lm["surprisals"] for lm in config["lms"].values())
    found = [
        surprisal_table.score(
            words, path, dataset="mills", **Study.table_settings(StudyOf(config), lm, "mills")
        )
        for lm in tags
    ]
    difference = found[1].table.surprisal_bits - found[0].table.surprisal_bits
    assert difference.to_numpy() == pytest.approx(np.ones(len(words)))


TABLES = "tables: {provo: {url: 'https://a.org/x'}}"
REFUSED = {
    f"lms: {{X: {{surprisals: {{replica: {{unit: words}}, {TABLES}}}}}}}": "replica: 'tag' is missing",
    f"lms: {{X: {{surprisals: {{replica: {{tag: x, predictor: entropy}}, {TABLES}}}}}}}": (
        "lms → X → surprisals → replica → predictor: 'entropy' is not one of"
    ),
    f"lms: {{X: {{surprisals: {{unit: bits, rows: {{tag: []}}, columns: {{surprisal: s, word_id: w}}, {TABLES}}}}}}}": (
        "lms → X → surprisals → rows → tag"
    ),
}


@pytest.mark.parametrize("overlay", REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_is_refused_when_the_config_is_read(overlay):
    assert_is_refused(overlay, REFUSED[overlay])
