#include "dialects/hlo/HloDialect.h"

#include "dialects/hlo/HloOpsDataMovement.h"

#include "dialects/hlo/HloDialect.cpp.inc"

using namespace mlir;

namespace hlo {

void HloDialect::initialize() {
  registerTypes();
  registerAttributes();
  registerElementwiseOps();
  registerMathOps();
  registerDataMovementOps();
  registerReductionOps();
  registerContractionOps();
  registerNumericOps();
  registerDynamicOps();
  registerQuantizationOps();
  registerControlFlowOps();
  registerCollectiveOps();
}

Operation *HloDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location location) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, location, TypeRange(type), elements);
}

} // namespace hlo
