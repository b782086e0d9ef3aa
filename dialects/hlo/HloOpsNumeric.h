#ifndef DIALECTS_HLO_HLOOPSNUMERIC_H
#define DIALECTS_HLO_HLOOPSNUMERIC_H

#include "dialects/hlo/HloInference.h"

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsNumeric.h.inc"

#endif // DIALECTS_HLO_HLOOPSNUMERIC_H
