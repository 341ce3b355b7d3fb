"""Rule not_run: list the skipped datasets with reasons."""

from pathlib import Path

import pandas as pd

from readingtimes.files import atomic


def main(datasets: list[dict], out: Path) -> None:
    """Write dataset, measure and reason for each response that was not run."""
    with atomic(out) as path:
        table = pd.DataFrame(datasets, columns=["dataset", "measure", "reason"])
        table.to_csv(path, index=False, lineterminator="\n")
