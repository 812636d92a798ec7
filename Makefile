# `make demo` and `make test` work on a fresh clone with Python >= 3.11 and pip; nothing else is needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help

help: ## list what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# Machines may set it; then every process that a test starts would compile its imports again.
unexport PYTHONDONTWRITEBYTECODE

EXTRAS := audit,dask,image,models,parquet,plots,web
INSTALL := $(PYTHON) tools/install.py

# The versions that the tests use, so that a release of a dependency cannot break them.
CONSTRAINED := --constraints constraints.txt

$(VENV)/.demo: pyproject.toml tools/install.py
	@echo "Installing suffice into $(VENV) …"
	@$(INSTALL) $(VENV) .
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt tools/install.py
	@echo "Installing what the tests use into $(VENV), about 2.5 GB …"
	$(INSTALL) $(VENV) ".[$(EXTRAS)]" test $(CONSTRAINED)
	@touch $@ $(VENV)/.demo

$(VENV)/.lint: $(VENV)/.test
	$(INSTALL) $(VENV) . lint $(CONSTRAINED)
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	$(INSTALL) $(VENV) . docs $(CONSTRAINED)
	@touch $@

$(VENV)/.dist: $(VENV)/.demo
	$(INSTALL) $(VENV) . dist
	@touch $@

# Other tools, whose requirements are heavy or conflict with ours, in environments of their own.
$(VENV)-peers/.made: pyproject.toml tools/install.py
	@echo "Installing other tools and notebook servers into $(VENV)-peers …"
	$(INSTALL) $(VENV)-peers ".[$(EXTRAS)]" peers
	@touch $@

$(VENV)-dowhy/.made: pyproject.toml tools/install.py
	@echo "Installing dowhy, which pins scipy, into $(VENV)-dowhy …"
	$(INSTALL) $(VENV)-dowhy ".[dowhy]" core
	@touch $@

demo: $(VENV)/.demo ## explain a refused loan and write an HTML report
	$(BIN)/suffice demo

# Pages are tested in a real browser, their script is built again with node. Where either is missing,
# it is installed if that is allowed; else those tests are skipped, and say so.
system-packages: ## install chromium and node where they are missing and may be installed
	@for package in chromium nodejs npm; do \
		command -v $$(echo $$package | sed s/nodejs/node/) >/dev/null 2>&1 && continue; \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || { echo "$$package is not here: its tests are skipped"; continue; }; \
		echo "Installing $$package …"; \
		apt-get update -qq >/dev/null 2>&1; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$package >/dev/null 2>&1 || echo "$$package cannot be installed: its tests are skipped"; \
	done

frontend/node_modules: frontend/package-lock.json | system-packages
	@if command -v npm >/dev/null 2>&1; then cd frontend && npm ci --no-audit --no-fund --loglevel=error || echo "npm ci failed: tests of the script's build are skipped"; fi

# Everything but what needs a browser, processes, other tools, pages or many seconds.
check: $(VENV)/.test ## run the fast tests while working (under 3 minutes)
	$(BIN)/pytest -n 2 --hypothesis-profile=check -m "not ($(SLOW))"

SLOW := browser or processes or peers or experiments or docs or slow or soak

test: $(VENV)/.test system-packages frontend/node_modules ## run all tests (about 10 minutes)
	$(BIN)/pytest -n 2

# The tests that are skipped above because their tools are not in that environment.
PEER_TESTS = tests/models/test_adapter.py tests/rules/test_anchor_exp.py tests/audit/test_grade.py tests/cli/test_batch_command.py tests/repository/test_distribution.py tests/repository/test_examples.py \
	tests/experiments/test_adult.py tests/experiments/test_german_anchors.py tests/experiments/test_imdb.py \
	tests/browser/test_notebook_cell.py tests/cli/test_peer_tools.py tests/recourse/test_recourse_dice.py \
	tests/experiments/test_reproduce.py tests/batch/test_store.py docs/guides/portfolio.md docs/start/from-anchors.md docs/start/from-dice.md

test-peers: $(VENV)-peers/.made system-packages ## compare with anchor-exp, dice-ml and others; notebook servers
	$(VENV)-peers/bin/pytest -n 2 $(PEER_TESTS)

