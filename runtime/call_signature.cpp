#include "call_signature.h"

#include "arguments.h"

#include <cstdint>

namespace hlo::runtime {
namespace {

constexpr int mostNested = 64;

enum Tag : uint64_t { Array = 1, Like, Number, Dict, List, Tuple, Nothing };

uint64_t addressOf(const void *object) { return reinterpret_cast<uint64_t>(object); }

class Signature {
public:
  explicit Signature(bool withKept) : leaves(PyList_New(0)), kept(withKept ? PyList_New(0) : nullptr) {}

  bool isMade() const { return leaves.get() != nullptr; }

  // Whether the object and all in it can be part of a signature.
  bool add(PyObject *object, int depth = 0) {
    if (PyArray_CheckExact(object)) {
      auto *array = reinterpret_cast<PyArrayObject *>(object);
      const int rank = PyArray_NDIM(array);
      put(Array | static_cast<uint64_t>(rank) << 8);
      putObject(reinterpret_cast<PyObject *>(PyArray_DESCR(array)));
      for (int i = 0; i < rank; ++i)
        put(static_cast<uint64_t>(PyArray_DIM(array, i)));
      return addLeaf(object);
    }
    if (depth == mostNested)
      return false;
    if (object == Py_None) {
      put(Nothing);
      return true;
    }
    if (PyDict_CheckExact(object))
      return addDict(object, depth);
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
      const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
      put((PyTuple_CheckExact(object) ? Tuple : List) | static_cast<uint64_t>(count) << 8);
      for (Py_ssize_t i = 0; i < count && i < PySequence_Fast_GET_SIZE(object); ++i)
        if (!add(PySequence_Fast_GET_ITEM(object, i), depth + 1))
          return false;
      return true;
    }
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
        PyComplex_CheckExact(object)) {
      put(Number);
      put(addressOf(Py_TYPE(object)));
      return addLeaf(object);
    }
    return addArrayLike(object);
  }

  PyObject *result() {
    Reference bytes(PyBytes_FromStringAndSize(reinterpret_cast<const char *>(key.data()),
                                              static_cast<Py_ssize_t>(key.size() * sizeof(uint64_t))));
    if (!bytes)
      return nullptr;
    return PyTuple_Pack(3, bytes.get(), leaves.get(), kept ? kept.get() : Py_None);
  }

private:
  void put(uint64_t word) { key.push_back(word); }

  void putObject(PyObject *object) {
    put(addressOf(object));
    if (kept)
      PyList_Append(kept.get(), object);
  }

  bool addLeaf(PyObject *leaf) { return PyList_Append(leaves.get(), leaf) == 0; }

  bool addDict(PyObject *dict, int depth) {
    put(Dict | static_cast<uint64_t>(PyDict_GET_SIZE(dict)) << 8);
    Py_ssize_t position = 0;
    PyObject *name = nullptr, *value = nullptr;
    while (PyDict_Next(dict, &position, &name, &value)) {
      if (!PyUnicode_CheckExact(name) && !PyLong_CheckExact(name))
        return false;
      putObject(name);
      if (!add(value, depth + 1))
        return false;
    }
    return true;
  }

  // Arrays of other libraries, with a shape of ints and a dtype that is one object, NumPy's or the library's own.
  bool addArrayLike(PyObject *object) {
    static PyObject *const shapeName = PyUnicode_InternFromString("shape");
    static PyObject *const dtypeName = PyUnicode_InternFromString("dtype");
    Py_INCREF(object);
    const Reference held(object); // its attributes may be Python code
    Reference shape(PyObject_GetAttr(object, shapeName));
    if (!shape || !PyTuple_Check(shape.get()))
      return false;
    Reference dtype(PyObject_GetAttr(object, dtypeName));
    if (!dtype)
      return false;
    const Py_ssize_t rank = PyTuple_GET_SIZE(shape.get());
    put(Like | static_cast<uint64_t>(rank) << 8);
    putObject(reinterpret_cast<PyObject *>(Py_TYPE(object)));
    putObject(dtype.get());
    for (Py_ssize_t i = 0; i < rank; ++i) {
      PyObject *size = PyTuple_GET_ITEM(shape.get(), i);
      if (!PyLong_CheckExact(size))
        return false;
      put(static_cast<uint64_t>(PyLong_AsLongLong(size)));
    }
    return addLeaf(object);
  }

  std::vector<uint64_t> key;
  Reference leaves;
  Reference kept;
};

} // namespace

PyObject *callSignature(PyObject *args, PyObject *kwargs, bool withKept) {
  Signature signature(withKept);
  if (!signature.isMade())
    return nullptr;
  if (signature.add(args) && (PyDict_GET_SIZE(kwargs) == 0 || signature.add(kwargs)) && !PyErr_Occurred())
    return signature.result();
  PyErr_Clear(); // the slow path meets the error again, and says more about it
  Py_RETURN_NONE;
}

} // namespace hlo::runtime
