# `make demo` and `make test` work on a fresh clone with Python >= 3.11 and pip; nothing else is needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help

help: ## list what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	$(BIN)/pip install --quiet --editable ".[dev]"
	@touch $@

$(VENV)/.docs: $(VENV)/.dev pyproject.toml
	$(BIN)/pip install --quiet --editable ".[docs]"
	@touch $@

demo: $(VENV)/.demo ## explain a refused loan and write an HTML report
	$(BIN)/suffice demo

test: $(VENV)/.dev ## run all tests, with coverage
	$(BIN)/pytest -n 2 --cov --cov-report=term-missing:skip-covered

lint: $(VENV)/.dev ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev ## put the code into the common form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

dowhy: ## test the reader of dowhy's causal models, in an environment of its own
	$(PYTHON) -m venv $(VENV)-dowhy
	$(VENV)-dowhy/bin/pip install --quiet --editable ".[dowhy]" pytest hypothesis
	$(VENV)-dowhy/bin/pytest tests/test_causal_dowhy.py

bench: $(VENV)/.dev ## measure speed and memory, as ratios in one run
	$(BIN)/python -m benchmarks

reproduce: $(VENV)/.dev ## all tables and figures of the paper (needs the data: SUFFICE_DATA)
	$(BIN)/suffice reproduce all --results experiments/RESULTS.md

docs: $(VENV)/.docs ## build the documentation into docs/_build
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build
	@echo docs/_build/index.html

schema: $(VENV)/.dev ## write the JSON Schema of explanations
	$(BIN)/python -m docs.write_schema

clean: ## remove everything that was made
	rm -rf $(VENV) $(VENV)-dowhy docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage suffice-report.html

.PHONY: help demo test lint format dowhy bench reproduce docs schema clean
