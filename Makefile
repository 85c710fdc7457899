# make demo    install, run every learning method on the demo document, write a report
# make test    install, then run all checks: lint, types, architecture, tests
# make format  fix what ruff can fix

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

.venv/demo.stamp: .venv/bin/python pyproject.toml constraints.txt models/en-de/pyproject.toml
	$(PIP) -e '.[nmt,report]' ./models/en-de
	touch $@

.venv/test.stamp: .venv/bin/python pyproject.toml constraints.txt models/en-de/pyproject.toml scripts/system-packages
	scripts/system-packages
	$(PIP) -e '.[dev]' ./models/en-de
	touch $@ .venv/demo.stamp

clean:
	rm -rf .venv out build dist *.egg-info
