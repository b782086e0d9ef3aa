#include "arguments.h"

#include "dlpack.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace hlo::runtime {
namespace {

std::string text(PyObject *object) {
  Reference string(PyObject_Str(object));
  const char *utf8 = string ? PyUnicode_AsUTF8(string.get()) : nullptr;
  if (utf8)
    return utf8;
  PyErr_Clear();
  return "?";
}

std::string describe(PyArray_Descr *dtype, const npy_intp *dims, int rank) {
  std::string result = text(reinterpret_cast<PyObject *>(dtype)) + "[";
  for (int i = 0; i < rank; ++i)
    result += (i ? "," : "") + std::to_string(dims[i]);
  return result + "]";
}

std::string label(const ArgumentSpec &spec, size_t position) {
  std::string result = "argument " + std::to_string(position);
  if (!spec.name.empty())
    result += " ('" + spec.name + "')";
  return result + ": expected " + describe(spec.descr(), spec.shape.data(), spec.rank());
}

PyArrayObject *refuse(PyObject *errorType, const std::string &message) {
  PyErr_SetString(errorType, message.c_str());
  return nullptr;
}

// Turns the pending Python error into ours, with its text at the end.
PyArrayObject *refuseWithCause(PyObject *errorType, const ArgumentSpec &spec, size_t position, const char *typeName,
                               const char *what) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  std::string message = label(spec, position) + ", found a " + typeName + what;
  if (value)
    message += ": " + text(value);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return refuse(errorType, message);
}

enum class Kind { Boolean, Integer, Float, Complex };

Kind kindOf(PyArray_Descr *dtype) {
  switch (dtype->kind) {
  case 'b':
    return Kind::Boolean;
  case 'i':
  case 'u':
    return Kind::Integer;
  case 'c':
    return Kind::Complex;
  case 'f':
    return Kind::Float;
  default: // an ml_dtypes type: its name tells
    return text(reinterpret_cast<PyObject *>(dtype)).find("int") != std::string::npos ? Kind::Integer : Kind::Float;
  }
}

bool isPythonScalar(PyObject *object) {
  return PyBool_Check(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
         PyComplex_CheckExact(object);
}

bool scalarIsOfKind(PyObject *object, Kind kind) {
  switch (kind) {
  case Kind::Boolean:
    return PyBool_Check(object);
  case Kind::Integer:
    return PyLong_CheckExact(object);
  case Kind::Float:
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object);
  case Kind::Complex:
    return !PyBool_Check(object);
  }
  return false;
}

// int2, int4 and their unsigned kin wrap silently in ml_dtypes.
bool fitsNarrowInteger(PyObject *object, PyArray_Descr *dtype) {
  const std::string name = text(reinterpret_cast<PyObject *>(dtype));
  const bool isUnsigned = name.rfind("uint", 0) == 0;
  const int bits = std::atoi(name.c_str() + (isUnsigned ? 4 : 3));
  if (bits >= 8)
    return true; // NumPy checks
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  const long long low = isUnsigned ? 0 : -(1LL << (bits - 1));
  const long long high = (1LL << (isUnsigned ? bits : bits - 1)) - 1;
  return !overflow && value >= low && value <= high;
}

PyArrayObject *convertScalar(PyObject *object, const ArgumentSpec &spec, size_t position, PyObject *errorType) {
  const Kind kind = kindOf(spec.descr());
  if (!scalarIsOfKind(object, kind))
    return refuse(errorType, label(spec, position) + ", found a Python " + Py_TYPE(object)->tp_name);
  if (kind == Kind::Integer && !fitsNarrowInteger(object, spec.descr()))
    return refuse(errorType, label(spec, position) + ", found a Python int out of its range: " + text(object));
  Py_INCREF(spec.descr());
  PyObject *array = PyArray_FromAny(object, spec.descr(), 0, 0, NPY_ARRAY_CARRAY, nullptr);
  if (!array)
    return refuseWithCause(errorType, spec, position, "Python scalar", " that does not convert");
  return reinterpret_cast<PyArrayObject *>(array);
}

// By DLPack: an array of the object's own memory; null if it cannot be one, with an error if the object said why.
PyObject *arrayOfTensor(PyObject *object, const ArraySpec &spec) {
  BorrowedTensor tensor;
  return tensor.take(object) ? tensor.toArray(spec) : nullptr;
}

PyObject *toArray(PyObject *object, const ArraySpec &spec) {
  if (PyArray_Check(object)) {
    Py_INCREF(object);
    return object;
  }
  const bool hasTensor = PyObject_HasAttrString(object, "__dlpack__");
  const bool hasArray = PyObject_HasAttrString(object, "__array__");
  if (hasTensor && (!hasArray || exportsQuickly(object))) {
    PyObject *array = arrayOfTensor(object, spec);
    if (array || (PyErr_Occurred() && !hasArray))
      return array;
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_BufferError))
      return nullptr;
    PyErr_Clear();
  }
  PyObject *array = PyArray_FromAny(object, nullptr, 0, 0, 0, nullptr);
  if (array || !hasTensor)
    return array;
  // A dtype that its library cannot give to NumPy, such as bfloat16.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  array = arrayOfTensor(object, spec);
  if (!array) {
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return nullptr;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return array;
}

