#ifndef DIALECTS_HLO_HLOOPSMATH_H
#define DIALECTS_HLO_HLOOPSMATH_H

#include "dialects/hlo/HloInference.h"

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsMath.h.inc"

#endif // DIALECTS_HLO_HLOOPSMATH_H
