// SPDX-License-Identifier: Apache-2.0
//
// Symmetry of orchestrations (algorithms.md 7.3: "sort the states of identical consumers and CTAs").
//
// An exchange is a renaming p of strands, mbarriers, named barriers, operations, queues, CTAs and footprints
// that is its own inverse and under which the program reads the same: the events of strand p(s) are those of
// s with every name replaced by its p, and so are the landings of p(o); counts, bytes, groups, tags, flags
// and initial values are equal; two footprints meet iff their images do. Names that stand for themselves:
// signals, pools, clusters.
//
// Then p maps states to states, the start to itself, steps that are possible to steps that are possible, and
// faults (hang, race, stale data, refused steps, the end of what is known of a strand) to faults of the same
// kind: what OrchestrationMachine decides depends on names only through equality, and on which CTA, group and
// place of memory they belong to, all of which p respects. So from s a fault of some kind can be reached in n
// steps iff it can from p(s), and a search that keeps p(s) in place of s misses none, nor a shorter way to
// one (Emerson, Sistla: symmetry and model checking). It goes with the ample sets of independence.cc, which
// are chosen for the state that is kept: their argument is an induction over the steps that are left
// (Emerson, Jha, Peled: combining partial order and symmetry reductions), and p keeps their number.
//
// Which of the states that differ by exchanges is kept does not matter for that. Here: the one in which
// positions of strands are largest in order, found by exchanging pairs until none improves; where two members
// stand at the same positions and differ in something else, both states are kept.
//
// Finding exchanges: assume that two strands are exchanged, walk through both, and let each pair of events
// say what else is. Strands that are touched by that and not paired have to read the same as they are, or be
// paired with another. All is then verified, so that a wrong guess costs a reduction, never a state.
#include "checker/symmetry.h"

#include <algorithm>
#include <optional>

#include "model/event_object.h"
#include "model/protocol/orchestration_plan.h"

namespace turnstile::checker {

namespace {

constexpr uint32_t unnamed = 0xffffffff;

/// Events that may be compared while looking for exchanges; a search has a second or more.
constexpr size_t most_compared = size_t{1} << 22;
constexpr size_t most_strands = 64;

}  // namespace

/// What is exchanged for what, as far as it is known; bind() undoes nothing by itself, back_to() does.
struct Correspondence {
  enum Kind : uint8_t { strand, barrier, named, op, queue, cta, footprint, cell, register_group, kinds };
  std::vector<uint32_t> of[kinds];
  std::vector<std::pair<Kind, uint32_t>> bound;

  bool bind(Kind kind, uint32_t a, uint32_t b) {
    std::vector<uint32_t>& map = of[kind];
    if (a >= map.size() || b >= map.size()) return false;
    if (map[a] != unnamed || map[b] != unnamed) return map[a] == b && map[b] == a;
    map[a] = b;
    map[b] = a;
    bound.emplace_back(kind, a);
    return true;
  }
  uint32_t image(Kind kind, uint32_t a) const { return of[kind][a] == unnamed ? a : of[kind][a]; }
  void back_to(size_t size) {
    while (bound.size() > size) {
      std::vector<uint32_t>& map = of[bound.back().first];
      const uint32_t a = bound.back().second;
      map[map[a]] = unnamed;
      map[a] = unnamed;
      bound.pop_back();
    }
  }
};

namespace {

class Matcher {
 public:
  using Kind = Correspondence::Kind;

  Matcher(const Orchestration& program, const Overlaps& overlaps, const OrchestrationPlan& plan,
          size_t& budget)
      : program_(program),
        overlaps_(overlaps),
        plan_(plan),
        budget_(budget),
        walked_(program.strands.size()) {
    const Trace& t = program.tables;
    const size_t sizes[Correspondence::kinds] = {
        program.strands.size(), t.barriers.size(),     plan.ctas * size_t{16},
        t.ops.size(),           t.queues.size(),       plan.ctas,
        t.footprints.size(),    overlaps.cell_count(), plan.register_groups.size()};
    for (size_t k = 0; k < Correspondence::kinds; ++k) found_.of[k].assign(sizes[k], unnamed);
  }

  /// The exchange that swaps these two strands, and as little else as it can.
  std::optional<Correspondence> exchange(uint32_t a, uint32_t b) {
    if (!found_.bind(Kind::strand, a, b) || !walk(a)) return std::nullopt;
    for (uint32_t s = 0; s < walked_.size(); ++s)
      if (!walked_[s] && !(found_.of[Kind::strand][s] != unnamed ? walk(s) : place(s))) return std::nullopt;
    if (!holds()) return std::nullopt;
    return std::move(found_);
  }

