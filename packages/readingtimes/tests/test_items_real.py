"""A published experiment as its authors' table has it: garden paths by item and condition."""

import pandas as pd
import pytest

from item_tables import parsed
from readingtimes.errors import InputError


@pytest.fixture
def table(shared_data, tmp_path):
    """Write a row an item and condition, from the authors' rows of words; made-up times."""
    path = shared_data / "sap" / "items_ClassicGP.gpt2.csv.gz"
    if not path.exists():
        pytest.skip("the SAP benchmark is not here")
    words = pd.read_csv(path)
    frame = words.drop_duplicates(["item", "condition"]).reset_index(drop=True)
    frame = frame[["item", "condition", "Sentence", "disambPosition_0idx"]].assign(rt=300)
    frame["rt"] += frame.index
    frame.to_csv(tmp_path / "sap.csv", index=False)
    return tmp_path / "sap.csv", frame, words


def test_positions_from_0_are_the_disambiguating_words(table):
    path, frame, words = table
    columns = {"sentence": "Sentence", "position": "disambPosition_0idx", "RT": "rt"}
    with pytest.raises(InputError, match="say `join: {position: from 0}`"):
        parsed(path, "RT", columns=columns)
    known, found = parsed(path, "RT", columns=columns, join={"position": "from 0"})
    assert known["item"].nunique() == len(frame) == 144
    asked = words[words.word_pos == words.disambPosition_0idx].set_index(["item", "condition"]).word
    times = frame.set_index(["item", "condition"]).rt
    for row in found.merge(known, on="word_id").itertuples():
        key = (int(row.stimulus), row.condition)
        assert (row.word, row.time_ms, row.region) == (asked[key], times[key], "critical")
    wrong = frame.assign(target=frame.Sentence.str.split().str[4])
    wrong.to_csv(path, index=False)
    with pytest.raises(InputError, match="and critical is|occurs 2 times|position"):
        parsed(path, "RT", columns=columns | {"critical": "target"}, join={"position": "from 0"})
