"""Skipping of a real corpus, read a second way: UCL's words without a first-pass time."""

import pandas as pd

from project import load
from recency.reading import observations, responses, words


def test_ucls_skipped_words(shared_data, tmp_path):
    dataset = load()["datasets"]["ucl_eye_tracking"]
    skip = dataset["measures"]["skip"]
    out = {name: tmp_path / f"{name}.parquet" for name in ("words", "responses", "fit")}
    words.main(
        {"stimuli": shared_data / "ucl" / "stimuli.txt"}, "ucl_eye_tracking", {}, out["words"]
    )
    times = {"times": shared_data / "ucl" / "eyetracking.RT.txt.gz"}
    responses.main(times, out["words"], "ucl_eye_tracking", skip["of"], {}, out["responses"])
    filters = [{"name": name, "keep": dataset["filters"][name]} for name in skip["filters"]]
    observations.main(
        out["words"], out["responses"], filters, out["fit"], tmp_path / "counts.csv",
        event=skip["event"],
    )  # fmt: skip
    found = pd.read_parquet(out["fit"])
    raw = pd.read_csv(times["times"], sep="\t", encoding="latin-1")
    last = raw.groupby("sent_nr").word_pos.transform("max")
    raw = raw[(raw.word_pos > 1) & (raw.word_pos < last)]
    assert (len(found), found.subject.nunique()) == (len(raw), raw.subj_nr.nunique())
    by_subject = found.groupby(found.subject.astype(int)).event.sum()
    there = (raw.RTfirstpass == 0).groupby(raw.subj_nr).sum()
    assert by_subject.astype(int).to_dict() == there.to_dict()
    assert round(found.event.mean(), 3) == 0.348
