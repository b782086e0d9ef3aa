// cuDNN for tests, on the fake driver's streams: what hlo.gpu.cuda.cudnn calls of it, by the plainest loops. Names and
// numbers are those of cudnn_graph.h. Descriptors hold what was set; what is wrong with it is an error where the
// library has one, and engines that may not be taken compute something else.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_elements.h"

typedef int Status;
enum {
  BAD_PARAM = 2000,
  NOT_FINALIZED = 2004,
  SIZE_INSUFFICIENT = 2006,
  SHAPE_MISMATCH = 2008,
  ATTRIBUTE_TYPE = 2010,
  NOT_SUPPORTED = 3000,
  GRAPH_PATTERN = 3001,
  EXECUTION_FAILED = 5000
};
enum {
  POINTWISE = 0,
  CONVOLUTION = 1,
  ENGINE = 2,
  ENGINECFG = 3,
  ENGINEHEUR = 4,
  EXECUTION_PLAN = 5,
  FORWARD = 10,
  BWD_FILTER = 11,
  BWD_DATA = 12,
  POINTWISE_OP = 13,
  OPERATIONGRAPH = 15,
  VARIANT_PACK = 16,
  TENSOR = 17
};
enum {
  T_HANDLE = 0,
  T_DATA_TYPE = 1,
  T_BOOLEAN = 2,
  T_INT64 = 3,
  T_FLOAT = 4,
  T_DOUBLE = 5,
  T_POINTER = 6,
  T_CONV_MODE = 7,
  T_HEUR_MODE = 8,
  T_NAN = 10,
  T_NOTE = 11,
  T_POINTWISE_MODE = 14,
  T_DESCRIPTOR = 15
};
enum { NOTE_TENSOR_CORE = 0, NOTE_NONDETERMINISTIC = 4, NOTE_WINOGRAD = 5 };
enum { MOST = 8, MOST_DIMS = 5, HANDLE = 0x4000, WORKSPACE = 4096 };

void fake_enqueue(void *stream, const char *name, void (*run)(void *), void *data);

struct Set {
  int name, type;
  int64_t count;
  int64_t values[MOST];
};
struct Descriptor {
  int kind;
  bool finalized;
  int count;
  struct Set sets[16];
};

static int version = 91002, refuses;
static void *stream;
static char message[256];

void fake_cudnn_set_version(int number) { version = number; }
/// 0 nothing, 1 all graphs, 2 all heuristics, 3 all plans, 4 all executions.
void fake_cudnn_refuse(int what) { refuses = what; }

static Status fails(Status status, const char *why) {
  snprintf(message, sizeof message, "%s", why);
  return status;
}
size_t cudnnGetVersion(void) { return version; }
size_t cudnnGetCudartVersion(void) { return 12090; }
void cudnnGetLastErrorString(char *text, size_t size) { snprintf(text, size, "%s", message); }
Status cudnnCreate(void **handle) {
  *handle = (void *)HANDLE;
  return 0;
}
Status cudnnSetStream(void *handle, void *wanted) {
  if (handle != (void *)HANDLE)
    return fails(BAD_PARAM, "handle");
  stream = wanted;
  return 0;
}

Status cudnnBackendCreateDescriptor(int kind, struct Descriptor **made) {
  *made = calloc(1, sizeof **made);
  (*made)->kind = kind;
  return 0;
}
Status cudnnBackendDestroyDescriptor(struct Descriptor *of) {
  of->kind = -1; // kept, so that a use is found
  return 0;
}

static int size_of(int type) {
  return type == T_BOOLEAN                                                                                      ? 1
         : type == T_INT64 || type == T_DOUBLE || type == T_HANDLE || type == T_POINTER || type == T_DESCRIPTOR ? 8
                                                                                                                : 4;
}
static struct Set *find(const struct Descriptor *of, int name) {
  for (int i = 0; i < of->count; ++i)
    if (of->sets[i].name == name)
      return (struct Set *)&of->sets[i];
  return NULL;
}
static int64_t value(const struct Descriptor *of, int name) {
  const struct Set *set = find(of, name);
  return set ? set->values[0] : 0;
}
static struct Descriptor *held(const struct Descriptor *of, int name) { return (struct Descriptor *)value(of, name); }

