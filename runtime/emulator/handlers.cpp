// The table of all handlers; the floating-point ones by what the processor has.

#include "machine.h"

namespace hlo::emulator {

namespace baseline {
void addArithmetic(HandlerTable &table);
}
#ifdef HLO_EMULATOR_WIDE
namespace wide {
void addArithmetic(HandlerTable &table);
}
#endif

void addArithmetic(HandlerTable &table) {
#ifdef HLO_EMULATOR_WIDE
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return wide::addArithmetic(table);
#endif
  baseline::addArithmetic(table);
}

const HandlerTable &handlers() {
  static const HandlerTable table = [] {
    HandlerTable made;
    addArithmetic(made);
    addIntegers(made);
    addComparisons(made);
    addConversions(made);
    addTransfers(made);
    addAtomics(made);
    addCollectives(made);
    addMatrices(made);
    addAsynchronous(made);
    addPhases(made);
    addWarpgroups(made);
    return made;
  }();
  return table;
}

} // namespace hlo::emulator
