// SPDX-License-Identifier: Apache-2.0
//
// When a search may clear a program. Let no interleaving have two conflicting accesses possible in one state.
// Then in every run conflicting accesses are ordered by the causal order: were two of them not, some run
// would have executed everything before both and neither of them. It remains that the visibility order, which
// has fewer edges, orders them too. Let a -> b causally. The path consists of program order, issues and
// synchronisation edges, and it is visible if
//  (1) each synchronisation on it releases and acquires (M9, HB1) at a scope that covers both sides. A bare
//      expect and a relaxed operation publish nothing (HB5): programs with one are refused. One of scope .cta
//      between two CTAs tells of asynchronous operations that were waited for (policy remote_scope=practice):
//      programs in which one occurs and a generic access conflicts with anything are refused.
//  (2) it uses the landing of an operation only for the bytes that this operation wrote: a landing publishes
//      those, and not what its issuer knew (HB3); nor does a pool publish anything. So a and b must not be
//      two generic accesses in a program with landings or pools. If a is the write of a copy, its landing is
//      the first edge, and publishes a. If b is, the last edge is its issue, and a is a generic read, or the
//      write of an earlier copy, whose reader or waiter is on the path; a detour through the history of
//      another issuer is refused by (2a): strands that issue do not read what copies write.
//  (3) a and b use one proxy, or the path has what two proxies need: no generic write conflicts with an
//      asynchronous access (PX1); an asynchronous write is visible to who waits for it (PX3); a generic read
//      before an asynchronous write has a proxy fence at one end of the path (PX2, PX8): its strand executes
//      one before it tells anybody of the read, or the issuer does between the last that it learns and the
//      issue; or the policy does not ask for it.
// Operations with groups, tensor memory, classic cp.async, remote stores and registers have rules of their
// own, which the single run knows and a search does not: never cleared.
//
// (2) for two copies of one buffer: the second is issued by a strand that knows of the landing of the first
// only if somebody waited for it; every such chain of release and acquire carries the landed bytes along
// (M7 to M9), unless it passes through another landing. To be refused as well: a wait of the issuing strand
// on a barrier that completes by bytes (2b).
#include "checker/clearing.h"

#include <algorithm>

#include "checker/scopes.h"

