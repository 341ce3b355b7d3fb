"""What `make test-open` runs can be planned: `make test` runs none of it."""

import open_targets
from project import plan, planned


def test_every_target_of_the_open_study_is_planned(tmp_path):
    targets, configs = open_targets.write(tmp_path / "study")
    run = plan(tmp_path / "study", *targets, configs=configs)
    assert run.returncode == 0, run.stdout[-3000:]
    jobs = planned(run.stdout)
    assert jobs["train"] > 40 and jobs["prepare_text"] > 4
    assert [each for each in targets if f"rule {each}:" not in run.stdout] == []
