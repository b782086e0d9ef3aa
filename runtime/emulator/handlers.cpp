// The table of all handlers; arithmetic, loads and stores by what the processor has.

#include "machine.h"

namespace hlo::emulator {

#define HLO_EMULATOR_DECLARE(LEVEL)                                                                                    \
  namespace LEVEL {                                                                                                    \
  void addArithmetic(HandlerTable &table);                                                                             \
  void addIntegers(HandlerTable &table);                                                                               \
  void addComparisons(HandlerTable &table);                                                                            \
  void addLoads(HandlerTable &table);                                                                                  \
  }
#define HLO_EMULATOR_ADD(LEVEL)                                                                                        \
  LEVEL::addArithmetic(table), LEVEL::addIntegers(table), LEVEL::addComparisons(table), LEVEL::addLoads(table)

HLO_EMULATOR_DECLARE(baseline)
#ifdef HLO_EMULATOR_WIDE
HLO_EMULATOR_DECLARE(wide)
HLO_EMULATOR_DECLARE(widest)
#endif

namespace {

void addByProcessor(HandlerTable &table) {
#ifdef HLO_EMULATOR_WIDE
  const bool isWide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool isWidest = isWide && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (isWidest)
    return HLO_EMULATOR_ADD(widest);
  if (isWide)
    return HLO_EMULATOR_ADD(wide);
#endif
  HLO_EMULATOR_ADD(baseline);
}

} // namespace

const HandlerTable &handlers() {
  static const HandlerTable table = [] {
    HandlerTable made;
    addByProcessor(made);
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
