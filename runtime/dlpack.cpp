#include "dlpack.h"

#include <cstring>
#include <memory>
#include <unordered_map>

namespace hlo::runtime {
namespace {

constexpr uint32_t majorVersion = 1;
constexpr uint64_t readOnlyFlag = 1;
enum Device : int32_t { Cpu = 1, CudaHost = 3, RocmHost = 11 };
enum Code : uint8_t { Int = 0, UInt = 1, Float = 2, Bfloat = 4, Complex = 5, Bool = 6 };

struct Version {
  uint32_t major, minor;
};

// DLManagedTensor and DLManagedTensorVersioned.
struct Managed {
  DlTensor tensor;
  void *context;
  void (*deleter)(Managed *);
};
struct ManagedVersioned {
  Version version;
  void *context;
  void (*deleter)(ManagedVersioned *);
  uint64_t flags;
  DlTensor tensor;
};

// The head of DLPackExchangeAPI: functions return 0, or -1 with a Python error.
struct Exchange {
  Version version;
  const Exchange *previous;
  void *allocate;
  int (*fromPython)(void *object, ManagedVersioned **out);
};

// What is known of a type that is asked for tensors.
struct Exporter {
  const Exchange *exchange = nullptr;
  bool hasGradients = false; // its objects say `requires_grad`, and may be negated or conjugated when they are read
};

// A deleter may be Python code, which must not meet an error that is on its way.
template <typename T> void destroy(void *managed) {
  auto *typed = static_cast<T *>(managed);
  if (!typed->deleter)
    return;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  typed->deleter(typed);
  PyErr_Restore(type, value, traceback);
}

const Exchange *exchangeOf(PyTypeObject *type) {
  Reference capsule(PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__dlpack_c_exchange_api__"));
  const auto *found = capsule && PyCapsule_CheckExact(capsule.get())
                          ? static_cast<const Exchange *>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"))
                          : nullptr;
  PyErr_Clear();
  while (found && found->version.major != majorVersion)
    found = found->previous;
  return found;
}

// Types are few, and are kept alive so that no other takes an address that is known.
const Exporter &exporterOf(PyTypeObject *type) {
  static auto *known = new std::unordered_map<PyTypeObject *, Exporter>;
  const auto found = known->find(type);
  if (found != known->end())
    return found->second;
  constexpr size_t most = 256;
  static const Exporter none;
  if (known->size() >= most)
    return none;
  Exporter exporter;
  exporter.exchange = exchangeOf(type);
  exporter.hasGradients = PyObject_HasAttrString(reinterpret_cast<PyObject *>(type), "requires_grad") &&
                          PyObject_HasAttrString(reinterpret_cast<PyObject *>(type), "is_neg");
  Py_INCREF(type);
  return known->emplace(type, exporter).first->second;
}

bool isTrue(PyObject *stolen) {
  const Reference value(stolen);
  const int truth = value ? PyObject_IsTrue(value.get()) : 0;
  return truth > 0;
}

// Whether operations on tensors are recorded now, so that a program would lose a gradient.
bool recordsGradients() {
  static PyObject *const name = PyUnicode_InternFromString("torch");
  static PyObject *const asked = PyUnicode_InternFromString("is_grad_enabled");
  const Reference torch(PyImport_GetModule(name));
  if (!torch) {
    PyErr_Clear();
    return true;
  }
  PyObject *enabled = PyObject_CallMethodNoArgs(torch.get(), asked);
  if (!enabled) {
    PyErr_Clear();
    return true;
  }
  return isTrue(enabled);
}

// The object, or, of a lazily negated or conjugated tensor, one whose memory holds its values; null with an error.
PyObject *settled(PyObject *object) {
  static PyObject *const gradient = PyUnicode_InternFromString("requires_grad");
  static PyObject *const negative = PyUnicode_InternFromString("is_neg");
  static PyObject *const conjugate = PyUnicode_InternFromString("is_conj");
  if (isTrue(PyObject_GetAttr(object, gradient)) && recordsGradients()) {
    PyErr_SetString(PyExc_BufferError,
                    "it requires a gradient, which compiled programs do not carry on: detach() it, or call the "
                    "program under torch.no_grad()");
    return nullptr;
  }
  const bool isConjugate = isTrue(PyObject_CallMethodNoArgs(object, conjugate));
  const bool isNegative = !PyErr_Occurred() && isTrue(PyObject_CallMethodNoArgs(object, negative));
  if (PyErr_Occurred())
    return nullptr;
  Py_INCREF(object);
  Reference result(object);
  if (isConjugate)
    result = Reference(PyObject_CallMethod(result.get(), "resolve_conj", nullptr));
  if (isNegative && result)
    result = Reference(PyObject_CallMethod(result.get(), "resolve_neg", nullptr));
  return result.release();
}

// By `__dlpack__`, which older libraries have without `max_version`; null with an error.
PyObject *capsuleOf(PyObject *object) {
  Reference method(PyObject_GetAttrString(object, "__dlpack__"));
  if (!method)
    return nullptr;
  Reference none(PyTuple_New(0));
  Reference keywords(Py_BuildValue("{s(ii)}", "max_version", static_cast<int>(majorVersion), 0));
  if (!none || !keywords)
    return nullptr;
  PyObject *capsule = PyObject_Call(method.get(), none.get(), keywords.get());
  if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError))
    return capsule;
  PyErr_Clear();
  return PyObject_CallNoArgs(method.get());
}

struct ElementCode {
  int code; // -1: none
  int bits;
};

ElementCode codeOf(const PyArray_Descr *dtype) {
  const int bits = static_cast<int>(PyDataType_ELSIZE(dtype)) * 8;
  switch (dtype->kind) {
  case 'b':
    return {Bool, bits};
  case 'i':
    return {Int, bits};
  case 'u':
    return {UInt, bits};
  case 'f':
    return {Float, bits};
  case 'c':
    return {Complex, bits};
  default:
    break;
  }
  // Those of ml_dtypes; narrower ones have other forms in memory elsewhere.
  static const std::pair<const char *, int> named[] = {
      {"bfloat16", Bfloat},      {"float8_e3m4", 7},      {"float8_e4m3", 8},
      {"float8_e4m3b11fnuz", 9}, {"float8_e4m3fn", 10},   {"float8_e4m3fnuz", 11},
      {"float8_e5m2", 12},       {"float8_e5m2fnuz", 13}, {"float8_e8m0fnu", 14}};
  const char *name = std::strrchr(dtype->typeobj->tp_name, '.');
  name = name ? name + 1 : dtype->typeobj->tp_name;
  for (const auto &[known, code] : named)
    if (std::strcmp(known, name) == 0)
      return {code, bits};
  return {-1, 0};
}

// NumPy's own dtype for elements; null if it has none.
PyArray_Descr *descrOf(const DlTensor &tensor) {
  const char kind = tensor.code == Int       ? 'i'
                    : tensor.code == UInt    ? 'u'
                    : tensor.code == Float   ? 'f'
                    : tensor.code == Complex ? 'c'
                    : tensor.code == Bool    ? 'b'
                                             : 0;
  if (!kind || tensor.lanes != 1 || tensor.bits % 8 != 0)
    return nullptr;
  Reference name(PyUnicode_FromFormat("%c%d", kind, tensor.bits / 8));
  PyArray_Descr *descr = nullptr;
  if (!name || !PyArray_DescrConverter(name.get(), &descr)) {
    PyErr_Clear();
    return nullptr;
  }
  return descr;
}

} // namespace

