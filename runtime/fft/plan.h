// How to transform one length: its factors and constants, or the detour for large primes.
//
// Ownership: plans are shared and immutable; a cache keeps the recent ones. Thread safety: all functions, from any
// thread.
#pragma once

#include "stages.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace hlo::runtime::fft {

template <typename T> class Plan {
public:
  explicit Plan(int64_t n);

  int64_t length() const { return n; }

  /// Numbers of type T that `run` needs as scratch for `lanes` transforms, real and imaginary parts together.
  int64_t scratchSize(int64_t lanes) const;

  /// Forward transforms of 1 or groupLanes<T> interleaved lanes, in place. The backward transform, without its factor,
  /// is the forward one with the real and imaginary parts exchanged.
  void run(const Split<T> &data, T *scratch) const;

  /// Whether this length takes the detour, which is done in double precision only.
  bool isBluestein() const { return padded != nullptr; }

private:
  void addStage(int radix, int64_t done);
  void prepareBluestein();
  void runBluestein(const Split<T> &data, T *scratch) const;

  int64_t n;
  std::vector<Stage<T>> stages;
  std::vector<std::unique_ptr<T[]>> constants;
  std::shared_ptr<const Plan> padded; // of at least 2 n - 1
  std::vector<T> chirpRe, chirpIm;    // e^(-pi i j^2 / n)
  std::vector<T> filterRe, filterIm;  // the transform of the conjugate chirp, divided by its length
};

/// Whether every prime factor has a butterfly: none is beyond largestRadix.
bool hasSmallFactors(int64_t n);

/// The plan for a length, from the cache or made now.
template <typename T> std::shared_ptr<const Plan<T>> planFor(int64_t n);

/// The roots of unity e^(-2 pi i k / n) for k = 0 .. n / 2, as pairs of cosine and negative sine; cached like plans.
template <typename T> std::shared_ptr<const std::vector<T>> halfRootsFor(int64_t n);

/// The inner loops for this machine.
template <typename T> const Arithmetic<T> &arithmetic();
template <typename T, typename C> const Transfer<T, C> &transfer();

/// e^(-2 pi i k / n), correctly rounded or next to it.
template <typename T> void unitRoot(int64_t k, int64_t n, T &re, T &im);

} // namespace hlo::runtime::fft
