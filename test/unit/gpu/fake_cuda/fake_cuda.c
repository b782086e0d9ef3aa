// A CUDA driver for tests. Device memory is host memory; launches go to a callback.
//
// Work put into a stream waits there until somebody synchronises; then streams are emptied in a random order that keeps
// only what CUDA promises: the order within a stream, and events. A plan that forgets a dependency computes nonsense.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
typedef unsigned long long Pointer;
typedef int (*LaunchCallback)(const char *image, const char *kernel, const unsigned *grid, const unsigned *block,
                              unsigned shared, const unsigned char *parameters, int bytes);

enum { INVALID = 1, OUT_OF_MEMORY = 2, NO_CONTEXT = 201, NOT_READY = 600, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901, MOST_PARAMETERS = 64, PARAMETER_BYTES = 4096, MOST_ALLOCATIONS = 4096 };

/// Contexts of this thread, the current one last. Most functions want one.
static __thread void *contexts[16];
static __thread int depth;
#define IN_CONTEXT                                                                                                     \
  if (!depth || !contexts[depth - 1])                                                                                  \
  return NO_CONTEXT

static LaunchCallback launch_callback;
static int pools = 1, init_error, load_error, driver_version = 13000, capability[2] = {8, 0};
static size_t memory_bytes = 1ull << 33, used_bytes;
static long live_allocations;
static Pointer allocations[MOST_ALLOCATIONS];
static int failed;
static uint32_t random_state = 1;
static char log_text[1 << 20];
static int log_length;

void fake_set_launch(LaunchCallback callback) { launch_callback = callback; }
void fake_set_pools(int there) { pools = there; }
void fake_set_init_error(int error) { init_error = error; }
void fake_set_load_error(int error) { load_error = error; }
void fake_set_driver_version(int version) { driver_version = version; }
void fake_set_capability(int major, int minor) { capability[0] = major, capability[1] = minor; }
void fake_set_memory(size_t bytes) { memory_bytes = bytes; }
void fake_set_seed(uint32_t seed) { random_state = seed * 2 + 1; }
long fake_live_allocations(void) { return live_allocations; }
Pointer fake_allocation(long number) { return allocations[number]; }
size_t fake_allocation_size(long number) { return *(size_t *)(allocations[number] - 256); }
const char *fake_log(void) { return log_text; }
void fake_reset_log(void) { log_length = 0, log_text[0] = 0; }

static void note(const char *format, ...) {
  if (log_length > (int)sizeof log_text - 600)
    return;
  va_list arguments;
  va_start(arguments, format);
  log_length += vsnprintf(log_text + log_length, 500, format, arguments);
  va_end(arguments);
  log_text[log_length++] = '\n';
  log_text[log_length] = 0;
}

// What waits in a stream.
enum Kind { LAUNCH, COPY, FILL, RECORD, WAIT, GRAPH, RELEASE, LIBRARY };
struct Module { char *image; };
struct Function { struct Module *module; char name[256]; int parameters, sizes[MOST_PARAMETERS]; unsigned declared, allowed; };
struct Event { long recorded, happened; };
struct Graph;
struct Work {
  enum Kind kind;
  struct Function *function;
  unsigned grid[3], block[3], shared;
  unsigned char parameters[PARAMETER_BYTES];
  int parameter_bytes;
  Pointer destination, source;
  size_t size;
  unsigned pattern, pattern_bytes;
  struct Event *event;
  long occurrence;
  struct Graph *graph;
  void (*run)(void *);
  void *data;
};
struct Stream { struct Work *work; int count, first, capacity; int capturing; int slot; struct Stream *next; };
struct Entry { int slot; struct Work work; };
struct Graph { struct Entry *entries; int count, capacity; };

static struct Stream *streams;
static struct Graph *captured;

static int is_invalid; // what is captured
static Result ends_capture(void) { is_invalid = 1; return CAPTURE_UNSUPPORTED; }