bool exportsQuickly(PyObject *object) { return exporterOf(Py_TYPE(object)).exchange != nullptr; }

bool BorrowedTensor::takeVersioned(void *versioned) {
  auto *typed = static_cast<ManagedVersioned *>(versioned);
  managed = typed;
  release = destroy<ManagedVersioned>;
  if (typed->version.major != majorVersion) { // beyond the deleter its layout is unknown
    PyErr_Format(PyExc_BufferError, "it is exported by DLPack %u, expected %u", typed->version.major, majorVersion);
    return false;
  }
  tensor = &typed->tensor;
  readOnly = (typed->flags & readOnlyFlag) != 0;
  return true;
}

bool BorrowedTensor::takeCapsule(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    void *pointer = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    PyCapsule_SetName(capsule, "used_dltensor_versioned");
    return takeVersioned(pointer);
  }
  if (!PyCapsule_IsValid(capsule, "dltensor")) {
    PyErr_SetString(PyExc_BufferError, "its __dlpack__ gives no capsule of a tensor");
    return false;
  }
  auto *typed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, "dltensor"));
  PyCapsule_SetName(capsule, "used_dltensor");
  managed = typed;
  release = destroy<Managed>;
  tensor = &typed->tensor;
  readOnly = false;
  return true;
}

bool BorrowedTensor::isOnHost() const {
  if (tensor->deviceType == Cpu || tensor->deviceType == CudaHost || tensor->deviceType == RocmHost)
    return true;
  PyErr_Format(PyExc_BufferError, "it is on a device (of DLPack's type %d), expected memory of the host",
               tensor->deviceType);
  return false;
}

