# Everything from a fresh clone: `make demo`, `make test`. Needs Python 3.11 or later and nothing else.

PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin/python
SITE ?= $(URL)
# More than processors: tests of crawls wait more than they work.
WORKERS ?= $(shell expr 2 + $$(getconf _NPROCESSORS_ONLN))
CORE_TESTS := tests/core tests/plugin tests/report tests/test_architecture.py tests/test_settings.py

.PHONY: help demo test test-core coverage test-pythons lint format bench screenshots docs clean

help:
	@echo "make demo            crawl a real site twice with the plugin on: what it kept, and what had changed"
	@echo "make demo URL=...    the same for any site: 200 pages at most, robots.txt and delay kept"
	@echo "make test            all tests; what needs PostgreSQL, Redis, Chromium or Java is skipped where there is none"
	@echo "make test-core       those that need neither server nor browser: a minute or two"
	@echo "make test-core ARGS='--hypothesis-profile thorough'   laws on many times as many examples"
	@echo "make coverage        all tests, and which lines and branches none of them reaches, in crawls of their own, too"
	@echo "make test-pythons    those on each Python from 3.11 to 3.14 that is installed; says which are not"
	@echo "make lint            ruff, mypy, import-linter"
	@echo "make format          let ruff lay out the code"
	@echo "make bench           all benchmarks, hours of them, and their tables in docs/benchmarks.md (ARGS='--only NAME')"
	@echo "make bench FOLDER=.. those on real pages, too"
	@echo "make bench QUICK=1   small sizes, to try them: some minutes; changes no file"
	@echo "make screenshots     pictures of the dashboard's pages: light, dark, on a phone"
	@echo "make docs            docs/settings.md, the table in docs/rest.md, and all pages as a site in build/docs"
	@echo "make clean           remove everything that was made, the environment included"

demo: $(VENV)/.installed
	@$(RUN) example_project/demo.py '$(subst ','\'',$(SITE))'

test: $(VENV)/.installed-dev
	$(RUN) -m pytest -n $(WORKERS) $(ARGS)

test-core: $(VENV)/.installed-dev
	$(RUN) -m pytest -n auto -m core $(CORE_TESTS) $(ARGS)

coverage: $(VENV)/.installed-dev
	$(RUN) -m pytest -n $(WORKERS) --cov --cov-report=term-missing:skip-covered $(ARGS)

# Each in an environment of its own; `python3.12` and so on must be on the PATH.
test-pythons:
	@for version in 3.11 3.12 3.13 3.14; do \
		python$$version -c "" 2>/dev/null || { echo "Python $$version: not installed, skipped"; continue; }; \
		python$$version -m venv build/python$$version && \
		build/python$$version/bin/python -m pip install -qq --disable-pip-version-check -e '.[test]' && \
		build/python$$version/bin/python -m pytest -q -n auto -m core -p no:cacheprovider $(CORE_TESTS) $(ARGS) && \
		echo "Python $$version: passed" || exit 1; \
	done

lint: $(VENV)/.installed-dev
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports

format: $(VENV)/.installed-dev
	$(RUN) -m ruff format
	$(RUN) -m ruff check --fix

bench: $(VENV)/.installed-bench
	$(RUN) -m benchmarks.all $(if $(QUICK),--quick) $(if $(FOLDER),--folder '$(FOLDER)') $(ARGS)

screenshots: $(VENV)/.installed-dev
	$(RUN) -m benchmarks.screenshots $(ARGS)

docs: $(VENV)/.installed-docs
	$(RUN) docs/settings_page.py > docs/settings.md
	$(RUN) docs/rest_table.py
	$(RUN) -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

clean:
	rm -rf $(VENV) demo-output build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# The stamps make a second run quick; a changed setup.cfg installs again.
$(VENV)/.installed: $(VENV)/bin/python setup.cfg pyproject.toml
	@echo "Installing scrapy_dedup and what it needs ..."
	@$(RUN) -m pip install -qq --disable-pip-version-check -e '.[pdf]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python setup.cfg pyproject.toml
	@echo "Installing scrapy_dedup with what its tests need ..."
	@$(RUN) -m pip install -qq --disable-pip-version-check -e '.[test,dev,docs]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	@echo "Installing what benchmarks compare with ..."
	@# pip 23 fails on lxml[html-clean] and lxml[html_clean] side by side.
	@$(RUN) -m pip install -qq --disable-pip-version-check 'pip>=24'
	@$(RUN) -m pip install -qq -e '.[bench]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/bin/python setup.cfg pyproject.toml
	@echo "Installing scrapy_dedup with what its docs need ..."
	@$(RUN) -m pip install -qq --disable-pip-version-check -e '.[docs,server]'
	@touch $@ $(VENV)/.installed

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "scrapy_dedup needs Python 3.11 or later; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12"; exit 1; }
	@echo "Making the environment $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "$(PYTHON) -m venv failed; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
