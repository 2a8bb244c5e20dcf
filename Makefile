# make setup   an environment for developing, in .venv
# make test    sets up and runs the tests; T=tests/test_x.py for some of them
# make check   everything that must pass: format, lint, types, layers, shell scripts, tests
# make format  puts the code into shape
# make run     the daemon in the foreground, in a scratch home
# make bench   the measured numbers
# make faults  a kill at every commit: what is lost or doubled (minutes)
# make fuzz    random input to everything that reads, for minutes (FUZZ_SECONDS each), and how many were tried
# make soak    many sessions at once for ten minutes: what is lost, doubled, slow, or grows
# make mutants one mechanism at a time taken out: does its test notice? writes docs/faults.md (half an hour)
# make docs    what is made from the code anew: the manual page, the export's schema
# make release what is released, into dist/: built twice and compared, with the list of its parts (docs/release.md)
# make lock    the lock files anew, from pyproject.toml

BIN := .venv/bin
SCRATCH ?= /tmp/recalld-scratch-$(shell id -u)
COMPILE := uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-header

.PHONY: setup test check lint format run bench faults fuzz soak mutants docs release lock

setup: $(BIN)/.ready

# uv where there is one, else the first Python that will do.
$(BIN)/.ready: requirements-dev.lock pyproject.toml
	@set -e; unset VIRTUAL_ENV PYTHONPATH; \
	if uv --version >/dev/null 2>&1; then \
	    test -x $(BIN)/python || uv venv --quiet --python '>=3.11' .venv; \
	    uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-dev.lock; \
	    uv pip install --quiet --python $(BIN)/python --no-deps --editable .; \
	else \
	    test -x $(BIN)/python || for python in python3.13 python3.12 python3.11 python3; do \
	        $$python -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	        $$python -m venv .venv; break; \
	    done; \
	    test -x $(BIN)/python || { echo 'needs Python 3.11 or newer with venv (Debian: apt install python3-venv), or uv' >&2; exit 1; }; \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock; \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .; \
	fi; \
	touch $@

# All of them in four processes at once, the longest files first (tests/conftest.py): most of the time they wait.
test: setup
	$(BIN)/python -m pytest $(or $(T),-n 4 --dist loadfile --no-loadscope-reorder)

check: lint test

lint: setup
	$(BIN)/ruff format --check daemon docs hooks tests
	$(BIN)/ruff check daemon docs hooks tests
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/shellcheck install.sh .ci/run

format: setup
	$(BIN)/ruff format daemon docs hooks tests
	$(BIN)/ruff check --fix daemon docs hooks tests

run: setup
	mkdir -p -m 700 $(SCRATCH)
	RECALLD_HOME=$(SCRATCH) $(BIN)/recalld run

bench: setup
	$(BIN)/recalld bench

faults: setup
	$(BIN)/python tests/faults_harness.py

FUZZ_SECONDS ?= 40
fuzz: setup
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m pytest tests/test_fuzz.py

soak: setup
	$(BIN)/python tests/soak.py

mutants: setup
	$(BIN)/python tests/mutation_run.py --write docs/faults.md

docs: setup
	$(BIN)/python docs/make_man.py
	$(BIN)/recalld export --schema > docs/export.schema.json

release: setup
	$(BIN)/python docs/make_release.py

# The lock files name no registry, so that they serve wherever packages come from.
lock:
	$(COMPILE) -o requirements.lock
	$(COMPILE) --group dev --constraint requirements.lock -o requirements-dev.lock