static uint32_t draw(uint32_t below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % below;
}

static void append(struct Stream *stream, const struct Work *work) {
  if (stream->capturing) {
    if (captured->count == captured->capacity)
      captured->entries = realloc(captured->entries, sizeof(struct Entry) * (captured->capacity = 2 * captured->capacity + 16));
    captured->entries[captured->count].slot = stream->slot;
    captured->entries[captured->count++].work = *work;
    return;
  }
  if (stream->count == stream->capacity)
    stream->work = realloc(stream->work, sizeof(struct Work) * (stream->capacity = 2 * stream->capacity + 16));
  stream->work[stream->count++] = *work;
}

static void run_graph(const struct Graph *graph);

static int ready(const struct Work *work) {
  return work->kind != WAIT || work->event->happened >= work->occurrence;
}

static void forget(Pointer at) {
  used_bytes -= *(size_t *)(at - 256);
  for (long i = 0; i < live_allocations; ++i)
    if (allocations[i] == at) {
      allocations[i] = allocations[--live_allocations];
      return;
    }
  abort(); // freed twice
}

static void perform(const struct Work *work) {
  switch (work->kind) {
  case LAUNCH:
    if (!failed && launch_callback &&
        launch_callback(work->function->module->image, work->function->name, work->grid, work->block, work->shared,
                        work->parameters, work->parameter_bytes))
      failed = 1;
    break;
  case COPY: memmove((void *)work->destination, (const void *)work->source, work->size); break;
  case FILL:
    for (size_t i = 0; i < work->size; ++i)
      memcpy((char *)work->destination + i * work->pattern_bytes, &work->pattern, work->pattern_bytes);
    break;
  case RECORD: work->event->happened = work->occurrence; break;
  case GRAPH: run_graph(work->graph); break;
  case RELEASE: forget(work->destination), free((void *)(work->destination - 256)); break;
  case LIBRARY: work->run(work->data); break;
  case WAIT: break;
  }
}

/// Entries of one slot keep their order; events order the others. What happens to events in a graph is its own affair.
static void run_graph(const struct Graph *graph) {
  char *done = calloc(graph->count + 1, 1);
  long *before = calloc(graph->count + 1, sizeof *before);
  for (int i = 0; i < graph->count; ++i)
    if (graph->entries[i].work.kind == RECORD)
      before[i] = graph->entries[i].work.event->happened;
  for (int i = 0; i < graph->count; ++i)
    if (graph->entries[i].work.kind == RECORD)
      graph->entries[i].work.event->happened = -1;
  for (int left = graph->count; left;) {
    int choices[512], count = 0;
    for (int i = 0; i < graph->count && count < 512; ++i) {
      if (done[i] || !ready(&graph->entries[i].work))
        continue;
      int first = 1;
      for (int j = 0; j < i; ++j)
        first &= done[j] || graph->entries[j].slot != graph->entries[i].slot;
      if (first)
        choices[count++] = i;
    }
    if (!count)
      abort(); // a wait for an event that is never recorded
    const int chosen = choices[draw(count)];
    perform(&graph->entries[chosen].work);
    done[chosen] = 1;
    --left;
  }
  for (int i = 0; i < graph->count; ++i)
    if (graph->entries[i].work.kind == RECORD)
      graph->entries[i].work.event->happened = before[i];
  free(before);
  free(done);
}

/// Runs work at random until `stream` (all of them if it is none) is empty.
static void drain(struct Stream *stream) {
  for (;;) {
    if (stream && stream->first == stream->count)
      return;
    struct Stream *choices[64];
    int count = 0;
    for (struct Stream *s = streams; s && count < 64; s = s->next)
      if (s->first < s->count && ready(&s->work[s->first]))
        choices[count++] = s;
    if (!count) {
      for (struct Stream *s = streams; s; s = s->next)
        if (s->first < s->count)
          abort(); // streams that wait for each other
      return;
    }
    struct Stream *chosen = choices[draw(count)];
    const struct Work work = chosen->work[chosen->first++];
    if (chosen->first == chosen->count)
      chosen->first = chosen->count = 0;
    perform(&work);
  }
}

