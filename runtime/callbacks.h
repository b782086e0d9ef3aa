// Python functions that generated code calls.
#pragma once

#include "kernel_abi.h"

#include <Python.h>

namespace hlo::runtime {

/// Sets the function that runs callbacks: it is called with a number and a tuple of memoryviews, those of the operands
/// before those of the results. Keeps a reference.
void setPythonCallbacks(PyObject *run);

/// Raises what a callback of this call raised, and returns true; false if none did. Needs the GIL.
bool raiseFromCallback(const HloRuntime &runtime);

} // namespace hlo::runtime
