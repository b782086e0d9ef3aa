// The Python module `hlo_native._runtime`.

#include "allocator.h"
#include "blas.h"
#include "call_signature.h"
#include "callbacks.h"
#include "codegen_queue.h"
#include "executable.h"
#include "jit.h"
#include "python_scope.h"
#include "random_state.h"
#include "runtime.h"
#include "stack.h"
#include "symbols.h"
#include "thread_pool.h"

#include "mlir-c/Bindings/Python/Interop.h"
#include "mlir-c/RegisterEverything.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace hlo::runtime;

namespace {

MlirOperation operationOf(nb::handle object) {
  nb::object operation = nb::getattr(object, "operation", nb::borrow(object));
  nb::object capsule = nb::getattr(operation, MLIR_PYTHON_CAPI_PTR_ATTR, nb::none());
  if (!PyCapsule_CheckExact(capsule.ptr()))
    throw nb::type_error("expected an mlir.ir.Module or Operation");
  MlirOperation result = mlirPythonCapsuleToOperation(capsule.ptr());
  if (mlirOperationIsNull(result))
    throw nb::python_error();
  return result;
}

std::string compileReleased(nb::handle module, const std::string &passes, int codegenLevel, const std::string &triple,
                            const std::string &cpu, const std::string &features, bool verify, Output output) {
  MlirOperation operation = operationOf(module);
  CompileOptions options{passes, codegenLevel, triple, cpu, features, verify};
  nb::gil_scoped_release release;
  return compile(operation, options, output);
}

/// State of a call without an executable: lets tests and tools call runtime functions by address.
class CallState {
public:
  explicit CallState(int threads) : runtime(threads > 0 ? threads : hardwareThreads()) {}
  uint64_t address() const { return reinterpret_cast<uint64_t>(&runtime); }
  std::string error() const { return runtime.failed ? runtime.error : ""; }

private:
  HloRuntime runtime;
};

template <Output output> auto compiler() {
  return [](nb::handle module, const std::string &passes, int codegenLevel, const std::string &cpu,
            const std::string &features, const std::string &triple, bool verify) {
    const std::string text = compileReleased(module, passes, codegenLevel, triple, cpu, features, verify, output);
    if constexpr (output == Output::Object)
      return nb::bytes(text.data(), text.size());
    else
      return nb::str(text.data(), text.size());
  };
}

template <Output output> void defineCompiler(nb::module_ &module, const char *name, const char *doc) {
  module.def(name, compiler<output>(), nb::arg("module"), nb::arg("passes") = "", nb::arg("codegen_level") = 2,
             nb::arg("cpu") = "host", nb::arg("features") = "host", nb::arg("triple") = "host",
             nb::arg("verify") = true, doc);
}

void defineJit(nb::module_ &module) {
  nb::exception<JitError>(module, "JitError", PyExc_RuntimeError);
  module.def(
      "register_llvm_translation",
      [](nb::handle context) {
        nb::object capsule = nb::getattr(context, MLIR_PYTHON_CAPI_PTR_ATTR, nb::none());
        if (!PyCapsule_CheckExact(capsule.ptr()))
          throw nb::type_error("expected an mlir.ir.Context");
        mlirRegisterAllLLVMTranslations(mlirPythonCapsuleToContext(capsule.ptr()));
      },
      nb::arg("context"), "Lets modules of this context be translated to LLVM IR.");
  defineCompiler<Output::Object>(module, "compile_to_object", "Object file of a module of the llvm dialect.");
  defineCompiler<Output::Assembly>(module, "compile_to_assembly", "Assembly text of a module of the llvm dialect.");
  defineCompiler<Output::LlvmIr>(module, "compile_to_llvm_ir", "LLVM IR text of a module of the llvm dialect.");
  module.def(
      "compile_llvm",
      [](nb::bytes code, const std::string &passes, int codegenLevel, bool asText) {
        CompileOptions options;
        options.passes = passes;
        options.codegenLevel = codegenLevel;
        std::string made;
        {
          nb::gil_scoped_release release;
          made = compileLlvm({code.c_str(), code.size()}, options, asText ? Output::LlvmIr : Output::Object);
        }
        return nb::bytes(made.data(), made.size());
      },
      nb::arg("code"), nb::arg("passes") = "", nb::arg("codegen_level") = 2, nb::arg("as_text") = false,
      "Object file, or LLVM IR text after the passes, of LLVM IR in text or bitcode, for this machine.");
  module.def("host_triple", &hostTriple);
  module.def("host_cpu", &hostCpu);
  module.def("host_features", &hostFeatures);

  nb::class_<Library>(module, "Library", "Object files linked into this process; frees their code when it dies.")
      .def(
          "__init__",
          [](Library *self, const std::vector<nb::bytes> &objects, const std::map<std::string, uint64_t> &symbols) {
            std::vector<std::string_view> views;
            for (const nb::bytes &object : objects)
              views.emplace_back(object.c_str(), object.size());
            new (self) Library(views, {symbols.begin(), symbols.end()});
          },
          nb::arg("objects"), nb::arg("symbols") = std::map<std::string, uint64_t>())
      .def("lookup", &Library::lookup, nb::arg("name"), nb::call_guard<nb::gil_scoped_release>(),
           "Address of a symbol; JitError if it, or one the library needs, cannot be resolved.");
}

TextJob textJob(std::string text, const std::string &pipeline, const std::string &passes, int codegenLevel) {
  CompileOptions options;
  options.passes = passes;
  options.codegenLevel = codegenLevel;
  options.verify = false;
  return {std::move(text), pipeline, options};
}

nb::list bytesOf(const std::vector<std::string> &objects) {
  nb::list result;
  for (const std::string &object : objects)
    result.append(nb::bytes(object.data(), object.size()));
  return result;
}

void defineCodegenQueue(nb::module_ &module) {
  module.def(
      "compile_text_to_object",
      [](std::string text, const std::string &pipeline, const std::string &passes, int codegenLevel) {
        const TextJob job = textJob(std::move(text), pipeline, passes, codegenLevel);
        std::string object;
        {
          nb::gil_scoped_release release;
          object = compileText(job);
        }
        return nb::bytes(object.data(), object.size());
      },
      nb::arg("text"), nb::arg("pipeline"), nb::arg("passes"), nb::arg("codegen_level"),
      "Object file of a module given as text, after a pipeline of MLIR passes; made on the calling thread.");
  nb::class_<CodegenQueue>(module, "CodegenQueue",
                           "Makes object files of modules given as text, on threads of its own.")
      .def(nb::init<int>(), nb::arg("threads"), "At most so many threads, beside the one that calls `finish`.")
      .def(
          "add",
          [](CodegenQueue &queue, std::string text, const std::string &pipeline, const std::string &passes,
             int codegenLevel) { queue.add(textJob(std::move(text), pipeline, passes, codegenLevel)); },
          nb::arg("text"), nb::arg("pipeline"), nb::arg("passes"), nb::arg("codegen_level"))
      .def(
          "finish",
          [](CodegenQueue &queue) {
            std::vector<std::string> objects;
            {
              nb::gil_scoped_release release;
              objects = queue.finish();
            }
            return bytesOf(objects);
          },
          "Object files in the order of the modules; works on them too until all are done.");
}

// The function's value, or what it raises, of a call on a thread with a compiler's stack.
nb::object callOnLargeStack(const nb::callable &function) {
  if (hasStack(compilerStackBytes))
    return function();
  nb::object value;
  std::exception_ptr raised;
  const auto body = [&] {
    const PythonScope python;
    try {
      value = function();
    } catch (...) {
      raised = std::current_exception();
    }
  };
  {
    nb::gil_scoped_release release;
    withStack(compilerStackBytes, body);
  }
  if (raised)
    std::rethrow_exception(raised);
  return value;
}

void defineStack(nb::module_ &module) {
  module.attr("KERNEL_STACK_BYTES") = kernelStackBytes;
  module.def(
      "call_on_large_stack", &callOnLargeStack, nb::arg("function"),
      "Calls a function of no arguments, on a thread of its own where this one's stack is too small to compile.");
}

void defineMemory(nb::module_ &module) {
  module.def("trim_cache", &trimCache, "Gives all cached result and arena memory back to the system.");
  module.def("set_cache_limit", &setCacheLimit, nb::arg("bytes"), "Upper bound of the memory kept for reuse.");
  module.def("memory_statistics", [] {
    const AllocatorStatistics statistics = allocatorStatistics();
    nb::dict result;
    result["bytes_in_use"] = statistics.bytesInUse;
    result["bytes_cached"] = statistics.bytesCached;
    result["cache_limit"] = statistics.cacheLimit;
    result["allocations"] = statistics.allocations;
    result["system_allocations"] = statistics.systemAllocations;
    return result;
  });
}

} // namespace

