# make demo    install, run seven methods on the demo document, write a report
# make serve   install, start a server with a project to try: make serve PORT=8017
# make test    install, then run lint, types, architecture, most tests
# make check   lint, types, architecture, and the quick tests: those of the packages that need no model
# make test-slow  the long tests: every client, both databases, all browser pages, every kill, the wheels
# make install-slow  install what only the long tests need: a JDK, nginx, openssl, systemd, Qt's lconvert
# make bench   run the benchmarks and write docs/results/benchmarks.md: make bench DATA=FILE HUMAN=FOLDER
# make screenshots  make the pictures of pages in docs/images from real runs
# make docs    build the docs as a site in out/site
# make format  fix what ruff can fix

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

CORE := $(addprefix tests/,core data text metrics judges selection checks test_structure.py)

unexport PYTHONDONTWRITEBYTECODE  # the tests start many processes: each would compile every module again

.PHONY: demo serve test check tests core-tests test-slow install-slow bench screenshots docs lint format clean

demo: .venv/demo.stamp
	$(BIN)/mtloop demo --out out/demo

serve: .venv/serve.stamp
	$(BIN)/mtloop serve --demo --folder out/serve --port $(or $(PORT),8017)

# lint and tests at the same time: both run to their end, and either can fail
test: .venv/test.stamp
	+$(MAKE) --no-print-directory --jobs=2 lint tests

check: .venv/test.stamp
	+$(MAKE) --no-print-directory --jobs=2 lint core-tests

tests: .venv/test.stamp
	$(BIN)/python -m pytest

core-tests: .venv/test.stamp
	$(BIN)/python -m pytest $(CORE)

test-slow: .venv/slow.stamp
	$(BIN)/python -m pytest -m slow

install-slow: .venv/slow.stamp

bench: .venv/test.stamp
	$(BIN)/python benchmarks/run_all.py $(if $(DATA),--data $(DATA)) $(if $(HUMAN),--human $(HUMAN))

screenshots: .venv/test.stamp
	$(BIN)/python scripts/screenshots.py

docs: .venv/test.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo out/site/index.html

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

.venv/serve.stamp: .venv/bin/python pyproject.toml constraints.txt models/en-de/pyproject.toml
	$(PIP) -e '.[nmt,service,client]' ./models/en-de
	touch $@

.venv/test.stamp: .venv/bin/python pyproject.toml constraints.txt models/en-de/pyproject.toml scripts/system-packages
	scripts/system-packages
	$(PIP) -e '.[dev]' ./models/en-de
	$(BIN)/python scripts/client_environments.py .venv/clients quick
	touch $@ .venv/demo.stamp .venv/serve.stamp

.venv/slow.stamp: .venv/test.stamp scripts/client_environments.py
	scripts/system-packages slow
	$(BIN)/python scripts/client_environments.py .venv/clients
	touch $@

clean:
	rm -rf .venv out build dist *.egg-info
