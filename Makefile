# One command each; the bare call lists them. Needs Python 3.11 or later, pip and make. PYTHON=python3.12 chooses the interpreter.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV ?= .venv
BIN := $(VENV)/bin
CORPUS ?= examples
PYTEST_ARGS ?=
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
INSTALL := $(PIP) install --require-hashes
export CORPUS

.PHONY: help demo test lint bench soak quality test-llm lock checksums format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.runtime ## build examples/ (or CORPUS=FOLDER) and show what it made
	@$(BIN)/tree-builder demo "$${CORPUS/#\~\//$$HOME/}"

test: $(VENV)/.dev ## all tests but the long forms (PYTEST_ARGS="-k name" for some)
	$(BIN)/python -m pytest -m "not soak and not llm" $(PYTEST_ARGS)

soak: $(VENV)/.dev ## the long forms: kills, restarts, faults, many nights
	$(BIN)/python -m pytest -m soak --timeout=7200 $(PYTEST_ARGS)

lint: $(VENV)/.dev ## formatting, types, import rules, SQL
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/sqlfluff lint --disable-progress-bar db queries
	$(BIN)/squawk db/migrations/*.sql

format: $(VENV)/.dev ## let ruff format and sort
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: $(VENV)/.dev ## measure speed and memory, write benchmarks/README.md
	$(BIN)/python -m benchmarks

quality: $(VENV)/.quality ## measure summaries, boundaries and retrieval against baselines
	$(BIN)/python -m benchmarks.quality

test-llm: $(VENV)/.llm ## the whole way with a small real language model, from wheels, on this machine
	$(BIN)/python -m pytest -m llm --timeout=3600 $(PYTEST_ARGS)

checksums: ## write db/migrations/checksums.sha256 anew, after adding a migration
	@cd db/migrations && for file in *.sql; do \
		if command -v sha256sum >/dev/null; then sha256sum "$$file"; else shasum -a 256 "$$file"; fi; done > checksums.sha256

UV := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header
lock: ## resolve the lock files anew (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: pip install uv"; exit 1; }
	$(UV) pyproject.toml -o lock/runtime.txt
	$(UV) pyproject.toml --all-extras --group dev -c lock/runtime.txt -o lock/dev.txt
	$(UV) --group quality -c lock/dev.txt -o lock/quality.txt
	$(UV) --group llm -c lock/dev.txt -o lock/llm.txt
	echo 'setuptools>=77' | $(UV) - -o lock/build.txt

clean: ## remove the environment and what tools left
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

ifneq ($(PYTHON),)
ifneq ($(wildcard $(BIN)/python),)
VERSION := import sys; print("%d.%d" % sys.version_info[:2])
ifneq ($(shell $(BIN)/python -c '$(VERSION)'),$(shell $(PYTHON) -c '$(VERSION)'))
$(if $(filter clean,$(MAKECMDGOALS)),,$(error $(VENV) was made with another Python than $(PYTHON): run make clean first))
endif
endif
endif

# The environment: made by the first Python found which is new enough, installed from lock files with hashes. A stamp
# file for each lock file, so that a second call costs nothing.
$(BIN)/python:
	@found=""; \
	for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found="$$python"; break; fi; \
		if [ -n "$(PYTHON)" ]; then echo "PYTHON=$(PYTHON) is not a Python 3.11 or later"; exit 1; fi; \
	done; \
	if [ -z "$$found" ]; then echo "Python 3.11 or later is needed; name one: make PYTHON=/path/to/python3.11 ..."; exit 1; fi; \
	"$$found" -c 'import ensurepip, venv' 2>/dev/null || { echo "$$found lacks venv: install the package python3-venv"; exit 1; }; \
	echo "making $(VENV) with $$("$$found" --version)"; \
	"$$found" -m venv $(VENV)

$(VENV)/.runtime: lock/runtime.txt lock/build.txt pyproject.toml | $(BIN)/python
	@echo "installing the package and what it needs into $(VENV)"
	@$(INSTALL) -r lock/runtime.txt
	@$(INSTALL) -r lock/build.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime lock/dev.txt
	@echo "installing what tests and linters need"
	@$(INSTALL) -r lock/dev.txt
	@touch $@

$(VENV)/.quality: $(VENV)/.dev lock/quality.txt
	@$(INSTALL) -r lock/quality.txt
	@touch $@

$(VENV)/.llm: $(VENV)/.dev lock/llm.txt lock/llm-weights.txt
	@$(INSTALL) -r lock/llm.txt
	@$(INSTALL) --no-deps -r lock/llm-weights.txt
	@touch $@
