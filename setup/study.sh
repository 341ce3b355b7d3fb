#!/usr/bin/env bash
# Run config.NAME.yaml, write its report and say where everything is: setup/study.sh NAME
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
config=config.$1.yaml

./run --configfile "$config" --cores "${CORES:-all}"

results=$(.venv/bin/python - "$config" <<'PYTHON'
import sys, yaml
values = {}
for path in ("config.yaml", sys.argv[1]):
    with open(path) as file:
        values |= yaml.safe_load(file)
print("results", values["study"], values["scale"], sep="/")
PYTHON
)
./run --configfile "$config" --quiet all --report "$results/report.html"

echo
if [[ -f $results/summary.txt ]]; then cat "$results/summary.txt"; fi
echo "figures:"
find "$results" \( -name '*.png' -o -name '*.svg' -o -name '*.pdf' \) | sort | sed 's/^/  /'
echo "report: $results/report.html"