test-dowhy: $(VENV)-dowhy/.made ## test the reader of dowhy's causal models
	$(VENV)-dowhy/bin/pytest tests/context/test_dowhy.py

# Counting lines makes the tests take half as long again, so it is asked for by itself.
coverage: $(VENV)/.test system-packages frontend/node_modules ## run all tests, and see that they reach nearly every line
	$(BIN)/pytest -n 2 --cov --cov-report=term-missing:skip-covered

soak: $(VENV)/.test ## attack limits, stores, processes, files and the explorer (40 minutes): SEED=7 for other attacks, MINUTES=80 for a slow machine
	$(BIN)/python -m tests.soak --seed $(or $(SEED),0) --minutes $(or $(MINUTES),40)

soak-tests: $(VENV)/.test ## run the long tests: killed clusters, flat memory, many examples (hours)
	$(BIN)/pytest -m soak tests
	$(BIN)/pytest -n 2 --hypothesis-profile=soak -m "not ($(SLOW))" tests

bundle: frontend/node_modules ## build the script of pages and explorer again
	cd frontend && npm run --silent check && npm run --silent build

lint: $(VENV)/.lint ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.lint ## put the code into the common form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What needs no model library but scikit-learn: the meaning of every number, and the paper's claims.
CORE = tests/search/test_theorem_1.py tests/factors/test_lattice.py tests/test_inference.py tests/factors/test_factors.py \
	tests/explanation/test_views.py tests/context/test_contexts.py tests/search/test_limits.py tests/search/test_pruned_search.py \
	tests/search/test_search_strategies.py tests/repository/test_package.py
CORE_EXTRAS := models,parquet
VERSIONS = 3.11 3.12 3.13

test-pythons: ## run the core tests on every Python from 3.11 on that is found here
	@for version in $(VERSIONS); do \
		python=$$(python$$version -c "import sys; print(sys.executable)" 2>/dev/null || ls $$HOME/.pyenv/versions/$$version*/bin/python 2>/dev/null | tail -1); \
		[ -n "$$python" ] || { echo "Python $$version: not found, left out"; continue; }; \
		echo "Python $$version"; \
		$$python tools/install.py $(VENV)-$$version ".[$(CORE_EXTRAS)]" core || exit 1; \
		$(VENV)-$$version/bin/pytest -n 2 $(CORE) || exit 1; \
	done

test-lowest: ## run the core tests with the lowest versions that pyproject.toml promises
	$(INSTALL) $(VENV)-lowest ".[$(CORE_EXTRAS)]" core --lowest
	$(VENV)-lowest/bin/pytest -n 2 $(CORE)

constraints: $(VENV)/.demo ## write the current versions of all libraries into constraints.txt
	$(INSTALL) $(VENV) ".[$(EXTRAS)]" test lint --write constraints.txt

bench: $(VENV)-peers/.made ## measure speed and memory, as ratios in one run
	$(VENV)-peers/bin/python -m benchmarks

reproduce: $(VENV)-peers/.made ## all tables and figures of the paper (needs the data: SUFFICE_DATA)
	$(VENV)-peers/bin/python -m experiments all --results experiments/RESULTS.md

dist: $(VENV)/.dist ## build wheel and source archive, and try them on every Python found
	$(BIN)/python -m tools.dist

docs: $(VENV)/.docs ## build the documentation into docs/_build
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build
	$(BIN)/python -m docs.check docs/_build
	@echo docs/_build/index.html

figures: $(VENV)/.test ## draw the committed pictures of the documentation again (needs the data, and an idle machine)
	$(BIN)/python -m docs.draw

schema: $(VENV)/.test ## write the JSON Schemas of all results
	$(BIN)/python -m docs.write_schema

generated: $(VENV)/.lint bundle schema ## make all committed files that follow from the code
	$(BIN)/python -m docs.write_index
	$(BIN)/python -m docs.draw.architecture

clean: ## remove everything that was made
	rm -rf $(VENV) $(VENV)-* frontend/node_modules dist docs/_build docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage suffice-report.html

.PHONY: help demo system-packages check test test-peers test-dowhy coverage soak soak-tests bundle test-pythons test-lowest constraints lint format bench reproduce dist docs figures schema generated clean
