"""Rule not_run: list the datasets that were left out, and why, so that the result says so."""

from pathlib import Path

import pandas as pd

from recency.files import atomic


def main(datasets: list[dict], out: Path) -> None:
    """Write dataset, measure, reason for each response that was not run; often none."""
    with atomic(out) as path:
        table = pd.DataFrame(datasets, columns=["dataset", "measure", "reason"])
        table.to_csv(path, index=False, lineterminator="\n")
