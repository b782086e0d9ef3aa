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

#define HLO_ABI_VERSION 1u

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

/* Runs kernel over [0, n), split in pieces of at least `grain` units, and returns when all is done. Runs it as one
 * piece on the calling thread if n <= grain, the call has one thread, or the pool is in use (also by an enclosing
 * call). */
void hlo_rt_parallel_for(const HloRuntime *runtime, HloKernelFn kernel, void **args, int64_t n, int64_t grain);

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

#ifdef __cplusplus
}
#endif
#endif /* HLO_RUNTIME_KERNEL_ABI_H */
