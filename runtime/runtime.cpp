#include "runtime.h"

#include "allocator.h"
#include "thread_pool.h"

#include <chrono>
#include <cstring>

namespace hlo::runtime {

int32_t fail(const HloRuntime *runtime, int32_t code, const char *message) {
  hlo_rt_set_error(runtime, message);
  return code;
}

} // namespace hlo::runtime

using namespace hlo::runtime;

void hlo_rt_set_error(const HloRuntime *runtime, const char *message) {
  if (runtime->failed.exchange(true))
    return;
  std::strncpy(runtime->error, message, sizeof runtime->error - 1);
  runtime->error[sizeof runtime->error - 1] = '\0';
}

int32_t hlo_rt_threads(const HloRuntime *runtime) { return runtime->threads; }

int64_t hlo_rt_now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

void hlo_rt_parallel_for(const HloRuntime *runtime, HloKernelFn kernel, void **args, int64_t n, int64_t grain) {
  parallelFor(runtime->threads, kernel, args, n, grain);
}

void *hlo_rt_alloc(int64_t bytes) { return bytes < 0 ? nullptr : allocate(static_cast<size_t>(bytes)); }
void hlo_rt_free(void *pointer, int64_t bytes) { deallocate(pointer, static_cast<size_t>(bytes)); }
