# Every target makes its own environment in .venv; nothing else is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Byte code of the tests is kept in the environment.
KEPT := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/$(VENV)/bytecode
# The interpreter warns of overflows, which compiled code and its checks take as they come.
INTERPRETED := NUMBA_DISABLE_JIT=1 PYTHONWARNINGS=ignore::RuntimeWarning
TESTING := $(KEPT) $(BIN)/python -m pytest --disable-warnings

.DEFAULT_GOAL := help
.PHONY: help demo docs test lint-and-site suites interpreted compiled coverage lint site bench soak fuzz mutants clean

help:
	@echo "make demo   learn a real stream, print its certificate, draw demo.png"
	@echo "make test   linters, types, import contracts, documentation and the test suite"
	@echo "make lint   the first three of these alone"
	@echo "make coverage  which lines of src the tests run"
	@echo "make docs   build the documentation into site/, every example run"
	@echo "make bench  the benchmarks"
	@echo "make soak   every test in its full form, and tests that take minutes"
	@echo "make fuzz   thousands of random inputs"
	@echo "make mutants  faults put into the sources one at a time: does a test notice?"
	@echo "make clean  remove what the other targets made"

# One stamp a set of extras: a changed pyproject.toml reinstalls, an unchanged one costs nothing.
$(VENV)/installed-%: pyproject.toml | $(BIN)/python
	@echo "== installing noregret[$*] into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

$(BIN)/python:
	@echo "== making the environment $(VENV) with $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "noregret needs Python 3.11 or later, $(PYTHON) is " + sys.version.split()[0])'
	@$(PYTHON) -m venv $(VENV)

demo: $(VENV)/installed-plot,sklearn
	@echo "== learning a real stream with a certificate"
	@$(BIN)/noregret demo --out demo.png

docs: $(VENV)/installed-docs
	@echo "== documentation"
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs site

# Linters, types and the site run beside the tests. Kernels are plain Python and most tests run them
# interpreted, so that nothing is compiled; tests of machine code, and those that are long for the
# interpreter, are marked `compiled`. Long tests have a short form here and the full one in
# `make soak` (tests/sizes.py).
test: $(VENV)/installed-test
	@$(MAKE) --no-print-directory -j 2 lint-and-site suites

lint-and-site:
	@$(MAKE) --no-print-directory lint site > $(VENV)/lint.log 2>&1 || { cat $(VENV)/lint.log; exit 1; }
	@echo "== linters, types, import contracts and the site: nothing to complain of"

suites: interpreted compiled

interpreted:
	@echo "== tests and doctests, kernels interpreted"
	@$(INTERPRETED) $(TESTING) -n 2 --dist loadfile -m 'not compiled and not soak and not fuzz'

compiled: interpreted
	@echo "== tests of machine code"
	@$(TESTING) -n 2 --dist worksteal -m 'compiled and not soak and not fuzz' \
		$$(grep -rl --include='test_*.py' 'mark\.compiled' tests)

coverage: $(VENV)/installed-test
	@echo "== lines of src that the tests run, kernels interpreted: machine code leaves no trace"
	@$(INTERPRETED) $(TESTING) -n 2 --dist loadfile -m 'not compiled and not soak and not fuzz' \
		--ignore tests/project/test_docs.py --cov noregret --cov-report term:skip-covered \
		--cov-fail-under 95

lint: $(VENV)/installed-test
	@echo "== ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== mypy"
	@$(BIN)/mypy
	@echo "== import contracts"
	@$(BIN)/lint-imports

site: $(VENV)/installed-test
	@echo "== documentation"
	@$(BIN)/sphinx-build -W --keep-going -q -D execute=0 -b html docs $(VENV)/site
	@$(BIN)/python -m tests.project.site $(VENV)/site

bench: $(VENV)/installed-bench
	@echo "== benchmarks"
	@$(BIN)/python -m bench

soak: $(VENV)/installed-test
	@echo "== every test in its full form, kernels interpreted"
	@NOREGRET_TESTS=full $(INTERPRETED) $(TESTING) -n 2 --dist loadfile \
		-m 'not compiled and not soak and not fuzz'
	@echo "== tests of machine code in their full form, and long runs"
	@NOREGRET_TESTS=full $(TESTING) -n 2 --dist loadfile -m '(compiled or soak) and not fuzz' tests
	@echo "== truth of certificates on generated streams"
	@$(BIN)/python -m tests.truth.soak
	@echo "== truth of what is printed"
	@NUMBA_DISABLE_JIT=1 PYTHONPATH=src:. $(BIN)/python -W ignore -m tests.printed.soak
	@echo "== truth of the whole product of components"
	@$(BIN)/python -m tests.truth.product
	@echo "== truth of certificates of several scores"
	@$(BIN)/python -m tests.truth.matrix_streams
	@echo "== truth of the best in hindsight on generated problems"
	@$(BIN)/python -m tests.truth.hindsight_problems
	@echo "== truth of the best in hindsight on shards"
	@$(INTERPRETED) $(BIN)/python -W ignore -m tests.truth.shared_problems

fuzz: $(VENV)/installed-test
	@echo "== random inputs"
	@$(BIN)/python -m pytest -m 'fuzz or hypothesis' -n 2 --hypothesis-profile explore

mutants: $(VENV)/installed-test
	@echo "== mutations of the sources, one at a time"
	@$(BIN)/python -m tests.mutants

clean:
	@echo "== removing $(VENV), caches and built files"
	@rm -rf $(VENV) build dist site docs/_made demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
