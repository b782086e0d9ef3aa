#define HLO_RUNTIME_IMPORTS_NUMPY
#include "arguments.h"

#include "allocator.h"
#include "callbacks.h"
#include "dlpack.h"
#include "executable.h"
#include "float_environment.h"
#include "runtime.h"
#include "stack.h"
#include "thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <system_error>

#include <structmember.h>

namespace hlo::runtime {
namespace {

PyObject *argumentErrorType = nullptr;
PyObject *executionErrorType = nullptr;
PyTypeObject *bufferType = nullptr;

// ---- Memory of results --------------------------------------------------------------------------------------------

// The base of result arrays: owns a block of allocator.h, or stands for a donated array whose memory a result took
// over.
struct Buffer {
  PyObject_HEAD void *data;
  size_t bytes;
  PyObject *donated;
};

void bufferDealloc(PyObject *self) {
  auto *buffer = reinterpret_cast<Buffer *>(self);
  deallocate(buffer->data, buffer->bytes);
  Py_XDECREF(buffer->donated);
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

Buffer *newBuffer(size_t bytes) {
  void *data = allocate(bytes);
  if (!data) {
    PyErr_Format(PyExc_MemoryError, "cannot allocate a result of %zu bytes", bytes);
    return nullptr;
  }
  auto *buffer = PyObject_New(Buffer, bufferType);
  if (!buffer) {
    deallocate(data, bytes);
    return nullptr;
  }
  buffer->data = data;
  buffer->bytes = bytes;
  buffer->donated = nullptr;
  return buffer;
}

// The owner of a result in a donated array's memory. Such a result can be donated in turn, as it has sole use of it.
PyObject *takeOver(PyArrayObject *array) {
  PyObject *base = PyArray_BASE(array);
  if (base && Py_TYPE(base) == bufferType) {
    Py_INCREF(base);
    return base;
  }
  auto *buffer = PyObject_New(Buffer, bufferType);
  if (!buffer)
    return nullptr;
  buffer->data = nullptr;
  buffer->bytes = 0;
  buffer->donated = reinterpret_cast<PyObject *>(array);
  Py_INCREF(buffer->donated);
  return reinterpret_cast<PyObject *>(buffer);
}

PyType_Slot bufferSlots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(bufferDealloc)}, {0, nullptr}};
PyType_Spec bufferSpec = {"hlo_native._runtime.Buffer", sizeof(Buffer), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, bufferSlots};

// A new array in `data` that keeps `owner` (stolen) alive.
PyObject *arrayIn(void *data, PyObject *owner, const ArraySpec &spec) {
  Py_INCREF(spec.descr());
  PyObject *array =
      PyArray_NewFromDescr(&PyArray_Type, spec.descr(), spec.rank(), const_cast<npy_intp *>(spec.shape.data()), nullptr,
                           data, NPY_ARRAY_CARRAY, nullptr);
  if (!array) {
    Py_DECREF(owner);
    return nullptr;
  }
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(array), owner) < 0) {
    Py_DECREF(array);
    return nullptr;
  }
  return array;
}

// ---- The executable -----------------------------------------------------------------------------------------------

struct ResultSpec : ArraySpec {
  int donatedArgument = -1; // whose memory this result takes over
};

struct Program {
  std::string name;
  Reference library;
  HloMainFn entry = nullptr;
  std::vector<ArgumentSpec> arguments;
  std::vector<ResultSpec> results;
  std::vector<Reference> constantOwners;
  std::vector<const void *> constants;
  size_t constantBytes = 0;
  size_t arenaBytes = 0;
  int threads = 1;
  bool releaseGil = true;
  Subnormals subnormals = Subnormals::Kept;
  bool anyDonation = false;
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> donationCopies{0};
};

struct Executable {
  PyObject_HEAD vectorcallfunc vectorcall;
  Program *program;
};

// Room for a call's pointers without the heap in all but the largest signatures.
template <typename T, size_t inlineCount = 32> class SmallArray {
public:
  explicit SmallArray(size_t count)
      : heap(count > inlineCount ? new T[count]() : nullptr), data(heap ? heap.get() : local) {}
  T &operator[](size_t i) { return data[i]; }
  T *get() { return data; }

private:
  T local[inlineCount] = {};
  std::unique_ptr<T[]> heap;
  T *data;
};