bool BorrowedTensor::take(PyObject *object) {
  const Exporter &exporter = exporterOf(Py_TYPE(object));
  Reference held;
  if (exporter.hasGradients) {
    held = Reference(settled(object));
    if (!held)
      return false;
    object = held.get();
  }
  if (exporter.exchange) {
    ManagedVersioned *made = nullptr;
    if (exporter.exchange->fromPython(object, &made) != 0 || !made)
      return false;
    return takeVersioned(made) && isOnHost();
  }
  const Reference capsule(capsuleOf(object));
  return capsule && takeCapsule(capsule.get()) && isOnHost();
}

bool BorrowedTensor::fits(const ArraySpec &spec) const {
  const ElementCode element = codeOf(spec.descr());
  if (tensor->code != element.code || tensor->bits != element.bits || tensor->lanes != 1 ||
      tensor->rank != spec.rank() ||
      reinterpret_cast<uintptr_t>(data()) % static_cast<size_t>(PyDataType_ALIGNMENT(spec.descr())) != 0)
    return false;
  int64_t stride = 1;
  for (int i = spec.rank() - 1; i >= 0; --i) {
    const int64_t size = tensor->shape[i];
    if (size != spec.shape[static_cast<size_t>(i)])
      return false;
    if (tensor->strides && size != 1 && tensor->strides[i] != stride && spec.bytes != 0)
      return false;
    stride *= size;
  }
  return true;
}

PyObject *BorrowedTensor::toArray(const ArraySpec &spec) {
  const ElementCode element = codeOf(spec.descr());
  PyArray_Descr *descr = nullptr;
  if (tensor->code == element.code && tensor->bits == element.bits && tensor->lanes == 1) {
    descr = spec.descr();
    Py_INCREF(descr);
  } else {
    descr = descrOf(*tensor);
  }
  if (!descr || tensor->rank > NPY_MAXDIMS) {
    Py_XDECREF(descr);
    return nullptr;
  }
  const int rank = tensor->rank;
  npy_intp strides[NPY_MAXDIMS];
  for (int i = 0; tensor->strides && i < rank; ++i)
    strides[i] = tensor->strides[i] * PyDataType_ELSIZE(descr);
  PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, rank, tensor->shape, tensor->strides ? strides : nullptr,
                                         data(), readOnly ? 0 : NPY_ARRAY_WRITEABLE, nullptr);
  if (!array)
    return nullptr;
  auto kept = std::make_unique<BorrowedTensor>(std::move(*this));
  PyObject *owner = PyCapsule_New(kept.get(), nullptr, [](PyObject *capsule) {
    delete static_cast<BorrowedTensor *>(PyCapsule_GetPointer(capsule, nullptr));
  });
  if (!owner) {
    Py_DECREF(array);
    return nullptr;
  }
  kept.release(); // the capsule's now
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(array), owner) < 0) {
    Py_DECREF(array);
    return nullptr;
  }
  return array;
}

} // namespace hlo::runtime
