# Two commands do everything: `make demo` and `make test`. Both set up what they need, inside this folder.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TORCH_STAMP := $(VENV)/.torch
TORCH := torch==2.13.0
SERVE ?= 1

.PHONY: demo test lint unit bench soak docs clean

demo: $(TORCH_STAMP)  ## record a real small training loop and show where its time goes
	$(BIN)/stepscope demo --out demo-output

test: lint unit  ## everything that must hold

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(TORCH_STAMP)
	$(BIN)/pytest -q -m "not soak"

soak: $(TORCH_STAMP)  ## long fuzzing
	$(BIN)/pytest -q -m soak

bench:  ## performance, as ratios in one run; other tools in an environment of their own
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install -q --disable-pip-version-check -e '.[bench]'
	.venv-bench/bin/python benchmarks/run.py

docs: $(STAMP)  ## references that are made from code
	$(BIN)/python -m stepscope.store.schema > docs/schema.md
	$(BIN)/python -m stepscope.analysis.documentation > docs/json.md

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Stepscope needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -e '.[test]'
	touch $@

# A CPU build is enough for the demo and the tests.
$(TORCH_STAMP): $(STAMP)
	$(BIN)/pip install -q --disable-pip-version-check '$(TORCH)'
	touch $@

clean:
	rm -rf $(VENV) build dist demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
