// Python on a thread that may not have met it before.
#pragma once

#include <Python.h>

namespace hlo::runtime {

/// Holds Python's lock for its lifetime, on any thread.
///
/// PyGILState_Release clears the state that PyGILState_Ensure made once nothing counts it: what is cleared and takes
/// the lock again, such as a `threading.local` with an MLIR context, ends the state a second time. A state that is made
/// here is counted until it is gone.
class PythonScope {
public:
  PythonScope()
      : made(PyGILState_GetThisThreadState() ? nullptr : PyThreadState_New(PyInterpreterState_Main())),
        known(made ? PyGILState_LOCKED : PyGILState_Ensure()) {
    if (made)
      PyEval_RestoreThread(made);
  }
  ~PythonScope() {
    if (!made) {
      PyGILState_Release(known);
      return;
    }
    PyThreadState_Clear(made);
    PyThreadState_DeleteCurrent();
  }
  PythonScope(const PythonScope &) = delete;
  PythonScope &operator=(const PythonScope &) = delete;

private:
  PyThreadState *made;
  PyGILState_STATE known;
};

} // namespace hlo::runtime
