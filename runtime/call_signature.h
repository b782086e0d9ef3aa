// What a call of a compiled function is known by: the structure of its arguments, and their shapes and dtypes.
#pragma once

#include <Python.h>

namespace hlo::runtime {

/// (key, leaves, kept) of the arguments of a call, or None where they hold something else than dicts, lists, tuples,
/// None, arrays and Python numbers; null with a Python error set.
///
/// The key is bytes: equal ones mean the same nesting, the same keys of dicts, the same shapes, dtypes and types of the
/// leaves. Leaves are listed in the order in which containers hold them. The key holds addresses of objects: who stores
/// it must store `kept`, a tuple of those, beside it. `args` is a tuple, `kwargs` a dict. Needs the GIL.
PyObject *callSignature(PyObject *args, PyObject *kwargs, bool withKept);

} // namespace hlo::runtime
