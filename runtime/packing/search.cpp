// Search for a placement below a given capacity.
//
// If there is a placement there is one in which no buffer can move down: each lies at offset 0 or rests, up to
// alignment, on another that is live at the same time ("canonical" solutions, Moffitt, MiniMalloc, ASPLOS 2023). The
// search keeps a lower bound of each offset and builds such placements from the bottom.
//
// Time is cut into sections, the maximal sets of buffers that are live together. The floor of a section is the least
// bound of its unplaced buffers. A valley is a run of sections of equal floor between higher ones. An unplaced buffer
// at the floor of a valley is live only inside that valley, so nothing can come to lie below it later; hence valleys
// may be filled in any order, and the most constrained one is taken first. A decision is "this buffer lies at its
// bound", and its other branch "it lies higher": then it rests on some unplaced buffer, so its bound rises to the least
// top those can have. The branches are disjoint, so that no placement is visited twice, and an exhausted tree is a
// proof.
//
// A branch fails when a section's floor plus the sizes of its unplaced buffers exceed the capacity. Sections that fail
// get more weight in the choice of the next valley (the dom/wdeg rule of Boussemart et al., ECAI 2004). Good choices
// lead straight to a placement, bad ones nearly never do; so the search restarts after a number of decisions given by
// Luby's sequence (Luby, Sinclair, Zuckerman, 1993), with the next rule of a portfolio.

#include "packing.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>

namespace hlo::packing {
namespace {

constexpr int64_t kNoFloor = std::numeric_limits<int64_t>::max();

/// How the urgency of a section is measured; the least value is the most urgent.
enum class Urgency {
  Candidates,         // buffers that may lie at the floor; of equals, the least slack
  WeightedCandidates, // buffers that may lie at the floor, by the section's weight
  WeightedSlack,      // bytes that may still be wasted, by the section's weight
};

constexpr Urgency kPortfolio[] = {Urgency::Candidates, Urgency::WeightedCandidates, Urgency::WeightedSlack};

/// Decisions of the shortest descent, a buffer.
constexpr int64_t kDecisionsPerBuffer = 4;

/// Elementary steps between two looks at the clock.
constexpr int64_t kStepsPerClock = 1 << 20;

/// Luby, Sinclair and Zuckerman's sequence 1 1 2 1 1 2 4 ..., from index 1.
int64_t luby(int64_t index) {
  while (true) {
    int64_t power = 1;
    while (2 * power - 1 < index)
      power *= 2;
    if (2 * power - 1 == index)
      return power;
    index -= power - 1;
  }
}

class Search {
public:
  Search(const Problem &problem, const SearchLimits &limits);

  SearchResult run();

private:
  struct Change {
    enum Kind : int32_t { Bound, Floor, Placement, Exclusion } kind;
    int32_t index;
    int64_t value;
    int32_t candidates;
  };
  struct Decision {
    int32_t buffer;
    size_t trail;
  };

  void buildSections(const Problem &problem);
  void buildNeighbours();
  void reset();
  void rank(bool perturb);
  Outcome descend(Urgency urgency, int64_t nodeLimit);
  int32_t choose(Urgency urgency) const;
  double urgencyOf(int section, Urgency urgency) const;
  bool place(int32_t buffer);
  bool exclude(int32_t buffer);
  bool isSupported(int32_t buffer) const;
  bool isHopeless() const;
  bool raise(int32_t buffer, int64_t bound);
  void leave(int32_t buffer, int32_t section);
  void touch(int32_t section);
  bool settle(bool consistent);
  void undo(size_t trailSize);
  bool isExhausted();

  const SearchLimits limits;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  int64_t paddedCapacity = 0;
  int64_t nodes = 0;
  int64_t steps = 0;
  int64_t nextClock = kStepsPerClock;
  std::mt19937_64 random;

  // Of each buffer.
  std::vector<int64_t> size, padded, alignment;
  std::vector<int32_t> firstSection, sectionEnd;
  std::vector<int32_t> rankOf; // by preference
  std::vector<int64_t> bound;  // of the offset; the offset itself once placed
  std::vector<char> placed, excluded;
  std::vector<std::vector<int32_t>> neighbours;
  std::vector<std::vector<int32_t>> slots; // where it stands among the members of each of its sections

  // Of each section.
  std::vector<std::vector<int32_t>> members; // the unplaced ones first
  std::vector<int32_t> waiting;              // how many those are
  std::vector<int64_t> total;                // padded size of all members
  std::vector<int64_t> unplaced;             // padded size of the unplaced members
  std::vector<int64_t> floor;                // least bound of the unplaced members, or kNoFloor
  std::vector<int32_t> candidates;           // unplaced members whose bound is the floor
  std::vector<double> weight;

