# Everything here needs only Python >= 3.11, pip and make. `make help` lists the commands.
#
#   make demo PYTHON=python3.12        another interpreter
#   make test PYTEST_ARGS="-k golden"  more arguments for pytest

VENV ?= .venv
BENCH ?= .venv-bench
DOCS ?= .venv-docs
OLDEST ?= .venv-oldest
NEWEST ?= .venv-newest
PYTEST_ARGS ?=
NATIVE := src/mercer/_native/libmercer.stamp
# A process for each core; `make test PYTEST_ARGS="-n 0"` runs in one, as a debugger needs.
WORKERS := -n auto --maxprocesses 4 --dist worksteal
BENCH_ARGS ?=

# The first interpreter that is new enough; where none is, plain python3, so that the message below can name its version.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
ifndef PYTHON
PYTHON := $(shell for p in python3 python python3.14 python3.13 python3.12 python3.11; do \
            $$p -c "$(NEW_ENOUGH)" >/dev/null 2>&1 && echo $$p && break; done)
PYTHON := $(or $(PYTHON),python3)
endif

PY := $(VENV)/bin/python

# Read before the first import of SciPy: with it, scikit-learn's array checks run instead of being skipped.
export SCIPY_ARRAY_API = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-browser test-oldest test-newest breaks lint docs wheels bench bench-quick clean

help:  ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

demo: $(VENV)/.installed $(NATIVE)  ## install into .venv; read, fit and judge a bundled table, and write the page about it
	@$(PY) -m mercer demo --force

test: $(VENV)/.installed-test $(NATIVE)  ## install into .venv and run the tests, doctests included
	@$(PY) -m pytest -m "not slow and not browser" $(WORKERS) $(PYTEST_ARGS)

test-all: $(VENV)/.installed-test $(NATIVE)  ## the tests, with the slow ones
	@$(PY) -m pytest -m "not browser" $(WORKERS) $(PYTEST_ARGS)

test-browser: $(VENV)/.installed-browser $(NATIVE)  ## the report in a real browser; chromium is the system's, installed as root if missing
	@{ $(chromium); } >/dev/null
	@$(PY) -m pytest -m browser tests/browser $(PYTEST_ARGS)

test-oldest: $(OLDEST)/.installed $(NATIVE)  ## the quick tests with the oldest dependencies that are allowed
	@$(OLDEST)/bin/python -m pytest -m "not slow and not browser" --ignore tests/test_rules.py $(WORKERS) $(PYTEST_ARGS)

test-newest: $(NEWEST)/.installed $(NATIVE)  ## the quick tests with the newest dependencies there are
	@$(NEWEST)/bin/python -m pytest -m "not slow and not browser" $(WORKERS) $(PYTEST_ARGS)

breaks: $(VENV)/.installed-test $(NATIVE)  ## break the source in ten ways, one at a time: the tests must notice each
	@$(PY) tests/breaks.py

lint: $(VENV)/.installed-test  ## ruff check, ruff format --check, mypy
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

docs: $(DOCS)/.installed  ## the pages and the gallery, into docs/_build/html
	@rm -rf docs/generated  # a page of something that is no more would be an error
	@$(DOCS)/bin/python -m sphinx -W --keep-going --quiet -b html docs docs/_build/html
	@echo "The pages are in docs/_build/html/index.html."

wheels: $(VENV)/.installed-test  ## the source and a wheel for each platform (Linux, macOS, Windows), into dist/; zig compiles them all here
	@$(PY) -m build --sdist --outdir dist
	@for target in $$($(PY) src/mercer/_native/build.py --list); do MERCER_TARGET=$$target $(PY) -m build --wheel --outdir dist || exit 1; done

bench: $(BENCH)/.installed $(NATIVE)  ## every table, side by side with the peers, in two hours; BENCH_ARGS="--only gp" some, --full the long ones
	@$(BENCH)/bin/python benchmarks/run.py $(BENCH_ARGS)

