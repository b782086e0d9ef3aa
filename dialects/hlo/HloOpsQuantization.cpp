#include "dialects/hlo/HloOpsQuantization.h"

#include "dialects/hlo/HloAssembly.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsQuantization.cpp.inc"

namespace hlo {

void HloDialect::registerQuantizationOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/hlo/HloOpsQuantization.cpp.inc"
      >();
}

LogicalResult UniformDequantizeOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  if (!isQuantized(operand.getElementType()))
    return check.fail("I1") << "operand must be quantized, found " << operand;
  // C1, C2
  types.push_back(tensorLike(operand, operand.getShape(), expressedType(operand.getElementType())));
  return success();
}

LogicalResult UniformQuantizeOp::verify() {
  Checker check(*this);
  RankedTensorType operand = tensorType(getOperand()), result = tensorType(getResult());
  // C1
  if (!areShapesCompatible(operand.getShape(), result.getShape()))
    return check.fail("C1") << "operand and result must have the same shape, found " << operand << " and " << result;
  // C2
  Type from = expressedType(operand.getElementType()), to = expressedType(result.getElementType());
  if (from != to)
    return check.fail("C2") << "operand and result must express the same type, found " << from << " and " << to;
  return success();
}

} // namespace hlo