  std::vector<Change> trail;
  std::vector<Decision> decisions;
  std::vector<int32_t> touched;
  std::vector<char> isTouched;
};

Search::Search(const Problem &problem, const SearchLimits &limits)
    : limits(limits), random(limits.seed), size(problem.size), alignment(problem.alignment) {
  // All offsets are multiples of the alignments' common divisor, so a buffer takes that much at least.
  int64_t unit = 0;
  for (int64_t a : alignment)
    unit = std::gcd(unit, a);
  unit = std::max<int64_t>(unit, 1);
  paddedCapacity = alignUp(limits.capacity, unit);
  for (int64_t bytes : size)
    padded.push_back(alignUp(bytes, unit));
  buildSections(problem);
  buildNeighbours();
  const size_t buffers = size.size(), sections = members.size();
  rankOf.resize(buffers);
  bound.resize(buffers);
  placed.assign(buffers, 0);
  excluded.assign(buffers, 0);
  unplaced.resize(sections);
  floor.resize(sections);
  candidates.resize(sections);
  waiting.resize(sections);
  weight.assign(sections, 1);
  isTouched.assign(sections, 0);
}

void Search::buildSections(const Problem &problem) {
  const int buffers = problem.count();
  std::vector<int64_t> starts = problem.start, ends = problem.end;
  std::sort(starts.begin(), starts.end());
  std::sort(ends.begin(), ends.end());
  // The live set is maximal at the last start before an end.
  std::vector<int64_t> moments;
  size_t s = 0, e = 0;
  while (s < starts.size()) {
    while (s < starts.size() && starts[s] < ends[e])
      ++s;
    moments.push_back(starts[s - 1]);
    while (e < ends.size() && (s == starts.size() || ends[e] <= starts[s]))
      ++e;
  }
  auto sectionAt = [&](int64_t time) {
    return static_cast<int32_t>(std::lower_bound(moments.begin(), moments.end(), time) - moments.begin());
  };
  members.resize(moments.size());
  total.assign(moments.size(), 0);
  slots.resize(buffers);
  for (int32_t i = 0; i < buffers; ++i) {
    firstSection.push_back(sectionAt(problem.start[i]));
    sectionEnd.push_back(sectionAt(problem.end[i]));
    for (int32_t section = firstSection[i]; section < sectionEnd[i]; ++section) {
      slots[i].push_back(static_cast<int32_t>(members[section].size()));
      members[section].push_back(i);
      total[section] += padded[i];
    }
  }
}

void Search::buildNeighbours() {
  const int32_t buffers = static_cast<int32_t>(size.size());
  neighbours.resize(buffers);
  std::vector<int32_t> byStart(buffers);
  std::iota(byStart.begin(), byStart.end(), 0);
  std::stable_sort(byStart.begin(), byStart.end(),
                   [&](int32_t a, int32_t b) { return firstSection[a] < firstSection[b]; });
  std::vector<int32_t> live;
  for (int32_t i : byStart) {
    live.erase(std::remove_if(live.begin(), live.end(), [&](int32_t j) { return sectionEnd[j] <= firstSection[i]; }),
               live.end());
    for (int32_t j : live) {
      neighbours[i].push_back(j);
      neighbours[j].push_back(i);
    }
    live.push_back(i);
  }
}

void Search::reset() {
  trail.clear();
  decisions.clear();
  std::fill(bound.begin(), bound.end(), 0);
  std::fill(placed.begin(), placed.end(), 0);
  std::fill(excluded.begin(), excluded.end(), 0);
  unplaced = total;
  std::fill(floor.begin(), floor.end(), 0);
  for (size_t section = 0; section < members.size(); ++section)
    candidates[section] = waiting[section] = static_cast<int32_t>(members[section].size());
}

/// Longest first, then largest, as buffers that meet many others are the hardest to fit in late. A perturbed ranking
/// changes lengths and sizes by up to a fifth, enough to swap buffers that are much alike.
void Search::rank(bool perturb) {
  const size_t buffers = size.size();
  std::vector<double> length(buffers), area(buffers);
  for (size_t i = 0; i < buffers; ++i) {
    double factor = perturb ? 0.8 + 0.4 * static_cast<double>(random() >> 11) * 0x1p-53 : 1.0;
    length[i] = factor * (sectionEnd[i] - firstSection[i]);
    area[i] = length[i] * static_cast<double>(padded[i]);
  }
  std::vector<int32_t> order(buffers);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return length[a] != length[b] ? length[a] > length[b] : area[a] > area[b];
  });
  for (size_t position = 0; position < buffers; ++position)
    rankOf[order[position]] = static_cast<int32_t>(position);
}

