# Every target works on a machine with make and Python 3.10 or later, and nothing else of ours.
PYTHON ?= python3
VENV ?= .venv
DEMO_VENV ?= .venv-demo
OLDEST_VENV ?= .venv-oldest
JOBS ?= 2

.PHONY: help demo test test-oldest check clean
.DEFAULT_GOAL := help

help:
	@echo "make demo   install devlint into $(DEMO_VENV) and lint examples/"
	@echo "make test   install devlint and what its tests need into $(VENV), and run the tests"
	@echo "make test-oldest  test the emulation with the oldest torch it supports, in $(OLDEST_VENV)"
	@echo "make check  the static gates: ruff, mypy, import-linter, generated files"
	@echo "make clean  remove the virtual environments and all caches"
	@echo "PYTHON=python3.12 (or another one from 3.10 on) chooses the interpreter."

# $(call new-venv,FOLDER): make a virtual environment, or say in one line why there can be none.
define new-venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
		echo "devlint needs Python 3.10 or later, and '$(PYTHON)' is not: try 'make PYTHON=python3.12'" >&2; \
		exit 2; }
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
endef

$(DEMO_VENV)/installed: pyproject.toml
	$(call new-venv,$(DEMO_VENV))
	$(DEMO_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# torch comes first and alone, so that no other requirement can bring another release of it.
$(VENV)/installed: pyproject.toml requirements-test.txt
	$(call new-venv,$(VENV))
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-test.txt
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-test.txt --editable '.[dev]'
	@touch $@

# Nothing but its requirements: a wheel of torch for CUDA would bring gigabytes that no test needs.
$(OLDEST_VENV)/installed: pyproject.toml requirements-oldest.txt
	$(call new-venv,$(OLDEST_VENV))
	$(OLDEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --requirement requirements-oldest.txt
	$(OLDEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# Findings are what the demo shows: exit code 1 is its success.
demo: $(DEMO_VENV)/installed
	$(DEMO_VENV)/bin/devlint examples; code=$$?; \
		echo "devlint's exit code: $$code (0 clean, 1 findings, 2 devlint could not do its job)"; \
		test $$code -eq 1

test: $(VENV)/installed
	$(VENV)/bin/python -m pytest -n $(JOBS)

test-oldest: $(OLDEST_VENV)/installed
	$(OLDEST_VENV)/bin/python -m pytest -n $(JOBS) tests/conformance tests/runtime

check: $(VENV)/installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python tools/generate.py --check

clean:
	rm -rf $(VENV) $(DEMO_VENV) $(OLDEST_VENV) build dist .devlint_cache .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