/// For fakes of libraries: work of theirs in a stream. `data` lives as long as the process: graphs repeat the work.
void fake_enqueue(void *stream, const char *name, void (*run)(void *), void *data) {
  note("%s stream %d", name, ((struct Stream *)stream)->slot);
  struct Work work = {.kind = LIBRARY, .run = run, .data = data};
  append(stream, &work);
}

// Devices and contexts.
Result cuInit(unsigned flags) { (void)flags; return init_error; }
Result cuDriverGetVersion(int *version) { *version = driver_version; return 0; }
Result cuDeviceGetCount(int *count) { *count = 1; return 0; }
Result cuDeviceGet(int *device, int number) { *device = number; return 0; }
Result cuDeviceGetName(char *name, int size, int device) { (void)device; snprintf(name, size, "a fake GPU"); return 0; }
Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  switch (attribute) {
  case 75: *value = capability[0]; break;
  case 76: *value = capability[1]; break;
  case 115: *value = pools; break;
  default: *value = 1;
  }
  return 0;
}
Result cuDevicePrimaryCtxRetain(void **context, int device) { (void)device; *context = (void *)0x1000; return 0; }
Result cuCtxPushCurrent_v2(void *context) { return depth == 16 ? INVALID : (contexts[depth++] = context, 0); }
Result cuCtxPopCurrent_v2(void **context) { return depth ? (*context = contexts[--depth], 0) : NO_CONTEXT; }
Result cuCtxGetCurrent(void **context) { *context = depth ? contexts[depth - 1] : NULL; return 0; }
Result cuDeviceGetDefaultMemPool(void **pool, int device) { (void)device; *pool = (void *)0x2000; return 0; }
Result cuMemPoolSetAttribute(void *pool, int attribute, void *value) { (void)pool, (void)attribute, (void)value; return 0; }

// Memory: a header before the block holds its size.
Result cuMemAlloc_v2(Pointer *made, size_t size) {
  IN_CONTEXT;
  if (used_bytes + size > memory_bytes)
    return OUT_OF_MEMORY;
  char *block;
  if (posix_memalign((void **)&block, 256, size + 256))
    return OUT_OF_MEMORY;
  memset(block, 0xA5, size + 256);
  *(size_t *)block = size;
  *made = (Pointer)(block + 256);
  used_bytes += size;
  if (live_allocations == MOST_ALLOCATIONS)
    abort();
  allocations[live_allocations++] = *made;
  note("cuMemAlloc %zu", size);
  return 0;
}
Result cuMemFree_v2(Pointer at) {
  IN_CONTEXT;
  drain(NULL);
  forget(at);
  free((void *)(at - 256));
  note("cuMemFree");
  return 0;
}
Result cuMemAllocAsync(Pointer *made, size_t size, void *stream) { (void)stream; return cuMemAlloc_v2(made, size); }
Result cuMemFreeAsync(Pointer at, void *stream) {
  IN_CONTEXT;
  if (((struct Stream *)stream)->capturing)
    return ends_capture(); // the driver takes it into the graph, which can run once then
  note("cuMemFreeAsync");
  struct Work work = {.kind = RELEASE, .destination = at};
  append(stream, &work);
  return 0;
}
Result cuMemGetInfo_v2(size_t *available, size_t *total) { IN_CONTEXT; *available = memory_bytes - used_bytes, *total = memory_bytes; return 0; }

