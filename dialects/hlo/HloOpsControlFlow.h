#ifndef DIALECTS_HLO_HLOOPSCONTROLFLOW_H
#define DIALECTS_HLO_HLOOPSCONTROLFLOW_H

#include "dialects/hlo/HloInference.h"

namespace hlo {
class ReturnOp;
} // namespace hlo

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsControlFlow.h.inc"

#endif // DIALECTS_HLO_HLOOPSCONTROLFLOW_H
