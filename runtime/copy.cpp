// Copies of buffers, shared by the threads of a call where they are large: see kernel_abi.h for the interface.

#include "kernel_abi.h"
#include "runtime.h"
#include "thread_pool.h"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace hlo::runtime {
namespace {

constexpr int64_t pieceBytes = 64 << 10; // one work unit
constexpr int64_t threadBytes = 1 << 20; // what is worth another thread
constexpr int64_t farBytes = 16 << 20;   // will have left the caches before it is read
constexpr int64_t lineBytes = 64, aheadBytes = 8 << 10;

struct Copy {
  char *to;
  const char *from;
  int64_t bytes;
};

/// Whole lines by stores that do not read the lines they write to; the rest as memcpy does.
void copyPastCaches(char *to, const char *from, int64_t bytes) {
  int64_t done = 0;
#ifdef __SSE2__
  constexpr int64_t wordBytes = sizeof(__m128i);
  if (reinterpret_cast<uintptr_t>(to) % wordBytes == 0) {
    for (; done + lineBytes <= bytes; done += lineBytes) {
      _mm_prefetch(from + done + aheadBytes, _MM_HINT_T1);
      for (int64_t word = done; word < done + lineBytes; word += wordBytes)
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + word),
                         _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + word)));
    }
    _mm_sfence(); // such stores are not ordered with those that tell other threads that this one is done
  }
#endif
  std::memcpy(to + done, from + done, static_cast<size_t>(bytes - done));
}

void copyPieces(void **args, int64_t begin, int64_t end) {
  const Copy &copy = *static_cast<const Copy *>(args[0]);
  const int64_t first = begin * pieceBytes, size = std::min(end * pieceBytes, copy.bytes) - first;
  if (copy.bytes >= farBytes)
    copyPastCaches(copy.to + first, copy.from + first, size);
  else
    std::memcpy(copy.to + first, copy.from + first, static_cast<size_t>(size));
}

} // namespace
} // namespace hlo::runtime

using namespace hlo::runtime;

void hlo_rt_copy(const HloRuntime *runtime, void *to, const void *from, int64_t bytes) {
  Copy copy{static_cast<char *>(to), static_cast<const char *>(from), bytes};
  void *args[] = {&copy};
  parallelFor(runtime->threads, copyPieces, args, (bytes + pieceBytes - 1) / pieceBytes, threadBytes / pieceBytes);
}
