# make demo    install, run every learning method on the demo document, write a report
# make test    install, then run all checks: lint, types, architecture, tests
# make check   lint, types and the quick tests of the core
# make test-slow  the long tests: every client, both databases, all browser pages, every kill
# make bench   run the benchmarks and write docs/results/benchmarks.md
# make format  fix what ruff can fix

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check test-slow bench lint format clean

demo: .venv/demo.stamp
	$(BIN)/mtloop demo --out out/demo

test: .venv/test.stamp lint
	$(BIN)/python -m pytest

check: lint
	$(BIN)/python -m pytest tests/core tests/data tests/text tests/metrics tests/judges tests/selection tests/checks tests/test_structure.py

test-slow: .venv/test.stamp
	$(BIN)/python -m pytest -m slow

bench: .venv/test.stamp
	$(BIN)/python benchmarks/run_all.py $(if $(DATA),--data $(DATA)) $(if $(HUMAN),--human $(HUMAN))

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
