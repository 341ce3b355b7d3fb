#!/usr/bin/env bash
# Run config/NAME.yaml and print the location of its results: setup/study.sh NAME
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
config=config/$1.yaml

./run --configfile "$config" --cores "${CORES:-all}"

results=$(PYTHONPATH=src:packages/crosslmm/src:packages/readingtimes/src .venv/bin/python - "$config" <<'PYTHON'
import sys
from recency.workflow.config import loading
config = loading.load(".", sys.argv[1])
print("results", config["study"], config["scale"], sep="/")
PYTHON
)
echo
if [[ -f $results/summary.txt ]]; then cat "$results/summary.txt"; fi
echo "figures:"
find "$results" \( -name '*.png' -o -name '*.svg' -o -name '*.pdf' \) | sort | sed 's/^/  /'
# Print the verdict again after the list of figures, then the report.
if [[ -f $results/summary.txt ]]; then echo; sed '/^$/q' "$results/summary.txt"; fi
if [[ -f $results/report.html ]]; then echo "open in a browser: $results/report.html"; fi
