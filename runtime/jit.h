// Native code from MLIR's llvm dialect: translation, LLVM passes, code generation, and loading into this process.
//
// Ownership: `CompileOptions` and results are values; a `Library` owns its code, and addresses it gave out are valid as
// long as it lives. Thread safety: `compile` may run on any number of threads for modules of distinct MLIR contexts;
// `Library` objects may be made, looked up and destroyed on any thread. Errors are `JitError`.
#pragma once

#include "mlir-c/IR.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct LLVMOrcOpaqueJITDylib;

namespace hlo::runtime {

class JitError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

enum class Output { Object, Assembly, LlvmIr };

struct CompileOptions {
  std::string passes;          // in the syntax of `opt -passes=`; empty runs none
  int codegenLevel = 2;        // 0..3
  std::string triple = "host"; // "host" stands for this machine's, in all three
  std::string cpu = "host";
  std::string features = "host";
  bool verify = true; // check the MLIR module and the LLVM module before they are used
};

/// Translates a module of the llvm dialect and returns the object file, the assembly text or the LLVM IR text.
std::string compile(MlirOperation module, const CompileOptions &options, Output output);

/// Compiles a module of LLVM IR, text or bitcode, likewise; its own target and data layout are not kept.
std::string compileLlvm(std::string_view code, const CompileOptions &options, Output output);

std::string hostTriple();
std::string hostCpu();
std::string hostFeatures();

/// Object files linked into this process, with the runtime's C functions, libm and the process's symbols in sight, and
/// ahead of those the symbols that are given with them.
class Library {
public:
  explicit Library(const std::vector<std::string_view> &objects,
                   const std::vector<std::pair<std::string, uint64_t>> &symbols = {});
  ~Library();
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  /// Address of a symbol; links the library on first use.
  uint64_t lookup(const std::string &name) const;

private:
  LLVMOrcOpaqueJITDylib *dylib;
};

} // namespace hlo::runtime