static Result copy(Pointer destination, Pointer source, size_t size, void *stream, const char *name) {
  IN_CONTEXT;
  note("%s %zu", name, size);
  struct Work work = {.kind = COPY, .destination = destination, .source = source, .size = size};
  append(stream, &work);
  return 0;
}
Result cuMemcpyHtoDAsync_v2(Pointer destination, const void *source, size_t size, void *stream) {
  // The driver has read pageable memory when it returns: keep a copy. It leaks, as tests may.
  void *staged = malloc(size);
  memcpy(staged, source, size);
  return copy(destination, (Pointer)staged, size, stream, "cuMemcpyHtoDAsync");
}
Result cuMemcpyDtoHAsync_v2(void *destination, Pointer source, size_t size, void *stream) {
  return copy((Pointer)destination, source, size, stream, "cuMemcpyDtoHAsync");
}
Result cuMemcpyDtoDAsync_v2(Pointer destination, Pointer source, size_t size, void *stream) {
  return copy(destination, source, size, stream, "cuMemcpyDtoDAsync");
}
static Result fill(Pointer at, unsigned pattern, unsigned bytes, size_t count, void *stream) {
  IN_CONTEXT;
  note("cuMemsetD%uAsync %zu", 8 * bytes, count);
  struct Work work = {.kind = FILL, .destination = at, .size = count, .pattern = pattern, .pattern_bytes = bytes};
  append(stream, &work);
  return 0;
}
Result cuMemsetD8Async(Pointer at, unsigned char v, size_t n, void *s) { return fill(at, v, 1, n, s); }
Result cuMemsetD16Async(Pointer at, unsigned short v, size_t n, void *s) { return fill(at, v, 2, n, s); }
Result cuMemsetD32Async(Pointer at, unsigned v, size_t n, void *s) { return fill(at, v, 4, n, s); }

// Modules and launches.
Result cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
  IN_CONTEXT;
  if (load_error) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5) // CU_JIT_ERROR_LOG_BUFFER
        snprintf(values[i], 100, "line 7: what the assembler says");
    return load_error;
  }
  struct Module *made = calloc(1, sizeof *made);
  made->image = strdup(image);
  *module = made;
  note("cuModuleLoadDataEx");
  return 0;
}
Result cuModuleGetFunction(void **function, void *module, const char *name) {
  IN_CONTEXT;
  struct Function *made = calloc(1, sizeof *made);
  made->module = module;
  snprintf(made->name, sizeof made->name, "%s", name);
  char start[300];
  snprintf(start, sizeof start, ".entry %s(", name);
  const char *at = strstr(made->module->image, start);
  if (!at)
    return 500; // not found
  const char *end = strchr(at, ')');
  for (const char *p = at; (p = strstr(p, ".param")) && p < end; ++p) { // pointers, and tensor maps of 128 bytes
    const char *array = strchr(p, '['), *next = strstr(p + 1, ".param");
    const int is_map = array && array < end && (!next || array < next);
    made->sizes[made->parameters++] = is_map ? atoi(array + 1) : 8;
  }
  snprintf(start, sizeof start, " %s__shared", name); // its variables in shared memory
  for (const char *p = made->module->image; (p = strstr(p, start)); ++p)
    made->declared += (unsigned)atoi(strchr(p, '[') + 1);
  *function = made;
  note("cuModuleGetFunction %s", name);
  return 0;
}
Result cuModuleUnload(void *module) {
  IN_CONTEXT;
  struct Module *m = module;
  drain(NULL);
  free(m->image);
  m->image = NULL;
  note("cuModuleUnload");
  return 0;
}
// Written as hlo.gpu.tensor_map packs maps for the emulated device; the checks are those of the driver's manual.
Result cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                              const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                              int swizzle, int promotion, int fill) {
  static const struct { int type, bytes, code; } types[] = {{6, 2, 0}, {9, 2, 1}, {11, 4, 2}, {0, 1, 3}};
  (void)promotion;
  int known = -1;
  for (int i = 0; i < 4; ++i)
    if (types[i].type == type)
      known = i;
  if (known < 0 || rank < 1 || rank > 5 || (uintptr_t)map % 64 || (uintptr_t)address % 16 || interleave || fill ||
      swizzle != 3 || box[0] * types[known].bytes > 128)
    return INVALID;
  unsigned char *to = memset(map, 0, 128);
  memcpy(to, &address, 8);
  for (unsigned d = 0; d < rank; ++d) {
    const uint16_t narrow = (uint16_t)box[d];
    if (!sizes[d] || sizes[d] > 1ull << 32 || !box[d] || box[d] > 256 || steps[d] != 1)
      return INVALID;
    if (d && (strides[d - 1] % 16 || strides[d - 1] >= 1ull << 40))
      return INVALID;
    memcpy(to + 8 + 8 * d, &sizes[d], 8);
    if (d)
      memcpy(to + 48 + 8 * (d - 1), &strides[d - 1], 8);
    memcpy(to + 80 + 2 * d, &narrow, 2);
  }
  to[90] = (unsigned char)types[known].code, to[91] = (unsigned char)rank, to[92] = 0x54;
  note("cuTensorMapEncodeTiled");
  return 0;
}
Result cuFuncSetAttribute(void *function, int attribute, int value) { IN_CONTEXT; ((struct Function *)function)->allowed = value; note("cuFuncSetAttribute %s %d %d", ((struct Function *)function)->name, attribute, value); return 0; }
Result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *stream, void **parameters, void **extra) {
  IN_CONTEXT;
  (void)extra;
  struct Work work = {.kind = LAUNCH, .function = function, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};
  note("cuLaunchKernel %s stream %d grid %u %u %u block %u %u %u shared %u", work.function->name,
       ((struct Stream *)stream)->slot, gx, gy, gz, bx, by, bz, shared);
  if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024)
    return INVALID;
  if (work.function->declared + shared > 48 << 10 && shared > work.function->allowed)
    return INVALID; // more shared memory than was asked for
  for (int i = 0, at = 0; i < work.function->parameters; ++i) {
    const int size = work.function->sizes[i], alignment = size > 8 ? 64 : 8;
    at = (at + alignment - 1) / alignment * alignment;
    memcpy(work.parameters + at, parameters[i], size);
    work.parameter_bytes = at += size;
  }
  append(stream, &work);
  return 0;
}

