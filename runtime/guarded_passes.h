// Passes that may end the process: LLVM's code generation reports what it cannot do as a fatal error.
//
// As libclang does it: a fatal error, a failed assertion or a bad access leads back to where the passes were started.
// What they held then is lost, memory and locks of their context included; so a context whose passes have ended so must
// be neither used nor destroyed. Thread safety: one call at a time, of all threads.
#pragma once

#include "mlir-c/IR.h"

#include <string>

namespace hlo::runtime {

struct PassesEnd {
  enum Kind { Done, Failed, Crashed } kind;
  std::string message; // diagnostics, or the fatal error
};

/// Runs a pipeline such as `builtin.module(canonicalize)` on an operation; `verify` checks it after each pass.
PassesEnd runGuarded(MlirOperation operation, const std::string &pipeline, bool verify);

} // namespace hlo::runtime