/// Moves a buffer that is being placed behind the unplaced members; undone in reverse by counting it back in.
void Search::leave(int32_t buffer, int32_t section) {
  std::vector<int32_t> &all = members[section];
  int32_t &slot = slots[buffer][section - firstSection[buffer]];
  const int32_t lastSlot = --waiting[section], last = all[lastSlot];
  std::swap(all[slot], all[lastSlot]);
  slots[last][section - firstSection[last]] = slot;
  slot = lastSlot;
}

void Search::touch(int32_t section) {
  if (isTouched[section])
    return;
  isTouched[section] = 1;
  touched.push_back(section);
}

bool Search::raise(int32_t buffer, int64_t newBound) {
  const int64_t oldBound = bound[buffer];
  newBound = alignUp(newBound, alignment[buffer]);
  if (newBound + size[buffer] > limits.capacity)
    return false;
  trail.push_back({Change::Bound, buffer, oldBound, 0});
  bound[buffer] = newBound;
  for (int32_t section = firstSection[buffer]; section < sectionEnd[buffer]; ++section)
    if (floor[section] == oldBound)
      touch(section);
  return true;
}

/// Brings floors up to date; false if a section has become too full, or if the caller had found so before.
bool Search::settle(bool consistent) {
  for (int32_t section : touched) {
    isTouched[section] = 0;
    if (!consistent)
      continue;
    steps += waiting[section];
    int64_t least = kNoFloor;
    int32_t count = 0;
    const int32_t *buffers = members[section].data();
    for (int32_t i = 0; i < waiting[section]; ++i) {
      const int64_t value = bound[buffers[i]];
      count = value < least ? 1 : count + (value == least);
      least = std::min(least, value);
    }
    if (least != floor[section] || count != candidates[section]) {
      trail.push_back({Change::Floor, section, floor[section], candidates[section]});
      floor[section] = least;
      candidates[section] = count;
    }
    if (least != kNoFloor && least + unplaced[section] > paddedCapacity) {
      weight[section] += 1;
      consistent = false;
    }
  }
  touched.clear();
  return consistent;
}

void Search::undo(size_t trailSize) {
  while (trail.size() > trailSize) {
    const Change change = trail.back();
    trail.pop_back();
    switch (change.kind) {
    case Change::Bound:
      bound[change.index] = change.value;
      break;
    case Change::Floor:
      floor[change.index] = change.value;
      candidates[change.index] = change.candidates;
      break;
    case Change::Exclusion:
      excluded[change.index] = 0;
      break;
    case Change::Placement:
      placed[change.index] = 0;
      for (int32_t section = firstSection[change.index]; section < sectionEnd[change.index]; ++section) {
        unplaced[section] += padded[change.index];
        ++waiting[section];
      }
      break;
    }
  }
}

/// Whether the buffer, at its bound, lies at 0 or rests on a placed one.
bool Search::isSupported(int32_t buffer) const {
  if (bound[buffer] == 0)
    return true;
  for (int32_t other : neighbours[buffer])
    if (placed[other] && alignUp(bound[other] + size[other], alignment[buffer]) == bound[buffer])
      return true;
  return false;
}

/// Decides that the buffer lies at its bound.
bool Search::place(int32_t buffer) {
  // A bound that placements raised has one of them below it; one that an exclusion raised may have nothing there.
  if (excluded[buffer] && !isSupported(buffer))
    return false;
  steps += static_cast<int64_t>(neighbours[buffer].size());
  placed[buffer] = 1;
  trail.push_back({Change::Placement, buffer, 0, 0});
  for (int32_t section = firstSection[buffer]; section < sectionEnd[buffer]; ++section) {
    unplaced[section] -= padded[buffer];
    leave(buffer, section);
    touch(section);
  }
  const int64_t top = bound[buffer] + size[buffer];
  bool consistent = true;
  for (int32_t other : neighbours[buffer])
    if (!placed[other] && bound[other] < top && !raise(other, top)) {
      consistent = false;
      break;
    }
  return settle(consistent);
}