// Streams, events, graphs.
Result cuStreamCreate(void **stream, unsigned flags) {
  IN_CONTEXT;
  (void)flags;
  struct Stream *made = calloc(1, sizeof *made);
  static int slots;
  made->slot = slots++;
  made->next = streams;
  streams = made;
  *stream = made;
  note("cuStreamCreate");
  return 0;
}
Result cuStreamSynchronize(void *stream) {
  IN_CONTEXT;
  if (((struct Stream *)stream)->capturing)
    return ends_capture();
  note("cuStreamSynchronize");
  drain(stream);
  const int was = failed;
  failed = 0;
  return was ? LAUNCH_FAILED : 0;
}
Result cuStreamDestroy_v2(void *stream) {
  IN_CONTEXT;
  drain(stream);
  for (struct Stream **s = &streams; *s; s = &(*s)->next)
    if (*s == stream) {
      *s = (*s)->next;
      note("cuStreamDestroy");
      free(stream);
      return 0;
    }
  return INVALID;
}
Result cuCtxSynchronize(void) { drain(NULL); return 0; }
Result cuEventCreate(void **event, unsigned flags) { IN_CONTEXT; (void)flags; *event = calloc(1, sizeof(struct Event)); note("cuEventCreate"); return 0; }
Result cuEventDestroy_v2(void *event) { (void)event; return 0; }
Result cuEventRecord(void *event, void *stream) {
  IN_CONTEXT;
  struct Event *e = event;
  struct Work work = {.kind = RECORD, .event = e, .occurrence = ++e->recorded};
  append(stream, &work);
  return 0;
}
Result cuEventQuery(void *event) { struct Event *e = event; return e->happened >= e->recorded ? 0 : NOT_READY; }
Result cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  IN_CONTEXT;
  (void)flags;
  struct Event *e = event;
  struct Stream *s = stream;
  note("cuStreamWaitEvent stream %d", s->slot);
  if (captured) // a stream joins a capture by waiting for an event of it
    for (int i = 0; i < captured->count; ++i)
      s->capturing |= captured->entries[i].work.kind == RECORD && captured->entries[i].work.event == e;
  struct Work work = {.kind = WAIT, .event = e, .occurrence = e->recorded};
  append(stream, &work);
  return 0;
}
Result cuStreamBeginCapture_v2(void *stream, int mode) {
  IN_CONTEXT;
  (void)mode;
  captured = calloc(1, sizeof *captured);
  ((struct Stream *)stream)->capturing = 1;
  note("cuStreamBeginCapture");
  return 0;
}
Result cuStreamEndCapture(void *stream, void **graph) {
  // All streams that joined must have been joined back: their last entry is a record that the first stream waits for.
  for (struct Stream *s = streams; s; s = s->next) {
    if (s->capturing && s != stream) {
      struct Event *last = NULL;
      int joined = 0;
      for (int i = 0; i < captured->count; ++i) {
        const struct Entry *entry = &captured->entries[i];
        if (entry->slot == s->slot)
          last = entry->work.kind == RECORD ? entry->work.event : NULL;
        if (entry->slot == ((struct Stream *)stream)->slot && entry->work.kind == WAIT && entry->work.event == last && last)
          joined = 1;
      }
      if (!joined)
        return 904; // CUDA_ERROR_STREAM_CAPTURE_UNJOINED
    }
    s->capturing = 0;
  }
  *graph = captured;
  captured = NULL;
  if (is_invalid) {
    is_invalid = 0;
    return CAPTURE_INVALIDATED;
  }
  note("cuStreamEndCapture");
  return 0;
}
Result cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) { (void)flags; *executable = graph; note("cuGraphInstantiate"); return 0; }
Result cuGraphDestroy(void *graph) { (void)graph; return 0; }
Result cuGraphExecDestroy(void *graph) { (void)graph; note("cuGraphExecDestroy"); return 0; }
Result cuGraphLaunch(void *graph, void *stream) {
  IN_CONTEXT;
  struct Work work = {.kind = GRAPH, .graph = graph};
  append(stream, &work);
  note("cuGraphLaunch");
  return 0;
}

