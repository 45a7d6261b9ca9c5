SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
PURE := not spark and not kafka and not rocketmq
FAST := $(PURE) and not slow and not chromium
LONG := tests/e2e tests/real tests/replay/test_transformed.py tests/inspect/test_law_of_clusters.py $(addprefix tests/spark/test_,answers.py maintain_facts.py reseed.py run.py session.py tables_doc.py)

.NOTPARALLEL:  # parts of the tests share a cache of what failed

# AGAIN=1: the tests that failed last time, one after the other.
lanes = $(if $(AGAIN),--last-failed --last-failed-no-failures none,$(1))

# pytest compiles the tests anew in each process if no compiled file may be kept: ten seconds each.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-programs test-fast test-slow test-spark test-e2e test-container check fmt cover screenshots bench endure package clean

help:  ## Show this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.stamp  ## Install everything into .venv; fast when up to date
	@$(BIN)/evenkeel jars fetch

.venv/.stamp: pyproject.toml constraints.txt hashes.txt
	@scripts/setup

demo: setup  ## Watch a RocketMQ fleet go wrong and recover (SECONDS=90 to end by itself)
	$(BIN)/evenkeel demo $(if $(SECONDS),--seconds $(SECONDS))

test: test-fast test-slow test-spark  ## Run the tests: first those without Spark and Kafka

test-programs:  ## Install Chromium, Prometheus, Alertmanager, minio, versitygw and kubeconform for the tests, where that may be done
	@scripts/install-test-programs

test-fast: setup  ## Run the tests that need neither Spark nor Kafka
	$(PYTEST) -m "$(FAST)" $(call lanes,-n 3)

test-slow: setup test-programs  ## Run the slow ones of these, and those in a browser
	$(PYTEST) -m "$(PURE) and (slow or chromium)" $(call lanes,-n 2) $(addprefix --ignore=,$(LONG))

test-spark: setup test-programs  ## Run the tests with Spark and Kafka
	$(PYTEST) --timeout 600 -m "not ($(PURE))" $(call lanes,-n 2 --dist loadfile) $(addprefix --ignore=,$(LONG) tests/container)

test-e2e: setup test-programs  ## Run the long tests: the job killed, restarted, rebuilt; a real RocketMQ in trouble
	@$(BIN)/python -m tests.real
	$(PYTEST) --timeout 900 $(call lanes,-n 3 --dist loadfile) $(LONG)

test-container: setup package  ## Build the image of deploy/container and run it: needs root, buildah, debootstrap and 8 GB of disk
	$(PYTEST) --timeout 3600 tests/container

check: setup  ## Format, lint, types, direction of imports
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: setup  ## Format the code and mend what can be mended
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

cover: setup  ## Show what the fast tests leave uncovered in schemas and streaming.core
	$(PYTEST) -m "$(FAST)" -n 2 --cov --cov-report=term-missing

screenshots: setup  ## Make the pictures of the pages in docs/ again
	$(BIN)/python -m tests.web.screenshots

bench: setup  ## Measure (QUICK=1 for a short run)
	$(BIN)/python -m bench $(if $(QUICK),--quick)

endure: setup  ## Find what grows in HOURS of work (2.5, or MINUTES); PART=fast: a month; PART=faults. Once more: it goes on
	$(BIN)/python -m bench.endure $(or $(PART),live) $(if $(HOURS),--hours $(HOURS)) $(if $(MINUTES),--minutes $(MINUTES))

package: setup  ## Build what is released in dist/: wheel, sdist, checksums, bill of materials
	@scripts/package

clean:  ## Remove the environment and everything made by running
	rm -rf .venv build dist man *.egg-info .*_cache .hypothesis .coverage
