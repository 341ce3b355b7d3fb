# make demo    the simulated study, with all its own set-up: minutes on two cores, downloads no data
# make test    the tests, with all their own set-up
# make open    real, openly available text and reading times: hours on a workstation
# make setup | lint | lock | clean

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo open test lint lock clean

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
open: export RECENCY_MIRROR ?= $(MIRROR)
endif
open: setup
	@setup/study.sh open

test: setup
	@$(tools) python -m pytest --numprocesses $(CORES) --dist loadgroup --no-loadscope-reorder

lint: setup
	@$(tools) ruff check
	@$(tools) ruff format --check
	@$(tools) snakefmt --check Snakefile rules
	@./run --lint

# After a change of versions: pip install them into .venv, write them into pyproject.toml, make lock.
lock:
	@.venv/bin/python setup/lock.py >requirements.lock.part
	@mv requirements.lock.part requirements.lock

# Results go; downloads and the set-up stay.
clean:
	rm -rf results