 private:
  bool place(uint32_t s) {
    for (uint32_t other = s; other < walked_.size(); ++other) {
      if (found_.of[Kind::strand][other] != unnamed) continue;
      const size_t before = found_.bound.size();
      if (found_.bind(Kind::strand, s, other) && walk(s)) return true;
      found_.back_to(before);
      walked_[s] = walked_[other] = false;
    }
    return false;
  }

  bool walk(uint32_t a) {
    const uint32_t b = found_.of[Kind::strand][a];
    walked_[a] = walked_[b] = true;
    const Trace& t = program_.tables;
    const Orchestration::Strand &x = program_.strands[a], &y = program_.strands[b];
    return x.whole == y.whole && t.agents[a].threads == t.agents[b].threads && same(x.events, y.events);
  }

  bool same(const std::vector<Event>& x, const std::vector<Event>& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (budget_ == 0) return false;
      --budget_;
      if (!same(x[i], y[i])) return false;
    }
    return true;
  }

  bool same(const Event& x, const Event& y) {
    if (x.kind != y.kind || x.flags != y.flags || x.scope != y.scope || x.bytes != y.bytes ||
        x.generation != y.generation || !found_.bind(Kind::strand, x.agent.v, y.agent.v))
      return false;
    // The one event whose count is a name.
    if (x.kind == EventKind::join && x.object == x.agent.v)
      return y.object == y.agent.v && found_.bind(Kind::strand, x.count, y.count);
    if (x.count != y.count) return false;
    if (has_footprint(x.kind) && !found_.bind(Kind::footprint, x.footprint, y.footprint)) return false;
    switch (object_of(x.kind)) {
      case EventObject::strand:
        return found_.bind(Kind::strand, x.object, y.object);
      case EventObject::barrier:
        return found_.bind(Kind::barrier, x.object, y.object);
      case EventObject::named_barrier:
        return found_.bind(Kind::named, x.object, y.object) &&
               found_.bind(Kind::cta, x.object / 16, y.object / 16);
      case EventObject::operation:
        return x.kind == EventKind::async_issue ? same_operation(x.object, y.object)
                                                : found_.bind(Kind::op, x.object, y.object);
      case EventObject::queue:
        return found_.bind(Kind::queue, x.object, y.object);
      case EventObject::signal:
      case EventObject::pool:
      case EventObject::cluster:
        return x.object == y.object;
      case EventObject::none:
        return x.kind != EventKind::fence_tensormap || x.footprint == y.footprint;
    }
    return false;
  }

  bool same_operation(uint32_t a, uint32_t b) {
    const bool known = found_.of[Kind::op][a] != unnamed;
    if (!found_.bind(Kind::op, a, b)) return false;
    if (known) return true;  // a wgmma, issued by its next warp
    const AsyncOp &x = program_.tables.ops[a], &y = program_.tables.ops[b];
    if (x.kind != y.kind || x.bytes != y.bytes || x.group != y.group) return false;
    if ((x.barrier == AsyncOp::none) != (y.barrier == AsyncOp::none) ||
        (x.queue == AsyncOp::none) != (y.queue == AsyncOp::none))
      return false;
    return found_.bind(Kind::strand, x.issuer.v, y.issuer.v) &&
           (x.barrier == AsyncOp::none || found_.bind(Kind::barrier, x.barrier, y.barrier)) &&
           (x.queue == AsyncOp::none || found_.bind(Kind::queue, x.queue, y.queue)) &&
           same(program_.operations[a], program_.operations[b]);
  }

  // Everything that is not said by events.
  bool holds() {
    return strands_hold() && barriers_hold() && queues_hold() && named_hold() && footprints_hold() &&
           ctas_hold();
  }

  bool strands_hold() {
    const Trace& t = program_.tables;
    for (uint32_t s = 0; s < walked_.size(); ++s) {
      const uint32_t other = found_.image(Kind::strand, s);
      if (!found_.bind(Kind::cta, t.agents[s].cta, t.agents[other].cta)) return false;
      if (!plan_.uses_registers) continue;
      if (plan_.register_warp_of[s] != plan_.register_warp_of[other] ||
          !found_.bind(Kind::register_group, plan_.register_group_of[s], plan_.register_group_of[other]))
        return false;
    }
    for (uint32_t g = 0; g < plan_.register_groups.size(); ++g) {
      const OrchestrationPlan::RegisterGroupInfo
          &x = plan_.register_groups[g],
          &y = plan_.register_groups[found_.image(Kind::register_group, g)];
      if (x.strands.size() != y.strands.size() || !found_.bind(Kind::cta, x.cta, y.cta)) return false;
    }
    return true;
  }

