# Everything from a fresh machine with Python 3.11+, pip and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PROCESSES ?= 2
MAKEFLAGS += --jobs=2  # checks of the style and the types run while the kernels are compiled

.PHONY: demo test test-all lint warmup docs wheel clean

demo: $(VENV)/all.stamp  ## train on real data with costs, print a table, save a model and two pictures
	$(BIN)/minrisk demo --out minrisk-demo

test: lint warmup  ## lint, types, prose, and all tests but those marked slow
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal -m "not slow"

test-all: lint warmup  ## the same with those marked slow: more cases, sizes and seeds of kinds that `make test` tries
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal

warmup: $(VENV)/test.stamp  ## compile the kernels
	$(BIN)/minrisk warmup

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python docs/prose.py

docs: $(VENV)/docs.stamp  ## the documentation site, in build/docs: the gallery and all code on pages are run, warnings are errors
	$(BIN)/python -m sphinx -E -W --keep-going -b html docs build/docs
	$(BIN)/python -m pytest docs

wheel: $(VENV)/release.stamp  ## dist/: built, checked, and tried in an environment of its own
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	rm -rf build/wheel
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/wheel && bin/python ../../tests/wheel_smoke.py

$(VENV)/%.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.[$*]'  # Python compiles what is used
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info minrisk-demo
