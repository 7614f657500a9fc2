# Leverframe. A bare `make` lists the targets.
#
# Everything runs in .venv, which is made and filled on first use from the locked lists in
# requirements/. Needed beforehand: Python 3.11.2 or newer with its venv module, make, git.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin

# .venv is recreated for another Python: make test PYTHON=python3.13
VERSION := $(shell $(PYTHON) -c 'import platform; print(platform.python_version())' 2> /dev/null)
MADE := .venv/.made-with-python-$(VERSION)

# The mark of a finished installation is named after what was installed and where: a changed list,
# or a copied folder, is installed again; nothing else is.
KEY := $(shell { cat requirements/{run,test}.txt pyproject.toml packaging/*/pyproject.toml; pwd; } | cksum | tr -d ' ')
RUN_READY := .venv/.ready-run-$(KEY)
TEST_READY := .venv/.ready-test-$(KEY)

.PHONY: help setup run fleet-demo quick test test-all test-kernel test-packages check bench bench-compare soak mutate docs lock changelog release deb addon clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

setup: $(TEST_READY) ## prepare .venv with all that running, testing and writing code needs

run: $(RUN_READY) ## start a controller; options in ARGS, e.g. make run ARGS="--virtual-time"
	@$(BIN)/python -m leverframe run $(ARGS)

fleet-demo: $(TEST_READY) ## two nodes on a PostgreSQL of their own, to kill one; until Ctrl+C
	@$(BIN)/python -m tools.fleet_demo $(ARGS)

quick: $(TEST_READY) ## lint, format and the pure tests, in 45 seconds: while writing code
	@$(BIN)/python tools/checks.py quick

test: $(TEST_READY) ## run every check and the tests; about five minutes on two cores
	@tools/debian-packages requirements/debian.txt
	@$(BIN)/python tools/checks.py test

test-all: $(TEST_READY) ## run what make test leaves out: the thorough forms of tests
	@tools/debian-packages requirements/debian.txt
	@$(BIN)/python tools/checks.py test-all

test-kernel: $(TEST_READY) ## boot Debian's kernel in QEMU and drive its pins and buses; 15 minutes
	@$(BIN)/python -m tools.kernel $(ARGS)

test-packages: $(TEST_READY) ## install wheel, Debian package and container into clean Debians; needs root
	@$(BIN)/python -m tools.package_trials $(ARGS)

check: $(TEST_READY) ## lint, format, types, words, security, layers: make test without its tests
	@$(BIN)/python tools/checks.py check

bench: $(TEST_READY) ## measure speed into bench/RESULTS.md and bench/history.jsonl; short: ARGS=--quick
	@$(BIN)/python -m bench.run $(ARGS)

bench-compare: $(TEST_READY) ## measure an earlier commit and the present tree in turns: COMMIT=abc123
	@$(BIN)/python -m bench.before_after $(COMMIT) $(ARGS)

soak: $(TEST_READY) ## run busy controllers with faults around them; e.g. make soak ARGS="--minutes 10"
	@$(BIN)/python -m tests.soak $(ARGS)

mutate: $(TEST_READY) ## put mistakes into rules and parser and see whether the tests notice
	@$(BIN)/python -m tools.mutate $(ARGS)

docs: $(TEST_READY) ## write the reference, take the pictures, and build the site in build/site
	@$(BIN)/python -m docs._ext
	@$(BIN)/python -m tools.screenshots docs/images
	@$(BIN)/python -m tools.terminal_recordings docs/images
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --jobs 2 docs build/site
	@$(BIN)/python -m tools.try_page build/site
	@echo "The site begins at build/site/index.html"

lock: ## write requirements/ from pyproject.toml; ARGS=--upgrade takes newer versions
	@tools/lock $(ARGS)

changelog: $(TEST_READY) ## collect changes/ into CHANGELOG.md for a release, e.g. make changelog ARGS=0.3.0
	@$(BIN)/python -m tools.changes $(ARGS)

release: $(TEST_READY) ## build the files of a release in dist/, twice, and compare; see RELEASING.md
	@$(BIN)/python -m tools.release

deb: $(TEST_READY) ## build the Debian package in dist/; e.g. make deb ARGS="--python 3.13 --machine aarch64"
	@$(BIN)/python -m tools.deb $(ARGS)

addon: $(TEST_READY) ## put the add-on for Home Assistant together in dist/home-assistant
	@$(BIN)/python -m tools.addon $(ARGS)

clean: ## remove .venv and everything else that was generated
	@rm -rf .venv .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	@rm -rf tools/pages/node_modules tools/try_page/node_modules
	@find src tests tools bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE):
	@command -v $(PYTHON) > /dev/null || { echo "There is no $(PYTHON) here; install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 2) and "Leverframe needs Python 3.11.2 or newer; name one with: make PYTHON=python3.11")'
	@echo "Making .venv"
	@$(PYTHON) -m venv --clear .venv || { rm -rf .venv; echo "$(PYTHON) cannot make .venv; install its venv module (Debian: apt install python3-venv), and see that this folder can be written"; exit 1; }
	@touch $@

$(RUN_READY): | $(MADE)
	@tools/install requirements/run.txt
	@touch $@

# The test list holds the run list, so running needs no installation of its own afterwards.
$(TEST_READY): | $(MADE)
	@tools/install requirements/test.txt
	@touch $@ $(RUN_READY)