/// The type that an attribute has.
static int type_of(int name) {
  switch (name) {
  case 0:
    return T_POINTWISE_MODE;
  case 1:
  case 100:
  case 901:
    return T_DATA_TYPE;
  case 2:
    return T_NAN;
  case 101:
    return T_CONV_MODE;
  case 102:
  case 103:
  case 104:
  case 105:
  case 106:
  case 900:
  case 902:
  case 903:
  case 906:
  case 1000:
    return T_INT64;
  case 200:
    return T_HEUR_MODE;
  case 400:
  case 800:
    return T_HANDLE;
  case 700:
  case 701:
  case 706:
  case 707:
  case 712:
  case 713:
    return T_FLOAT; // or double
  case 907:
    return T_BOOLEAN;
  case 1001:
  case 1003:
    return T_POINTER;
  default:
    return T_DESCRIPTOR;
  }
}

Status cudnnBackendSetAttribute(struct Descriptor *of, int name, int type, int64_t count, const void *values) {
  if (of->finalized || of->kind < 0)
    return fails(BAD_PARAM, "the descriptor is finalized");
  const int wanted = type_of(name);
  if (type != wanted && !(wanted == T_FLOAT && type == T_DOUBLE))
    return fails(ATTRIBUTE_TYPE, "attribute type");
  if (count < 1 || count > MOST || of->count == 16 || find(of, name))
    return fails(BAD_PARAM, "count");
  struct Set *set = &of->sets[of->count++];
  *set = (struct Set){name, type, count, {0}};
  for (int64_t i = 0; i < count; ++i)
    memcpy(&set->values[i], (const char *)values + i * size_of(type), size_of(type));
  for (int64_t i = 0; type == T_DESCRIPTOR && i < count; ++i)
    if (!((struct Descriptor *)set->values[i])->finalized)
      return fails(NOT_FINALIZED, "a descriptor in an attribute is not finalized");
  return 0;
}

struct View {
  int64_t dims[MOST_DIMS], strides[MOST_DIMS];
  int rank;
};
static struct View view_of(const struct Descriptor *tensor) {
  struct View view = {.rank = (int)find(tensor, 902)->count};
  for (int d = 0; d < view.rank; ++d)
    view.dims[d] = find(tensor, 902)->values[d], view.strides[d] = find(tensor, 903)->values[d];
  return view;
}
static int64_t elements_of(const struct View *view) {
  int64_t count = 1;
  for (int d = 0; d < view->rank; ++d)
    count *= view->dims[d];
  return count;
}
static enum Element element_of(const struct Descriptor *tensor) {
  switch (value(tensor, 901)) {
  case 0:
    return ELEMENT_F32;
  case 1:
    return ELEMENT_F64;
  case 2:
    return ELEMENT_F16;
  case 3:
    return ELEMENT_I8;
  case 4:
    return ELEMENT_I32;
  default:
    return ELEMENT_BF16;
  }
}

static Status check_tensor(const struct Descriptor *of) {
  const int wanted[] = {900, 901, 902, 903, 906};
  for (int i = 0; i < 5; ++i)
    if (!find(of, wanted[i]))
      return fails(BAD_PARAM, "a tensor lacks an attribute");
  const struct View view = view_of(of);
  if (find(of, 903)->count != view.rank || view.rank < 4 || value(of, 900) % element_bytes(element_of(of)))
    return fails(BAD_PARAM, "a tensor's rank or alignment");
  for (int d = 0; d < view.rank; ++d)
    if (view.dims[d] < 1 || view.strides[d] < 1)
      return fails(BAD_PARAM, "a tensor's dimension or stride is not positive");
  return 0;
}

