# make demo    the simulated study, including set-up: minutes on two cores, downloads no data
# make test    the default tests: 6 minutes on two cores, after the set-up
# make test-merge    further tests, required before a merge: 15 minutes on two cores, or those of MINUTES=25
# make test-peers    tests against minicons, pymovements and other packages, part of test-merge: 3 minutes
# make test-long    the longest tests: test-faults, test-slurm, test-open and the documentation site
# make open    real, openly available text and reading times: half an hour on two cores
# make test-faults    killed jobs, full disks, damaged files: half an hour on one core; mounting disks needs root
# make test-slurm    the study through Slurm, installed as root: a quarter of an hour
# make test-rotation    one of the long targets, by the date, in about MINUTES=12: part of what CI runs
# make test-open    every target of the open study, with networks of twelve steps: one to two hours on two cores
# make rehearsal    the five studies at their size, with stand-ins and small networks: an hour, 16 GB of disk
# make rehearsal-gpu MINUTES=12    costs, tests and trainings on this machine's GPU, for the cost model
# make fuzz-fits MINUTES=10    random mixed models, changed and compared with lme4, for as long; nightly
# make docs    the documentation site, in build/site: two minutes, needs Python 3.11
# make package    the source distribution and the wheel, checked, in build/dist; needs a package index
# make setup | lint | newest | notebook | lock | clean

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo open test test-merge test-peers test-long test-faults test-open test-slurm test-rotation rehearsal rehearsal-gpu fuzz-fits lint package newest docs notebook lock clean

CORES ?= $(shell getconf _NPROCESSORS_ONLN)
export CORES
unexport PYTHONPATH PYTHONHOME

help:
	@sed -n 's/^# \(make\)/\1/p' Makefile

setup:
	@./setup.sh

# The environment that ./run gives to Snakemake's jobs, for tests and checks.
tools = PATH="$$PWD/.venv/bin:$$PWD/.tools/bin:$$PWD/.tools/kenlm/bin:$$PATH" \
	RPY2_CFFI_MODE=ABI OPENBLAS_NUM_THREADS=1

demo: setup
	@setup/study.sh demo

# Files in a neighbouring folder are not downloaded again.
MIRROR := $(wildcard ../shared/mirror)$(if $(wildcard ../shared/mirror ../shared/data),:)$(wildcard ../shared/data)
ifneq ($(MIRROR),)
open rehearsal test-open test-long: export RECENCY_MIRROR ?= $(MIRROR)
endif
open: setup
	@setup/study.sh open

pytest = $(tools) python -m pytest
parallel = --numprocesses $(CORES) --dist loadgroup --no-loadscope-reorder

# A share of a target that changes from day to day: `make test-faults MINUTES=12`.
limited = $(if $(MINUTES),--minutes $(MINUTES))

test: setup
	@$(pytest) $(parallel)

test-merge: setup test-peers .tools/docs/made
	@$(pytest) $(parallel) --require-tests -m merge $(limited)

# Against minicons, pymovements and others, in an environment that adds them to .venv's packages.
test-peers: setup .tools/peers/made
	@$(tools) .tools/peers/bin/python -m pytest $(parallel) --require-tests --require-peers -m peer

.tools/peers/made: setup/peers.txt
	@.venv/bin/python -m venv --clear .tools/peers
	@.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		>"$$(.tools/peers/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/project.pth"
	@.tools/peers/bin/python -m pip install --quiet --disable-pip-version-check -r setup/peers.txt
	@touch $@

# The three below in sequence, and the documentation site.
test-long: test-slurm test-open test-faults .tools/docs/made
	@$(pytest) $(parallel) --require-tests -m long --ignore tests/faults --ignore tests/studies

rotation = docs $(if $(filter 0,$(shell id -u)),test-slurm,docs) test-faults test-open

