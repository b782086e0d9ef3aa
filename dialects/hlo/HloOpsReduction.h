#ifndef DIALECTS_HLO_HLOOPSREDUCTION_H
#define DIALECTS_HLO_HLOOPSREDUCTION_H

#include "dialects/hlo/HloInference.h"

namespace hlo {
class ReturnOp;
} // namespace hlo

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsReduction.h.inc"

#endif // DIALECTS_HLO_HLOOPSREDUCTION_H
