// The vendor BLAS and LAPACK: OpenBLAS, found at run time.
//
// Ownership: the library stays loaded. Thread safety: all functions, from any thread; the path is set before the first
// use. OpenBLAS itself runs single-threaded: work is split over our pool, which measured faster than its own threads or
// its callback into a foreign pool.
#pragma once

#include <string>

namespace hlo::runtime {

/// Where the shared library is. Takes effect if nothing of it was used yet.
void setBlasPath(const std::string &path);

/// Whether the library can be used; loads it.
bool blasAvailable();

/// Why it cannot, or an empty string.
std::string blasError();

/// Address of a routine by its plain name (`cblas_sgemm`, `sgetrf_`), or null.
void *blasSymbol(const char *name);

} // namespace hlo::runtime
