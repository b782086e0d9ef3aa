#include "thread_pool.h"

#include "float_environment.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <linux/futex.h>
#include <memory>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace hlo::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// Waiting goes through three stages. Pure spinning catches the next kernel of the same program; yielding lets the
// caller run when the machine has fewer free processors than threads; the futex ends the cost of an idle pool.
constexpr auto spinTime = std::chrono::microseconds(10);
constexpr auto yieldTime = std::chrono::microseconds(100);
constexpr int maxThreads = 256;
constexpr int pausesPerClockRead = 32;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield" ::: "memory");
#endif
}

void futexWait(std::atomic<uint32_t> &word, uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

std::vector<int> allowedProcessors() {
  std::vector<int> processors;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set))
        processors.push_back(cpu);
  return processors;
}

void pinThread(pthread_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(thread, sizeof set, &set); // only a preference: a refusal costs speed, not results
}

class ThreadPool {
public:
  /// False when the pool is taken; the caller then does the work itself.
  bool run(int threads, HloKernelFn kernel, void **args, int64_t n, int64_t grain) {
    if (occupied.exchange(true, std::memory_order_acquire))
      return false;
    threads = std::min({threads, maxThreads, static_cast<int>(std::min<int64_t>((n + grain - 1) / grain, maxThreads))});
    threads = std::min(threads, grow(threads - 1) + 1);
    keepWorkersOffCaller();
    job = Job{kernel, args, n, grain, threads};
    for (int i = 0; i < threads; ++i)
      cursors[i].next.store(shareBegin(i), std::memory_order_relaxed);
    active.store(threads - 1, std::memory_order_relaxed);
    // The low byte tells each worker whether it takes part before it reads anything else: one that does not may come
    // late, when the next job is being written.
    const uint32_t word =
        (((epoch.load(std::memory_order_relaxed) >> 8) + 1) << 8) | static_cast<uint32_t>(threads - 1);
    epoch.store(word, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0)
      futexWakeAll(epoch);
    work(0);
    waitForWorkers();
    occupied.store(false, std::memory_order_release);
    return true;
  }

private:
  struct Job {
    HloKernelFn kernel;
    void **args;
    int64_t n;
    int64_t grain;
    int threads;
  };
  struct alignas(64) Cursor {
    std::atomic<int64_t> next{0};
  };
  struct Worker {
    pthread_t thread;
    int cpu;
  };

  int64_t shareBegin(int i) const { return static_cast<int64_t>(static_cast<__int128>(job.n) * i / job.threads); }

  void work(int self) {
    const Job current = job;
    for (int turn = 0; turn < current.threads; ++turn) {
      int owner = self + turn;
      if (owner >= current.threads)
        owner -= current.threads;
      const int64_t end = shareBegin(owner + 1);
      std::atomic<int64_t> &next = cursors[owner].next;
      while (next.load(std::memory_order_relaxed) < end) {
        const int64_t begin = next.fetch_add(current.grain, std::memory_order_relaxed);
        if (begin >= end)
          break;
        current.kernel(current.args, begin, std::min(begin + current.grain, end));
      }
    }
  }

  void waitForWorkers() {
    if (active.load(std::memory_order_acquire) == 0)
      return;
    const auto start = Clock::now();
    bool yielding = false;
    while (active.load(std::memory_order_acquire) != 0) {
      for (int i = 0; i < pausesPerClockRead; ++i)
        pause();
      yielding = yielding || Clock::now() - start > spinTime;
      if (yielding)
        sched_yield();
    }
  }

  uint32_t waitForJob(uint32_t seen) {
    const auto start = Clock::now();
    for (;;) {
      uint32_t word = 0;
      for (int i = 0; i < pausesPerClockRead; ++i) {
        word = epoch.load(std::memory_order_acquire);
        if (word != seen)
          return word;
        pause();
      }
      const auto waited = Clock::now() - start;
      if (waited > yieldTime) {
        sleepers.fetch_add(1, std::memory_order_seq_cst);
        while ((word = epoch.load(std::memory_order_seq_cst)) == seen)
          futexWait(epoch, seen);
        sleepers.fetch_sub(1, std::memory_order_seq_cst);
        return word;
      }
      if (waited > spinTime)
        sched_yield();
    }
  }

  void loop(int self, uint32_t seen) {
    const DefaultFloatEnvironment environment; // a thread inherits its creator's
    for (;;) {
      seen = waitForJob(seen);
      if (self > static_cast<int>(seen & 0xff))
        continue;
      work(self);
      active.fetch_sub(1, std::memory_order_release);
    }
  }

  // Returns how many workers there are, at most `wanted` new and old; fewer if the system has no more threads to give.
  int grow(int wanted) {
    while (static_cast<int>(workers.size()) < wanted) {
      const int self = static_cast<int>(workers.size()) + 1;
      try {
        std::thread thread([this, self, seen = epoch.load(std::memory_order_relaxed)] { loop(self, seen); });
        workers.push_back(Worker{thread.native_handle(), -1});
        thread.detach();
      } catch (const std::system_error &) {
        break;
      }
      callerCpu = -1; // place them anew
    }
    return std::min(wanted, static_cast<int>(workers.size()));
  }

  // Threads that share a processor run one after the other, and the scheduler takes milliseconds to notice. Each worker
  // gets a processor of its own, and changes places with the caller when that moves onto it.
  void keepWorkersOffCaller() {
    const int cpu = sched_getcpu();
    if (cpu == callerCpu || cpu < 0 || workers.size() >= processors.size())
      return;
    if (callerCpu < 0) {
      size_t next = 0;
      for (Worker &worker : workers) {
        if (processors[next] == cpu)
          ++next;
        worker.cpu = processors[next++];
        pinThread(worker.thread, worker.cpu);
      }
    } else {
      for (Worker &worker : workers) {
        if (worker.cpu != cpu)
          continue;
        worker.cpu = callerCpu;
        pinThread(worker.thread, worker.cpu);
      }
    }
    callerCpu = cpu;
  }

  alignas(64) std::atomic<uint32_t> epoch{0}; // (jobs so far << 8) | workers taking part; what idle workers watch
  alignas(64) std::atomic<int> sleepers{0};
  alignas(64) std::atomic<int> active{0};
  alignas(64) std::atomic<bool> occupied{false};
  Job job{};
  Cursor cursors[maxThreads];
  // Touched only by the thread that holds `occupied`.
  std::vector<Worker> workers;
  const std::vector<int> processors = allowedProcessors();
  int callerCpu = -1;
};

std::atomic<ThreadPool *> thePool{nullptr};

// The child of a fork has none of the threads, so it forgets the pool; the parent's stays as it is.
void forgetPool() { thePool.store(nullptr, std::memory_order_relaxed); }

ThreadPool &pool() {
  ThreadPool *existing = thePool.load(std::memory_order_acquire);
  if (existing)
    return *existing;
  static const int registered = pthread_atfork(nullptr, nullptr, forgetPool);
  (void)registered;
  auto made = std::make_unique<ThreadPool>();
  if (thePool.compare_exchange_strong(existing, made.get(), std::memory_order_acq_rel))
    return *made.release();
  return *existing;
}

} // namespace

void parallelFor(int threads, HloKernelFn kernel, void **args, int64_t n, int64_t grain) {
  if (n <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  if (threads > 1 && n > grain && pool().run(threads, kernel, args, n, grain))
    return;
  kernel(args, 0, n);
}

int hardwareThreads() {
  static const int count = std::max(1, static_cast<int>(allowedProcessors().size()));
  return count;
}

} // namespace hlo::runtime
