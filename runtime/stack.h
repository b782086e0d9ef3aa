// Stacks large enough for what runs on them, whatever the calling thread has.
//
// Generated kernels keep what they pack on the stack, LLVM and MLIR recurse. Threads of the caller may have stacks of a
// few hundred KiB (`threading.stack_size`, musl), and a frame larger than the guard page would be written past it.
// Thread safety: all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <pthread.h>

namespace hlo::runtime {

/// What one kernel may keep on the stack (hlo/passes/hlo_to_loops/builder.py holds it to that), in bytes.
constexpr size_t kernelStackBytes = size_t{2} << 20;
/// What a call of a program needs: a kernel's buffers, spills, and what library functions and callbacks use.
constexpr size_t programStackBytes = kernelStackBytes + (size_t{1} << 20);
/// What compilation needs: parsers and passes recurse as deep as programs nest.
constexpr size_t compilerStackBytes = size_t{6} << 20;

/// A thread with a stack of at least `stackBytes`, and of the system's default size if that is more. Throws
/// `std::system_error` if there can be no more threads. It must be joined or detached.
class Thread {
public:
  Thread(std::function<void()> body, size_t stackBytes);
  Thread(Thread &&other) noexcept : handle(other.handle) {}
  void join() { pthread_join(handle, nullptr); }
  void detach() { pthread_detach(handle); }
  pthread_t nativeHandle() const { return handle; }

private:
  pthread_t handle;
};

/// Whether the calling thread has so many bytes of stack left.
bool hasStack(size_t bytes);

/// Runs `body` here if the stack suffices, else on a thread of its own, and waits for it. `body` must not throw. Throws
/// as `Thread` does.
void withStack(size_t bytes, const std::function<void()> &body);

} // namespace hlo::runtime