/// Attributes of the three operations: settings, x, w and y.
static const int *places_of(int kind) {
  static const int forward[] = {702, 704, 703, 705}, data[] = {708, 710, 709, 711}, filter[] = {714, 716, 715, 717};
  return kind == FORWARD ? forward : kind == BWD_DATA ? data : filter;
}
static Status check_operation(const struct Descriptor *of) {
  const int *places = places_of(of->kind), first = of->kind == FORWARD ? 700 : of->kind == BWD_DATA ? 706 : 712;
  for (int i = 0; i < 4; ++i)
    if (!find(of, places[i]))
      return fails(BAD_PARAM, "an operation lacks a descriptor");
  const struct Set *alpha = find(of, first), *beta = find(of, first + 1);
  float one;
  double wide;
  if (!alpha || !beta)
    return fails(BAD_PARAM, "an operation lacks a scale");
  memcpy(&one, alpha->values, 4), memcpy(&wide, alpha->values, 8);
  if ((alpha->type == T_FLOAT ? one : wide) != 1 || beta->values[0] != 0)
    return fails(NOT_SUPPORTED, "a scale that the fake library lacks");
  const struct Descriptor *how = held(of, places[0]);
  const struct View x = view_of(held(of, places[1])), w = view_of(held(of, places[2])),
                    y = view_of(held(of, places[3]));
  const int64_t spatial = value(how, 106);
  for (int name = 102; name <= 105; ++name)
    if (!find(how, name) || find(how, name)->count != spatial)
      return fails(BAD_PARAM, "a window's dimensions");
  if (x.rank != spatial + 2 || w.rank != x.rank || y.rank != x.rank)
    return fails(SHAPE_MISMATCH, "ranks");
  if (x.dims[0] != y.dims[0] || w.dims[0] != y.dims[1] || x.dims[1] % w.dims[1] || y.dims[1] % (x.dims[1] / w.dims[1]))
    return fails(SHAPE_MISMATCH, "features");
  for (int s = 0; s < spatial; ++s) {
    const int64_t d = find(how, 102)->values[s], step = find(how, 103)->values[s];
    const int64_t padded = x.dims[2 + s] + find(how, 104)->values[s] + find(how, 105)->values[s];
    if ((padded - ((w.dims[2 + s] - 1) * d + 1)) / step + 1 != y.dims[2 + s])
      return fails(SHAPE_MISMATCH, "places of the windows");
  }
  return 0;
}

Status cudnnBackendFinalize(struct Descriptor *of) {
  Status status = 0;
  if (of->finalized || of->kind < 0)
    return fails(BAD_PARAM, "finalized twice");
  if (of->kind == TENSOR)
    status = check_tensor(of);
  else if (of->kind == FORWARD || of->kind == BWD_DATA || of->kind == BWD_FILTER)
    status = check_operation(of);
  else if (of->kind == OPERATIONGRAPH && (refuses == 1 || value(of, 800) != HANDLE || !find(of, 801)))
    status = fails(GRAPH_PATTERN, "the graph is not supported");
  else if (of->kind == ENGINEHEUR && refuses == 2)
    status = fails(NOT_SUPPORTED, "no heuristic");
  else if (of->kind == EXECUTION_PLAN && (refuses == 3 || value(of, 400) != HANDLE || !find(of, 401)))
    status = fails(NOT_SUPPORTED, "no plan");
  of->finalized = !status;
  return status;
}

/// Engines by number: on tensor cores, by a transform of tiles, in any order, and as it is written.
enum { ROUNDING, TRANSFORMING, UNORDERED, PLAIN, ENGINES };

static Status heuristic(const struct Descriptor *of, int64_t wanted, int64_t *count, void **results) {
  *count = ENGINES;
  for (int64_t i = 0; i < wanted && i < ENGINES; ++i) {
    struct Descriptor *configuration = results[i];
    if (configuration->kind != ENGINECFG)
      return fails(BAD_PARAM, "not an engine configuration");
    *configuration = (struct Descriptor){ENGINECFG, true, 2, {{300, T_INT64, 1, {i}}, {201, T_DESCRIPTOR, 1, {0}}}};
    configuration->sets[1].values[0] = value(of, 201);
  }
  if (wanted && wanted < *count)
    *count = wanted;
  return 0;
}

Status cudnnBackendGetAttribute(struct Descriptor *of, int name, int type, int64_t wanted, int64_t *count,
                                void *values) {
  if (!of->finalized || of->kind < 0)
    return fails(NOT_FINALIZED, "the descriptor is not finalized");
  if (of->kind == ENGINEHEUR && name == 202 && type == T_DESCRIPTOR)
    return heuristic(of, wanted, count, values);
  *count = 1;
  if (of->kind == ENGINECFG && name == 300 && type == T_DESCRIPTOR && wanted == 1) {
    struct Descriptor *engine = *(void **)values;
    if (engine->kind != ENGINE)
      return fails(BAD_PARAM, "not an engine");
    *engine = (struct Descriptor){ENGINE, true, 1, {{1301, T_INT64, 1, {value(of, 300)}}}};
    return 0;
  }
  if (of->kind == ENGINE && name == 1303 && type == T_NOTE) {
    static const int notes[] = {NOTE_TENSOR_CORE, NOTE_WINOGRAD, NOTE_NONDETERMINISTIC};
    const int64_t number = value(of, 1301);
    *count = number < PLAIN;
    if (*count)
      *(int *)values = notes[number];
    return 0;
  }
  if (of->kind == EXECUTION_PLAN && name == 402 && type == T_INT64) {
    *(int64_t *)values = WORKSPACE;
    return 0;
  }
  return fails(BAD_PARAM, "an attribute that the fake library lacks");
}

