#include "jit.h"

#include "diagnostics.h"
#include "index_cuts.h"
#include "symbols.h"

#include "mlir-c/Target/LLVMIR.h"

#include "llvm-c/Analysis.h"
#include "llvm-c/Core.h"
#include "llvm-c/Error.h"
#include "llvm-c/ErrorHandling.h"
#include "llvm-c/IRReader.h"
#include "llvm-c/LLJIT.h"
#include "llvm-c/Orc.h"
#include "llvm-c/Target.h"
#include "llvm-c/TargetMachine.h"
#include "llvm-c/Transforms/PassBuilder.h"

#include <condition_variable>
#include <dlfcn.h>
#include <exception>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace hlo::runtime {
namespace {

template <typename T, void (*dispose)(T)> struct Handle {
  T value = nullptr;
  explicit Handle(T value) : value(value) {}
  ~Handle() {
    if (value)
      dispose(value);
  }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  operator T() const { return value; }
};

std::string takeMessage(char *message) {
  std::string text = message ? message : "";
  LLVMDisposeMessage(message);
  return text;
}

void throwIfError(LLVMErrorRef error, const std::string &what) {
  if (!error)
    return;
  char *message = LLVMGetErrorMessage(error);
  std::string text = what + ": " + message;
  LLVMDisposeErrorMessage(message);
  throw JitError(text);
}

// LLVM reports what it considers impossible (an instruction it cannot select, say) through a process-wide fatal handler
// and exits if that returns. While a compilation runs on this thread, leave by an exception instead: LLVM's own objects
// leak, the process lives.
thread_local int guardedCompilations = 0;

void onFatalError(const char *reason) {
  if (guardedCompilations > 0)
    throw JitError(std::string("LLVM cannot compile this module: ") + reason);
}

struct FatalErrorGuard {
  FatalErrorGuard() { ++guardedCompilations; }
  ~FatalErrorGuard() { --guardedCompilations; }
};

void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAllTargetInfos();
    LLVMInitializeAllTargets();
    LLVMInitializeAllTargetMCs();
    LLVMInitializeAllAsmPrinters();
    LLVMInitializeAllAsmParsers();
    LLVMInstallFatalErrorHandler(onFatalError);
  });
}

void onLlvmDiagnostic(LLVMDiagnosticInfoRef info, void *text) {
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
    return;
  std::string &errors = *static_cast<std::string *>(text);
  if (!errors.empty())
    errors += '\n';
  errors += takeMessage(LLVMGetDiagInfoDescription(info));
}

// Nothing we compile unwinds; saying so spares every function its unwind table, and the loader its registration. A
// frame pointer lets a function align its stack: without one, vectors that are spilled lie across cache lines.
void setFunctionAttributes(LLVMContextRef context, LLVMModuleRef module) {
  static const unsigned kind = LLVMGetEnumAttributeKindForName("nounwind", 8);
  LLVMAttributeRef noUnwind = LLVMCreateEnumAttribute(context, kind, 0);
  LLVMAttributeRef framePointer = LLVMCreateStringAttribute(context, "frame-pointer", 13, "all", 3);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f))
      for (LLVMAttributeRef attribute : {noUnwind, framePointer})
        LLVMAddAttributeAtIndex(f, static_cast<LLVMAttributeIndex>(LLVMAttributeFunctionIndex), attribute);
}

LLVMTargetMachineRef makeTargetMachine(const CompileOptions &options, const std::string &triple) {
  const bool host = options.triple == "host";
  if (!host && (options.cpu == "host" || options.features == "host"))
    throw JitError("cpu and features must be given for target triple '" + options.triple + "'");
  const std::string cpu = options.cpu == "host" ? hostCpu() : options.cpu;
  const std::string features = options.features == "host" ? hostFeatures() : options.features;
  LLVMTargetRef target = nullptr;
  char *message = nullptr;
  if (LLVMGetTargetFromTriple(triple.c_str(), &target, &message))
    throw JitError("no code generator for target triple '" + triple + "': " + takeMessage(message));
  LLVMTargetMachineRef machine =
      LLVMCreateTargetMachine(target, triple.c_str(), cpu.c_str(), features.c_str(),
                              static_cast<LLVMCodeGenOptLevel>(options.codegenLevel), LLVMRelocPIC, LLVMCodeModelSmall);
  if (!machine)
    throw JitError("cannot make a target machine for '" + triple + "'");
  return machine;
}

