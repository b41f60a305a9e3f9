# make quickstart   install into .venv and train a small policy on Sokoban, on the CPU
# make test         install the test extra and run the default test suite
# make check        formatting, lint, types, import contracts, then the tests
# make venv         install only
# make browser      install Chromium with apt, for the tests of the page of `sampo view`
# make clean        remove .venv, build output and caches (runs/ is kept)
#
# Settings:
#   PYTHON=python3.12    the interpreter for .venv (default: the best of 3.11 and later found)
#   TORCH='torch>=2.8'   what pip is asked for instead of choosing by the machine
#   VENV=/path           where the environment goes

VENV ?= .venv
TORCH ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# 3.11 first: it is the version that the figures in the README were measured with.
PYTHONS := $(or $(PYTHON),python3.11 python3.12 python3.13 python3.14 python3 python)

.PHONY: help quickstart test check lint venv browser clean
.NOTPARALLEL:

help:
	@sed -n '/^# make/s/^# //p' Makefile

# One torch thread: at this size two threads on two cores are slower than one (README says how
# much); the other core plays the environments.
quickstart: venv
	OMP_NUM_THREADS=1 $(BIN)/sampo fit --config quickstart

test: $(VENV)/.installed-test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest

check: lint test

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

venv: $(VENV)/.installed

# A system package; there is none on the Python index.
browser:
	@command -v chromium && command -v chromedriver || { apt-get -q update && \
	    apt-get -q -y --no-install-recommends install chromium chromium-driver; }

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src envs tests tools -name __pycache__ -prune -exec rm -rf {} +

# --- steps of the installation; each leaves a stamp ------------------------------------------------

$(VENV)/.created:
	@for python in $(PYTHONS); do \
	    if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	        2>/dev/null; then \
	        echo "Making $(VENV) with $$($$python --version) ($$python)"; \
	        $$python -m venv $(VENV) && touch $@ && exit 0; exit 1; \
	    fi; \
	done; \
	echo "No Python >= 3.11 with venv among: $(PYTHONS)." >&2; \
	echo "Install one (Debian and Ubuntu: python3 and python3-venv) or say PYTHON=/path/to/python." >&2; \
	exit 1

$(VENV)/.torch: $(VENV)/.created requirements/cpu.txt
	PIP='$(PIP)' TORCH='$(TORCH)' sh requirements/install_torch.sh
	touch $@

# A torch that is there already satisfies the range in pyproject.toml, so pip leaves it alone.
$(VENV)/.installed: $(VENV)/.torch pyproject.toml
	$(PIP) install -e .
	touch $@

$(VENV)/.installed-%: $(VENV)/.torch pyproject.toml
	$(PIP) install -e '.[$*]'
	touch $@ $(VENV)/.installed $(if $(filter dev,$*),$(VENV)/.installed-test)
