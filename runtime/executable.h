// The Python type `Executable`: a compiled program one calls with arrays.
//
// A plain CPython type with vectorcall, because this is the hot path: a call costs about a microsecond over its
// kernels. Ownership: an executable keeps its library, its constants and its dtypes alive. Arguments are borrowed for
// the call (a donated one for as long as the result in its memory lives); results own memory of allocator.h. Thread
// safety: an executable is immutable; calls may run at the same time on any threads that hold the GIL, which long
// programs release.
#pragma once

#include <Python.h>

namespace hlo::runtime {

/// Makes the types and the NumPy connection; null with a Python error set. Call once, holding the GIL.
PyTypeObject *makeExecutableType();

/// Exception classes to raise for unfit arguments and for programs that report an error; both called with one string.
void setErrorTypes(PyObject *argumentError, PyObject *executionError);

} // namespace hlo::runtime