// Target machines that nothing uses at the moment. Making one and the tables of its first function takes longer than
// compiling a small kernel. Never destroyed.
class TargetMachinePool {
public:
  LLVMTargetMachineRef take(const std::string &key) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = spare.find(key);
    if (found == spare.end())
      return nullptr;
    LLVMTargetMachineRef machine = found->second;
    spare.erase(found);
    return machine;
  }

  void give(const std::string &key, LLVMTargetMachineRef machine) {
    std::lock_guard<std::mutex> lock(mutex);
    if (spare.size() < most)
      spare.emplace(key, machine);
    else
      LLVMDisposeTargetMachine(machine);
  }

private:
  static constexpr size_t most = 16;
  std::mutex mutex;
  std::unordered_multimap<std::string, LLVMTargetMachineRef> spare;
};

// A target machine lent by the pool. After a failed compilation it is in an unknown state and not given back.
class LentTargetMachine {
public:
  LentTargetMachine(const CompileOptions &options, const std::string &triple)
      : key(triple + ' ' + options.cpu + ' ' + options.features + ' ' + std::to_string(options.codegenLevel)),
        machine(pool().take(key)), uncaught(std::uncaught_exceptions()) {
    if (!machine)
      machine = makeTargetMachine(options, triple);
  }
  ~LentTargetMachine() {
    if (std::uncaught_exceptions() > uncaught)
      LLVMDisposeTargetMachine(machine);
    else
      pool().give(key, machine);
  }
  LentTargetMachine(const LentTargetMachine &) = delete;
  LentTargetMachine &operator=(const LentTargetMachine &) = delete;
  operator LLVMTargetMachineRef() const { return machine; }

private:
  static TargetMachinePool &pool() {
    static auto *pool = new TargetMachinePool;
    return *pool;
  }

  std::string key;
  LLVMTargetMachineRef machine;
  int uncaught;
};

struct Jit {
  LLVMOrcLLJITRef lljit = nullptr;
  LLVMOrcExecutionSessionRef session = nullptr;
  std::mutex mutex;
  std::vector<LLVMOrcJITDylibRef> spare; // cleared libraries: the C API cannot remove one, so they are reused
  size_t made = 0;
  std::string reported; // what the session reported since the last lookup began
};

void onSessionError(void *context, LLVMErrorRef error) {
  char *message = LLVMGetErrorMessage(error);
  Jit &jit = *static_cast<Jit *>(context);
  {
    std::lock_guard<std::mutex> lock(jit.mutex);
    jit.reported += jit.reported.empty() ? "" : "; ";
    jit.reported += message;
  }
  LLVMDisposeErrorMessage(message);
}

// Resolves what a library needs from outside: the runtime's own symbols first (a Python extension's symbols are not in
// the process's global scope), then whatever the process has loaded.
void *findSymbol(const char *name) {
  static const std::unordered_map<std::string_view, void *> table = [] {
    std::unordered_map<std::string_view, void *> made;
    for (const auto &[symbol, address] : runtimeSymbols())
      made.emplace(symbol, address);
    return made;
  }();
  auto found = table.find(name);
  return found != table.end() ? found->second : dlsym(RTLD_DEFAULT, name);
}

LLVMErrorRef generateDefinitions(LLVMOrcDefinitionGeneratorRef, void *, LLVMOrcLookupStateRef *, LLVMOrcLookupKind,
                                 LLVMOrcJITDylibRef dylib, LLVMOrcJITDylibLookupFlags, LLVMOrcCLookupSet wanted,
                                 size_t count) {
  std::vector<LLVMOrcCSymbolMapPair> pairs;
  for (size_t i = 0; i < count; ++i) {
    void *address = findSymbol(LLVMOrcSymbolStringPoolEntryStr(wanted[i].Name));
    if (!address)
      continue;
    LLVMOrcRetainSymbolStringPoolEntry(wanted[i].Name);
    LLVMOrcCSymbolMapPair pair;
    pair.Name = wanted[i].Name;
    pair.Sym.Address = reinterpret_cast<uint64_t>(address);
    pair.Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsCallable;
    pair.Sym.Flags.TargetFlags = 0;
    pairs.push_back(pair);
  }
  if (pairs.empty())
    return LLVMErrorSuccess;
  return LLVMOrcJITDylibDefine(dylib, LLVMOrcAbsoluteSymbols(pairs.data(), pairs.size()));
}