struct Arena {
  explicit Arena(size_t bytes) : data(bytes ? allocate(bytes) : nullptr), bytes(bytes) {}
  ~Arena() { deallocate(data, bytes); }
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  bool missing() const { return bytes && !data; }
  void *data;
  size_t bytes;
};

// False if there can be no such thread.
bool runsOnLargeStack(const std::function<void()> &body) {
  try {
    withStack(programStackBytes, body);
    return true;
  } catch (const std::system_error &) {
    return false;
  }
}

class Call {
public:
  Call(Program &program, PyObject *const *arguments)
      : program(program), given(arguments), pointers(program.arguments.size()), arrays(program.arguments.size()),
        temporaries(program.arguments.size()), outputs(program.results.size()), owners(program.results.size()) {}

  ~Call() {
    for (size_t i = 0; i < program.arguments.size(); ++i)
      Py_XDECREF(temporaries[i]);
    for (size_t i = 0; i < program.results.size(); ++i)
      Py_XDECREF(owners[i]);
    for (Py_buffer &view : views)
      PyBuffer_Release(&view);
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  PyObject *run() {
    if (!bindArguments() || !bindResults())
      return nullptr;
    Arena arena(program.arenaBytes);
    if (arena.missing())
      return PyErr_Format(PyExc_MemoryError, "cannot allocate an arena of %zu bytes for '%s'", program.arenaBytes,
                          program.name.c_str());
    return execute(arena) ? collect() : nullptr;
  }

private:
  bool bindArguments() {
    for (size_t i = 0; i < program.arguments.size(); ++i) {
      const ArgumentSpec &spec = program.arguments[i];
      PyObject *object = given[i];
      if (!PyArray_Check(object) && !spec.donated) {
        Py_buffer view;
        if (viewArgument(object, spec, view)) {
          views.push_back(view);
          pointers[i] = view.buf;
          continue;
        }
        if (borrows(object, spec)) {
          pointers[i] = tensors.back().data();
          continue;
        }
        if (PyErr_Occurred())
          PyErr_Clear(); // the slow path meets it again, and says which argument it is
      }
      if (!PyArray_Check(object) || !fits(reinterpret_cast<PyArrayObject *>(object), spec)) {
        object = reinterpret_cast<PyObject *>(convertArgument(object, spec, i, argumentErrorType));
        if (!object)
          return false;
        temporaries[i] = object;
      }
      arrays[i] = reinterpret_cast<PyArrayObject *>(object);
      pointers[i] = PyArray_DATA(arrays[i]);
    }
    return true;
  }

  // Whether the object lends a tensor that fits as it is.
  bool borrows(PyObject *object, const ArgumentSpec &spec) {
    BorrowedTensor tensor;
    if (!exportsQuickly(object) || !tensor.take(object) || !tensor.fits(spec))
      return false;
    tensors.push_back(std::move(tensor));
    return true;
  }

  bool bindResults() {
    for (size_t i = 0; i < program.results.size(); ++i) {
      const ResultSpec &spec = program.results[i];
      const int donated = spec.donatedArgument;
      if (donated >= 0 && canTakeOver(static_cast<size_t>(donated))) {
        owners[i] = takeOver(arrays[static_cast<size_t>(donated)]);
        if (!owners[i])
          return false;
        outputs[i] = PyArray_DATA(arrays[static_cast<size_t>(donated)]);
        continue;
      }
      Buffer *buffer = newBuffer(spec.bytes);
      if (!buffer)
        return false;
      owners[i] = reinterpret_cast<PyObject *>(buffer);
      outputs[i] = buffer->data;
      if (donated >= 0 && !copyDonated(static_cast<size_t>(donated), buffer->data))
        return false;
    }
    return true;
  }

  bool canTakeOver(size_t index) {
    PyArrayObject *array = arrays[index];
    if (!PyArray_ISWRITEABLE(array))
      return false;
    PyObject *base = PyArray_BASE(array);
    const bool owned = PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) || (base && Py_TYPE(base) == bufferType);
    return owned && !sharesMemory(index);
  }

  // Whether another argument lies in the same memory: it would change under the program's hands.
  bool sharesMemory(size_t index) {
    const char *begin = static_cast<const char *>(pointers[index]);
    const char *end = begin + program.arguments[index].bytes;
    for (size_t i = 0; i < program.arguments.size(); ++i) {
      const char *other = static_cast<const char *>(pointers[i]);
      if (i != index && other < end && begin < other + program.arguments[i].bytes)
        return true;
    }
    return false;
  }

