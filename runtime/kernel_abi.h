/* The contract between generated code and the runtime: the only header both sides know.
 *
 * Plain C, no dependencies, versioned. Generated code is produced from LLVM IR, so each structure's layout (LP64) is
 * part of the contract and is written out beside it. HLO_ABI_VERSION changes whenever a layout, a signature or the
 * meaning of an argument changes; the version is part of the key of every cached object file.
 *
 * Threads: every function here may be called from any thread, also from inside a kernel. `HloRuntime` belongs to one
 * call of one executable; it is made by the caller of the entry and dies when the entry returns. Memory: the caller
 * owns everything a frame points to. Generated code keeps no pointer after it returns. Alignment: arguments and
 * constants have the alignment of their element; results and the arena have 64 bytes.
 */
#ifndef HLO_RUNTIME_KERNEL_ABI_H
#define HLO_RUNTIME_KERNEL_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HLO_ABI_VERSION 3u

typedef struct HloRuntime HloRuntime;

/* A kernel does the work units [begin, end). `args` are the kernel's buffers, inputs before outputs. Distinct ranges of
 * one kernel never write the same byte, and may run at the same time. */
typedef void (*HloKernelFn)(void **args, int64_t begin, int64_t end);

/* What the entry of a compiled program is called with. Offsets in bytes: abi_version 0, args 8, results 16, arena 24,
 * runtime 32, constants 40; size 48. */
typedef struct HloCallFrame {
  uint32_t abi_version;
  uint32_t reserved;
  const void *const *args;
  void *const *results;
  uint8_t *arena; /* null when the program needs none */
  const HloRuntime *runtime;
  const void *const *constants;
} HloCallFrame;

/* Returns 0, or an error code whose text was stored by hlo_rt_set_error. */
typedef int32_t (*HloMainFn)(const HloCallFrame *frame);

enum {
  HLO_OK = 0,
  HLO_ERROR = 1,            /* see the message */
  HLO_ERROR_NO_LIBRARY = 2, /* a vendor library the program calls is not installed */
  HLO_ERROR_OUT_OF_MEMORY = 3,
  HLO_ERROR_ABI = 4 /* compiled for another version of this header */
};

/* Stores a message (copied, truncated to 511 bytes) for the caller of the entry; the first one of a call wins. */
void hlo_rt_set_error(const HloRuntime *runtime, const char *message);

/* Threads this call may use, at least 1. */
int32_t hlo_rt_threads(const HloRuntime *runtime);

/* Nanoseconds of a clock that never goes back. */
int64_t hlo_rt_now(void);

/* Runs kernel over [0, n), split in pieces of at least `grain` units, and returns when all is done. Runs it as one
 * piece on the calling thread if n <= grain, the call has one thread, or the pool is in use (also by an enclosing
 * call). */
void hlo_rt_parallel_for(const HloRuntime *runtime, HloKernelFn kernel, void **args, int64_t n, int64_t grain);

/* Copies bytes between arrays that do not overlap, by the call's threads where there are many. */
void hlo_rt_copy(const HloRuntime *runtime, void *to, const void *from, int64_t bytes);

/* Scratch of 64-byte alignment from the runtime's cache; null if there is no memory. The size is passed back on free.
 */
void *hlo_rt_alloc(int64_t bytes);
void hlo_rt_free(void *pointer, int64_t bytes);

/* ---- Matrix multiplication (vendor BLAS) --------------------------------------------------------------------------
 * C[m, n] = alpha * op(A)[m, k] * op(B)[k, n] + beta * C, row-major, leading dimensions in elements; op is selected by
 * 0 = as it is, 1 = transposed, 2 = conjugate-transposed. Complex elements are (real, imaginary) pairs; alpha and beta
 * are passed by pointer to one element. C is not read when beta is 0. The batched form does `batch` of them at the
 * given strides in elements (a stride of 0 shares an operand). A zero m, n or batch does nothing; a zero k scales C by
 * beta. Returns HLO_OK or an error code with a message. */
#define HLO_DECLARE_GEMM(SUFFIX, T)                                                                                    \
  int32_t hlo_rt_gemm_##SUFFIX(const HloRuntime *runtime, int32_t trans_a, int32_t trans_b, int64_t m, int64_t n,      \
                               int64_t k, const T *alpha, const T *a, int64_t lda, const T *b, int64_t ldb,            \
                               const T *beta, T *c, int64_t ldc);                                                      \
  int32_t hlo_rt_gemm_batched_##SUFFIX(const HloRuntime *runtime, int32_t trans_a, int32_t trans_b, int64_t m,         \
                                       int64_t n, int64_t k, const T *alpha, const T *a, int64_t lda,                  \
                                       int64_t stride_a, const T *b, int64_t ldb, int64_t stride_b, const T *beta,     \
                                       T *c, int64_t ldc, int64_t stride_c, int64_t batch);
HLO_DECLARE_GEMM(f32, float)
HLO_DECLARE_GEMM(f64, double)
HLO_DECLARE_GEMM(c64, float)
HLO_DECLARE_GEMM(c128, double)
#undef HLO_DECLARE_GEMM

