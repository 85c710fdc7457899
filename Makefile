# make demo   set up, run the main job on what the package embeds, say where the report lies
# make test   set up, then every check: lint, types, architecture, tests
# make format mend what ruff can mend

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint format clean

demo: .venv/demo.stamp
	$(BIN)/mtloop demo --out out/demo

test: .venv/test.stamp lint
	$(BIN)/python -m pytest

lint: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --verbose

format: .venv/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/bin/python:
	$(PYTHON) scripts/check_python.py
	$(PYTHON) -m venv .venv

.venv/demo.stamp: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[report]'
	touch $@

.venv/test.stamp: .venv/bin/python pyproject.toml constraints.txt scripts/system-packages
	scripts/system-packages
	$(PIP) -e '.[dev]'
	touch $@ .venv/demo.stamp

clean:
	rm -rf .venv out build dist *.egg-info