namespace turnstile::checker {

namespace {

bool synchronises(const Event& e, bool& publishes) {
  switch (e.kind) {
    case EventKind::mbarrier_arrive:
    case EventKind::cluster_arrive:
    case EventKind::signal_add:
    case EventKind::signal_set:
      publishes = e.has(Event::release);
      return true;
    case EventKind::mbarrier_wait:
    case EventKind::cluster_wait:
    case EventKind::signal_wait:
      publishes = e.has(Event::acquire);
      return true;
    case EventKind::mbarrier_expect_tx:
      publishes = false;
      return true;
    default:
      return false;
  }
}

bool beyond_the_search(EventKind kind) {
  switch (kind) {
    case EventKind::registers_acquire:
    case EventKind::registers_release:
    case EventKind::register_hazard:
    case EventKind::group_commit:
    case EventKind::group_wait:
    case EventKind::tensor_fence_before:
    case EventKind::tensor_fence_after:
    case EventKind::tensor_alloc:
    case EventKind::tensor_dealloc:
    case EventKind::tensor_relinquish:
    case EventKind::fence_tensormap:
    case EventKind::dependents_launch:
    case EventKind::dependency_wait:
    case EventKind::mbarrier_init:
    case EventKind::mbarrier_inval:
      return true;
    default:
      return false;
  }
}

/// Others can learn from it that the strand has come so far.
bool tells(const Event& e, bool exits_count) {
  switch (e.kind) {
    case EventKind::mbarrier_arrive:
    case EventKind::named_barrier_arrive:
    case EventKind::cluster_arrive:
    case EventKind::signal_add:
    case EventKind::signal_set:
    case EventKind::pool_release:
    case EventKind::fork:
    case EventKind::join:
      return true;
    case EventKind::exit:
      return exits_count;
    default:
      return false;
  }
}

/// The strand can learn from it how far others have come.
bool learns(const Event& e) {
  switch (e.kind) {
    case EventKind::mbarrier_wait:
    case EventKind::named_barrier_pass:
    case EventKind::cluster_wait:
    case EventKind::signal_wait:
    case EventKind::pool_acquire:
    case EventKind::fork:
    case EventKind::join:
      return true;
    default:
      return false;
  }
}

bool fences(const Event& e, Space space) {
  return e.kind == EventKind::fence_proxy_async &&
         e.has(space == Space::shared ? Event::shared_space : Event::global_space);
}

/// An asynchronous write over bytes that a generic read may still be reading, as far as proxy fences go
/// (PX2): each read that its strand does not fence, against each write that its issuer does not fence.
bool unfenced_overwrite(const Orchestration& program, const Overlaps& overlaps) {
  const Trace& t = program.tables;
  bool exits_count = t.cluster_barrier_count != 0;
  for (const Orchestration::Strand& s : program.strands)
    for (const Event& e : s.events)
      exits_count |= e.kind == EventKind::named_barrier_arrive && e.has(Event::whole_cta);
  const auto space = [&](const Event& e) { return t.footprints[e.footprint].space; };
  std::vector<const Event*> reads, writes;
  for (const Orchestration::Strand& s : program.strands) {
    std::vector<const Event*> open;
    size_t learned = 0;
    for (size_t i = 0; i < s.events.size(); ++i) {
      const Event& e = s.events[i];
      if (e.kind == EventKind::access && !e.has(Event::write)) open.push_back(&e);
      if (e.kind == EventKind::fence_proxy_async)
        std::erase_if(open, [&](const Event* read) { return fences(e, space(*read)); });
      if (learns(e)) learned = i;
      if (e.kind == EventKind::async_issue)
        for (const Event& w : program.operations[e.object])
          if (w.kind == EventKind::async_access && w.has(Event::write) &&
              std::none_of(s.events.begin() + static_cast<std::ptrdiff_t>(learned),
                           s.events.begin() + static_cast<std::ptrdiff_t>(i),
                           [&](const Event& f) { return fences(f, space(w)); }))
            writes.push_back(&w);
      if (!tells(e, exits_count)) continue;
      reads.insert(reads.end(), open.begin(), open.end());
      open.clear();
    }
  }
  const auto by_footprint = [](std::vector<const Event*>& list) {
    const auto key = [](const Event* e) { return e->footprint; };
    std::sort(list.begin(), list.end(), [&](const Event* a, const Event* b) { return key(a) < key(b); });
    list.erase(std::unique(list.begin(), list.end(),
                           [&](const Event* a, const Event* b) { return key(a) == key(b); }),
               list.end());
  };
  by_footprint(reads);
  by_footprint(writes);
  for (const Event* read : reads)
    for (const Event* write : writes)
      if (overlaps.conflict(*read, *write)) return true;
  return false;
}

bool narrow_between_ctas(const Orchestration& program) {
  NarrowScopes scopes(program.tables);
  for (const Orchestration::Strand& s : program.strands)
    for (const Event& e : s.events) scopes.see(e);
  return scopes.found();
}

struct Sides {
  std::vector<const Event*> generic;  ///< each strand's distinct accesses
  std::vector<const Event*> asynchronous;
};

Sides distinct_accesses(const Orchestration& program) {
  Sides sides;
  const auto keep = [](std::vector<const Event*>& list, std::vector<uint8_t>& seen, const Event& e,
                       size_t footprints) {
    seen.resize(footprints * 4);
    uint8_t& mark = seen[e.footprint * 4 + (e.flags & 3)];
    if (mark == 0) list.push_back(&e);
    mark = 1;
  };
  const size_t footprints = program.tables.footprints.size();
  for (const Orchestration::Strand& s : program.strands) {
    std::vector<uint8_t> seen;
    for (const Event& e : s.events)
      if (e.kind == EventKind::access) keep(sides.generic, seen, e, footprints);
  }
  std::vector<uint8_t> seen;
  for (const std::vector<Event>& o : program.operations)
    for (const Event& e : o)
      if (e.kind == EventKind::async_access) keep(sides.asynchronous, seen, e, footprints);
  return sides;
}

}  // namespace

std::string visibility_gap(const Orchestration& program, const Overlaps& overlaps, const Policies& policies) {
  const Trace& t = program.tables;
  if (t.cluster_ctas > 1 && policies.remote_scope == Policies::Scope::strict)
    return "scopes across CTAs are not followed by the search";
  for (const AsyncOp& op : t.ops)
    if (op.kind != AsyncOp::Kind::bulk_load)
      return "the search does not know which asynchronous accesses of this kind are visible";
  for (const Orchestration::Strand& s : program.strands)
    for (const Event& e : s.events) {
      bool publishes = true;
      if (beyond_the_search(e.kind)) return "the search does not follow what such operations make visible";
      if (synchronises(e, publishes) && !publishes)
        return e.kind == EventKind::mbarrier_expect_tx ? "an expect_tx of its own publishes nothing (HB5)"
                                                       : "a relaxed synchronisation publishes nothing (HB5)";
    }
  std::vector<bool> issues(program.strands.size()), lands(t.barriers.size());
  for (const AsyncOp& op : t.ops) {
    issues[op.issuer.v] = true;
    lands[op.barrier] = true;
  }
  for (size_t s = 0; s < issues.size(); ++s)
    for (const Event& e : program.strands[s].events)
      if (issues[s] && e.kind == EventKind::mbarrier_wait && lands[e.object])
        return "a strand that issues copies waits for others: what a landing publishes is not followed (HB3)";
  const Sides sides = distinct_accesses(program);
  if (sides.generic.size() * (sides.generic.size() + sides.asynchronous.size()) > size_t{1} << 26)
    return "too many accesses to compare";
  const bool hidden_paths = !t.ops.empty() || !t.pools.empty(), narrow = narrow_between_ctas(program);
  bool overwrites = false;
  const std::string too_narrow =
      "a generic access may be ordered by an arrival or wait of scope .cta between two CTAs alone (HB1)";
  for (const Event* g : sides.generic) {
    for (const Event* a : sides.asynchronous) {
      if (!overlaps.conflict(*g, *a)) continue;
      if (g->has(Event::write)) return "a generic and an asynchronous access need a proxy fence (PX1)";
      if (narrow) return too_narrow;
      overwrites = true;
      if (issues[g->agent.v]) return "a strand that issues copies reads what copies write (HB3)";
    }
    for (const Event* other : sides.generic) {
      if (narrow && other->agent.v != g->agent.v && overlaps.conflict(*g, *other)) return too_narrow;
      if (hidden_paths && other->agent.v != g->agent.v && overlaps.conflict(*g, *other))
        return "strands share data, and may be ordered by what publishes nothing: a landing (HB3), a pool";
    }
  }
  if (overwrites && policies.read_fence == Severity::error && unfenced_overwrite(program, overlaps))
    return "a generic read before an asynchronous write needs a proxy fence (PX2)";
  return {};
}

}  // namespace turnstile::checker
