#!/usr/bin/env bash
# Snakemake runs this in the new environment, from the project's root.
set -euo pipefail
bash setup/kenlm.sh "$CONDA_PREFIX" "$CONDA_PREFIX/bin/python"
