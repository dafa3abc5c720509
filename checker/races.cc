// SPDX-License-Identifier: Apache-2.0
//
// FastTrack on regions, with proxies. Earlier generic accesses are looked up in hb by a generic access and in
// g2a of the space by an async one, reads also among those that are over (HB1, P16); earlier async accesses
// in hb by both (PX3: their completion is an implicit fence; PX4). Tensor memory knows no proxies: tcgen05
// accesses are looked up in the view of TC23 and, where only the fences are missing, in hb. Exactly one entry
// for each lane and kind stays in a frontier, because who knows the later epoch of a lane knows the earlier
// ones.
#include "checker/races.h"

#include <algorithm>

namespace turnstile::checker {

Races::Races(RunState& run) : run_(run), several_ctas_(run.several_ctas()) {
  constexpr uint32_t none = 0xffffffff;
  if (run.views.tensor == Views::none) return;
  accumulator_.assign(run.trace.ops.size(), none);
  for (const Event& e : run.trace.events)
    if (e.kind == EventKind::async_access && e.has(Event::write) && accumulator_[e.object] == none &&
        run.trace.footprints[e.footprint].space == Space::tensor)
      accumulator_[e.object] = e.footprint;
}

bool Races::prepare(const std::vector<Allocation>& written) {
  const std::vector<Footprint>& footprints = run_.trace.footprints;
  std::vector<bool> used(footprints.size());
  for (size_t f = 0; f < used.size(); ++f)
    used[f] = std::binary_search(written.begin(), written.end(),
                                 Allocation{footprints[f].space, footprints[f].allocation});
  if (!regions_.build(run_.trace, used)) return false;
  state_.resize(regions_.count());
  return true;
}

void Races::generic(const Event& e) {
  const uint32_t* order = run_.strands.row(e.agent.v, Views::order);
  const Kind kind = e.has(Event::atomic) ? Kind::atomic : e.has(Event::write) ? Kind::write : Kind::read;
  Order ask{order, order, order, run_.strands.row(e.agent.v, Views::causal)};
  if (run_.views.any_scope != Views::none) {
    ask.of_reads = ask.reads_over = run_.strands.row(e.agent.v, run_.views.reads_over);
    ask.any_scope = run_.strands.row(e.agent.v, run_.views.any_scope);
  }
  Access current{run_.here(e.agent.v), static_cast<uint32_t>(run_.now), kind, Proxy::generic};
  if (kind == Kind::atomic) current.element = static_cast<uint8_t>(e.count);
  access(e.footprint, current, ask);
}

void Races::async(const Event& e, const uint32_t* knowledge, Epoch epoch, const Queues& queues) {
  const Space space = run_.trace.footprints[e.footprint].space;
  const AsyncOp::Kind op = run_.trace.ops[e.object].kind;
  const size_t width = run_.lanes.width;
  const uint32_t* order = knowledge + width * Views::order;
  const Kind kind = !e.has(Event::write) ? Kind::read : e.has(Event::atomic) ? Kind::atomic : Kind::write;
  Access current{epoch, static_cast<uint32_t>(run_.now), kind, Proxy::async};
  if (kind == Kind::atomic) current.element = static_cast<uint8_t>(e.count);
  const auto fenced = [&](uint32_t view) { return view == Views::none ? nullptr : knowledge + width * view; };
  Order ask{order, order, order, knowledge + width * Views::causal};
  ask.queues = &queues;
  ask.careful = several_ctas_;
  if (run_.views.any_scope != Views::none) {
    ask.reads_over = fenced(run_.views.reads_over);
    ask.any_scope = fenced(run_.views.any_scope);
  }
  if (space == Space::tensor) {
    ask.of_async = knowledge + width * run_.views.tensor;
  } else if (op == AsyncOp::Kind::cp_async || op == AsyncOp::Kind::remote_store ||
             op == AsyncOp::Kind::lds_read) {
    current.proxy = Proxy::generic;  // CA1, DX2, AM10: late, but no other proxy
    ask.of_reads = ask.reads_over;
  } else if (e.has(Event::tensormap)) {
    current.proxy = Proxy::tensormap;
    ask.of_generic = fenced(run_.views.map_acquired(e.footprint));  // TMAP2
  } else {
    ask.of_generic = fenced(space == Space::shared ? run_.views.fenced_shared : run_.views.fenced_global);
    ask.of_reads =
        fenced(space == Space::shared ? run_.views.shared_reads_over : run_.views.global_reads_over);
  }
  access(e.footprint, current, ask);
}

void Races::access(uint32_t footprint, const Access& current, const Order& order) {
  run_.seen.accesses += run_.trace.footprints[footprint].range_count;
  size_t unread = 0;
  uint32_t unread_event = 0;
  const bool tagged = run_.trace.events[current.event].generation != 0;
  const std::span<const uint32_t> regions = regions_.of(footprint);
  for (const uint32_t r : regions) {
    Region& region = state_[r];
    if (current.kind == Kind::write && current.proxy == Proxy::async && region.write.proxy == Proxy::async &&
        region.frontier.empty() && region.write.epoch.value != 0 && region.write.event != current.event) {
      ++unread;
      unread_event = region.write.event;
    }
    const Access& last = region.write;
    if (current.kind == Kind::write && last.epoch.value != 0 &&
        leave_the_same(run_.trace.events[last.event], run_.trace.events[current.event])) {
      write_again(r, current, order);
      continue;
    }
    bool ordered = true, found = true;
    if (last.epoch.value != 0 && (!known(last, order) || order.careful)) {
      const auto any_of_frontier = [&](auto tells) {
        return !known(last, order) && std::any_of(region.frontier.begin(), region.frontier.end(), tells);
      };
      // A read after one of several writes of the same bytes finds them.
      const bool by_another = current.kind == Kind::read && any_of_frontier([&](const Access& a) {
                                return a.kind == Kind::write && known(a, order);
                              });
      // Write, read, write: who knows that the read is over, and that it came after the first write, comes
      // after the first write too, although the completion of the reader told nothing else (E5): the way of
      // every stage that tcgen05.commit releases.
      const bool by_reader = current.kind == Kind::write && any_of_frontier([&](const Access& a) {
                               return a.ordered && reader_tells(a, last, order);
                             });
      ordered = !by_another && (by_reader || check(r, last, current, order));
      found = ordered || by_another;
    }
    if (tagged && current.kind == Kind::read) check_tag(r, current, order);
    if (current.kind == Kind::write) {
      for (const Access& a : region.frontier) check(r, a, current, order);
      region.before.clear();
      if (leave_the_same(run_.trace.events[current.event], run_.trace.events[current.event])) {
        region.before.swap(region.frontier);
        if (last.epoch.value != 0) region.before.push_back(last);
      }
      region.frontier.clear();
      region.write = current;
      continue;
    }
    auto same = region.frontier.begin();
    const auto alike = [&](const Access& a) {
      return a.kind == current.kind && a.element == current.element && a.proxy == current.proxy;
    };
    for (; same != region.frontier.end(); ++same) {
      if (needs_check(*same, current)) check(r, *same, current, order);
      if (same->epoch.lane == current.epoch.lane && alike(*same)) break;
    }
    if (same == region.frontier.end()) {
      same = region.frontier.insert(same, current);
      same->ordered = ordered;
      same->found = found;
      continue;
    }
    *same = current;
    same->ordered = ordered;
    same->found = found;
    for (++same; same != region.frontier.end(); ++same)
      if (needs_check(*same, current)) check(r, *same, current, order);
  }
  if (unread != regions.size() || unread == 0) return;
  for (const uint32_t i : {unread_event, current.event})
    if (run_.trace.ops[run_.trace.events[i].object].kind != AsyncOp::Kind::bulk_load) return;
  const uint64_t key =
      uint64_t{run_.trace.events[unread_event].place} << 32 | run_.trace.events[current.event].place;
  const auto [at, fresh] = overwritten_.try_emplace(key, static_cast<uint32_t>(run_.seen.overwrites.size()));
  if (fresh)
    run_.seen.overwrites.push_back({unread_event, current.event, 1});
  else
    ++run_.seen.overwrites[at->second].occurrences;
}

void Races::write_again(uint32_t r, const Access& current, const Order& order) {
  Region& region = state_[r];
  const auto is_over = [&](const Access& a) { return known(a, order); };
  region.frontier.push_back(region.write);
  std::erase_if(region.frontier, is_over);
  for (Access& a : region.frontier) {
    if (a.kind == Kind::write)
      conflict(Conflict::Kind::same_values, r, a, current);
    else if (a.kind != Kind::read || !a.found)  // a read after a write of these bytes found them
      check(r, a, current, order);
    a.ordered = false;
  }
  for (const Access& a : region.before)
    if (!known(a, order)) check(r, a, current, order);
  region.write = current;
}

bool Races::known(const Access& prior, const Order& order) {
  const bool generic = prior.proxy == Proxy::generic;
  const uint32_t* view = generic ? order.of_generic : order.of_async;
  if (view != nullptr && knows(view, prior.epoch)) return true;
  return generic && prior.kind == Kind::read && order.of_reads != nullptr &&
         knows(order.of_reads, prior.epoch);
}

// A generic read that is over although no view holds it (HB1) says nothing of the store that it read: that
// may still be on its way to others (P12).
bool Races::reader_tells(const Access& reader, const Access& write, const Order& order) {
  if (!known(reader, order)) return false;
  if (reader.proxy != Proxy::generic || write.proxy != Proxy::generic) return true;
  return order.of_generic != nullptr && knows(order.of_generic, reader.epoch);
}

bool Races::happened_before(const Access& prior, const Order& order) {
  return knows(order.happens_before, prior.epoch) ||
         (prior.proxy == Proxy::generic && prior.kind == Kind::read && order.reads_over != nullptr &&
          knows(order.reads_over, prior.epoch));
}

bool Races::check(uint32_t region, const Access& prior, const Access& current, const Order& order) {
  if (prior.kind == Kind::read && current.kind == Kind::read) return true;
  if (prior.event == current.event) return true;  // ranges of one access
  const Event& first = run_.trace.events[prior.event];
  const Event& second = run_.trace.events[current.event];
  if (prior.kind == Kind::atomic && current.kind == Kind::atomic &&
      morally_strong(first, prior, second, current))
    return true;
  // TMAP4 asks whether the copy has done its read of the map, not who was told of it: a copy that has landed
  // has, also where the news came by an arrival that tells nothing of the history of its issuer (HB4).
  const bool done_with_map =
      prior.proxy == Proxy::tensormap && prior.kind == Kind::read && knows(order.causal, prior.epoch);
  const bool seen = done_with_map || known(prior, order);
  if (seen && !order.careful) return true;
  const bool tensor = run_.trace.footprints[second.footprint].space == Space::tensor;
  if (seen) {
    if (!tensor && prior.proxy == Proxy::async && current.proxy == Proxy::async &&
        run_.cta(run_.trace.ops[first.object].issuer) != run_.cta(run_.trace.ops[second.object].issuer))
      conflict(Conflict::Kind::across_ctas, region, prior, current);  // PX5, Q12
    return true;
  }
  if (ordered_by_queue(region, prior, current, order)) return true;
  Conflict::Kind kind = Conflict::Kind::race;
  const auto unused = [](const Event& e) { return e.kind == EventKind::access && e.has(Event::unused); };
  if (unused(first) || unused(second)) {
    conflict(Conflict::Kind::unused_read, region, prior, current);
    return false;
  }
  const bool perhaps = first.has(Event::conditional) || second.has(Event::conditional);
  if (perhaps && run_.trace.footprints[second.footprint].space == Space::global &&
      run_.cta(first.agent) != run_.cta(second.agent) && !happened_before(prior, order)) {
    constexpr size_t most = 1024;  // of which each place is told once
    if (run_.seen.uncovered.size() < most)
      run_.seen.uncovered.push_back(
          {"this access and one of another CTA are in no order, and whether both are made depends on a value "
           "that this launch does not give; what that value says of the other CTA is not known",
           second.place, false});
    return false;
  }
  if (happened_before(prior, order))
    kind = tensor                              ? Conflict::Kind::tensor_unfenced
           : current.proxy == Proxy::tensormap ? Conflict::Kind::map_unfenced
           : prior.kind == Kind::read          ? Conflict::Kind::read_unfenced
                                               : Conflict::Kind::write_unfenced;
  else
    raced_.push_back(region);
  if (kind == Conflict::Kind::race && order.any_scope != nullptr && knows(order.any_scope, prior.epoch))
    kind = Conflict::Kind::narrow_scope;
  conflict(kind, region, prior, current);
  return kind == Conflict::Kind::tensor_unfenced;
}

// M3, M5: the same proxy, elements of one size; and two strong loads are no conflict. Atomics whose scopes do
// not reach each other are not marked as such. A size of 0: the trace does not say more than that both are
// atomics.
bool Races::morally_strong(const Event& a, const Access& prior, const Event& b, const Access& current) {
  if ((!a.has(Event::write) && !b.has(Event::write)) || prior.element == 0 || current.element == 0)
    return true;
  return prior.proxy == current.proxy && prior.element == current.element;
}

TensorOperation Races::tensor_operation(uint32_t op) const {
  const bool mma = run_.trace.ops[op].kind == AsyncOp::Kind::tensor_mma;
  const uint32_t accumulator = accumulator_.empty() ? 0xffffffff : accumulator_[op];
  return {run_.trace.ops[op].kind, mma && accumulator != 0xffffffff, accumulator, TensorOperation::nowhere};
}

// Operations that a queue orders without a completion in between: all of a queue that works in order (T21),
// and the pipelined pairs of tcgen05 (TC15). Other pairs in the queue of one thread are executed in order by
// all hardware that is known, against the letter (TC16): told apart. Between threads a pair is pipelined if
// the second knows that the first was issued (TC20).
bool Races::ordered_by_queue(uint32_t region, const Access& prior, const Access& current,
                             const Order& order) {
  const Event& first = run_.trace.events[prior.event];
  const Event& second = run_.trace.events[current.event];
  if (order.queues == nullptr || first.kind != EventKind::async_access) return false;
  const AsyncOp &a = run_.trace.ops[first.object], &b = run_.trace.ops[second.object];
  if (a.queue == AsyncOp::none || b.queue == AsyncOp::none) return false;
  const QueueInfo &qa = run_.trace.queues[a.queue], &qb = run_.trace.queues[b.queue];
  if (a.queue == b.queue && qa.in_order) return true;
  if (qa.kind != QueueInfo::Kind::tensor || qb.kind != QueueInfo::Kind::tensor) return false;
  uint32_t earlier = first.object, later = second.object;
  if (a.queue == b.queue && order.queues->sequence(earlier) > order.queues->sequence(later))
    std::swap(earlier, later);
  const bool pipelined = tensor_pipelined(tensor_operation(earlier), tensor_operation(later));
  if (a.queue == b.queue) {
    if (!pipelined) conflict(Conflict::Kind::tensor_queue, region, prior, current);
    return true;
  }
  const Epoch issue{run_.lanes.issued(a.queue), order.queues->sequence(first.object)};
  if (!pipelined || !knows(order.happens_before, issue)) return pipelined && knows(order.of_async, issue);
  if (!knows(order.of_async, issue)) conflict(Conflict::Kind::tensor_unfenced, region, prior, current);
  return true;
}

// Rule 1.1 of orchestration_bugs.md: the bytes are those of another iteration or tile than the reader means.
void Races::check_tag(uint32_t region, const Access& current, const Order& order) {
  const Access& last = state_[region].write;
  const Event& read = run_.trace.events[current.event];
  if (last.epoch.value != 0) {
    const uint64_t tag = run_.trace.events[last.event].generation;
    const bool ordered = knows(order.happens_before, last.epoch) ||
                         (last.proxy != Proxy::generic && knows(order.of_async, last.epoch)) ||
                         same_queue(last.event, current.event);
    if (tag == read.generation || !ordered) return;
  }
  const uint64_t place = last.epoch.value == 0 ? 0xffffffff : run_.trace.events[last.event].place;
  const auto [at, fresh] =
      stale_.try_emplace(place << 32 | read.place, static_cast<uint32_t>(run_.seen.stale_reads.size()));
  if (!fresh) {
    ++run_.seen.stale_reads[at->second].occurrences;
    return;
  }
  run_.seen.stale_reads.push_back({last.epoch.value == 0 ? no_event : last.event, current.event, 1});
  stale_region_.push_back(region);
}

bool Races::same_queue(size_t first, size_t second) const {
  const Event &a = run_.trace.events[first], &b = run_.trace.events[second];
  if (a.kind != EventKind::async_access || b.kind != EventKind::async_access) return false;
  const uint32_t queue = run_.trace.ops[a.object].queue;
  return queue != AsyncOp::none && queue == run_.trace.ops[b.object].queue;
}

void Races::finish() {
  std::sort(raced_.begin(), raced_.end());
  std::vector<StaleRead> kept;
  for (size_t i = 0; i < run_.seen.stale_reads.size(); ++i)
    if (!std::binary_search(raced_.begin(), raced_.end(), stale_region_[i]))
      kept.push_back(run_.seen.stale_reads[i]);
  run_.seen.stale_reads = std::move(kept);
}

void Races::conflict(Conflict::Kind kind, uint32_t region, const Access& prior, const Access& current) {
  const Event& first = run_.trace.events[prior.event];
  const Event& second = run_.trace.events[current.event];
  const uint64_t key = (uint64_t{first.place} << 32 | second.place) * 8 + static_cast<uint64_t>(kind);
  const auto [at, fresh] = known_.try_emplace(key, static_cast<uint32_t>(run_.seen.conflicts.size()));
  if (!fresh) {  // once for each access, however many regions it covers
    if (counted_[at->second] != current.event) ++run_.seen.conflicts[at->second].occurrences;
    counted_[at->second] = current.event;
    return;
  }
  counted_.push_back(current.event);
  Conflict c;
  c.kind = kind;
  c.prior = prior.event;
  c.current = current.event;
  const Footprint& f = run_.trace.footprints[second.footprint];
  c.space = f.space;
  c.allocation = f.allocation;
  const Regions::Bytes bytes = regions_.sample(region);
  c.begin = bytes.begin;
  c.end = bytes.end;
  run_.seen.conflicts.push_back(c);
}

}  // namespace turnstile::checker
