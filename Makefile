SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
PROGRAMS := spark or kafka or rocketmq or chromium or stores
FAST := not slow and not deep and not ($(PROGRAMS))
SLOW := (slow or $(PROGRAMS)) and not deep
LANES := -n 3 --dist loadgroup --no-loadscope-reorder
OWN := tests/clean_root tests/container  # these have targets of their own

.NOTPARALLEL:  # parts of the tests share a cache of what failed

# Of each package that is pinned: the SHA-256 of all its files, for each platform and Python.
PIN := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make pins"

# AGAIN=1: the tests that failed last time, one after the other.
lanes = $(if $(AGAIN),--last-failed --last-failed-no-failures none,$(1))

# pytest compiles the tests anew in each process if no compiled file may be kept: ten seconds each.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup tools pins demo test test-programs test-fast test-slow test-deep test-clean-root check fmt cover screenshots bench mutants proof endure package clean

help:  ## Show this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## Install everything into .venv; fast when up to date
	@scripts/setup

tools:  ## Install what tests and linters need, too
	@scripts/setup dev

demo: setup  ## Watch a RocketMQ fleet go wrong and recover (SECONDS=90 to end by itself)
	$(BIN)/evenkeel demo $(if $(SECONDS),--seconds $(SECONDS))

test: test-fast test-slow  ## Run the tests: first those that start nothing

test-programs: tools  ## Install Chromium, Prometheus and Alertmanager for the tests, where that may be done
	@scripts/install-test-programs

test-fast: tools  ## Run the tests that start nothing
	$(PYTEST) -m "$(FAST)" $(call lanes,-n 2)

test-slow: tools test-programs  ## Run the tests with Spark, Kafka, a browser, processes
	$(PYTEST) --timeout 600 -m "$(SLOW)" $(call lanes,$(LANES)) $(addprefix --ignore=,$(OWN))

test-deep: tools test-programs  ## Run all other tests: every row, the job killed and rebuilt, a real RocketMQ in trouble
	@$(BIN)/python -m testing.rocketmq
	@$(BIN)/python -m testing.stores.servers versitygw || echo "Some tests will be skipped: versitygw cannot be had"
	$(PYTEST) --timeout 900 --hypothesis-profile deep -m deep $(call lanes,$(LANES)) $(addprefix --ignore=,$(OWN))

test-clean-root: tools  ## Run both commands of the README in clean Debians: needs root, debootstrap and 4 GB of disk
	$(PYTEST) -s --timeout 1200 tests/clean_root

check: tools  ## Format, lint, types, direction of imports
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: tools  ## Format the code and mend what can be mended
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

cover: tools  ## Show what the fast tests leave uncovered in schemas and streaming.core
	$(PYTEST) -m "$(FAST)" -n 2 --cov --cov-report=term-missing

screenshots: tools  ## Make the pictures of the pages in docs/ again
	$(BIN)/python -m tests.web.screenshots

bench: tools  ## Measure (QUICK=1 for a short run)
	$(BIN)/python -m bench $(if $(QUICK),--quick)

mutants: tools  ## Break the core in one place at a time, and count what no fast test finds (NTH=17: the 17th place of each function)
	rm -rf mutants
	$(BIN)/mutmut run '*__mutmut_$(or $(NTH),17)'
	$(BIN)/mutmut results --all true | $(BIN)/python -m bench.mutants

proof: tools  ## Prove the detection by simulation (SEED=1 INCIDENTS=200 HEALTHY=2000 PERTURBED=100 POP=100, JSON=FILE)
	$(BIN)/python -m bench.proof $(foreach name,SEED INCIDENTS HEALTHY PERTURBED POP JSON,$(if $($(name)),--$(shell echo $(name) | tr A-Z a-z) '$($(name))'))

endure: tools  ## Find what grows in HOURS of work (2.5, or MINUTES); PART=fast: a month; PART=faults. Once more: it goes on
	$(BIN)/python -m bench.endure $(or $(PART),live) $(if $(HOURS),--hours $(HOURS)) $(if $(MINUTES),--minutes $(MINUTES))

package: tools  ## Build dist/: wheel, sdist, checksums, bill of materials; and try the image of it: root, buildah, debootstrap, 8 GB
	@scripts/package
	$(PYTEST) --timeout 3600 tests/container

pins: tools  ## Pin the packages again after pyproject.toml was changed (UPGRADE=NAME for a newer one)
	$(PIN) --all-extras --group dev $(addprefix --upgrade-package ,$(UPGRADE)) -o requirements-dev.txt pyproject.toml
	$(PIN) --extra sql --extra chat -c requirements-dev.txt -o requirements.txt pyproject.toml
	$(PIN) --group build -c requirements-dev.txt -o requirements-build.txt

clean:  ## Remove the environment and everything made by running
	rm -rf .venv setup.log build dist man *.egg-info .*_cache .hypothesis .coverage
