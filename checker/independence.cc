// SPDX-License-Identifier: Apache-2.0
//
// Ample sets of one step (persistent sets; algorithms.md 7.3). Let t be the next step of agent A. Let F be a
// superset of what all other agents can do while A stands still: each runs ahead as long as nothing is known
// to stop it. If no step of F is dependent with t, then every run from here either never takes t, and then
// is a run beside t, or can be reordered to start with t: {t} is a persistent set.
//
// Why that loses nothing that the search looks for. Each step moves a position on, so the state graph has no
// cycles, and nothing is ignored for ever. Hangs: a persistent set keeps every state without successor.
// Races by adjacency: let the conflicting steps a, b be possible after the run w from here. If neither w nor
// {a, b} contains t, then t commutes with all of them and a, b are possible after t w. If w contains t, move
// it to the front. If a = t, then b is a step of F, or stands after one, that depends on t: a contradiction.
// Faults of a step, and tags, are part of its effect: steps that could change whether they occur are
// dependent. Ends of strands (unknown continuations) stay true once they are, and maximal runs are kept.
//
// Dependence, from the domain (semantics.md 2.4, 3):
//  - a wait that can pass depends on what can complete its phase once more, and on nothing else (ALG-D2);
//  - contributions to a phase that cannot complete without further help commute, as do plain arrivals of one
//    each, which cannot be told apart; else a contribution depends on the waits that can pass in F (ALG-PF9);
//  - accesses depend on conflicting accesses, landings also on the end of the CTA that they touch;
//  - the rest depends on everything.
#include "checker/independence.h"

#include <algorithm>
#include <bit>

