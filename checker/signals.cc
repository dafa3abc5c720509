// SPDX-License-Identifier: Apache-2.0
//
// Signals. The writes of a counter fall into levels: each write of a level knows, causally, all of the level
// before. So every set of writes that satisfies "at least k" contains all levels below the one in which the
// value reaches k, and of that level enough to reach it. A point of another strand is known in every schedule
// iff the writes of the level that do not know it cannot reach k by themselves: for each lane, the value at
// which the amounts, in the order of what they know, add up to what is missing. One writer makes levels of
// one write each, so that the cost is that of a join.
#include "checker/signals.h"

#include <algorithm>
#include <utility>

namespace turnstile::checker {

namespace {
// Values wrap around as the hardware's do.
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

constexpr size_t kMaxWritesInLevel = 256;          // a wait looks at all of them, once a lane
constexpr size_t kMaxKeptWords = size_t{1} << 27;  // half a gigabyte of clocks
}  // namespace

Signals::Signals(RunState& run, Fences& fences)
    : run_(run), states_(run.trace.signals.size()), fences_(fences), kept_(run.lanes, run.views, 0) {
  if (!states_.empty()) survey();
}

// Which scope its users need, and whether its value can fall.
void Signals::survey() {
  constexpr uint32_t none = 0xffffffff;
  struct Seen {
    uint32_t cta = none, writer = none;
    bool sets = false, many_writers = false;
    int64_t value = 0;
  };
  std::vector<Seen> seen(states_.size());
  for (size_t i = 0; i < states_.size(); ++i) {
    seen[i].value = states_[i].value = run_.trace.signals[i].initial;
    states_[i].levels.resize(1);
    states_[i].levels[0].before = states_[i].levels[0].total = states_[i].value;
    states_[i].levels[0].prefix = kept_.take();
    std::fill_n(kept_.all(states_[i].levels[0].prefix), kept_.stride(), 0u);
  }
  for (const Event& e : run_.trace.events) {
    const bool add = e.kind == EventKind::signal_add, set = e.kind == EventKind::signal_set;
    if (!add && !set && e.kind != EventKind::signal_wait) continue;
    Seen& x = seen[e.object];
    State& s = states_[e.object];
    const uint32_t cta = run_.cta(e.agent), ctas = std::max(1u, run_.trace.cluster_ctas);
    if (x.cta == none) x.cta = cta;
    if (x.cta != cta) s.needed = std::max(s.needed, x.cta / ctas == cta / ctas ? Scope::cluster : Scope::gpu);
    if (!add && !set) continue;
    x.many_writers |= x.writer != none && x.writer != e.agent.v;
    x.writer = e.agent.v;
    x.sets |= set;
    const auto operand = static_cast<int64_t>(e.bytes);
    s.falls |= set ? operand < x.value : operand < 0;
    x.value = set ? operand : plus(x.value, operand);
    s.falls |= x.sets && x.many_writers;
  }
}

bool Signals::wide_enough(State& s, const Event& e) {
  if (e.scope >= s.needed) return true;
  if (!s.narrow_reported) run_.misuse(Misuse::Kind::narrow_signal, run_.now, e.object);  // M3, GM3
  s.narrow_reported = true;
  return false;
}

void Signals::write(const Event& e) {
  State& s = states_[e.object];
  const uint32_t strand = e.agent.v;
  if (kept_.words() > kMaxKeptWords) {
    run_.seen.inconsistent = "more writes to flags than the checker keeps clocks for";
    return;
  }
  const uint32_t slot = kept_.take();
  uint32_t* kept = kept_.all(slot);
  std::fill_n(kept, kept_.stride(), 0u);
  const bool releases = e.has(Event::release) && wide_enough(s, e);
  run_.publish(kept, run_.strands.all(strand), releases);
  if (!releases && e.scope >= s.needed)  // M7: relaxed, after a release fence
    if (const uint32_t* head = fences_.head(strand, s.needed); head != nullptr)
      join(kept, head, kept_.stride());
  const int64_t before = s.value;
  s.value = e.kind == EventKind::signal_set ? static_cast<int64_t>(e.bytes)
                                            : plus(before, static_cast<int64_t>(e.bytes));
  s.grows = s.grows && s.value > before;
  s.any_set = s.any_set || e.kind == EventKind::signal_set;
  check_exact_waits(s, e);
  add_to_levels(s, e, minus(s.value, before), slot);
  run_.tick(strand);
}

bool Signals::knows_all(const uint32_t* causal, const std::vector<Write>& writes) const {
  return std::all_of(writes.begin(), writes.end(), [&](const Write& w) { return knows(causal, w.epoch); });
}

void Signals::add_to_levels(State& s, const Event& e, int64_t amount, uint32_t knowledge) {
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  if (!s.levels.back().writes.empty() && knows_all(causal, s.levels.back().writes)) {
    Level next;
    next.before = next.total = s.levels.back().total;
    next.prefix = kept_.take();
    std::copy_n(kept_.all(s.levels.back().prefix), kept_.stride(), kept_.all(next.prefix));
    for (const Write& w : s.levels.back().writes)
      join(kept_.all(next.prefix), kept_.all(w.knowledge), kept_.stride());
    s.levels.push_back(std::move(next));
    s.waits.clear();  // the value had reached what they asked for before this write could come
  } else if (s.levels.size() > 1 && !knows_all(causal, s.levels[s.levels.size() - 2].writes)) {
    s.tangled = true;
  }
  Level& level = s.levels.back();
  check_late_write(s, e, level);
  level.writes.push_back({amount, run_.here(e.agent.v), knowledge});
  level.total = plus(level.total, amount);
  if (level.writes.size() > kMaxWritesInLevel) s.tangled = true;
}

/// Whether the writes so far leave this value together, and no smaller set of them does: amounts that are
/// added, or values one after the other.
bool Signals::passes_exactly(const State& s) const {
  const bool one_by_one = !s.tangled && std::all_of(s.levels.begin(), s.levels.end(),
                                                    [](const Level& l) { return l.writes.size() <= 1; });
  return s.grows && (!s.any_set || one_by_one);
}

/// A write that does not come after a wait for equality could come before it, and be one too many.
void Signals::check_exact_waits(State& s, const Event& e) {
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  std::erase_if(s.exact, [&](const Wait& w) {
    if (knows(causal, w.epoch)) return false;
    not_exact(e.object, w.value, w.place);
    return true;
  });
}

void Signals::not_exact(uint32_t signal, int64_t value, uint32_t place) {
  run_.uncovered("a wait for \"" + run_.trace.signals[signal].name + "\" to be equal to " +
                     std::to_string(value) + " passes in some schedules only (LF2)",
                 place);
}

// PF25: could this write have come before a wait that passed without it, and so have stood in for another?
void Signals::check_late_write(State& s, const Event& e, const Level& level) {
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  int64_t known = level.before;
  for (const Write& w : level.writes)
    if (knows(causal, w.epoch)) known = plus(known, w.amount);
  std::erase_if(s.waits, [&](const Wait& w) {
    if (knows(causal, w.epoch) || known >= w.value) return false;
    run_.uncovered("which writes of \"" + run_.trace.signals[e.object].name +
                       "\" a wait sees depends on the schedule (K6)",
                   w.place);
    return true;
  });
  if (s.tangled && !s.falls && !std::exchange(s.tangled_reported, true))
    run_.uncovered("the writes of \"" + run_.trace.signals[e.object].name +
                       "\" come in no order that one run shows (K6)",
                   e.place);
}

void Signals::take_in(const Event& e, const uint32_t* knowledge) {
  State& s = states_[e.object];
  uint32_t* strand = run_.strands.all(e.agent.v);
  const bool wide = !e.has(Event::acquire) || wide_enough(s, e);
  run_.observe(strand, knowledge, e.has(Event::acquire) && wide);
  if (e.has(Event::acquire)) return;
  if (uint32_t* later = fences_.pending(e.agent.v, s.needed); later != nullptr && e.scope >= s.needed)  // M8
    join(later, knowledge, kept_.stride());
}

void Signals::learn(const Event& e, const Level& level, int64_t wanted) {
  scratch_.assign(kept_.stride(), 0);
  join(scratch_.data(), kept_.all(level.prefix), kept_.stride());
  const int64_t missing = minus(wanted, level.before);
  for (size_t lane = 0; lane < kept_.stride() && missing > 0; ++lane) {
    if (level.writes.size() == 1) {
      scratch_[lane] = std::max(scratch_[lane], kept_.all(level.writes[0].knowledge)[lane]);
      continue;
    }
    order_.clear();
    for (const Write& w : level.writes) order_.emplace_back(kept_.all(w.knowledge)[lane], w.amount);
    std::sort(order_.begin(), order_.end());
    int64_t sum = 0;
    for (const auto& [value, amount] : order_)
      if ((sum = plus(sum, amount)) >= missing) {
        scratch_[lane] = std::max(scratch_[lane], value);
        break;
      }
  }
  take_in(e, scratch_.data());
}

void Signals::wait(const Event& e) {
  State& s = states_[e.object];
  const auto wanted = static_cast<int64_t>(e.bytes);
  const std::string name = "\"" + run_.trace.signals[e.object].name + "\"";
  if (e.has(Event::equal) ? s.value != wanted : s.value < wanted) {
    run_.seen.inconsistent = "a wait passes on a flag that has not the value";
    return;
  }
  if (e.has(Event::equal) && passes_exactly(s))
    s.exact.push_back({wanted, run_.here(e.agent.v), e.place});
  else if (e.has(Event::equal))
    not_exact(e.object, wanted, e.place);
  else if (s.falls)
    run_.uncovered("the value of " + name + " can fall or be overwritten while somebody waits for it (LF2)",
                   e.place);
  if (e.has(Event::equal) || s.falls || s.tangled) {  // what this run saw; a search decides the rest
    const Level& last = s.levels.back();
    learn(e, last, last.total);
  } else {
    const auto level = std::find_if(s.levels.rbegin(), s.levels.rend(),
                                    [&](const Level& l) { return l.before < wanted || &l == &s.levels[0]; });
    learn(e, *level, wanted);
    if (level == s.levels.rbegin()) s.waits.push_back({wanted, run_.here(e.agent.v), e.place});
  }
  run_.tick(e.agent.v);
}

void Signals::finish() {
  for (const Blocked& b : run_.trace.blocked)
    if (b.on == Blocked::On::signal && (states_[b.object].falls || b.count == 1))
      run_.uncovered("whether \"" + run_.trace.signals[b.object].name +
                         "\" still has the value when it is read depends on the schedule (LF2)",
                     b.place);
}

}  // namespace turnstile::checker