  bool barriers_hold() {
    const Trace& t = program_.tables;
    for (uint32_t b = 0; b < t.barriers.size(); ++b) {
      const uint32_t other = found_.image(Kind::barrier, b);
      if (!found_.bind(Kind::cta, t.barriers[b].cta, t.barriers[other].cta)) return false;
      if (other != b && (t.barriers[b].initial_count != t.barriers[other].initial_count ||
                         !plan_.barriers[b].same_place.empty() || !plan_.barriers[other].same_place.empty()))
        return false;
    }
    return true;
  }

  bool queues_hold() const {
    const std::vector<QueueInfo>& queues = program_.tables.queues;
    for (uint32_t q = 0; q < queues.size(); ++q) {
      const QueueInfo &x = queues[q], &y = queues[found_.image(Kind::queue, q)];
      if (x.kind != y.kind || x.in_order != y.in_order) return false;
    }
    return true;
  }

  bool named_hold() const {
    for (const OrchestrationPlan::Named& n : plan_.named) {
      const uint32_t other = found_.image(Kind::named, n.object);
      if (other >= plan_.named_at.size() || plan_.named_at[other] == OrchestrationPlan::none) return false;
      const OrchestrationPlan::Named& m = plan_.named[plan_.named_at[other]];
      if (other / 16 != found_.image(Kind::cta, n.object / 16) ||
          n.participants.size() != m.participants.size())
        return false;
      for (const uint32_t s : n.participants)
        if (!std::binary_search(m.participants.begin(), m.participants.end(), found_.image(Kind::strand, s)))
          return false;
    }
    return true;
  }

  bool footprints_hold() {
    const std::vector<Footprint>& all = program_.tables.footprints;
    std::vector<uint32_t> used, moved;
    for (uint32_t f = 0; f < all.size(); ++f) {
      const uint32_t other = found_.of[Kind::footprint][f];
      if (other == unnamed) continue;
      used.push_back(f);
      if (other != f) moved.push_back(f);
      if (all[f].space != all[other].space) return false;
      if (all[f].space != Space::global && !found_.bind(Kind::cta, all[f].allocation, all[other].allocation))
        return false;
      const std::vector<uint32_t>&x = overlaps_.cells(f), &y = overlaps_.cells(other);
      if (x.size() != y.size()) return false;
      for (size_t i = 0; i < x.size(); ++i)
        if (!found_.bind(Kind::cell, x[i], y[i])) return false;
    }
    for (uint32_t c = 0; c < overlaps_.cell_count(); ++c)
      if (!overlaps_.same_tags(c, found_.image(Kind::cell, c))) return false;
    if (moved.size() * used.size() > most_compared) return false;
    for (const uint32_t f : moved)
      for (const uint32_t g : used)
        if (overlaps_.meet(f, g) !=
            overlaps_.meet(found_.image(Kind::footprint, f), found_.image(Kind::footprint, g)))
          return false;
    return true;
  }

  // Strands of one cluster stay in one cluster; CTAs have the same number of strands, since strands and CTAs
  // are mapped together, one to one.
  bool ctas_hold() const {
    const uint32_t cluster = std::max(1u, program_.tables.cluster_ctas);
    for (uint32_t c = 0; c < plan_.ctas; ++c) {
      const uint32_t other = found_.image(Kind::cta, c);
      if (other / cluster != c / cluster || plan_.strands_of_cta[c] != plan_.strands_of_cta[other])
        return false;
      // Pairs of CTAs allocate tensor memory together (TC9): they stay pairs.
      const uint32_t peer = c ^ 1;
      if (plan_.uses_tensor_memory &&
          (peer < plan_.ctas ? found_.image(Kind::cta, peer) : peer) != (other ^ 1))
        return false;
    }
    return true;
  }

  const Orchestration& program_;
  const Overlaps& overlaps_;
  const OrchestrationPlan& plan_;
  size_t& budget_;
  std::vector<bool> walked_;
  Correspondence found_;
};

std::vector<std::pair<uint32_t, uint32_t>> moved_pairs(const Correspondence& found,
                                                       Correspondence::Kind kind) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t a = 0; a < found.of[kind].size(); ++a)
    if (const uint32_t b = found.image(kind, a); a < b) pairs.emplace_back(a, b);
  return pairs;
}