namespace turnstile::checker {

namespace {

template <typename Each>
void for_each_access(const Orchestration& program, Each each) {
  for (const Orchestration::Strand& s : program.strands)
    for (const Event& e : s.events)
      if (e.kind == EventKind::access) each(e);
  for (const std::vector<Event>& o : program.operations)
    for (const Event& e : o)
      if (e.kind == EventKind::async_access) each(e);
}

/// Run ahead no further than so many events in one state: the rest of the time belongs to the search.
constexpr size_t look_ahead = 192;

}  // namespace

Overlaps::Overlaps(const Orchestration& program) {
  const size_t footprints = program.tables.footprints.size();
  std::vector<bool> used(footprints);
  for_each_access(program, [&](const Event& e) { used[e.footprint] = true; });
  number_.assign(footprints, 0);
  cells_.resize(footprints);
  for (size_t f = 0; f < footprints; ++f)
    if (used[f]) number_[f] = count_++;
  if (!regions_.build(program.tables, used)) {
    defect_ = "the accesses cover more pieces of memory than the search compares";
    return;
  }
  fill_matrix(used);
  number_tags(program, used);
}

void Overlaps::number_tags(const Orchestration& program, const std::vector<bool>& used) {
  constexpr uint32_t untagged = 0xffffffff;
  std::vector<uint32_t> cell(regions_.count(), untagged);
  uint32_t count = 0;
  for_each_access(program, [&](const Event& e) {
    if (e.generation == 0 || e.has(Event::write)) return;
    for (const uint32_t r : regions_.of(e.footprint))
      if (cell[r] == untagged) cell[r] = count++;
  });
  for (uint32_t f = 0; f < used.size(); ++f)
    if (used[f])
      for (const uint32_t r : regions_.of(f))
        if (cell[r] != untagged) cells_[f].push_back(cell[r]);
  tags_.assign(count, {0});
  for_each_access(program, [&](const Event& e) {
    if (!e.has(Event::write)) return;
    for (const uint32_t c : cells_[e.footprint])
      if (tags_[c].back() != e.generation) tags_[c].push_back(e.generation);
  });
  for (std::vector<uint64_t>& all : tags_) {
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    tag_bits_.push_back(static_cast<uint8_t>(std::bit_width(all.size() - 1)));
  }
}

uint32_t Overlaps::tag_number(uint32_t cell, uint64_t tag) const {
  const std::vector<uint64_t>& all = tags_[cell];
  return static_cast<uint32_t>(std::lower_bound(all.begin(), all.end(), tag) - all.begin());
}

// By region: who touches it. Every pair of them meets. Too many pairs are compared when they are asked for.
void Overlaps::fill_matrix(const std::vector<bool>& used) {
  constexpr uint32_t most = 4096;
  if (count_ > most) return;
  std::vector<std::vector<uint32_t>> touching(regions_.count());
  for (uint32_t f = 0; f < used.size(); ++f)
    if (used[f])
      for (const uint32_t r : regions_.of(f)) touching[r].push_back(number_[f]);
  size_t pairs = 0;
  for (const std::vector<uint32_t>& all : touching) pairs += all.size() * all.size();
  if (pairs > size_t{1} << 26) return;
  dense_ = true;
  matrix_.assign(size_t{count_} * count_, false);
  for (const std::vector<uint32_t>& all : touching)
    for (const uint32_t x : all)
      for (const uint32_t y : all) matrix_[size_t{x} * count_ + y] = true;
}

bool Overlaps::share(uint32_t a, uint32_t b) const {
  const std::span<const uint32_t> x = regions_.of(a), y = regions_.of(b);
  return std::any_of(x.begin(), x.end(),
                     [&](uint32_t r) { return std::find(y.begin(), y.end(), r) != y.end(); });
}

Ample::Ample(const Orchestration& program, const Overlaps& overlaps)
    : program_(program),
      overlaps_(overlaps),
      one_cta_(program.tables.cluster_ctas <= 1),
      issues_(program.tables.ops.size(), 0),
      reach_(program.strands.size(), 0),
      barriers_(program.tables.barriers.size()) {
  uint32_t ids = 16;
  for (const Orchestration::Strand& s : program.strands)
    for (const Event& e : s.events) {
      if (e.kind == EventKind::async_issue) ++issues_[e.object];
      if (e.kind == EventKind::named_barrier_arrive) ids = std::max(ids, e.object + 1);
      registers_ |= e.kind == EventKind::registers_acquire || e.kind == EventKind::registers_release;
      usable_ &= !(e.kind == EventKind::signal_wait && e.has(Event::polled_once));
    }
  named_.resize(ids);
}

std::optional<size_t> Ample::choose(const OrchestrationMachine& at, std::span<const Step> enabled) {
  if (!usable_) return std::nullopt;
  budget_ = look_ahead;
  for (size_t i = 0; i < enabled.size(); ++i) {
    const Event* e = at.next(enabled[i]);
    if (e == nullptr) continue;
    switch (e->kind) {
      case EventKind::fence:
      case EventKind::fence_proxy_async:
      case EventKind::fence_mbarrier_init:
      case EventKind::fence_tensormap:
      case EventKind::tensor_fence_before:
      case EventKind::tensor_fence_after:
      case EventKind::group_commit:
      case EventKind::fork:
      case EventKind::join:
      case EventKind::named_barrier_pass:  // nothing takes the permission back
        return i;
      case EventKind::exit:  // an end makes more accesses wrong, never fewer; barriers notice it if it counts
        if (one_cta_ && !registers_ && e->count == 0) return i;
        break;
      case EventKind::async_issue:
        if (one_cta_ && program_.tables.ops[e->object].queue == AsyncOp::none) return i;
        break;
      case EventKind::mbarrier_arrive:
      case EventKind::mbarrier_expect_tx:
      case EventKind::mbarrier_wait:
      case EventKind::named_barrier_arrive:
      case EventKind::access:
      case EventKind::async_access:
      case EventKind::async_complete:
        if (unnoticed_by_all(at, enabled[i], *e)) return i;
        if (budget_ == 0) return std::nullopt;
        break;
      default:
        break;
    }
  }
  return std::nullopt;
}

// F is found as a fixed point. What notices the step in a part of F does so in all of it: unnoticed() never
// becomes true again when F grows. False also if F is larger than we care to look at.
bool Ample::unnoticed_by_all(const OrchestrationMachine& at, Step without, const Event& e) {
  std::fill(barriers_.begin(), barriers_.end(), OnBarrier{});
  std::fill(named_.begin(), named_.end(), OnNamed{});
  accesses_.clear();
  for (const AsyncGroups::Operation& o : at.in_flight())
    if (without.kind == Step::Kind::strand || without.index != o.op)
      note_operation(o.op, o.phase - std::min(o.phase, issues_[o.op]));
  for (uint32_t s = 0; s < reach_.size(); ++s) reach_[s] = at.position(s);
  for (bool more = true; more;) {
    more = false;
    for (uint32_t s = 0; s < reach_.size(); ++s) {
      if (without.kind == Step::Kind::strand && without.index == s) continue;
      bool moved = false;
      while (advance(at, s)) {
        moved = true;
        if (--budget_ == 0) return false;
      }
      if (moved && !unnoticed(at, without, e)) return false;
      more |= moved;
    }
  }
  return unnoticed(at, without, e);
}

bool Ample::advance(const OrchestrationMachine& at, uint32_t strand) {
  const std::vector<Event>& events = program_.strands[strand].events;
  if (reach_[strand] >= events.size()) return false;
  const Event& e = events[reach_[strand]];
  if (stays_blocked(at, strand, e)) return false;
  note(e);
  ++reach_[strand];
  return true;
}

bool Ample::stays_blocked(const OrchestrationMachine& at, uint32_t strand, const Event& e) const {
  if (e.kind == EventKind::mbarrier_wait) {
    const Mbarrier& b = at.barrier(e.object);
    return b.valid() && e.count <= 1 &&
           program_.tables.barriers[e.object].cta == program_.tables.agents[strand].cta &&
           !b.ready(e.count) && !may_complete(at, e.object) && !barriers_[e.object].changed;
  }
  if (e.kind == EventKind::named_barrier_pass)
    return reach_[strand] == at.position(strand) && !at.is_enabled({Step::Kind::strand, strand}) &&
           named_[e.object].threads == 0;
  return false;
}

bool Ample::may_complete(const OrchestrationMachine& at, uint32_t barrier) const {
  const OnBarrier& f = barriers_[barrier];
  const Mbarrier& b = at.barrier(barrier);
  return f.changed || (b.pending() <= f.arrivals && b.tx() <= static_cast<int64_t>(f.bytes));
}

void Ample::note_operation(uint32_t op, size_t first) {
  const std::vector<Event>& events = program_.operations[op];
  for (size_t i = first; i < events.size(); ++i) {
    const Event& e = events[i];
    if (e.kind == EventKind::async_access) accesses_.push_back(&e);
    if (e.kind != EventKind::async_complete) continue;
    const AsyncOp& o = program_.tables.ops[op];
    if (o.barrier == AsyncOp::none) continue;
    OnBarrier& b = barriers_[o.barrier];
    b.landed = true;
    b.plain = false;
    const bool arrives = o.kind == AsyncOp::Kind::cp_async || o.kind == AsyncOp::Kind::tensor_commit;
    if (arrives || o.bytes == 0)
      ++b.arrivals;
    else
      b.bytes += o.bytes;
  }
}

void Ample::note(const Event& e) {
  switch (e.kind) {
    case EventKind::mbarrier_arrive: {
      OnBarrier& b = barriers_[e.object];
      b.arrivals += e.count;
      b.arrived = true;
      b.plain &= e.count == 1 && !e.has(Event::expects_bytes);
      b.expected |= e.has(Event::expects_bytes);
      b.changed |= e.has(Event::drops);
      break;
    }
    case EventKind::mbarrier_expect_tx:
      barriers_[e.object].expected = true;
      barriers_[e.object].plain = false;
      break;
    case EventKind::mbarrier_wait:
      barriers_[e.object].waited = true;
      break;
    case EventKind::mbarrier_init:
    case EventKind::mbarrier_inval:
      barriers_[e.object].changed = true;
      break;
    case EventKind::named_barrier_arrive: {
      OnNamed& n = named_[e.object];
      n.mixed |= n.threads != 0 && n.count != e.count;
      n.threads += e.bytes;
      n.count = e.count;
      break;
    }
    case EventKind::access:
      accesses_.push_back(&e);
      break;
    case EventKind::async_issue: {
      note_operation(e.object, 0);
      const AsyncOp& o = program_.tables.ops[e.object];
      if (o.kind == AsyncOp::Kind::cp_async && o.barrier != AsyncOp::none && o.bytes != 0)
        barriers_[o.barrier].changed = true;  // MB20: its issue raises the pending count
      break;
    }
    default:
      break;
  }
}

bool Ample::may_end(uint32_t cta) const {
  for (uint32_t s = 0; s < reach_.size(); ++s)
    if (program_.tables.agents[s].cta == cta && reach_[s] < program_.strands[s].events.size()) return false;
  return true;
}

bool Ample::unnoticed_access(const Event& e) const {
  return std::none_of(accesses_.begin(), accesses_.end(),
                      [&](const Event* other) { return overlaps_.conflict(e, *other); });
}

bool Ample::unnoticed_contribution(const Mbarrier& barrier, uint32_t index, uint32_t arrivals,
                                   uint64_t expects, uint64_t lands) const {
  const OnBarrier& f = barriers_[index];
  if (f.changed || !barrier.valid()) return false;
  const bool alone = !f.arrived && !f.landed && !f.expected;
  // The phase stays open whatever of F and t happens, and nobody arrives once too often.
  if (barrier.pending() > f.arrivals + arrivals) return true;
  const int64_t missing = barrier.tx() + static_cast<int64_t>(expects);
  if (barrier.pending() == f.arrivals + arrivals && missing > static_cast<int64_t>(f.bytes + lands) &&
      (expects == 0 || arrivals > 0))
    return true;
  // It may complete now or in F: only those notice who wait for it and could pass before.
  if (f.waited) return false;
  if (alone) return true;
  if (arrivals == 1 && expects == 0 && lands == 0 && f.plain && barrier.tx() == 0) return true;
  // All arrivals are in and only bytes are missing: the last ones to land complete the phase, in any order.
  return arrivals == 0 && expects == 0 && !f.arrived && !f.expected && barrier.pending() == 0 &&
         barrier.tx() >= static_cast<int64_t>(f.bytes + lands);
}

bool Ample::unnoticed(const OrchestrationMachine& at, Step step, const Event& e) const {
  const Trace& t = program_.tables;
  const auto away = [&](uint32_t cta) { return !one_cta_ && cta != t.agents[e.agent.v].cta; };
  switch (e.kind) {
    case EventKind::access:
      return (t.footprints[e.footprint].space != Space::shared ||
              !away(t.footprints[e.footprint].allocation)) &&
             unnoticed_access(e);
    case EventKind::async_access:
      return (t.footprints[e.footprint].space != Space::shared ||
              !may_end(t.footprints[e.footprint].allocation)) &&
             t.ops[step.index].queue == AsyncOp::none && unnoticed_access(e);
    case EventKind::mbarrier_wait:
      return !away(t.barriers[e.object].cta) && at.barrier(e.object).valid() && !may_complete(at, e.object);
    case EventKind::mbarrier_arrive:
      return !e.has(Event::drops) && !away(t.barriers[e.object].cta) &&
             unnoticed_contribution(at.barrier(e.object), e.object, e.count,
                                    e.has(Event::expects_bytes) ? e.bytes : 0, 0);
    case EventKind::mbarrier_expect_tx:
      return !away(t.barriers[e.object].cta) &&
             unnoticed_contribution(at.barrier(e.object), e.object, 0, e.bytes, 0);
    case EventKind::async_complete: {
      const AsyncOp& op = t.ops[step.index];
      return op.queue == AsyncOp::none && op.barrier != AsyncOp::none && op.bytes > 0 &&
             !may_end(t.barriers[op.barrier].cta) &&
             unnoticed_contribution(at.barrier(op.barrier), op.barrier, 0, 0, op.bytes);
    }
    case EventKind::named_barrier_arrive: {
      // Nobody else can contribute before: then it does not matter when this comes.
      return named_[e.object].threads == 0;
    }
    default:
      return false;
  }
}

}  // namespace turnstile::checker
