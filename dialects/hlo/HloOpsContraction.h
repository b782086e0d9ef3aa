#ifndef DIALECTS_HLO_HLOOPSCONTRACTION_H
#define DIALECTS_HLO_HLOOPSCONTRACTION_H

#include "dialects/hlo/HloInference.h"

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsContraction.h.inc"

#endif // DIALECTS_HLO_HLOOPSCONTRACTION_H