std::vector<uint32_t> numbers(size_t count) {
  std::vector<uint32_t> all(count);
  for (uint32_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

}  // namespace

Symmetry::Symmetry(const Orchestration& program, const Overlaps& overlaps) {
  const auto strands = static_cast<uint32_t>(program.strands.size());
  if (strands > most_strands) return;
  const OrchestrationPlan plan(program);
  size_t budget = most_compared;
  for (uint32_t a = 0; a < strands; ++a)
    for (uint32_t b = a + 1; b < strands; ++b) {
      if (program.strands[a].events.empty() ||
          program.strands[a].events.size() != program.strands[b].events.size())
        continue;
      const std::pair<uint32_t, uint32_t> pair{a, b};
      if (std::any_of(exchanges_.begin(), exchanges_.end(), [&](const Exchange& x) {
            return std::find(x.strands.begin(), x.strands.end(), pair) != x.strands.end();
          }))
        continue;
      if (const auto found = Matcher(program, overlaps, plan, budget).exchange(a, b)) note(plan, *found);
    }
  names_.machine.strand = numbers(strands);
  names_.machine.barrier = numbers(program.tables.barriers.size());
  names_.machine.named = numbers(plan.named.size());
  names_.machine.contribution = numbers(plan.contributions);
  names_.machine.cta = numbers(plan.ctas);
  names_.machine.register_group = numbers(plan.register_groups.size());
  names_.cell = numbers(overlaps.cell_count());
}

void Symmetry::note(const OrchestrationPlan& plan, const Correspondence& found) {
  using Kind = Correspondence::Kind;
  Exchange x;
  x.strands = moved_pairs(found, Kind::strand);
  x.barriers = moved_pairs(found, Kind::barrier);
  x.ctas = moved_pairs(found, Kind::cta);
  x.register_groups = moved_pairs(found, Kind::register_group);
  x.cells = moved_pairs(found, Kind::cell);
  for (uint32_t n = 0; n < plan.named.size(); ++n) {
    const OrchestrationPlan::Named& from = plan.named[n];
    const uint32_t m = plan.named_at[found.image(Kind::named, from.object)];
    const OrchestrationPlan::Named& to = plan.named[m];
    if (n < m) x.named.emplace_back(n, m);
    for (uint32_t i = 0; i < from.participants.size(); ++i) {
      const auto seat = std::lower_bound(to.participants.begin(), to.participants.end(),
                                         found.image(Kind::strand, from.participants[i]));
      const uint32_t a = from.first + i, b = to.first + static_cast<uint32_t>(seat - to.participants.begin());
      if (a < b) x.contributions.emplace_back(a, b);
    }
  }
  for (uint32_t o = 0; o < found.of[Kind::op].size(); ++o)
    x.operations.op.push_back(found.image(Kind::op, o));
  for (uint32_t q = 0; q < found.of[Kind::queue].size(); ++q)
    x.operations.queue.push_back(found.image(Kind::queue, q));
  exchanges_.push_back(std::move(x));
}

void Symmetry::apply(const Exchange& x) {
  const auto swap_all = [](std::vector<uint32_t>& names, const Pairs& pairs) {
    for (const auto& [a, b] : pairs) std::swap(names[a], names[b]);
  };
  swap_all(names_.machine.strand, x.strands);
  swap_all(names_.machine.barrier, x.barriers);
  swap_all(names_.machine.named, x.named);
  swap_all(names_.machine.contribution, x.contributions);
  swap_all(names_.machine.cta, x.ctas);
  swap_all(names_.machine.register_group, x.register_groups);
  swap_all(names_.cell, x.cells);
}

const Symmetry::Names& Symmetry::sort(const OrchestrationMachine& state) {
  for (; !applied_.empty(); applied_.pop_back()) apply(*applied_.back());  // back to the own names
  names_.machine.operations.clear();
  // Each exchange makes the list of positions larger in lexicographic order, so this ends.
  for (bool better = true; better;) {
    better = false;
    for (const Exchange& x : exchanges_)
      for (const auto& [a, b] : x.strands) {
        const uint32_t first = state.position(names_.machine.strand[a]);
        const uint32_t second = state.position(names_.machine.strand[b]);
        if (first == second) continue;
        if (first < second) {
          apply(x);
          applied_.push_back(&x);
          names_.machine.operations.push_back(&x.operations);
          better = true;
        }
        break;
      }
  }
  names_.own = applied_.empty();
  return names_;
}

}  // namespace turnstile::checker
