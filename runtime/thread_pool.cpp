#include "thread_pool.h"

#include "float_environment.h"
#include "stack.h"

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
    job = Job{kernel, args, n, grain, threads, n / threads, n % threads, FloatEnvironment::current()};
    const uint32_t id = epoch.load(std::memory_order_relaxed) + 1;
    for (int i = 0; i < threads; ++i)
      cursors[i].next.store(job.shareBegin(i), std::memory_order_relaxed);
    for (int i = 1; i < threads; ++i)
      tickets[i].value.store(ticket(id, Invited), std::memory_order_relaxed);
    epoch.store(id, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0)
      futexWakeAll(epoch);
    work(0);
    waitForWorkers(id, threads);
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
    int64_t share, rest;            // n / threads and n % threads
    FloatEnvironment::Control mode; // of the caller

    int64_t shareBegin(int i) const { return share * i + std::min<int64_t>(i, rest); }
  };
  struct alignas(64) Cursor {
    std::atomic<int64_t> next{0};
  };
  struct Worker {
    pthread_t thread;
    int cpu;
  };

  // What becomes of one worker's part in one job. A worker reads the job only once it has accepted, and the caller
  // withdraws the invitation of whoever has not by the time all work is taken: a worker that is asleep or off its
  // processor never holds up a job.
  enum TicketState : uint64_t { Invited, Accepted, Done, Withdrawn };
  static uint64_t ticket(uint32_t id, TicketState state) { return static_cast<uint64_t>(id) << 2 | state; }
  struct alignas(64) Ticket {
    std::atomic<uint64_t> value{Withdrawn};
  };

  void work(int self) {
    const Job current = job;
    for (int turn = 0; turn < current.threads; ++turn) {
      int owner = self + turn;
      if (owner >= current.threads)
        owner -= current.threads;
      const int64_t end = current.shareBegin(owner + 1);
      std::atomic<int64_t> &next = cursors[owner].next;
      while (next.load(std::memory_order_relaxed) < end) {
        const int64_t begin = next.fetch_add(current.grain, std::memory_order_relaxed);
        if (begin >= end)
          break;
        current.kernel(current.args, begin, std::min(begin + current.grain, end));
      }
    }
  }

  void waitForWorkers(uint32_t id, int threads) {
    for (int i = 1; i < threads; ++i) {
      uint64_t invited = ticket(id, Invited);
      if (!tickets[i].value.compare_exchange_strong(invited, ticket(id, Withdrawn), std::memory_order_acq_rel))
        waitUntilDone(tickets[i], ticket(id, Done));
    }
  }

  static void waitUntilDone(const Ticket &worker, uint64_t done) {
    for (int i = 0; i < pausesPerClockRead; ++i) {
      if (worker.value.load(std::memory_order_acquire) == done)
        return;
      pause();
    }
    const auto start = Clock::now();
    while (worker.value.load(std::memory_order_acquire) != done) {
      if (Clock::now() - start > spinTime)
        sched_yield();
      else
        pause();
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
    for (;;) {
      seen = waitForJob(seen);
      uint64_t invited = ticket(seen, Invited);
      if (!tickets[self].value.compare_exchange_strong(invited, ticket(seen, Accepted), std::memory_order_acq_rel))
        continue;
      {
        const FloatEnvironment environment(job.mode);
        work(self);
      }
      tickets[self].value.store(ticket(seen, Done), std::memory_order_release);
    }
  }

  // Returns how many workers there are, at most `wanted` new and old; fewer if the system has no more threads to give.
  int grow(int wanted) {
    while (static_cast<int>(workers.size()) < wanted) {
      const int self = static_cast<int>(workers.size()) + 1;
      try {
        Thread thread([this, self, seen = epoch.load(std::memory_order_relaxed)] { loop(self, seen); },
                      programStackBytes);
        workers.push_back(Worker{thread.nativeHandle(), -1});
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

  alignas(64) std::atomic<uint32_t> epoch{0}; // jobs so far; what idle workers watch
  alignas(64) std::atomic<int> sleepers{0};
  alignas(64) std::atomic<bool> occupied{false};
  Job job{};
  Cursor cursors[maxThreads];
  Ticket tickets[maxThreads];
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