/// Decides that the buffer lies above its bound.
bool Search::exclude(int32_t buffer) {
  if (!excluded[buffer]) {
    excluded[buffer] = 1;
    trail.push_back({Change::Exclusion, buffer, 0, 0});
  }
  int64_t leastTop = kNoFloor;
  for (int32_t other : neighbours[buffer])
    if (!placed[other])
      leastTop = std::min(leastTop, bound[other] + size[other]);
  bool consistent = leastTop != kNoFloor && raise(buffer, leastTop);
  return settle(consistent);
}

double Search::urgencyOf(int section, Urgency urgency) const {
  const double count = candidates[section];
  const double room = static_cast<double>(paddedCapacity);
  const double slack = static_cast<double>(paddedCapacity - floor[section] - unplaced[section]);
  switch (urgency) {
  case Urgency::Candidates:
    return count + slack / (room + 1);
  case Urgency::WeightedCandidates:
    return count / weight[section];
  case Urgency::WeightedSlack:
    // A section without slack is not infinitely more urgent than one with a little.
    return (slack + room / 1024) / weight[section];
  }
  return 0;
}

/// The preferred candidate of the most urgent section in a valley; -1 if all buffers are placed.
int32_t Search::choose(Urgency urgency) const {
  const int sections = static_cast<int>(members.size());
  int chosen = -1;
  double least = 0;
  for (int first = 0, last; first < sections; first = last + 1) {
    last = first;
    while (last + 1 < sections && floor[last + 1] == floor[first])
      ++last;
    if (floor[first] == kNoFloor || (first > 0 && floor[first - 1] < floor[first]) ||
        (last + 1 < sections && floor[last + 1] < floor[first]))
      continue;
    for (int section = first; section <= last; ++section) {
      double value = urgencyOf(section, urgency);
      if (chosen < 0 || value < least) {
        chosen = section;
        least = value;
      }
    }
  }
  int32_t preferred = -1;
  if (chosen >= 0)
    for (int32_t i = 0; i < waiting[chosen]; ++i) {
      const int32_t buffer = members[chosen][i];
      if (bound[buffer] == floor[chosen] && (preferred < 0 || rankOf[buffer] < rankOf[preferred]))
        preferred = buffer;
    }
  return preferred;
}

bool Search::isExhausted() {
  if (steps >= limits.steps)
    return true;
  if (limits.seconds <= 0 || steps < nextClock)
    return false;
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (elapsed <= limits.seconds)
    nextClock = steps + kStepsPerClock;
  return elapsed > limits.seconds;
}

/// One depth-first search from the empty arena, of at most so many decisions.
Outcome Search::descend(Urgency urgency, int64_t nodeLimit) {
  reset();
  for (int64_t visited = 0;; ++visited, ++nodes) {
    const int32_t buffer = choose(urgency);
    steps += static_cast<int64_t>(members.size());
    if (buffer < 0)
      return Outcome::Placed;
    if (visited >= nodeLimit || isExhausted())
      return Outcome::Exhausted;
    decisions.push_back({buffer, trail.size()});
    if (place(buffer))
      continue;
    while (true) {
      if (decisions.empty())
        return Outcome::Infeasible;
      const Decision failed = decisions.back();
      decisions.pop_back();
      undo(failed.trail);
      if (exclude(failed.buffer))
        break;
    }
  }
}

bool Search::isHopeless() const {
  for (int64_t bytes : size)
    if (bytes > limits.capacity)
      return true;
  for (int64_t bytes : total)
    if (bytes > paddedCapacity)
      return true;
  return false;
}

SearchResult Search::run() {
  constexpr int64_t rules = std::size(kPortfolio);
  SearchResult result;
  if (isHopeless())
    result.outcome = Outcome::Infeasible;
  while (result.outcome == Outcome::Exhausted && !isExhausted()) {
    const int64_t round = result.restarts / rules, rule = result.restarts % rules;
    // The first rule of a round finds out which sections are hard, the others build on it; kept for longer, weights
    // would bind all later descents to the mistakes of the first.
    if (rule == 0)
      std::fill(weight.begin(), weight.end(), 1.0);
    rank(/*perturb=*/round > 0);
    ++result.restarts;
    const int64_t nodeLimit = luby(result.restarts) * kDecisionsPerBuffer * static_cast<int64_t>(size.size());
    result.outcome = descend(kPortfolio[rule], nodeLimit);
  }
  if (result.outcome == Outcome::Placed)
    result.offsets = bound;
  result.steps = steps;
  result.nodes = nodes;
  return result;
}

} // namespace

SearchResult search(const Problem &problem, const SearchLimits &limits) { return Search(problem, limits).run(); }

} // namespace hlo::packing
