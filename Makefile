# PASTA: `make` lists what there is to do.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup system demo demo-small test coverage lint format bench mutants ui lock clean

VENV := .venv
BIN := $(VENV)/bin
# The interpreter below any environment that happens to be active: it is the one that has pip.
ifndef PYTHON
PYTHON := $(shell python3 -c "import sys; print(sys._base_executable)")
endif
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
STAMP := $(VENV)/.installed

SMALL := build/demo-small

export PATH := $(CURDIR)/$(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1
export MLFLOW_DISABLE_TELEMETRY := true
# Without compiled files every stage would compile torch and its friends anew.
unexport PYTHONDONTWRITEBYTECODE

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## install everything into .venv (seconds with uv, nothing if up to date)

demo: setup  ## run the whole experiment on the embedded drawn datasets
	@$(BIN)/pasta profile require demo
	$(BIN)/pasta workers $(BIN)/dvc repro
	@$(BIN)/pasta outcome
	@echo && $(BIN)/pasta tour

# In a clone of its own with a cache of its own: params.yaml, dvc.lock and the data stay as they are.
demo-small: export PYTHONPATH := $(CURDIR)/$(SMALL)
demo-small: setup  ## the same in tiny sizes, in build/demo-small: minutes, and nothing here changes
	@test -d $(SMALL)/.git || git clone --quiet --local . $(SMALL)
	@git -C $(SMALL) fetch --quiet origin HEAD && git -C $(SMALL) reset --quiet --hard FETCH_HEAD
	cd $(SMALL) && pasta profile use ci && pasta workers dvc repro
	@cd $(SMALL) && pasta outcome && echo && pasta tour

system:  ## install Chromium and PostgreSQL for the tests (root with apt-get; otherwise says how)
	@bash tests/system.sh

test: lint system  ## lint, type-check, and run the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

coverage: setup  ## run the tests and say which lines of analysis and pasta they reach
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --cov=analysis --cov=pasta --cov-report=term:skip-covered

lint: setup  ## ruff, mypy --strict and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup  ## let ruff tidy the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup  ## our code beside the libraries: prints one table, writes build/benchmarks.md
	$(BIN)/python -m pytest tests/benchmarks -s -p no:xdist -o addopts="-q --import-mode=importlib"

mutants: setup  ## do tests notice wrong formulas? MODULE=analysis/x.py TESTS=tests/analysis/test_x.py
	$(BIN)/python -m tests.benchmarks.mutants $(MODULE) $(TESTS)

ui: setup  ## open the MLflow user interface on http://127.0.0.1:5000
	@$(BIN)/python -m pasta.tracking
	$(BIN)/mlflow ui --backend-store-uri sqlite:///mlflow.db --host 127.0.0.1

lock: $(UV)  ## pin every dependency in requirements.lock
	$(UV) pip compile --universal --python-version 3.11 --no-header --no-annotate --upgrade \
		--extra dev --extra study --quiet pyproject.toml --output-file requirements.lock

clean:  ## remove the environment and everything that can be made again
	rm -rf $(VENV) .uv .mypy_cache .ruff_cache .mlflow mlflow.db pipelines/data build *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +

$(STAMP): requirements.lock pyproject.toml Makefile | $(UV)
	@test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) $(VENV)
	$(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --editable .
	@ln -sf "$$(realpath "$$(command -v $(UV))")" $(BIN)/uv
	@touch $@

.uv/bin/uv:
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --target .uv uv