/* ---- Library functions -------------------------------------------------------------------------------------------
 * One calling convention: `buffers` are the operands and then the results, whole tensors in row-major order unless said
 * otherwise, and `parameters` the numbers each function lists, in that order. A result may be the same memory as an
 * operand of the same type where that is said. `scratch` is memory to work in, aligned to 64 bytes; where the call
 * needs more than `scratch_bytes` it takes all of it from the runtime's cache. They return HLO_OK or an error code with
 * a message. */
typedef int32_t (*HloLibraryFn)(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters,
                                void *scratch, int64_t scratch_bytes);

/* Discrete Fourier transform over the last `rank` dimensions, as StableHLO defines `fft`.
 * Buffers: input, output (the same memory is allowed if their sizes in bytes agree).
 * Parameters: kind (0 FFT, 1 IFFT, 2 RFFT, 3 IRFFT), bytes of a real number (4 or 8), batch, rank (1..3), then the rank
 * lengths `fft_length`. RFFT reads lengths..., and writes (last / 2 + 1) complex numbers in its last dimension; IRFFT
 * the other way round. The inverse kinds divide by the number of points. */
int32_t hlo_rt_fft(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, void *scratch,
                   int64_t scratch_bytes);

/* Order of sort keys. Numbers compare as their type does; the float orders differ at the ends:
 * TOTAL: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN; CANONICAL: all zeros equal, all NaNs equal and last. */
enum {
  HLO_SORT_SIGNED = 0,
  HLO_SORT_UNSIGNED = 1, /* booleans too */
  HLO_SORT_FLOAT_TOTAL = 2,
  HLO_SORT_FLOAT_CANONICAL = 3,
  HLO_SORT_BFLOAT_CANONICAL = 4 /* the same for bf16, whose NaNs have other bits than f16's */
};

/* Whether lhs comes before rhs; one pointer per operand, to an element. Must be safe to call from any thread. A result
 * of type i1 is fine: only the lowest bit counts. */
typedef uint8_t (*HloCompareFn)(const void *const *lhs, const void *const *rhs);

/* Sorts operands along one dimension by a comparator. Buffers: k operands, k results (a result may be its operand's
 * memory). Parameters: k, outer, n, inner (the shape is outer x n x inner, n the sorted dimension), stable (0 or 1),
 * then the k element sizes in bytes (1, 2, 4, 8 or 16). A comparator that is no order gives some permutation. */
int32_t hlo_rt_sort(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, void *scratch,
                    int64_t scratch_bytes, HloCompareFn before);

/* The same, stable, for comparators that order by keys in turn. Parameters: k, outer, n, inner, number of keys, the k
 * element sizes, and for each key: operand index, order (HLO_SORT_...), descending (0 or 1). Float keys are IEEE-like
 * formats of 2, 4 or 8 bytes (f16, bf16, f32, f64); integer keys have 1, 2, 4 or 8 bytes. An operand that is no key may
 * be null: its elements are their positions along the line, integers of up to 8 bytes; a result that is null is not
 * wanted. */
int32_t hlo_rt_sort_keys(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, void *scratch,
                         int64_t scratch_bytes);

/* The same where results hold the first elements of each sorted line alone, outer x first x inner, and are not their
 * operands' memory. Parameters: first, then those of hlo_rt_sort_keys. */
int32_t hlo_rt_sort_first(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, void *scratch,
                          int64_t scratch_bytes);

/* The next state of the process's random numbers. Buffers: a result of two uint64, the seed and how many states were
 * taken since it was set. Parameters: none. */
int32_t hlo_rt_random_state(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, void *scratch,
                            int64_t scratch_bytes);

/* LAPACK, by the targets and meanings of the custom calls jaxlib registers: the function of `lapack_spotrf_ffi` is
 * `hlo_rt_lapack_spotrf_ffi`, with the signature HloLibraryFn; for letters s, d, c, z: potrf, trsm, getrf, geqrf,
 * geqp3, orgqr / ungqr, ormqr / unmqr, gesdd, gesvd, syevd / heevd, geev, gees, sytrd / hetrd, gehrd, gtsv; and
 * gtsv_perturbed, which is jaxlib's `tridiagonal_solve_perturbed_ffi` on elements of the letter's type. Parameters:
 * column_major (0: all tensors row-major; 1: the last two dimensions of those of rank batch + 2 exchanged in memory),
 * number of operands, number of results; for each buffer its rank and dimensions; then the call's attributes in
 * alphabetical order of their names, as numbers. A result may be the memory of the operand it overwrites. Parts of
 * results that LAPACK does not define are zero. */

/* Calls a Python function with the global interpreter lock held, from any thread. What it raises is kept for the caller
 * of the entry: results are zero then, and later callbacks of the call are not made.
 * Parameters: number of the function (hlo/executable/callbacks.py), number of operands, number of results, bytes of
 * each buffer. */
int32_t hlo_rt_python_callback(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters,
                               void *scratch, int64_t scratch_bytes);

#ifdef __cplusplus
}
#endif
#endif /* HLO_RUNTIME_KERNEL_ABI_H */