bench-quick: $(BENCH)/.installed $(NATIVE)  ## the short tasks, in under 3 minutes
	@$(BENCH)/bin/python benchmarks/run.py --quick $(BENCH_ARGS)

clean:  ## remove .venv, caches and what the commands wrote
	@rm -rf $(VENV) $(BENCH) $(DOCS) $(OLDEST) $(NEWEST) docs/_build docs/auto_examples docs/generated build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache mercer_demo.html
	@find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is newer than pyproject.toml once the install went through, so the next run starts at once.
# The install is editable: a change of the source needs none.
$(VENV)/.installed: pyproject.toml | $(PY)
	@echo "Installing mercer into $(VENV): once, about a minute ..."
	@$(PY) -m pip install --quiet --editable ".[cli,plots]"
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(PY)
	@echo "Installing mercer and what '$*' needs into $(VENV): once, about a minute ..."
	@$(PY) -m pip install --quiet --editable ".[all]" --group $*
	@touch $@

# The compiled loops: an editable install makes them beside the sources, and a changed C file makes them again.
$(NATIVE): $(wildcard src/mercer/_native/*.c src/mercer/_native/*.h) src/mercer/_native/build.py
	@$(PYTHON) src/mercer/_native/build.py

# The peers live in an environment of their own; pykeops compiles at its first use, with the system's C++ compiler.
# torch comes first and in this version: another choice may bring gigabytes for graphics cards.
$(BENCH)/.installed: pyproject.toml | $(BENCH)/bin/python
	@echo "Installing mercer and its peers into $(BENCH): once, a few minutes ..."
	@$(BENCH)/bin/python -m pip install --quiet torch==2.13.0
	@$(BENCH)/bin/python -m pip install --quiet --editable ".[cli,chem]" --group bench
	@touch $@

# The tools that make the pages live apart, so that they cannot change what the tests see.
$(DOCS)/.installed: pyproject.toml | $(DOCS)/bin/python
	@echo "Installing mercer and Sphinx into $(DOCS): once, about a minute ..."
	@$(DOCS)/bin/python -m pip install --quiet --editable ".[all]" --group docs
	@touch $@

# The oldest versions of everything that pyproject.toml allows, and the newest that can be had.
$(OLDEST)/.installed: pyproject.toml tests/oldest_dependencies.py | $(OLDEST)/bin/python
	@$(OLDEST)/bin/python tests/oldest_dependencies.py > $(OLDEST)/oldest.txt
	@$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/oldest.txt --editable ".[all]" --group test
	@touch $@

$(NEWEST)/.installed: pyproject.toml | $(NEWEST)/bin/python
	@$(NEWEST)/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable ".[all]" --group test
	@touch $@

# Debian ships Python without ensurepip; there the interpreter's pip fills the environment. Groups need pip 25.1.
%/bin/python:
	@$(PYTHON) -c "$(NEW_ENOUGH)" 2>/dev/null || { \
	  version=$$($(PYTHON) --version 2>/dev/null) || version="not a working interpreter"; \
	  echo "mercer needs Python 3.11 or newer; '$(PYTHON)' is $$version." >&2; \
	  echo "Name another interpreter, for example: make $(or $(MAKECMDGOALS),demo) PYTHON=python3.12" >&2; exit 1; }
	@if $(PYTHON) -c "import ensurepip" 2>/dev/null; then $(PYTHON) -m venv $* && $*/bin/python -m pip install --quiet "pip>=25.1"; \
	 else $(PYTHON) -m venv --without-pip $* && $(PYTHON) -m pip --python $*/bin/python install --quiet "pip>=25.1"; fi

# A browser is a system package, not one of pip's.
chromium = if command -v chromium || command -v chromium-browser || command -v google-chrome; then :; \
  elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
    echo "Installing the system package chromium ..." >&2; apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
  else echo "make test-browser needs the system package chromium (Debian, Ubuntu: apt-get install chromium)." >&2; exit 1; fi
