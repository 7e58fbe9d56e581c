# Everything from a fresh machine with Python 3.11+, pip and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PROCESSES ?= 2

.PHONY: demo test lint clean

demo: $(VENV)/all.stamp  ## train on real data with costs, print a table, save a model and two pictures
	$(BIN)/minrisk demo --out minrisk-demo

test: lint  ## lint, types, tests
	$(BIN)/minrisk warmup
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/mypy

$(VENV)/%.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info minrisk-demo
