# `make demo` and `make test` work on a fresh clone with Python >= 3.11 and pip; nothing else is needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help

help: ## list what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml
	@echo "Installing suffice into $(VENV) …"
	$(BIN)/pip install --quiet --editable .
	@touch $@

# Shown as it goes: the model libraries that the tests use are some 3 GB. Most of their modules are never
# imported, so none is compiled before it is: that saves a third of the time.
$(VENV)/.dev: $(VENV)/.made pyproject.toml
	@echo "Installing what the tests use into $(VENV): model libraries, peers, linters …"
	$(BIN)/pip install --progress-bar off --no-compile --editable ".[dev]"
	@touch $@

$(VENV)/.docs: $(VENV)/.dev pyproject.toml
	$(BIN)/pip install --quiet --editable ".[docs]"
	@touch $@

demo: $(VENV)/.demo ## explain a refused loan and write an HTML report
	$(BIN)/suffice demo

# Pages are tested in a real browser, their script is built again with node. Where either is missing,
# it is installed if that is allowed; else those tests are skipped, and say so.
browser:
	@for package in chromium nodejs npm; do \
		command -v $$(echo $$package | sed s/nodejs/node/) >/dev/null 2>&1 && continue; \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || { echo "$$package is not here: its tests are skipped"; continue; }; \
		echo "Installing $$package …"; \
		apt-get update -qq >/dev/null 2>&1; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$package >/dev/null 2>&1 || echo "$$package cannot be installed: its tests are skipped"; \
	done

frontend/node_modules: frontend/package-lock.json | browser
	@if command -v npm >/dev/null 2>&1; then cd frontend && npm ci --no-audit --no-fund --loglevel=error || echo "npm ci failed: tests of the script's build are skipped"; fi

test: $(VENV)/.dev browser frontend/node_modules ## run all tests
	$(BIN)/pytest -n 2

# Counting lines makes the tests take half as long again, so it is asked for by itself.
coverage: $(VENV)/.dev browser frontend/node_modules ## run all tests, and see that they reach nearly every line
	$(BIN)/pytest -n 2 --cov --cov-report=term-missing:skip-covered

soak: $(VENV)/.dev ## run the long tests: kills, full disks, flat memory (about half an hour)
	$(BIN)/pytest soak

bundle: frontend/node_modules ## build the script of pages and explorer again
	cd frontend && npm run --silent check && npm run --silent build

lint: $(VENV)/.dev ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev ## put the code into the common form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)-dowhy/.made: pyproject.toml
	$(PYTHON) -m venv $(VENV)-dowhy
	@echo "Installing dowhy, which pins scipy, into an environment of its own …"
	$(VENV)-dowhy/bin/pip install --quiet --no-compile --editable ".[dowhy]" pytest hypothesis
	@touch $@

dowhy: $(VENV)-dowhy/.made ## test the reader of dowhy's causal models, in an environment of its own
	$(VENV)-dowhy/bin/pytest tests/test_causal_dowhy.py

# What needs no model library but scikit-learn: the meaning of every number, and the paper's claims.
CORE = tests/test_theorem_1.py tests/test_lattice.py tests/test_inference.py tests/test_factors.py \
	tests/test_views.py tests/test_contexts.py tests/test_limits.py tests/test_pruned.py \
	tests/test_strategies.py tests/test_package.py
VERSIONS = 3.11 3.12 3.13

test-all: ## run the core tests on every Python from 3.11 on that is found here
	@for version in $(VERSIONS); do \
		python$$version --version >/dev/null 2>&1 || { echo "Python $$version: not found, left out"; continue; }; \
		echo "Python $$version"; \
		test -x $(VENV)-$$version/bin/pytest || { python$$version -m venv $(VENV)-$$version && \
			$(VENV)-$$version/bin/pip install --quiet --editable ".[core]"; } || exit 1; \
		$(VENV)-$$version/bin/pytest -n 2 $(CORE) || exit 1; \
	done

bench: $(VENV)/.dev ## measure speed and memory, as ratios in one run
	$(BIN)/python -m benchmarks

reproduce: $(VENV)/.dev ## all tables and figures of the paper (needs the data: SUFFICE_DATA)
	$(BIN)/suffice reproduce all --results experiments/RESULTS.md

dist: $(VENV)/.dev ## build wheel and source archive, and try them on every Python found
	$(BIN)/python -m tools.dist

docs: $(VENV)/.docs ## build the documentation into docs/_build
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build
	$(BIN)/python -m docs.check docs/_build
	@echo docs/_build/index.html

figures: $(VENV)/.dev ## draw the committed pictures of the documentation again (needs the data, and an idle machine)
	$(BIN)/python -m docs.draw

schema: $(VENV)/.dev ## write the JSON Schema of explanations
	$(BIN)/python -m docs.write_schema

clean: ## remove everything that was made
	rm -rf $(VENV) $(VENV)-* frontend/node_modules dist docs/_build docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage suffice-report.html

.PHONY: help demo browser test coverage soak bundle test-all lint format dowhy bench reproduce dist docs figures schema clean
