// From what a caller passes to what a program takes: checks, and conversions off the hot path.
//
// All functions need the GIL. Include after numpy_api.h.
#pragma once

#include "numpy_api.h"

#include <string>
#include <vector>

namespace hlo::runtime {

/// A Python reference that is released with its scope.
class Reference {
public:
  Reference() = default;
  explicit Reference(PyObject *stolen) : object(stolen) {}
  Reference(Reference &&other) noexcept : object(other.object) { other.object = nullptr; }
  Reference &operator=(Reference &&other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Reference() { Py_XDECREF(object); }
  Reference(const Reference &) = delete;
  Reference &operator=(const Reference &) = delete;
  PyObject *get() const { return object; }
  PyObject *release() {
    PyObject *result = object;
    object = nullptr;
    return result;
  }
  explicit operator bool() const { return object != nullptr; }

private:
  PyObject *object = nullptr;
};

struct ArraySpec {
  Reference dtype; // a PyArray_Descr in native byte order
  std::vector<npy_intp> shape;
  size_t bytes = 0;

  PyArray_Descr *descr() const { return reinterpret_cast<PyArray_Descr *>(dtype.get()); }
  int rank() const { return static_cast<int>(shape.size()); }
};

struct ArgumentSpec : ArraySpec {
  std::string name; // may be empty
  bool donated = false;
};

/// Fills a spec; false with a Python error set.
bool parseArraySpec(PyObject *dtype, PyObject *shape, ArraySpec &spec);

/// Whether the array can be used as it is: dtype, shape, byte order, contiguous, aligned to its element.
inline bool fits(PyArrayObject *array, const ArraySpec &spec) {
  constexpr int layout = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
  if ((PyArray_FLAGS(array) & layout) != layout || PyArray_NDIM(array) != spec.rank())
    return false;
  const npy_intp *dims = PyArray_DIMS(array);
  for (int i = 0; i < spec.rank(); ++i)
    if (dims[i] != spec.shape[static_cast<size_t>(i)])
      return false;
  return PyArray_DESCR(array) == spec.descr() ||
         (PyArray_ISNOTSWAPPED(array) && PyArray_EquivTypes(PyArray_DESCR(array), spec.descr()));
}

/// Whether the memory of another library's array can be used as it is, with no array of NumPy's around it; then `view`
/// is to be released. No error is left behind.
bool viewArgument(PyObject *object, const ArgumentSpec &spec, Py_buffer &view);

/// The slow path: a new array that fits (a copy, or a view of the object's memory), or null with the error that names
/// the argument, what was expected and what was found.
PyArrayObject *convertArgument(PyObject *object, const ArgumentSpec &spec, size_t position, PyObject *errorType);

} // namespace hlo::runtime
