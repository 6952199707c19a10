# Each target makes what it needs, its own environment included, on a machine that has
# Python 3.11 or newer and make. `make PYTHON=/path/to/python3.12 test` takes that one.

SHELL = /bin/sh
VENV = .venv
PY = $(VENV)/bin/python
PIP = $(PY) -m pip --disable-pip-version-check --quiet
PYTHON =

.PHONY: help demo test check style types bench soak coverage clean
.DELETE_ON_ERROR:

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1 /p' Makefile | while read -r name does; do \
		printf '  make %-10s %s\n' "$$name" "$$does"; done

demo: $(VENV)/runtime ## seal, resolve, score, verify and export in a temporary folder
	@$(VENV)/bin/ledger demo

test: $(VENV)/dev ## run the tests on all cores
	$(PY) -m pytest --numprocesses=auto --dist=loadgroup --quiet

check: style types test ## format, lint, types and tests: all that a change must pass

style: $(VENV)/dev ## format and lint only
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .

types: $(VENV)/dev ## types only
	$(PY) -m mypy
	$(PY) -m mypy tests

bench: $(VENV)/bench ## speed, as ratios to limits and peers measured in the same run
	$(PY) tests/bench.py --entries $(or $(ENTRIES),100000)
	$(PY) tests/bench_statistics.py --forecasts $(or $(FORECASTS),1000000)
	$(PY) tests/bench_rows.py --forecasts $(or $(FORECASTS),100000)
	$(PY) tests/bench_hook.py
	$(PY) tests/bench_daemon.py

soak: $(VENV)/soak ## kill, strike and fuzz for MINUTES=20, far beyond what the tests do
	$(PY) -m tests.soak --minutes $(or $(MINUTES),20)

coverage: $(VENV)/dev ## run the tests on one core and show the lines that none reached
	$(PY) -m coverage run -m pytest --quiet
	$(PY) -m coverage report

clean: ## remove the environment and all that tools left behind
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps depend on pyproject.toml, so that a changed dependency is installed at the
# next use, and on each other's environment, which is made once.
$(VENV)/runtime: pyproject.toml $(PY)
	@echo "Installing the dependencies into $(VENV) ..."
	@$(PIP) install --editable .
	@touch $@

$(VENV)/dev: pyproject.toml $(PY)
	@echo "Installing the dependencies and the test tools into $(VENV) ..."
	@$(PIP) install --editable '.[dev,crosscheck]'
	@touch $@

$(VENV)/bench: pyproject.toml $(PY)
	@echo "Installing the dependencies and the peers into $(VENV) ..."
	@$(PIP) install --editable '.[bench]'
	@touch $@

# atheris has no build for every Python; without it, what it does is skipped.
$(VENV)/soak: $(VENV)/dev
	-@$(PIP) install atheris
	@touch $@

# A python3 may be older than 3.11 while a newer one lies beside it, and some systems
# package venv and pip apart from Python.
$(PY):
	@for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			if "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
				exec "$$python" -m venv --clear $(VENV); \
			fi; \
			lacking="$$python"; \
		fi; \
	done; \
	if [ -n "$$lacking" ]; then \
		echo "$$lacking has no venv module: install it (Debian: apt-get install python3-venv)." >&2; \
	else \
		echo "No Python 3.11 or newer was found: install one, or say make PYTHON=/path/to/python." >&2; \
	fi; \
	exit 1
