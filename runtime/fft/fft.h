// What the compiler asks about Fourier transforms ahead of time.
#pragma once

#include <cstdint>

namespace hlo::runtime::fft {

/// Bytes that hlo_rt_fft works in with these parameters on at most `threads` threads; throws std::bad_alloc.
int64_t scratchBytes(int threads, const int64_t *parameters);

} // namespace hlo::runtime::fft
