#include "stack.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <system_error>

namespace hlo::runtime {
namespace {

void *runBody(void *pointer) {
  const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()> *>(pointer));
  (*body)();
  return nullptr;
}

// The lowest address of the calling thread's stack; 0 if the system does not say.
uintptr_t findStackEnd() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return 0;
  void *lowest = nullptr;
  size_t size = 0, guard = 0;
  const bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  if (known && pthread_attr_getguardsize(&attributes, &guard) != 0)
    guard = 0;
  pthread_attr_destroy(&attributes);
  return known ? reinterpret_cast<uintptr_t>(lowest) + guard : 0;
}

} // namespace

Thread::Thread(std::function<void()> body, size_t stackBytes) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  size_t usual = 0;
  pthread_attr_getstacksize(&attributes, &usual);
  pthread_attr_setstacksize(&attributes, std::max(usual, stackBytes));
  auto owned = std::make_unique<std::function<void()>>(std::move(body));
  const int failure = pthread_create(&handle, &attributes, runBody, owned.get());
  pthread_attr_destroy(&attributes);
  if (failure != 0)
    throw std::system_error(failure, std::generic_category(), "cannot start a thread");
  owned.release(); // the thread's now
}

bool hasStack(size_t bytes) {
  static thread_local const uintptr_t end = findStackEnd();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  // Elsewhere than on the thread's own stack (a fiber's) there is no telling.
  return end == 0 || here < end || here - end >= bytes;
}

void withStack(size_t bytes, const std::function<void()> &body) {
  if (hasStack(bytes)) {
    body();
    return;
  }
  Thread thread(body, bytes + (size_t{1} << 20));
  thread.join();
}

} // namespace hlo::runtime
