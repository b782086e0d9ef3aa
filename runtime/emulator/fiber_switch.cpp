#include "fiber_switch.h"

#include <cstdint>
#include <cstdlib>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace hlo::emulator {

#if defined(__x86_64__)

// Saves what the System V calling convention lets a callee expect back, and takes up the other stack.
extern "C" void hloSwitchStack(void **from, void *to);
asm(R"(
.text
.local hloSwitchStack
.type hloSwitchStack, @function
hloSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
.size hloSwitchStack, .-hloSwitchStack
)");

void prepareStack(StackPosition &position, char *stack, size_t bytes, void (*run)()) {
  // At the entry of a function the stack is 8 bytes past a multiple of 16.
  auto *top = reinterpret_cast<void **>((reinterpret_cast<uintptr_t>(stack) + bytes) / 16 * 16);
  *--top = nullptr; // the return address that `run` never uses
  *--top = reinterpret_cast<void *>(run);
  for (int saved = 0; saved < 6; ++saved)
    *--top = nullptr;
  position.pointer = top;
}

void switchStack(StackPosition &from, StackPosition &to) { hloSwitchStack(&from.pointer, to.pointer); }

#else

namespace {
ucontext_t &contextOf(StackPosition &position) {
  if (!position.pointer)
    position.pointer = new ucontext_t;
  return *static_cast<ucontext_t *>(position.pointer);
}
} // namespace

void prepareStack(StackPosition &position, char *stack, size_t bytes, void (*run)()) {
  ucontext_t &context = contextOf(position);
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = bytes;
  context.uc_link = nullptr;
  makecontext(&context, run, 0);
}

void switchStack(StackPosition &from, StackPosition &to) { swapcontext(&contextOf(from), &contextOf(to)); }

#endif

} // namespace hlo::emulator
