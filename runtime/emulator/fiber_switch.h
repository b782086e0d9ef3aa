// Stacks that are switched between by hand.
#pragma once

#include <cstddef>

namespace hlo::emulator {

/// Where a suspended stack goes on.
struct StackPosition {
  void *pointer = nullptr;
};

/// Makes `position` start `run()` on a stack of its own; `run` must never return.
void prepareStack(StackPosition &position, char *stack, size_t bytes, void (*run)());

/// Suspends the running stack into `from` and goes on with `to`.
void switchStack(StackPosition &from, StackPosition &to);

} // namespace hlo::emulator