// Never destroyed: code may still run on other threads while the process exits.
Jit &theJit() {
  static Jit *jit = [] {
    initializeTargets();
    auto made = std::make_unique<Jit>();
    throwIfError(LLVMOrcCreateLLJIT(&made->lljit, nullptr), "cannot make the JIT");
    made->session = LLVMOrcLLJITGetExecutionSession(made->lljit);
    LLVMOrcExecutionSessionSetErrorReporter(made->session, onSessionError, made.get());
    return made.release();
  }();
  return *jit;
}

// What a lookup found. The session works on what all threads look up: another thread may link this one's object and
// call back after the call that began the lookup has returned.
class LookupResult {
public:
  uint64_t address = 0;
  std::string error;

  void finish() {
    std::lock_guard<std::mutex> lock(mutex);
    finished = true;
    changed.notify_one(); // under the lock: the waiting thread destroys this once it has it
  }

  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return finished; });
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool finished = false;
};

void onLookup(LLVMErrorRef error, LLVMOrcCSymbolMapPairs pairs, size_t count, void *context) {
  LookupResult &result = *static_cast<LookupResult *>(context);
  if (error) {
    char *message = LLVMGetErrorMessage(error);
    result.error = message;
    LLVMDisposeErrorMessage(message);
  } else if (count == 1) {
    result.address = pairs[0].Sym.Address;
  }
  result.finish();
}

} // namespace

std::string hostTriple() {
  static const std::string triple = takeMessage(LLVMGetDefaultTargetTriple());
  return triple;
}

std::string hostCpu() {
  static const std::string cpu = takeMessage(LLVMGetHostCPUName());
  return cpu;
}

std::string hostFeatures() {
  static const std::string features = takeMessage(LLVMGetHostCPUFeatures());
  return features;
}

namespace {

/// Compiles the module that `make(context, errors)` gives, for the machine of the options.
template <typename Make> std::string compileMade(const CompileOptions &options, Output output, Make make) {
  if (options.codegenLevel < 0 || options.codegenLevel > 3)
    throw JitError("codegen_level must be 0..3, found " + std::to_string(options.codegenLevel));
  initializeTargets();
  FatalErrorGuard guard;
  const std::string triple = options.triple == "host" ? hostTriple() : options.triple;
  LentTargetMachine machine(options, triple);

  std::string errors;
  Handle<LLVMContextRef, LLVMContextDispose> context(LLVMContextCreate());
  LLVMContextSetDiscardValueNames(context, output != Output::LlvmIr);
  LLVMContextSetDiagnosticHandler(context, onLlvmDiagnostic, &errors);
  Handle<LLVMModuleRef, LLVMDisposeModule> llvmModule(make(context));

  LLVMSetTarget(llvmModule, triple.c_str());
  Handle<LLVMTargetDataRef, LLVMDisposeTargetData> layout(LLVMCreateTargetDataLayout(machine));
  LLVMSetModuleDataLayout(llvmModule, layout);
  setFunctionAttributes(context, llvmModule);
  if (options.verify) {
    char *message = nullptr;
    const bool broken = LLVMVerifyModule(llvmModule, LLVMReturnStatusAction, &message);
    const std::string text = takeMessage(message);
    if (broken)
      throw JitError("the LLVM module is not valid:\n" + text);
  }

  if (!options.passes.empty()) {
    Handle<LLVMPassBuilderOptionsRef, LLVMDisposePassBuilderOptions> builder(LLVMCreatePassBuilderOptions());
    throwIfError(LLVMRunPasses(llvmModule, options.passes.c_str(), machine, builder),
                 "LLVM pass pipeline '" + options.passes + "'");
    if (options.triple == "host")
      cutIndices(llvmModule);
  }
  if (output == Output::LlvmIr)
    return takeMessage(LLVMPrintModuleToString(llvmModule));

  char *message = nullptr;
  LLVMMemoryBufferRef emitted = nullptr;
  const LLVMCodeGenFileType type = output == Output::Object ? LLVMObjectFile : LLVMAssemblyFile;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, llvmModule, type, &message, &emitted))
    throw JitError("code generation failed: " + takeMessage(message));
  Handle<LLVMMemoryBufferRef, LLVMDisposeMemoryBuffer> buffer(emitted);
  if (!errors.empty())
    throw JitError("code generation failed: " + errors);
  return std::string(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
}

} // namespace