  bool copyDonated(size_t index, void *target) {
    const ArgumentSpec &spec = program.arguments[index];
    std::memcpy(target, pointers[index], spec.bytes);
    pointers[index] = target;
    if (program.donationCopies.fetch_add(1, std::memory_order_relaxed) > 0)
      return true;
    return PyErr_WarnFormat(
               PyExc_UserWarning, 1,
               "donated argument %zu ('%s') of '%s' was copied: to be taken over, an array must be writable, "
               "contiguous, own its memory and not overlap another argument (reported once per program)",
               index, spec.name.c_str(), program.name.c_str()) == 0;
  }

  bool execute(const Arena &arena) {
    const HloRuntime runtime(program.threads);
    const HloCallFrame frame{
        HLO_ABI_VERSION,         0, pointers.get(), outputs.get(), static_cast<uint8_t *>(arena.data), &runtime,
        program.constants.data()};
    int32_t code = HLO_OK;
    const auto enter = [&] {
      const FloatEnvironment environment(program.subnormals);
      code = program.entry(&frame);
    };
    // Callbacks of a program that runs on another thread wait for the interpreter's lock there.
    const bool suffices = hasStack(programStackBytes);
    PyThreadState *released = program.releaseGil || !suffices ? PyEval_SaveThread() : nullptr;
    bool started = true;
    if (suffices)
      enter();
    else
      started = runsOnLargeStack(enter);
    if (released)
      PyEval_RestoreThread(released);
    if (!started)
      return PyErr_Format(PyExc_MemoryError,
                          "cannot start a thread for '%s': the caller's has less stack than the %zu bytes that "
                          "programs need",
                          program.name.c_str(), programStackBytes) != nullptr;
    program.calls.fetch_add(1, std::memory_order_relaxed);
    if (raiseFromCallback(runtime))
      return false;
    if (code == HLO_OK && runtime.failed.load(std::memory_order_relaxed))
      code = HLO_ERROR; // reported from inside a kernel, which has no way to return it
    if (code == HLO_OK)
      return true;
    const char *message = runtime.failed.load() ? runtime.error : "no message was given";
    PyErr_Format(code == HLO_ERROR_OUT_OF_MEMORY ? PyExc_MemoryError : executionErrorType, "'%s' failed (code %d): %s",
                 program.name.c_str(), static_cast<int>(code), message);
    return false;
  }

  PyObject *collect() {
    Reference tuple(PyTuple_New(static_cast<Py_ssize_t>(program.results.size())));
    if (!tuple)
      return nullptr;
    for (size_t i = 0; i < program.results.size(); ++i) {
      PyObject *owner = owners[i];
      owners[i] = nullptr;
      PyObject *array = arrayIn(outputs[i], owner, program.results[i]);
      if (!array)
        return nullptr;
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), array);
    }
    return tuple.release();
  }

  Program &program;
  PyObject *const *given;
  SmallArray<const void *> pointers;
  SmallArray<PyArrayObject *> arrays; // borrowed; null for what is viewed
  std::vector<Py_buffer> views;
  std::vector<BorrowedTensor> tensors;
  SmallArray<PyObject *> temporaries;
  SmallArray<void *, 16> outputs;
  SmallArray<PyObject *, 16> owners;
};

PyObject *executableCall(PyObject *self, PyObject *const *arguments, size_t flagged, PyObject *keywords) {
  Program &program = *reinterpret_cast<Executable *>(self)->program;
  const size_t count = static_cast<size_t>(PyVectorcall_NARGS(flagged));
  if (keywords && PyTuple_GET_SIZE(keywords) > 0) {
    const std::string message = "'" + program.name + "' takes no keyword arguments";
    PyErr_SetString(argumentErrorType, message.c_str());
    return nullptr;
  }
  if (count != program.arguments.size()) {
    const std::string message = "'" + program.name + "': expected " + std::to_string(program.arguments.size()) +
                                " arguments, found " + std::to_string(count);
    PyErr_SetString(argumentErrorType, message.c_str());
    return nullptr;
  }
  try {
    return Call(program, arguments).run();
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
}

// ---- Construction -------------------------------------------------------------------------------------------------

bool parseArgument(PyObject *item, ArgumentSpec &spec) {
  PyObject *dtype = nullptr, *shape = nullptr;
  const char *name = nullptr;
  int donated = 0;
  if (!PyArg_ParseTuple(item, "sOOp;an argument is (name, dtype, shape, donated)", &name, &dtype, &shape, &donated))
    return false;
  spec.name = name;
  spec.donated = donated != 0;
  return parseArraySpec(dtype, shape, spec);
}

bool parseResult(PyObject *item, ResultSpec &spec) {
  PyObject *dtype = nullptr, *shape = nullptr;
  if (!PyArg_ParseTuple(item, "OOi;a result is (dtype, shape, donated argument or -1)", &dtype, &shape,
                        &spec.donatedArgument))
    return false;
  return parseArraySpec(dtype, shape, spec);
}

template <typename Spec>
bool parseAll(PyObject *items, const char *what, bool (*parse)(PyObject *, Spec &), std::vector<Spec> &specs) {
  Reference sequence(PySequence_Fast(items, what));
  if (!sequence)
    return false;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.get());
  specs.resize(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *item = PySequence_Fast_GET_ITEM(sequence.get(), i);
    if (!PyTuple_Check(item)) {
      PyErr_Format(PyExc_TypeError, "%s of tuples, found a %s in it", what, Py_TYPE(item)->tp_name);
      return false;
    }
    if (!parse(item, specs[static_cast<size_t>(i)]))
      return false;
  }
  return true;
}

