# make demo    the simulated study, with all its own set-up: minutes on two cores, downloads no data
# make test    the tests, with all their own set-up
# make open    real, openly available text and reading times: hours on a workstation
# make test-faults | test-slurm    what takes long: jobs killed, disks full, files damaged; a Slurm of its own
# make test-open    every target of the open study, with networks of twelve steps: an hour of one core
# make docs    the documentation as a site, in build/site: Python 3.11 and two minutes
# make setup | lint | notebook | lock | clean

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo open test test-faults test-open test-slurm lint docs notebook lock clean

CORES ?= $(shell getconf _NPROCESSORS_ONLN)
export CORES
unexport PYTHONPATH PYTHONHOME

help:
	@sed -n 's/^# \(make\)/\1/p' Makefile

setup:
	@./setup.sh

# What ./run gives to Snakemake's jobs, for the tests and checks.
tools = PATH="$$PWD/.venv/bin:$$PWD/.tools/bin:$$PWD/.tools/kenlm/bin:$$PATH" \
	RPY2_CFFI_MODE=ABI OPENBLAS_NUM_THREADS=1

demo: setup
	@setup/study.sh demo

# Files that a folder beside this one holds already are not downloaded again.
MIRROR := $(wildcard ../shared/mirror)$(if $(wildcard ../shared/mirror ../shared/data),:)$(wildcard ../shared/data)
ifneq ($(MIRROR),)
open test-open: export RECENCY_MIRROR ?= $(MIRROR)
endif
open: setup
	@setup/study.sh open

test: setup
	@$(tools) python -m pytest --numprocesses $(CORES) --dist loadgroup --no-loadscope-reorder

# All the faults that docs/faults.md lists, of which `make test` tries a sample: half an hour of one core.
test-faults: setup
	@$(tools) RECENCY_FAULTS=all python -m pytest --numprocesses $(CORES) --maxschedchunk 1 -o python_files='test_*.py faults_*.py' tests/faults

# On real text and reading times, downloaded or from a mirror.
test-open: setup
	@$(tools) python -m pytest -o python_files='open_*.py' tests/studies

# A Slurm on this machine alone, brought up and taken down again: Debian's packages, as root. And what
# profiles/generic has its users install.
test-slurm: setup
	@sed -n 's/^# *\(\.venv.* pip install\) /\1 --quiet --no-deps /p' profiles/generic/config.yaml | bash -e
	@$(tools) python -m pytest -o python_files='slurm_*.py' tests/faults

lint: setup
	@$(tools) ruff check
	@$(tools) ruff format --check
	@$(tools) snakefmt --check Snakefile rules workflow/*.smk
	@./run --lint

# The site's tools have an environment of their own; nothing else here needs them.
docs_python = $(firstword $(wildcard .venv/bin/python) python3)
docs: .tools/docs/made
	@.tools/docs/bin/python setup/notebook.py --check docs/tutorial.md docs/tutorial.ipynb
	@NO_MKDOCS_2_WARNING=1 .tools/docs/bin/mkdocs build --strict
	@echo "build/site/index.html"

.tools/docs/made: docs/requirements.txt
	@$(docs_python) -m venv --clear .tools/docs
	@.tools/docs/bin/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	@touch $@

# After a change of the tutorial.
notebook:
	@$(docs_python) setup/notebook.py docs/tutorial.md docs/tutorial.ipynb

# After a change of versions: pip install them into .venv, write them into pyproject.toml, make lock.
lock:
	@.venv/bin/python setup/lock.py >requirements.lock.part
	@mv requirements.lock.part requirements.lock
	@.venv/bin/python -m venv --clear .tools/hashes
	@.tools/hashes/bin/python -m pip install --quiet --disable-pip-version-check uv
	@grep -v '^torch==' requirements.lock | .tools/hashes/bin/uv pip compile - --quiet --no-deps \
		--universal --generate-hashes --no-annotate --no-header --output-file setup/hashes.txt

# Results go; downloads and the set-up stay.
clean:
	rm -rf results