std::string compile(MlirOperation module, const CompileOptions &options, Output output) {
  DiagnosticCollector diagnostics(mlirOperationGetContext(module));
  return compileMade(options, output, [&](LLVMContextRef context) {
    if (options.verify && !mlirOperationVerify(module))
      throw JitError("the module is not valid:\n" + diagnostics.text);
    LLVMModuleRef made = mlirTranslateModuleToLLVMIR(module, context);
    if (!made)
      throw JitError("cannot translate the module to LLVM IR:\n" + diagnostics.text);
    return made;
  });
}

std::string compileLlvm(std::string_view code, const CompileOptions &options, Output output) {
  return compileMade(options, output, [&](LLVMContextRef context) {
    LLVMContextSetDiscardValueNames(context, false); // text names values
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(code.data(), code.size(), "llvm");
    LLVMModuleRef made = nullptr;
    char *message = nullptr;
    if (LLVMParseIRInContext(context, buffer, &made, &message)) // takes the buffer
      throw JitError("cannot read the LLVM module: " + takeMessage(message));
    return made;
  });
}

namespace {

LLVMOrcJITDylibRef acquireDylib(Jit &jit) {
  std::lock_guard<std::mutex> lock(jit.mutex);
  if (!jit.spare.empty()) {
    LLVMOrcJITDylibRef dylib = jit.spare.back();
    jit.spare.pop_back();
    return dylib;
  }
  const std::string name = "hlo." + std::to_string(jit.made++);
  LLVMOrcJITDylibRef dylib = LLVMOrcExecutionSessionCreateBareJITDylib(jit.session, name.c_str());
  LLVMOrcJITDylibAddGenerator(dylib, LLVMOrcCreateCustomCAPIDefinitionGenerator(generateDefinitions, nullptr, nullptr));
  return dylib;
}

void releaseDylib(Jit &jit, LLVMOrcJITDylibRef dylib) {
  if (LLVMErrorRef error = LLVMOrcJITDylibClear(dylib)) {
    LLVMConsumeError(error);
    return; // not known to be empty: never used again
  }
  std::lock_guard<std::mutex> lock(jit.mutex);
  jit.spare.push_back(dylib);
}

} // namespace

Library::Library(const std::vector<std::string_view> &objects,
                 const std::vector<std::pair<std::string, uint64_t>> &symbols)
    : dylib(acquireDylib(theJit())) {
  Jit &jit = theJit();
  try {
    std::vector<LLVMOrcCSymbolMapPair> pairs;
    for (const auto &[name, address] : symbols) {
      LLVMOrcCSymbolMapPair pair;
      pair.Name = LLVMOrcLLJITMangleAndIntern(jit.lljit, name.c_str());
      pair.Sym.Address = address;
      pair.Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
      pair.Sym.Flags.TargetFlags = 0;
      pairs.push_back(pair);
    }
    if (!pairs.empty())
      throwIfError(LLVMOrcJITDylibDefine(dylib, LLVMOrcAbsoluteSymbols(pairs.data(), pairs.size())),
                   "cannot define symbols");
    for (std::string_view object : objects) {
      LLVMMemoryBufferRef buffer =
          LLVMCreateMemoryBufferWithMemoryRangeCopy(object.data(), object.size(), "hlo.object");
      throwIfError(LLVMOrcLLJITAddObjectFile(jit.lljit, dylib, buffer), "cannot load an object file");
    }
  } catch (...) {
    releaseDylib(jit, dylib);
    throw;
  }
}

Library::~Library() { releaseDylib(theJit(), dylib); }

uint64_t Library::lookup(const std::string &name) const {
  Jit &jit = theJit();
  {
    std::lock_guard<std::mutex> lock(jit.mutex);
    jit.reported.clear();
  }
  LLVMOrcCLookupSetElement element;
  element.Name = LLVMOrcLLJITMangleAndIntern(jit.lljit, name.c_str());
  element.LookupFlags = LLVMOrcSymbolLookupFlagsRequiredSymbol;
  LLVMOrcCJITDylibSearchOrderElement order{dylib, LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
  LookupResult result;
  LLVMOrcExecutionSessionLookup(jit.session, LLVMOrcLookupKindStatic, &order, 1, &element, 1, onLookup, &result);
  result.wait();
  if (result.error.empty())
    return result.address;
  std::lock_guard<std::mutex> lock(jit.mutex);
  throw JitError("cannot resolve '" + name + "': " + result.error +
                 (jit.reported.empty() ? "" : " (" + jit.reported + ")"));
}

} // namespace hlo::runtime
