#include "callbacks.h"

#include "float_environment.h"
#include "python_scope.h"
#include "runtime.h"

#include <cstring>

namespace hlo::runtime {
namespace {

PyObject *runCallback = nullptr;

PyObject *viewsOf(void *const *buffers, const int64_t *bytes, int64_t operands, int64_t count) {
  PyObject *views = PyTuple_New(static_cast<Py_ssize_t>(count));
  for (int64_t i = 0; views && i < count; ++i) {
    PyObject *view = PyMemoryView_FromMemory(static_cast<char *>(buffers[i]), static_cast<Py_ssize_t>(bytes[i]),
                                             i < operands ? PyBUF_READ : PyBUF_WRITE);
    if (!view) {
      Py_DECREF(views);
      return nullptr;
    }
    PyTuple_SET_ITEM(views, static_cast<Py_ssize_t>(i), view);
  }
  return views;
}

// Takes the exception that is raised out of the interpreter.
PyObject *takeException() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value && traceback)
    PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
}

bool runs(void *const *buffers, const int64_t *bytes, int64_t operands, int64_t count, int64_t number) {
  PyObject *views = viewsOf(buffers, bytes, operands, count);
  PyObject *done = views ? PyObject_CallFunction(runCallback, "LO", static_cast<long long>(number), views) : nullptr;
  Py_XDECREF(views);
  Py_XDECREF(done);
  return done != nullptr;
}

} // namespace

void setPythonCallbacks(PyObject *run) {
  Py_XINCREF(run);
  Py_XDECREF(runCallback);
  runCallback = run;
}

bool raiseFromCallback(const HloRuntime &runtime) {
  auto *exception = static_cast<PyObject *>(runtime.exception);
  if (!exception)
    return false;
  runtime.exception = nullptr;
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
  return true;
}

} // namespace hlo::runtime

using namespace hlo::runtime;

int32_t hlo_rt_python_callback(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, void *,
                               int64_t) {
  const int64_t number = parameters[0], operands = parameters[1], count = operands + parameters[2];
  const int64_t *bytes = parameters + 3;
  const PythonScope python;
  const FloatEnvironment environment(Subnormals::Kept); // whatever the program runs in
  const bool done = !runtime->exception && runs(buffers, bytes, operands, count, number);
  if (!done) {
    for (int64_t i = operands; i < count; ++i)
      std::memset(buffers[i], 0, static_cast<size_t>(bytes[i]));
    if (!runtime->exception)
      runtime->exception = takeException();
    hlo_rt_set_error(runtime, "a Python callback raised an exception");
  }
  return done ? HLO_OK : HLO_ERROR;
}