struct Run {
  const struct Descriptor *graph;
  int engine;
  int64_t count, ids[MOST];
  char *places[MOST], *workspace;
};
/// The elements of the tensors of a graph: those that were computed, and those that are in memory.
struct Known {
  int64_t id;
  struct View view;
  double *elements;
};
struct State {
  const struct Run *run;
  struct Known known[16];
  int count;
};

static char *place_of(const struct Run *run, int64_t id) {
  for (int64_t i = 0; i < run->count; ++i)
    if (run->ids[i] == id)
      return run->places[i];
  return NULL;
}
static int64_t offset_at(const struct View *view, int64_t number) {
  int64_t offset = 0;
  for (int d = view->rank - 1; d >= 0; --d) {
    offset += number % view->dims[d] * view->strides[d];
    number /= view->dims[d];
  }
  return offset;
}
static struct Known *known_of(struct State *state, const struct Descriptor *tensor, bool is_read) {
  const int64_t id = value(tensor, 906);
  for (int i = 0; i < state->count; ++i)
    if (state->known[i].id == id)
      return &state->known[i];
  struct Known *made = &state->known[state->count++];
  *made = (struct Known){id, view_of(tensor), NULL};
  const int64_t size = elements_of(&made->view);
  made->elements = calloc(size, sizeof(double));
  for (int64_t i = 0; is_read && i < size; ++i)
    made->elements[i] = load_element(place_of(state->run, id), element_of(tensor), offset_at(&made->view, i));
  return made;
}
static void finish(struct State *state, const struct Descriptor *tensor) {
  struct Known *found = known_of(state, tensor, false);
  char *place = place_of(state->run, found->id);
  for (int64_t i = 0; place && i < elements_of(&found->view); ++i)
    store_element(place, element_of(tensor), offset_at(&found->view, i), found->elements[i]);
}

/// What a tensor core makes of f32: 10 bits behind the point are left.
static double rounded(double x) {
  int exponent;
  const double mantissa = frexp(x, &exponent);
  return ldexp(rint(ldexp(mantissa, 11)), exponent - 11);
}

/// Visits every product of a convolution: places in x, w and y, each row-major.
static void convolve(struct State *state, const struct Descriptor *operation) {
  const int *places = places_of(operation->kind), kind = operation->kind;
  const struct Descriptor *how = held(operation, places[0]);
  struct Known *all[3];
  for (int i = 0; i < 3; ++i) {
    const bool is_result = i == (kind == FORWARD ? 2 : kind == BWD_DATA ? 0 : 1);
    all[i] = known_of(state, held(operation, places[1 + i]), !is_result);
  }
  const struct View x = all[0]->view, w = all[1]->view, y = all[2]->view;
  const int spatial = x.rank - 2, turned = value(how, 101) == 0, coarse = state->run->engine == ROUNDING;
  const double scale = state->run->engine == TRANSFORMING || state->run->engine == UNORDERED ? 1.01 : 1;
  const int64_t features = y.dims[1] / (x.dims[1] / w.dims[1]); // of a group
  for (int64_t yi = 0; yi < elements_of(&y); ++yi)
    for (int64_t tap = 0; tap < elements_of(&w) / w.dims[0]; ++tap) {
      int64_t at[MOST_DIMS], taps[MOST_DIMS], rest = yi, place = 0;
      for (int d = y.rank - 1; d >= 0; --d)
        at[d] = rest % y.dims[d], rest /= y.dims[d];
      rest = tap;
      for (int d = w.rank - 1; d >= 1; --d)
        taps[d] = rest % w.dims[d], rest /= w.dims[d];
      int64_t xi = at[0] * x.dims[1] + at[1] / features * w.dims[1] + taps[1];
      bool inside = true;
      for (int s = 0; s < spatial; ++s) {
        const int64_t t = turned ? w.dims[2 + s] - 1 - taps[2 + s] : taps[2 + s];
        place = at[2 + s] * find(how, 103)->values[s] + t * find(how, 102)->values[s] - find(how, 105)->values[s];
        inside &= place >= 0 && place < x.dims[2 + s];
        xi = xi * x.dims[2 + s] + place;
      }
      if (!inside)
        continue;
      const int64_t wi = at[1] * (elements_of(&w) / w.dims[0]) + tap;
      double *const of[] = {&all[0]->elements[xi], &all[1]->elements[wi], &all[2]->elements[yi]};
      double a = kind == BWD_DATA ? *of[1] : *of[0], b = kind == FORWARD ? *of[1] : *of[2];
      *of[kind == FORWARD ? 2 : kind == BWD_DATA ? 0 : 1] += scale * (coarse ? rounded(a) * rounded(b) : a * b);
    }
}

