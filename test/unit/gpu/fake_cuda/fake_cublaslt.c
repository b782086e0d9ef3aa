// cuBLASLt for tests, on the fake driver's streams: what hlo.gpu.cuda.cublaslt calls of it, by the plainest loops.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_elements.h"

typedef int Status;
enum { INVALID_VALUE = 7, NOT_SUPPORTED = 15, R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };

void fake_enqueue(void *stream, const char *name, void (*run)(void *), void *data);

struct Layout { int type; uint64_t rows, columns; int64_t ld; int32_t batches; int64_t stride; };
struct Descriptor { int compute, scale; int32_t transpose_a, transpose_b, epilogue; const void *bias; };
struct Heuristic { uint64_t algorithm[8]; size_t workspace; int state; float waves; int reserved[4]; };
struct Product {
  struct Descriptor what;
  struct Layout a, b, d;
  const char *left, *right;
  char *result;
};

static int refuses;
void fake_cublaslt_refuse(int refuse) { refuses = refuse; }

static enum Element element_of(int type) {
  return type == R_64F ? ELEMENT_F64 : type == R_32F ? ELEMENT_F32 : type == R_16F ? ELEMENT_F16 : ELEMENT_BF16;
}
static double load(const char *at, int type, uint64_t index) { return load_element(at, element_of(type), index); }
static void store(char *at, int type, uint64_t index, double value) {
  store_element(at, element_of(type), index, value);
}

static double activated(int epilogue, double x) {
  if (epilogue & 2) return x > 0 ? x : 0;
  if (epilogue & 32) return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  return x;
}

static void run(void *data) {
  const struct Product *p = data;
  const int ta = p->what.transpose_a, tb = p->what.transpose_b;
  const uint64_t depth = ta ? p->a.rows : p->a.columns;
  for (int item = 0; item < p->d.batches; ++item)
    for (uint64_t j = 0; j < p->d.columns; ++j)
      for (uint64_t i = 0; i < p->d.rows; ++i) {
        double sum = 0;
        for (uint64_t k = 0; k < depth; ++k) {
          const uint64_t a = ta ? i * p->a.ld + k : k * p->a.ld + i, b = tb ? k * p->b.ld + j : j * p->b.ld + k;
          sum += load(p->left, p->a.type, item * p->a.stride + a) * load(p->right, p->b.type, item * p->b.stride + b);
        }
        if (p->what.epilogue & 4)
          sum += load(p->what.bias, p->d.type, i);
        store(p->result, p->d.type, item * p->d.stride + j * p->d.ld + i, activated(p->what.epilogue, sum));
      }
}

Status cublasLtCreate(void **handle) { *handle = (void *)0x3000; return 0; }

Status cublasLtMatmulDescCreate(void **made, int compute, int scale) {
  struct Descriptor *d = calloc(1, sizeof *d);
  d->compute = compute, d->scale = scale, d->epilogue = 1;
  *made = d;
  return 0;
}
Status cublasLtMatmulDescSetAttribute(void *of, int attribute, const void *value, size_t size) {
  struct Descriptor *d = of;
  void *field = attribute == 3 ? (void *)&d->transpose_a : attribute == 4 ? (void *)&d->transpose_b
              : attribute == 7 ? (void *)&d->epilogue : attribute == 8 ? (void *)&d->bias : NULL;
  if (!field || size != (attribute == 8 ? 8 : 4))
    return INVALID_VALUE;
  memcpy(field, value, size);
  return 0;
}

Status cublasLtMatrixLayoutCreate(void **made, int type, uint64_t rows, uint64_t columns, int64_t ld) {
  if (ld < (int64_t)rows)
    return INVALID_VALUE;
  struct Layout *l = calloc(1, sizeof *l);
  *l = (struct Layout){type, rows, columns, ld, 1, 0};
  *made = l;
  return 0;
}
Status cublasLtMatrixLayoutSetAttribute(void *of, int attribute, const void *value, size_t size) {
  struct Layout *l = of;
  if (attribute == 5 && size == 4) l->batches = *(const int32_t *)value;
  else if (attribute == 6 && size == 8) l->stride = *(const int64_t *)value;
  else return INVALID_VALUE;
  return 0;
}

struct Preference { uint64_t workspace; uint32_t alignments[4]; };
Status cublasLtMatmulPreferenceCreate(void **made) {
  struct Preference *p = calloc(1, sizeof *p);
  *p = (struct Preference){0, {256, 256, 256, 256}}; // what the library takes addresses to be multiples of
  *made = p;
  return 0;
}
Status cublasLtMatmulPreferenceSetAttribute(void *of, int attribute, const void *value, size_t size) {
  struct Preference *p = of;
  if (attribute == 1 && size == 8) memcpy(&p->workspace, value, 8);
  else if (attribute >= 5 && attribute <= 8 && size == 4) memcpy(&p->alignments[attribute - 5], value, 4);
  else return INVALID_VALUE;
  return 0;
}

/// Extents that do not fit, and types and epilogues that the library does not have together, are errors.
static Status check(const struct Descriptor *d, const struct Layout *a, const struct Layout *b, const struct Layout *c) {
  const uint64_t m = d->transpose_a ? a->columns : a->rows, k = d->transpose_a ? a->rows : a->columns;
  const uint64_t n = d->transpose_b ? b->rows : b->columns, depth = d->transpose_b ? b->columns : b->rows;
  if (m != c->rows || n != c->columns || k != depth || a->batches != c->batches || b->batches != c->batches)
    return INVALID_VALUE;
  const int is_double = a->type == R_64F;
  if (a->type != b->type || d->scale != (is_double ? R_64F : R_32F) || (d->compute == 70) != is_double)
    return INVALID_VALUE;
  if (d->compute == 77 && a->type != R_32F)
    return NOT_SUPPORTED;
  return 0;
}

Status cublasLtMatmulAlgoGetHeuristic(void *handle, void *what, void *a, void *b, void *c, void *d, void *preference,
                                      int wanted, struct Heuristic *results, int *found) {
  (void)handle, (void)c, (void)wanted;
  const struct Preference *wishes = preference;
  const Status status = check(what, a, b, d);
  *found = !status && !refuses;
  memset(results, 0, sizeof *results);
  results->algorithm[0] = 0xA160;
  for (int i = 0; i < 4; ++i)
    results->algorithm[1 + i] = wishes->alignments[i];
  return status;
}

Status cublasLtMatmul(void *handle, void *what, const void *alpha, const void *a, void *a_layout, const void *b,
                      void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,
                      const uint64_t *algorithm, void *workspace, size_t workspace_bytes, void *stream) {
  (void)handle, (void)c_layout, (void)workspace_bytes;
  const struct Descriptor *description = what;
  const int is_double = description->scale == R_64F;
  const double one = is_double ? *(const double *)alpha : *(const float *)alpha;
  const double zero = is_double ? *(const double *)beta : *(const float *)beta;
  if (one != 1 || zero != 0 || algorithm[0] != 0xA160 || !workspace || check(what, a_layout, b_layout, d_layout))
    return INVALID_VALUE;
  const void *addresses[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if ((uintptr_t)addresses[i] % algorithm[1 + i])
      return INVALID_VALUE; // the library computes nonsense, or faults
  struct Product *product = malloc(sizeof *product);
  *product = (struct Product){*description, *(struct Layout *)a_layout, *(struct Layout *)b_layout,
                              *(struct Layout *)d_layout, a, b, d};
  fake_enqueue(stream, "cublasLtMatmul", run, product);
  return 0;
}
