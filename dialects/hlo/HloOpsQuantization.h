#ifndef DIALECTS_HLO_HLOOPSQUANTIZATION_H
#define DIALECTS_HLO_HLOOPSQUANTIZATION_H

#include "dialects/hlo/HloInference.h"

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsQuantization.h.inc"

#endif // DIALECTS_HLO_HLOOPSQUANTIZATION_H