static const char *name_of(Result error) {
  switch (error) {
  case 0: return "CUDA_SUCCESS";
  case OUT_OF_MEMORY: return "CUDA_ERROR_OUT_OF_MEMORY";
  case 3: return "CUDA_ERROR_NOT_INITIALIZED";
  case 100: return "CUDA_ERROR_NO_DEVICE";
  case NO_CONTEXT: return "CUDA_ERROR_INVALID_CONTEXT";
  case 222: return "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
  case LAUNCH_FAILED: return "CUDA_ERROR_LAUNCH_FAILED";
  case NOT_SUPPORTED: return "CUDA_ERROR_NOT_SUPPORTED";
  default: return "CUDA_ERROR_INVALID_VALUE";
  }
}
Result cuGetErrorName(Result error, const char **name) { *name = name_of(error); return 0; }
Result cuGetErrorString(Result error, const char **text) { *text = name_of(error); return 0; }

static Result unknown(void) { note("a function that the fake driver lacks"); return NOT_SUPPORTED; }
Result cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
  (void)version, (void)flags;
  static const char *suffixes[] = {"_v3", "_v2", "WithFlags", "", NULL};
  Dl_info here;
  dladdr((void *)cuGetProcAddress_v2, &here);
  void *library = dlopen(here.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  char whole[256];
  if (status)
    *status = 0;
  for (int i = 0; suffixes[i]; ++i) {
    snprintf(whole, sizeof whole, "%s%s", name, suffixes[i]);
    if ((*function = dlsym(library, whole)))
      return 0;
  }
  *function = (void *)unknown;
  return 0;
}
Result cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
