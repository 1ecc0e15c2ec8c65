# Everything a person or CI runs. `make demo` and `make test` set up all they need.

VENV   := .venv
PYTHON := $(VENV)/bin/python
BASE   ?= python3
STAMP  := $(VENV)/.installed
PAGE   := src/playhead/web/page/index.html

.PHONY: help system setup page demo test check format bench bench-peers campaign clean

help:            ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

system:
	@bash .ci/system-packages

setup: $(STAMP) $(PAGE)  ## Install Playhead and its tools into .venv, and build the page

$(STAMP): pyproject.toml hatch_build.py $(wildcard src/playhead/native/*.[ch])
	@$(BASE) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Playhead needs Python 3.11 or later"; exit 1; }
	@test -x $(PYTHON) || $(BASE) -m venv $(VENV) || { echo "install venv first: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m pip install --quiet --upgrade 'pip>=25.1'
	$(PYTHON) -m pip install --quiet --editable '.[system,demo,gym,video,plot,web,games,qt]' --group dev
	@touch $@

page: $(PAGE)    ## Build the page that `playhead serve` shows

$(PAGE): $(shell find web -type f -not -path '*/node_modules/*') | $(STAMP)
	bash web/npm.sh $(PYTHON) install --no-save
	bash web/npm.sh $(PYTHON) run build -- --logLevel warn
	@touch $@

demo: setup      ## Play Atari, record a camera, train a small agent; show what was recorded and open the page on it
	$(PYTHON) examples/atari.py --store demo-store
	$(VENV)/bin/playhead replay last --store demo-store --frames 1
	$(PYTHON) examples/pendulum.py --store demo-store --episodes 1
	$(PYTHON) examples/cartpole.py --store demo-store
	$(VENV)/bin/playhead ls --store demo-store
	$(VENV)/bin/playhead show last --store demo-store
	$(PYTHON) examples/look.py --store demo-store

test: system setup  ## Run the tests, in lanes beside each other
	$(PYTHON) -m tests.side_by_side

check: setup     ## Lint and type-check
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	bash web/npm.sh $(PYTHON) run check
	bash web/npm.sh $(PYTHON) run test

format: setup    ## Bring the code into the house format
	$(VENV)/bin/ruff check --fix --quiet . || true
	$(VENV)/bin/ruff format .

bench: setup     ## Print the figures of every lane
	$(PYTHON) -m benchmarks

bench-peers: setup  ## The same workloads on other programs, each in an environment of its own (11 GB)
	$(PYTHON) -m benchmarks.peers
	-$(PYTHON) -m benchmarks.peers.positronic
	-$(PYTHON) -m benchmarks.peers.lerobot
	-$(PYTHON) -m benchmarks.peers.minari
	-$(PYTHON) -m benchmarks.peers.tables
	-$(PYTHON) -m benchmarks.peers.safety

campaign: system setup  ## Run the crash and fault campaigns whole, and print their figures
	PLAYHEAD_CAMPAIGN=1 $(PYTHON) -m pytest tests/crash tests/journal tests/test_disk.py tests/lanes/arrays/test_given.py tests/lanes/arrays/test_interrupted.py tests/web/test_load.py tests/care tests/test_copies.py -s
	$(PYTHON) -m benchmarks.catalogue --runs 100000 --points 100000000

clean:           ## Remove what was built
	rm -rf $(VENV) .peers demo-store web/node_modules src/playhead/web/page src/playhead/native/native.so .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
