#ifndef DIALECTS_HLO_HLOOPSDYNAMIC_H
#define DIALECTS_HLO_HLOOPSDYNAMIC_H

#include "dialects/hlo/HloInference.h"

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsDynamic.h.inc"

#endif // DIALECTS_HLO_HLOOPSDYNAMIC_H
