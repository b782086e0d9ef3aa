#include "random_state.h"

#include "kernel_abi.h"

#include <mutex>

namespace hlo::runtime {
namespace {

struct State {
  std::mutex mutex;
  uint64_t seed = 0x484C4F;
  uint64_t taken = 0;
};

State &state() {
  static auto *made = new State;
  return *made;
}

} // namespace

void seedRandomState(uint64_t seed) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().seed = seed;
  state().taken = 0;
}

std::pair<uint64_t, uint64_t> nextRandomState() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return {state().seed, state().taken++};
}

} // namespace hlo::runtime

int32_t hlo_rt_random_state(const HloRuntime *, void *const *buffers, const int64_t *, void *, int64_t) {
  const auto [seed, taken] = hlo::runtime::nextRandomState();
  auto *words = static_cast<uint64_t *>(buffers[0]);
  words[0] = seed;
  words[1] = taken;
  return HLO_OK;
}
