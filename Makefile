# Commands for a machine that has Python >= 3.11, pip and make, and nothing else.
PYTHON ?= python3
PY  := $(shell $(PYTHON) -c 'import sys; print(sys.executable)')
PYV := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
UV_HOME := .cache/uv-0.13.9-py$(PYV)
# UV_SYSTEM_CERTS: without it uv refuses a registry certificate that pip accepts.
UV := UV_PYTHON_DOWNLOADS=never UV_SYSTEM_CERTS=1 PYTHONPATH=$(UV_HOME) $(PY) -m uv
READY := .venv/.ready-$(PYV)
BIN := .venv/bin
WORKERS ?= 2

.PHONY: dev test check install lock bench chaos mutation clean

dev: install
	$(BIN)/hermes dev

install: $(READY)

$(UV_HOME)/uv/__init__.py:
	$(PY) -m pip install -q --disable-pip-version-check --root-user-action=ignore --target $(UV_HOME) uv==0.13.9

$(READY): $(UV_HOME)/uv/__init__.py requirements.lock pyproject.toml
	$(UV) venv -q --clear --python "$(PY)" .venv
	$(UV) pip sync -q --python .venv --require-hashes requirements.lock
	$(UV) pip install -q --python .venv --no-deps --no-build-isolation --editable .
	touch $@

check: install
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy
	$(BIN)/pytest -q tests/test_code_limits.py

test: check
	$(BIN)/pytest -q -n $(WORKERS) --dist loadfile --ignore tests/test_code_limits.py

bench: install
	$(BIN)/python -m tests.bench

chaos: install
	$(BIN)/python -m tests.chaos

# Deletes earlier results: mutmut runs a mutant again only if its function changed. ONLY='tools.tool_policy.*' runs one module.
mutation: install
	rm -rf mutants
	$(BIN)/mutmut run --max-children $(WORKERS) $(ONLY)
	$(BIN)/python -m tests.mutation_report

lock: $(UV_HOME)/uv/__init__.py
	$(UV) pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url -q -o requirements.lock

clean:
	rm -rf .venv .cache mutants .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