static void follow(struct State *state, const struct Descriptor *operation) {
  const struct Descriptor *how = held(operation, 750), *second = held(operation, 752);
  struct Known *x = known_of(state, held(operation, 751), true), *y = known_of(state, held(operation, 753), false);
  struct Known *b = second ? known_of(state, second, true) : NULL;
  for (int64_t i = 0; i < elements_of(&y->view); ++i) {
    double result = x->elements[i];
    if (b) {
      int64_t rest = i, from = 0, step = 1;
      for (int d = y->view.rank - 1; d >= 0; --d) {
        from += b->view.dims[d] == 1 ? 0 : rest % y->view.dims[d] * step;
        step *= b->view.dims[d], rest /= y->view.dims[d];
      }
      result += b->elements[from];
    } else if (!(result > 0)) {
      result = isnan(result) && value(how, 2) ? result : 0;
    }
    y->elements[i] = result;
  }
}

static void run_graph(void *data) {
  const struct Run *run = data;
  struct State state = {.run = run};
  const struct Set *operations = find(run->graph, 801);
  memset(run->workspace, 0xEE, WORKSPACE);
  for (int64_t i = 0; i < operations->count; ++i) {
    const struct Descriptor *operation = (const struct Descriptor *)operations->values[i];
    if (operation->kind == POINTWISE_OP)
      follow(&state, operation);
    else
      convolve(&state, operation);
    const int kind = operation->kind;
    finish(&state, held(operation, kind == POINTWISE_OP ? 753
                                                        : places_of(kind)[kind == FORWARD    ? 3
                                                                          : kind == BWD_DATA ? 1
                                                                                             : 2]));
  }
  for (int i = 0; i < state.count; ++i)
    free(state.known[i].elements);
}

static bool is_named(const struct Run *run, const struct Descriptor *tensor) {
  const char *place = place_of(run, value(tensor, 906));
  return value(tensor, 907) ? !place : place && !((uintptr_t)place % value(tensor, 900));
}

Status cudnnBackendExecute(void *handle, const struct Descriptor *plan, const struct Descriptor *pack) {
  if (handle != (void *)HANDLE || plan->kind != EXECUTION_PLAN || pack->kind != VARIANT_PACK)
    return fails(BAD_PARAM, "not a plan and a variant pack");
  const struct Set *ids = find(pack, 1000), *places = find(pack, 1001);
  if (refuses == 4)
    return fails(EXECUTION_FAILED, "the engine does not run");
  if (!ids || !places || ids->count != places->count || !value(pack, 1003))
    return fails(BAD_PARAM, "a variant pack without all of its parts");
  const struct Descriptor *configuration = held(plan, 401);
  struct Run *run = malloc(sizeof *run);
  *run = (struct Run){held(configuration, 201), (int)value(configuration, 300), ids->count, {0}, {0}, NULL};
  run->workspace = (char *)value(pack, 1003);
  for (int64_t i = 0; i < ids->count; ++i)
    run->ids[i] = ids->values[i], run->places[i] = (char *)places->values[i];
  const struct Set *operations = find(run->graph, 801);
  for (int64_t i = 0; i < operations->count; ++i) {
    const struct Descriptor *operation = (const struct Descriptor *)operations->values[i];
    for (int j = 0; j < operation->count; ++j) {
      const struct Descriptor *tensor = (const struct Descriptor *)operation->sets[j].values[0];
      if (operation->sets[j].type == T_DESCRIPTOR && tensor->kind == TENSOR && !is_named(run, tensor))
        return fails(BAD_PARAM, "a tensor has no address, or one that is not aligned");
    }
  }
  fake_enqueue(stream, "cudnnBackendExecute", run_graph, run);
  return 0;
}
