# Every target works on a machine with make and Python 3.10 or later, and nothing else of ours.
PYTHON ?= python3
VENV ?= .venv
DEMO_VENV ?= .venv-demo
OLDEST_VENV ?= .venv-oldest
DOCS_VENV ?= .venv-docs
RELEASE_VENV ?= .venv-release
# As many as this process has cores, which is what nproc says unless OpenMP is held to fewer threads;
# macOS has no nproc.
JOBS ?= $(shell unset OMP_NUM_THREADS OMP_THREAD_LIMIT; nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)

.PHONY: help demo test test-fixes test-benches test-metamorphic test-operators test-programs test-oldest check docs release-candidate clean always
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

help:
	@echo "make demo   install devlint into $(DEMO_VENV) and lint examples/"
	@echo "make test   install devlint and what its tests need into $(VENV), and run the tests"
	@echo "make test-fixes  test that programs run on any device with the fixes of all cases"
	@echo "make test-benches  test what measures devlint"
	@echo "make test-metamorphic  test that what says nothing of a program changes no finding"
	@echo "make test-operators  test the emulation by PyTorch's own operator database"
	@echo "make test-programs  test by running programs: those of the rule pages, and migrations"
	@echo "make test-oldest  test the emulation with the oldest torch it supports, in $(OLDEST_VENV)"
	@echo "make check  the static gates: ruff, mypy, import-linter, generated files"
	@echo "make docs   build the site into site/, and check its links"
	@echo "make release-candidate  build and check what could be released, into dist/; VERSION=0.2.0"
	@echo "            says which version, STRICT=1 fails where a check can't be made here"
	@echo "make clean  remove the virtual environments and all caches"
	@echo "PYTHON=python3.12 (or another one from 3.10 on) chooses the interpreter,"
	@echo "JOBS=4 how many tests run at once (here $(JOBS), the number of cores)."

# A virtual environment, made anew where it is that of another Python, or one line that says why
# there can be none. It changes only then, and what is installed in it is kept otherwise.
WHICH := import sys; print(sys.version, sys.base_prefix)
$(VENV)/pyvenv.cfg $(DEMO_VENV)/pyvenv.cfg $(OLDEST_VENV)/pyvenv.cfg $(DOCS_VENV)/pyvenv.cfg \
$(RELEASE_VENV)/pyvenv.cfg: always
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
		echo "devlint needs Python 3.10 or later, and '$(PYTHON)' is not: try 'make PYTHON=python3.12'" >&2; \
		exit 2; }
	@if ! test -e $@; then $(PYTHON) -m venv $(@D); \
	elif test "$$($(@D)/bin/python -c '$(WHICH)' 2>/dev/null)" != "$$($(PYTHON) -c '$(WHICH)')"; then \
		echo "$(@D) is of another Python than $(PYTHON): it is made anew"; \
		$(PYTHON) -m venv --clear $(@D); fi

$(DEMO_VENV)/installed: $(DEMO_VENV)/pyvenv.cfg pyproject.toml
	$(DEMO_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# torch comes first and alone, so that no other requirement can bring another release of it.
$(VENV)/installed: $(VENV)/pyvenv.cfg pyproject.toml requirements-test.txt
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-test.txt
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-test.txt --editable '.[dev]'
	@touch $@

# Nothing but its requirements: a wheel of torch for CUDA would bring gigabytes that no test needs.
$(OLDEST_VENV)/installed: $(OLDEST_VENV)/pyvenv.cfg pyproject.toml requirements-oldest.txt
	$(OLDEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --requirement requirements-oldest.txt
	$(OLDEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DOCS_VENV)/installed: $(DOCS_VENV)/pyvenv.cfg requirements-docs.txt
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-docs.txt
	@touch $@

$(RELEASE_VENV)/installed: $(RELEASE_VENV)/pyvenv.cfg requirements-release.txt
	$(RELEASE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-release.txt
	@touch $@

# Findings are what the demo shows: exit code 1 is its success.
demo: $(DEMO_VENV)/installed
	$(DEMO_VENV)/bin/devlint examples; code=$$?; \
		echo "devlint's exit code: $$code (0 clean, 1 findings, 2 devlint could not do its job)"; \
		test $$code -eq 1

# What takes a minute or more of a core, beside what it tells, has targets of its own.
FIXES := tests/test_fixes_run.py
BENCHES := tests/benches
METAMORPHIC := tests/metamorphic/test_metamorphic.py
OPERATORS := tests/runtime/test_operators.py
PROGRAMS := tests/test_pages_run.py tests/driver/test_migrate.py

test: $(VENV)/installed
	$(VENV)/bin/python -m pytest -n $(JOBS) $(addprefix --ignore=,$(FIXES) $(BENCHES) $(METAMORPHIC) $(OPERATORS) $(PROGRAMS))

test-fixes: $(VENV)/installed
	$(VENV)/bin/python -m pytest -n $(JOBS) $(FIXES)

test-benches: $(VENV)/installed
	$(VENV)/bin/python -m pytest -n $(JOBS) $(BENCHES)

test-metamorphic: $(VENV)/installed
	$(VENV)/bin/python -m pytest -n $(JOBS) $(METAMORPHIC)

test-operators: $(VENV)/installed
	$(VENV)/bin/python -m pytest -n $(JOBS) $(OPERATORS)

test-programs: $(VENV)/installed
	$(VENV)/bin/python -m pytest -n $(JOBS) $(PROGRAMS)

test-oldest: $(OLDEST_VENV)/installed
	$(OLDEST_VENV)/bin/python -m pytest -n $(JOBS) tests/conformance tests/runtime

check: $(VENV)/installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python tools/generate.py --check

docs: $(DOCS_VENV)/installed
	$(DOCS_VENV)/bin/python -m mkdocs build --quiet --strict

release-candidate: $(RELEASE_VENV)/installed
	$(RELEASE_VENV)/bin/python tools/release_candidate.py $(if $(VERSION),--version $(VERSION)) $(if $(STRICT),--strict)

clean:
	rm -rf $(VENV) $(DEMO_VENV) $(OLDEST_VENV) $(DOCS_VENV) $(RELEASE_VENV) site build dist .devlint_cache .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
