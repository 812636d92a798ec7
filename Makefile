# `make demo` and `make test` work on a fresh clone with Python >= 3.11 and pip; nothing else is needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help

help: ## list what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# Machines may set it; then every process that a test starts would compile its imports again.
unexport PYTHONDONTWRITEBYTECODE

EXTRAS := audit,dask,fast,image,models,parquet,plots,web
INSTALL := $(PYTHON) tools/install.py

$(VENV)/.demo: pyproject.toml tools/install.py
	@echo "Installing suffice into $(VENV) …"
	@$(INSTALL) $(VENV) .
	@touch $@

$(VENV)/.test: pyproject.toml tools/install.py
	@echo "Installing what the tests use into $(VENV), about 2.5 GB …"
	$(INSTALL) $(VENV) ".[$(EXTRAS)]" test
	@touch $@ $(VENV)/.demo

$(VENV)/.lint: $(VENV)/.test
	$(INSTALL) $(VENV) . lint
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	$(INSTALL) $(VENV) . docs
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

SLOW := browser or processes or peers or experiments or docs or slow

test: $(VENV)/.test system-packages frontend/node_modules ## run all tests (about 10 minutes)
	$(BIN)/pytest -n 2

# The tests that are skipped above because their tools are not in that environment.
PEER_TESTS = tests/test_adapt.py tests/test_anchors_peer.py tests/test_audit_grade.py tests/test_batch.py tests/test_dist.py tests/test_examples.py \
	tests/test_experiments_adult.py tests/test_experiments_anchors.py tests/test_experiments_imdb.py \
	tests/test_notebook.py tests/test_notebooks.py tests/test_other_tools.py tests/test_recourse_dice.py \
	tests/test_reproduce.py tests/test_store.py docs/guides/portfolio.md docs/start/from-anchors.md docs/start/from-dice.md

test-peers: $(VENV)-peers/.made system-packages ## compare with anchor-exp, dice-ml and others; run notebooks
	$(VENV)-peers/bin/pytest -n 2 $(PEER_TESTS)

test-dowhy: $(VENV)-dowhy/.made ## test the reader of dowhy's causal models
	$(VENV)-dowhy/bin/pytest tests/test_causal_dowhy.py

# Counting lines makes the tests take half as long again, so it is asked for by itself.
coverage: $(VENV)/.test system-packages frontend/node_modules ## run all tests, and see that they reach nearly every line
	$(BIN)/pytest -n 2 --cov --cov-report=term-missing:skip-covered

soak: $(VENV)/.test ## run the long tests: kills, full disks, flat memory, many examples (about an hour)
	$(BIN)/pytest soak
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
CORE = tests/test_theorem_1.py tests/test_lattice.py tests/test_inference.py tests/test_factors.py \
	tests/test_views.py tests/test_contexts.py tests/test_limits.py tests/test_pruned.py \
	tests/test_strategies.py tests/test_package.py
VERSIONS = 3.11 3.12 3.13

test-pythons: ## run the core tests on every Python from 3.11 on that is found here
	@for version in $(VERSIONS); do \
		python$$version --version >/dev/null 2>&1 || { echo "Python $$version: not found, left out"; continue; }; \
		echo "Python $$version"; \
		python$$version tools/install.py $(VENV)-$$version ".[fast,models,parquet]" core || exit 1; \
		$(VENV)-$$version/bin/pytest -n 2 $(CORE) || exit 1; \
	done

bench: $(VENV)-peers/.made ## measure speed and memory, as ratios in one run
	$(VENV)-peers/bin/python -m benchmarks

reproduce: $(VENV)-peers/.made ## all tables and figures of the paper (needs the data: SUFFICE_DATA)
	$(VENV)-peers/bin/suffice reproduce all --results experiments/RESULTS.md

dist: $(VENV)/.dist ## build wheel and source archive, and try them on every Python found
	$(BIN)/python -m tools.dist

docs: $(VENV)/.docs ## build the documentation into docs/_build
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build
	$(BIN)/python -m docs.check docs/_build
	@echo docs/_build/index.html

figures: $(VENV)/.test ## draw the committed pictures of the documentation again (needs the data, and an idle machine)
	$(BIN)/python -m docs.draw

schema: $(VENV)/.test ## write the JSON Schema of explanations
	$(BIN)/python -m docs.write_schema

clean: ## remove everything that was made
	rm -rf $(VENV) $(VENV)-* frontend/node_modules dist docs/_build docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage suffice-report.html

.PHONY: help demo system-packages check test test-peers test-dowhy coverage soak bundle test-pythons lint format bench reproduce dist docs figures schema clean