bool sameDtypeInAnyByteOrder(PyArray_Descr *found, PyArray_Descr *expected) {
  if (PyArray_EquivTypes(found, expected))
    return true;
  if (PyArray_ISNBO(found->byteorder))
    return false;
  Reference native(reinterpret_cast<PyObject *>(PyArray_DescrNewByteorder(found, NPY_NATIVE)));
  return native && PyArray_EquivTypes(reinterpret_cast<PyArray_Descr *>(native.get()), expected);
}

// The kind, as NumPy has it, of the elements that a format of the buffer protocol describes; 0 for what has none.
char kindOfFormat(const char *format) {
  if (!format)
    return 0;
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  const bool isComplex = *format == 'Z';
  format += isComplex;
  if (!*format || format[1])
    return 0;
  if (std::strchr("fd", *format))
    return isComplex ? 'c' : 'f';
  if (isComplex)
    return 0;
  return std::strchr("bhilq", *format)   ? 'i'
         : std::strchr("BHILQ", *format) ? 'u'
         : *format == '?'                ? 'b'
         : *format == 'e'                ? 'f'
                                         : 0;
}

bool fits(const Py_buffer &view, const ArraySpec &spec) {
  const PyArray_Descr *dtype = spec.descr();
  if (view.ndim != spec.rank() || view.itemsize != PyDataType_ELSIZE(dtype) ||
      kindOfFormat(view.format) != dtype->kind ||
      reinterpret_cast<uintptr_t>(view.buf) % static_cast<size_t>(PyDataType_ALIGNMENT(dtype)) != 0)
    return false;
  for (int i = 0; i < view.ndim; ++i)
    if (view.shape[i] != spec.shape[static_cast<size_t>(i)])
      return false;
  return true;
}

} // namespace

bool viewArgument(PyObject *object, const ArgumentSpec &spec, Py_buffer &view) {
  if (!PyObject_CheckBuffer(object) || PyArray_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object))
    return false;
  if (PyObject_GetBuffer(object, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
    PyErr_Clear();
    return false;
  }
  if (fits(view, spec))
    return true;
  PyBuffer_Release(&view);
  return false;
}

bool parseArraySpec(PyObject *dtype, PyObject *shape, ArraySpec &spec) {
  PyArray_Descr *descr = nullptr;
  if (!PyArray_DescrConverter(dtype, &descr))
    return false;
  spec.dtype = Reference(reinterpret_cast<PyObject *>(descr));
  if (PyDataType_REFCHK(descr) || PyDataType_ELSIZE(descr) <= 0 || !PyArray_ISNBO(descr->byteorder)) {
    PyErr_Format(PyExc_ValueError, "not a plain native dtype: %R", dtype);
    return false;
  }
  Reference sequence(PySequence_Fast(shape, "a shape must be a sequence of sizes"));
  if (!sequence)
    return false;
  const Py_ssize_t rank = PySequence_Fast_GET_SIZE(sequence.get());
  if (rank > NPY_MAXDIMS) {
    PyErr_Format(PyExc_ValueError, "NumPy arrays have at most %d dimensions, found %zd", NPY_MAXDIMS, rank);
    return false;
  }
  size_t bytes = static_cast<size_t>(PyDataType_ELSIZE(descr));
  bool overflow = false, empty = false;
  for (Py_ssize_t i = 0; i < rank; ++i) {
    const Py_ssize_t size = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(sequence.get(), i), PyExc_OverflowError);
    if (size == -1 && PyErr_Occurred())
      return false;
    if (size < 0) {
      PyErr_Format(PyExc_ValueError, "negative size %zd in a shape", size);
      return false;
    }
    overflow = __builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes) || overflow;
    empty = empty || size == 0;
    spec.shape.push_back(size);
  }
  if (overflow && !empty) {
    PyErr_SetString(PyExc_ValueError, "an array of that shape does not fit in memory");
    return false;
  }
  spec.bytes = empty ? 0 : bytes;
  return true;
}

PyArrayObject *convertArgument(PyObject *object, const ArgumentSpec &spec, size_t position, PyObject *errorType) {
  if (spec.rank() == 0 && isPythonScalar(object))
    return convertScalar(object, spec, position, errorType);
  Reference converted(toArray(object, spec));
  if (!converted)
    return refuseWithCause(errorType, spec, position, Py_TYPE(object)->tp_name, " that does not convert to an array");
  auto *array = reinterpret_cast<PyArrayObject *>(converted.get());
  const bool sameShape =
      PyArray_NDIM(array) == spec.rank() && PyArray_CompareLists(PyArray_DIMS(array), spec.shape.data(), spec.rank());
  if (!sameShape || !sameDtypeInAnyByteOrder(PyArray_DESCR(array), spec.descr())) {
    std::string message =
        label(spec, position) + ", found " + describe(PyArray_DESCR(array), PyArray_DIMS(array), PyArray_NDIM(array));
    if (!PyArray_Check(object))
      message += std::string(" (from a ") + Py_TYPE(object)->tp_name + ")";
    return refuse(errorType, message);
  }
  if (fits(array, spec))
    return reinterpret_cast<PyArrayObject *>(converted.release());
  Py_INCREF(spec.descr());
  PyObject *copy = PyArray_FromArray(
      array, spec.descr(), NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_ENSUREARRAY);
  if (!copy)
    return refuseWithCause(errorType, spec, position, Py_TYPE(object)->tp_name, " that cannot be copied");
  return reinterpret_cast<PyArrayObject *>(copy);
}

} // namespace hlo::runtime