bool checkDonations(Program &program) {
  std::vector<bool> taken(program.arguments.size());
  for (const ResultSpec &result : program.results) {
    if (result.donatedArgument == -1)
      continue;
    const size_t index = static_cast<size_t>(result.donatedArgument);
    if (result.donatedArgument < -1 || index >= program.arguments.size() || taken[index] ||
        !program.arguments[index].donated || program.arguments[index].bytes != result.bytes) {
      PyErr_Format(
          PyExc_ValueError,
          "a result can take over the memory of one donated argument of the same size in bytes; argument %d is "
          "none, or is taken already",
          result.donatedArgument);
      return false;
    }
    taken[index] = true;
    program.anyDonation = true;
  }
  return true;
}

// A constant is an array, or anything with a contiguous buffer.
bool addConstant(Program &program, PyObject *object) {
  Reference array(PyArray_FromAny(object, nullptr, 0, 0, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, nullptr));
  if (!array)
    return false;
  auto *data = reinterpret_cast<PyArrayObject *>(array.get());
  if (PyDataType_REFCHK(PyArray_DESCR(data))) {
    PyErr_SetString(PyExc_TypeError, "a constant must be an array of plain data");
    return false;
  }
  program.constants.push_back(PyArray_DATA(data));
  program.constantBytes += static_cast<size_t>(PyArray_NBYTES(data));
  program.constantOwners.push_back(std::move(array));
  return true;
}

bool addConstants(Program &program, PyObject *items) {
  Reference sequence(PySequence_Fast(items, "constants must be a sequence"));
  if (!sequence)
    return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence.get()); ++i)
    if (!addConstant(program, PySequence_Fast_GET_ITEM(sequence.get(), i)))
      return false;
  return true;
}

bool fillProgram(Program &program, PyObject *args, PyObject *keywords) {
  static const char *names[] = {"library", "entry",       "arguments", "results",          "arena_bytes", "constants",
                                "threads", "release_gil", "name",      "flush_subnormals", nullptr};
  PyObject *library = nullptr, *arguments = nullptr, *results = nullptr, *constants = nullptr;
  unsigned long long entry = 0;
  Py_ssize_t arenaBytes = 0;
  int threads = 0, releaseGil = 1, flushSubnormals = 0;
  const char *name = "program";
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OKOO|nOipsp", const_cast<char **>(names), &library, &entry,
                                   &arguments, &results, &arenaBytes, &constants, &threads, &releaseGil, &name,
                                   &flushSubnormals))
    return false;
  if (entry == 0 || arenaBytes < 0 || threads < 0) {
    PyErr_SetString(PyExc_ValueError, "entry must not be 0; arena_bytes and threads must not be negative");
    return false;
  }
  Py_INCREF(library);
  program.library = Reference(library);
  program.entry = reinterpret_cast<HloMainFn>(static_cast<uintptr_t>(entry));
  program.arenaBytes = static_cast<size_t>(arenaBytes);
  program.threads = threads > 0 ? threads : hardwareThreads();
  program.releaseGil = releaseGil != 0;
  program.subnormals = flushSubnormals ? Subnormals::Flushed : Subnormals::Kept;
  program.name = name;
  return parseAll<ArgumentSpec>(arguments, "arguments must be a sequence", parseArgument, program.arguments) &&
         parseAll<ResultSpec>(results, "results must be a sequence", parseResult, program.results) &&
         checkDonations(program) && (!constants || addConstants(program, constants));
}

