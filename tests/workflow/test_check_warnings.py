"""`./run check_<dataset>` ends with the report's warnings."""

import logging
from types import SimpleNamespace

from snakemake.logging import logger

from recency.workflow.engine import start


def test_warnings_of_a_check_that_was_a_target_are_logged(tmp_path, caplog, monkeypatch):
    rows = "measure,kind,name,value\nSPR,warning,units,are they seconds?\n,warning,encoding,lost\n"
    for dataset, table in {
        "mine": rows,
        "good": "measure,kind,name,value\nSPR,n,items,5\n",
    }.items():
        folder = tmp_path / "datasets" / dataset
        folder.mkdir(parents=True)
        (folder / "check.csv").write_text(table)
    config = {"datasets": dict.fromkeys(["mine", "good", "other"])}
    study = SimpleNamespace(config=config, resolve=lambda _: str(tmp_path))
    monkeypatch.setattr(logger, "propagate", True)
    with caplog.at_level(logging.INFO, logger.name):
        start.say_warnings(study, ["check_mine", "check_good", "exp1"])
    assert caplog.messages == [
        f"{tmp_path}/datasets/mine/check.html: 2 warnings",
        "  SPR, units: are they seconds?",
        "  words, encoding: lost",
        f"{tmp_path}/datasets/good/check.html: no warnings",
    ]