NB_MODULE(_runtime, module) {
  // What others' caches hold when the interpreter ends (torch.compile's of programs) is no leak.
  nb::set_leak_warnings(false);
  module.doc() = "The runtime of hlo: native compilation, executables, memory, threads, vendor libraries.";
  PyTypeObject *executable = makeExecutableType();
  if (!executable)
    throw nb::python_error();
  module.attr("Executable") = nb::steal(reinterpret_cast<PyObject *>(executable));
  module.attr("ABI_VERSION") = HLO_ABI_VERSION;
  module.def(
      "set_error_types",
      [](nb::handle argumentError, nb::handle executionError) {
        setErrorTypes(argumentError.ptr(), executionError.ptr());
      },
      nb::arg("argument_error"), nb::arg("execution_error"), "Exception classes that calls raise.");
  defineJit(module);
  defineCodegenQueue(module);
  defineMemory(module);
  defineStack(module);
  module.def(
      "set_python_callbacks", [](nb::callable run) { setPythonCallbacks(run.ptr()); }, nb::arg("run"),
      "Sets the function that runs Python callbacks: it takes a number and a tuple of memoryviews.");
  module.def(
      "call_signature",
      [](nb::tuple args, nb::dict kwargs, bool withKept) {
        PyObject *found = callSignature(args.ptr(), kwargs.ptr(), withKept);
        if (!found)
          throw nb::python_error();
        return nb::steal(found);
      },
      nb::arg("args"), nb::arg("kwargs"), nb::arg("with_kept") = false,
      "(key, leaves, objects that the key names) of a call's arguments; None where they hold what has no key.");
  module.def("set_blas_path", &setBlasPath, nb::arg("path"), "Where the BLAS shared library is; before its first use.");
  module.def("blas_available", &blasAvailable, "Whether the BLAS library can be used; loads it.");
  module.def("blas_error", &blasError, "Why the BLAS library cannot be used, or an empty string.");
  module.def("hardware_threads", &hardwareThreads, "Processors this process may use.");
  module.def("symbols", [] {
    nb::dict result;
    for (const auto &[name, address] : runtimeSymbols())
      result[name] = reinterpret_cast<uint64_t>(address);
    return result;
  });
  module.def("seed_random_state", &seedRandomState, nb::arg("seed"),
             "Starts the process's sequence of random states anew.");
  module.def("next_random_state", &nextRandomState, "The seed, and how many states were taken since it was set.");
  module.def(
      "library_scratch_bytes",
      [](const std::string &function, const std::vector<bool> &present, const std::vector<int64_t> &parameters,
         int threads) {
        std::vector<void *> buffers;
        char something = 0;
        for (bool isThere : present)
          buffers.push_back(isThere ? &something : nullptr);
        return libraryScratchBytes(function, buffers.data(), parameters.data(), threads);
      },
      nb::arg("function"), nb::arg("present"), nb::arg("parameters"), nb::arg("threads"),
      "Bytes that a library function works in, given which of its buffers there are and its parameters.");
  nb::class_<CallState>(module, "CallState",
                        "A runtime handle (`HloRuntime`) for calling runtime functions by address.")
      .def(nb::init<int>(), nb::arg("threads") = 0)
      .def_prop_ro("address", &CallState::address)
      .def_prop_ro("error", &CallState::error);
}
