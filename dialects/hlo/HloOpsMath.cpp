#include "dialects/hlo/HloOpsMath.h"

#include "dialects/hlo/HloAssembly.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsMath.cpp.inc"

namespace hlo {

void HloDialect::registerMathOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/hlo/HloOpsMath.cpp.inc"
      >();
}

} // namespace hlo
