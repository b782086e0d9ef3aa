// What the parts of the Python module `_dialect` share.
#ifndef DIALECTS_HLO_PYTHON_HLOMODULE_H
#define DIALECTS_HLO_PYTHON_HLOMODULE_H

#include "mlir/Bindings/Python/NanobindAdaptors.h"

namespace hlo {

// Raw access to the elements of constants.
void defineConstants(nanobind::module_ &module);
// Parsing and verification that report diagnostics as data.
void defineParsing(nanobind::module_ &module);

} // namespace hlo

#endif // DIALECTS_HLO_PYTHON_HLOMODULE_H