test-rotation:
	@$(MAKE) --no-print-directory MINUTES=$(or $(MINUTES),12) \
		$(word $(shell echo $$((10#$$(date +%j) % $(words $(rotation)) + 1))),$(rotation))

# All faults listed in docs/faults.md; `make test-merge` tests a sample.
test-faults: setup
	@$(pytest) --numprocesses $(CORES) --maxschedchunk 1 --require-tests -m long $(limited) \
		--ignore tests/faults/test_slurm.py tests/faults

# On real text and reading times, downloaded or from a mirror.
test-open: setup
	@$(pytest) --require-tests -m long $(limited) tests/studies

# Start and stop Slurm on this machine, with the plugin that profiles/generic requires.
SLURM = slurmctld slurmd slurm-client munge
test-slurm: setup
	@type slurmctld slurmd sbatch munged >/dev/null 2>&1 || { apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends $(SLURM); } >/dev/null || \
		{ echo "test-slurm needs Debian's packages; as root: apt-get install $(SLURM)" >&2; exit 1; }
	@sed -n 's/^# *\(\.venv.* pip install\) /\1 --quiet --no-deps /p' profiles/generic/config.yaml | bash -e
	@$(pytest) --require-tests tests/faults/test_slurm.py

# In a folder of its own, which stays for a look; a repeated rehearsal begins where the last one ended.
rehearsal: setup
	@$(tools) python benchmarks/rehearsal.py $(if $(MINUTES),--quick) $(if $(OUT),--out $(OUT))

# Results are stored in benchmarks/results after each part.
rehearsal-gpu: setup
	@$(tools) python benchmarks/gpu_rehearsal.py --minutes $(or $(MINUTES),12)

# New random designs in each run; what fails is stored in build/fuzz-fits.
fuzz-fits: setup
	@$(tools) python benchmarks/fuzz_fits.py --minutes $(or $(MINUTES),10)

# The modules of the functions that `import recency` and its packages offer: typed in full.
public = $$(sed -n 's/^from \(\(recency\|crosslmm\|readingtimes\)\..*\) import .*/--module \1/p' \
	src/recency/__init__.pyi src/recency/*/__init__.pyi packages/*/src/*/__init__.pyi | sort -u)

# What evaluations ask of a planned study.
specs = $$(ls src/recency/evaluations/*/spec.py | sed 's|^src/\(.*\)\.py$$|--module \1|; s|/|.|g')

lint: setup
	@$(tools) ruff check
	@$(tools) ruff format --check
	@$(tools) snakefmt --check Snakefile rules workflow/Snakefile workflow/*.smk
	@git ls-files | $(tools) xargs codespell
	@$(tools) mypy $(public) --module typed_use $(specs)
	@$(tools) python setup/language.py --code
	@./run --lint
	@if type node >/dev/null 2>&1; then for script in $$(git ls-files '*.js'); do node --check $$script; done; \
		else echo "JavaScript is not checked: node is not on the path" >&2; fi

# Tools of the site and of the package have separate environments.
docs_python = $(firstword $(wildcard .venv/bin/python) python3)
docs: .tools/docs/made
	@.tools/docs/bin/python setup/notebook.py --check docs/tutorial.md docs/tutorial.ipynb
	@NO_MKDOCS_2_WARNING=1 .tools/docs/bin/mkdocs build --strict -f setup/mkdocs.yml
	@echo "build/site/index.html"

.tools/docs/made: docs/requirements.txt
	@$(docs_python) -m venv --clear .tools/docs
	@.tools/docs/bin/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	@touch $@

# With TAG=v0.1.0, all that a release needs is checked as well. The packages that recency builds on are
# tested alone: each with its wheel and what that requires, crosslmm's tests of its extras left out.
without_extras = $(patsubst %,tests/test_%.py,crossed deep_formulas densities moments skewed claims correlations draws)
alone = $(docs_python) -m venv --clear .tools/core && \
	.tools/core/bin/python -m pip install --quiet --disable-pip-version-check
test_alone = ../../.tools/core/bin/python -m pytest --quiet --override-ini pythonpath=tests
package: .tools/package/made
	@.tools/package/bin/python setup/release.py $(TAG)
	@rm -rf build/dist build/sdist
	@for package in . packages/crosslmm packages/readingtimes; do \
		.tools/package/bin/python -m build --outdir build/dist $$package >.tools/package/build.log 2>&1 || \
			{ tail -n 25 .tools/package/build.log >&2; exit 1; }; done
	@.tools/package/bin/twine check --strict build/dist/*
	@.tools/package/bin/check-wheel-contents build/dist/recency-*.whl
	@.tools/package/bin/check-wheel-contents --no-config build/dist/crosslmm-*.whl build/dist/readingtimes-*.whl
	@$(alone) build/dist/crosslmm-*.whl $$(grep '^pytest==' envs/requirements.lock)
	@cd packages/crosslmm && $(test_alone) $(without_extras)
	@$(alone) build/dist/readingtimes-*.whl $$(grep -E '^(pytest|hypothesis|openpyxl)==' envs/requirements.lock)
	@cd packages/readingtimes && $(test_alone) -m "not merge"
	@.tools/package/bin/python -m pip hash build/dist/*

.tools/package/made: setup/package.txt
	@$(docs_python) -m venv --clear .tools/package
	@.tools/package/bin/python -m pip install --quiet --disable-pip-version-check -r setup/package.txt
	@touch $@

# The newest versions that pyproject.toml allows, in .venv, but for torch. `rm .venv/requirements.lock`
# and `make setup` bring the locked ones back.
newest: setup
	@grep '^torch==' envs/requirements.lock >.tools/torch.txt
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade \
		--upgrade-strategy eager --constraint .tools/torch.txt \
		--editable '.[all]' --editable packages/crosslmm --editable packages/readingtimes

# After a change in the tutorial.
notebook:
	@$(docs_python) setup/notebook.py docs/tutorial.md docs/tutorial.ipynb

# After a change of versions: pip install them into .venv, update pyproject.toml, make lock.
lock:
	@.venv/bin/python setup/lock.py >envs/requirements.lock.part
	@mv envs/requirements.lock.part envs/requirements.lock
	@.venv/bin/python -m venv --clear .tools/hashes
	@.tools/hashes/bin/python -m pip install --quiet --disable-pip-version-check uv
	@grep -v '^torch==' envs/requirements.lock | .tools/hashes/bin/uv pip compile - --quiet --no-deps \
		--universal --generate-hashes --no-annotate --no-header --output-file setup/hashes.txt

# Delete results; keep downloads and the set-up.
clean:
	rm -rf results