PyObject *executableNew(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  try {
    auto program = std::make_unique<Program>();
    if (!fillProgram(*program, args, keywords))
      return nullptr;
    auto *self = reinterpret_cast<Executable *>(type->tp_alloc(type, 0));
    if (!self)
      return nullptr;
    self->vectorcall = executableCall;
    self->program = program.release();
    return reinterpret_cast<PyObject *>(self);
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
}

void executableDealloc(PyObject *self) {
  delete reinterpret_cast<Executable *>(self)->program;
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *executableRepr(PyObject *self) {
  const Program &program = *reinterpret_cast<Executable *>(self)->program;
  return PyUnicode_FromFormat("<Executable '%s': %zu arguments, %zu results, arena of %zu bytes>", program.name.c_str(),
                              program.arguments.size(), program.results.size(), program.arenaBytes);
}

// ---- Attributes ---------------------------------------------------------------------------------------------------

template <typename Get> PyObject *number(PyObject *self, Get get) {
  return PyLong_FromUnsignedLongLong(get(*reinterpret_cast<Executable *>(self)->program));
}

PyObject *getName(PyObject *self, void *) {
  return PyUnicode_FromString(reinterpret_cast<Executable *>(self)->program->name.c_str());
}
PyObject *getArenaBytes(PyObject *self, void *) {
  return number(self, [](const Program &p) { return p.arenaBytes; });
}
PyObject *getConstantBytes(PyObject *self, void *) {
  return number(self, [](const Program &p) { return p.constantBytes; });
}
PyObject *getThreads(PyObject *self, void *) {
  return number(self, [](const Program &p) { return static_cast<unsigned long long>(p.threads); });
}
PyObject *getCalls(PyObject *self, void *) {
  return number(self, [](const Program &p) { return p.calls.load(); });
}
PyObject *getDonationCopies(PyObject *self, void *) {
  return number(self, [](const Program &p) { return p.donationCopies.load(); });
}

PyGetSetDef executableAttributes[] = {
    {"name", getName, nullptr, "the program's name", nullptr},
    {"arena_bytes", getArenaBytes, nullptr, "bytes of temporaries a call uses", nullptr},
    {"constant_bytes", getConstantBytes, nullptr, "bytes of constants held", nullptr},
    {"threads", getThreads, nullptr, "threads a call uses at most", nullptr},
    {"calls", getCalls, nullptr, "calls so far", nullptr},
    {"donation_copies", getDonationCopies, nullptr, "donated arguments that had to be copied so far", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef executableMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Executable, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

const char executableDoc[] =
    "Executable(library, entry, arguments, results, arena_bytes=0, constants=(), threads=0, release_gil=True, "
    "name='program', flush_subnormals=False)\n"
    "--\n\n"
    "A compiled program; calling it with arrays returns a tuple of arrays. arguments: (name, dtype, shape, donated) "
    "each;\n"
    "results: (dtype, shape, index of the donated argument whose memory it takes over, or -1) each; threads 0: all.";

PyType_Slot executableSlots[] = {{Py_tp_new, reinterpret_cast<void *>(executableNew)},
                                 {Py_tp_dealloc, reinterpret_cast<void *>(executableDealloc)},
                                 {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
                                 {Py_tp_repr, reinterpret_cast<void *>(executableRepr)},
                                 {Py_tp_getset, executableAttributes},
                                 {Py_tp_members, executableMembers},
                                 {Py_tp_doc, const_cast<char *>(executableDoc)},
                                 {0, nullptr}};
PyType_Spec executableSpec = {"hlo_native._runtime.Executable", sizeof(Executable), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, executableSlots};

} // namespace

PyTypeObject *makeExecutableType() {
  if (PyArray_ImportNumPyAPI() < 0)
    return nullptr;
  setErrorTypes(PyExc_ValueError, PyExc_RuntimeError);
  bufferType = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&bufferSpec));
  return bufferType ? reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&executableSpec)) : nullptr;
}

void setErrorTypes(PyObject *argumentError, PyObject *executionError) {
  Py_INCREF(argumentError);
  Py_INCREF(executionError);
  Py_XSETREF(argumentErrorType, argumentError);
  Py_XSETREF(executionErrorType, executionError);
}

} // namespace hlo::runtime
