#include "codegen_queue.h"

#include "diagnostics.h"

#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"
#include "mlir-c/RegisterEverything.h"

#include <algorithm>
#include <memory>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace hlo::runtime {
namespace {

MlirStringRef reference(const std::string &text) { return mlirStringRefCreate(text.data(), text.size()); }

void appendTo(MlirStringRef piece, void *text) { static_cast<std::string *>(text)->append(piece.data, piece.length); }

MlirDialectRegistry upstreamDialects() {
  static const MlirDialectRegistry registry = [] {
    MlirDialectRegistry made = mlirDialectRegistryCreate();
    mlirRegisterAllDialects(made);
    return made;
  }();
  return registry;
}

// A context of upstream dialects, and the pass managers that have run in it: their patterns are collected once.
// Dialects are loaded when a module first mentions them, so that conversions collect no more than they need.
class LoweringContext {
public:
  LoweringContext() : context(mlirContextCreateWithRegistry(upstreamDialects(), /*threadingEnabled=*/false)) {
    mlirRegisterAllLLVMTranslations(context);
  }
  ~LoweringContext() {
    for (auto &[pipeline, manager] : managers)
      mlirPassManagerDestroy(manager);
    mlirContextDestroy(context);
  }
  LoweringContext(const LoweringContext &) = delete;
  LoweringContext &operator=(const LoweringContext &) = delete;

  MlirPassManager manager(const std::string &pipeline) {
    auto found = managers.find(pipeline);
    if (found != managers.end())
      return found->second;
    MlirPassManager made = mlirPassManagerCreate(context);
    managers.emplace(pipeline, made);
    std::string errors;
    if (mlirLogicalResultIsFailure(
            mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(made), reference(pipeline), appendTo, &errors)))
      throw JitError("cannot read the pass pipeline '" + pipeline + "': " + errors);
    mlirPassManagerEnableVerifier(made, false);
    return made;
  }

  const MlirContext context;
  size_t characters = 0; // of all its modules

private:
  std::unordered_map<std::string, MlirPassManager> managers;
};

// Contexts that nothing uses at the moment: making and destroying one takes milliseconds. Never destroyed.
class ContextPool {
public:
  std::unique_ptr<LoweringContext> take() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!spare.empty()) {
        std::unique_ptr<LoweringContext> found = std::move(spare.back());
        spare.pop_back();
        return found;
      }
    }
    return std::make_unique<LoweringContext>();
  }

  // A context keeps every type and attribute it has seen, so it is given up in time.
  void give(std::unique_ptr<LoweringContext> context) {
    if (context->characters > mostCharacters)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    if (spare.size() < most)
      spare.push_back(std::move(context));
  }

private:
  static constexpr size_t most = 16;
  static constexpr size_t mostCharacters = 2'000'000;
  std::mutex mutex;
  std::vector<std::unique_ptr<LoweringContext>> spare;
};

ContextPool &contextPool() {
  static auto *pool = new ContextPool;
  return *pool;
}

struct OwnedModule {
  MlirModule module;
  ~OwnedModule() {
    if (!mlirModuleIsNull(module))
      mlirModuleDestroy(module);
  }
};

std::string compileIn(LoweringContext &lowering, const TextJob &job) {
  DiagnosticCollector diagnostics(lowering.context);
  OwnedModule owned{mlirModuleCreateParse(lowering.context, reference(job.text))};
  if (mlirModuleIsNull(owned.module))
    throw JitError("cannot read the module:\n" + diagnostics.text);
  MlirOperation module = mlirModuleGetOperation(owned.module);
  if (mlirLogicalResultIsFailure(mlirPassManagerRunOnOp(lowering.manager(job.pipeline), module)))
    throw JitError("cannot lower the module:\n" + diagnostics.text);
  return compile(module, job.options, Output::Object);
}

} // namespace

std::string compileText(const TextJob &job) {
  std::unique_ptr<LoweringContext> lowering = contextPool().take();
  std::string object = compileIn(*lowering, job); // after a failure the context is not used again
  lowering->characters += job.text.size();
  contextPool().give(std::move(lowering));
  return object;
}

CodegenQueue::~CodegenQueue() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    waiting.clear();
    ending = true;
  }
  changed.notify_all();
  for (Thread &thread : threads)
    thread.join();
}

void CodegenQueue::add(TextJob job) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    waiting.push_back(jobs.size());
    jobs.push_back(std::move(job));
    objects.emplace_back();
    if (waiting.size() > idle && threads.size() < most)
      startThread();
  }
  changed.notify_one();
}

// Without one, whoever calls `finish` does the work.
void CodegenQueue::startThread() {
  try {
    threads.emplace_back([this] { work(); }, compilerStackBytes);
  } catch (const std::system_error &) {
  }
}

std::vector<std::string> CodegenQueue::finish() {
  {
    std::unique_lock<std::mutex> lock(mutex);
    ending = true;
    changed.notify_all();
    while (takeJob(lock)) {
    }
  }
  for (Thread &thread : threads)
    thread.join();
  threads.clear();
  if (error)
    std::rethrow_exception(error);
  return {std::make_move_iterator(objects.begin()), std::make_move_iterator(objects.end())};
}

// Does the longest job, for which it lets go of the lock; false if there is none.
bool CodegenQueue::takeJob(std::unique_lock<std::mutex> &lock) {
  const auto longest = std::max_element(
      waiting.begin(), waiting.end(), [this](size_t a, size_t b) { return jobs[a].text.size() < jobs[b].text.size(); });
  if (longest == waiting.end())
    return false;
  const size_t mine = *longest;
  waiting.erase(longest);
  TextJob job = std::move(jobs[mine]);
  lock.unlock();
  std::string object;
  std::exception_ptr failure;
  try {
    object = compileText(job);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  objects[mine] = std::move(object);
  if (failure && !error) {
    error = failure;
    waiting.clear();
  }
  return true;
}

void CodegenQueue::work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    if (takeJob(lock))
      continue;
    if (ending)
      return;
    ++idle;
    changed.wait(lock);
    --idle;
  }
}

} // namespace hlo::runtime
