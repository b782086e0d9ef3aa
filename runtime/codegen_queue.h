// Machine code from the text of MLIR modules, made on threads of its own while the caller makes more text.
//
// Ownership: a queue owns its jobs, their results and its threads, and is destroyed only when they have ended. Contexts
// are lent by a pool of the process. Thread safety: a queue is used by one thread; any number of queues may exist.
// Errors are `JitError`.
#pragma once

#include "jit.h"
#include "stack.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

namespace hlo::runtime {

struct TextJob {
  std::string text;     // a module of upstream dialects
  std::string pipeline; // MLIR passes, in the syntax of `mlir-opt -pass-pipeline=`, that leave the llvm dialect
  CompileOptions options;
};

/// Object file of a module, made on the calling thread.
std::string compileText(const TextJob &job);

class CodegenQueue {
public:
  /// `threads`: most threads beside the one that calls `finish`; each is started when there are more jobs than idle
  /// ones.
  explicit CodegenQueue(int threads) : most(threads < 0 ? 0 : static_cast<size_t>(threads)) {}
  /// Forgets jobs that have not begun, waits for those that have.
  ~CodegenQueue();
  CodegenQueue(const CodegenQueue &) = delete;
  CodegenQueue &operator=(const CodegenQueue &) = delete;

  /// Takes a job and returns at once.
  void add(TextJob job);

  /// Works with the other threads until all jobs are done, the longest first, so that none is left to one thread at the
  /// end; object files in the order of the jobs.
  std::vector<std::string> finish();

private:
  bool takeJob(std::unique_lock<std::mutex> &lock);
  void startThread();
  void work();

  const size_t most;
  std::mutex mutex;
  std::condition_variable changed; // a job came, or no more will
  std::deque<TextJob> jobs;
  std::deque<std::string> objects;
  std::exception_ptr error;    // the first that was met
  std::vector<size_t> waiting; // jobs that nobody has taken
  size_t idle = 0;
  bool ending = false;
  std::vector<Thread> threads;
};

} // namespace hlo::runtime
