#ifndef DIALECTS_HLO_HLOOPSDATAMOVEMENT_H
#define DIALECTS_HLO_HLOOPSDATAMOVEMENT_H

#include "dialects/hlo/HloInference.h"

namespace hlo {
class ReturnOp;
} // namespace hlo

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsDataMovement.h.inc"

#endif // DIALECTS_HLO_HLOOPSDATAMOVEMENT_H
