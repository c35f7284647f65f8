# Commands for those who work on it; `.ci/run` does all of it in a new environment.
PYTHON ?= python

.PHONY: quick test check docs kernels
quick: ## the quick tests of modules and hooks; kernels as they are built
	HYPOTHESIS_PROFILE=ci $(PYTHON) -m pytest -n auto --dist worksteal -m "not slow" tests/unit tests/hooks tests/golden
test: ## all tests
	$(PYTHON) -m pytest -n auto --dist worksteal
check: ## format, lint, types, generated pages
	ruff format --check . && ruff check . && mypy && $(PYTHON) docs/generate.py --check
docs: ## the site, in build/site
	$(PYTHON) -m sphinx -W -q docs build/site
kernels: ## compile the kernels that have changed, in an environment with Cython and setuptools
	$(PYTHON) setup.py -q build_ext --inplace
