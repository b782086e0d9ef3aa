#ifndef DIALECTS_HLO_HLOOPSELEMENTWISE_H
#define DIALECTS_HLO_HLOOPSELEMENTWISE_H

#include "dialects/hlo/HloInference.h"

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsElementwise.h.inc"

#endif // DIALECTS_HLO_HLOOPSELEMENTWISE_H
