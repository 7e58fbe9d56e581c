# Everything from a fresh machine with Python 3.11+, pip, make and a C++ compiler.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PROCESSES ?= 2
# What builds, as in pyproject.toml.
BUILD := "meson-python>=0.18" "meson>=1.4" ninja "nanobind>=3.1,<4"

.PHONY: demo test test-all lint docs wheel clean

# What runs here is the tree, and not the copy that was installed.
demo test test-all lint docs: export PYTHONPATH := $(CURDIR)

demo: $(VENV)/all.stamp  ## train on real data with costs, print a table, save a model and two pictures
	$(BIN)/minrisk demo --out minrisk-demo

test: lint  ## lint, types, prose, and all tests but those marked slow
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal -m "not slow"

test-all: lint  ## the same with those marked slow: more cases, sizes and seeds of kinds that `make test` tries
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror minrisk/_kernels/*.cpp minrisk/_kernels/*.hpp
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

$(VENV)/%.stamp: pyproject.toml meson.build $(wildcard minrisk/_kernels/*.?pp minrisk/_kernels/meson.build)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check $(BUILD)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-build-isolation -Cbuild-dir=build/compiled '.[$*]'
	cp build/compiled/minrisk/_kernels/_*.so minrisk/_kernels/  # beside their sources, for the tests, which run in the tree
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info minrisk-demo
