// SPDX-License-Identifier: Apache-2.0
//
// FastTrack on regions, with proxies. Earlier generic accesses are looked up in hb by a generic access and in
// g2a of the space by an async one; earlier async accesses in hb by both (PX3: their completion is an
// implicit fence; PX4). Exactly one entry for each lane and kind stays in a frontier, because who knows the
// later epoch of a lane knows the earlier ones.
#include "checker/races.h"

#include <algorithm>

namespace turnstile::checker {

Races::Races(RunState& run) : run_(run) {}

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
  access(e.footprint, {run_.here(e.agent.v), static_cast<uint32_t>(run_.now), kind, false},
         {order, order, order});
}

void Races::async(const Event& e, const uint32_t* knowledge, Epoch epoch) {
  const Space space = run_.trace.footprints[e.footprint].space;
  const uint32_t fenced = space == Space::shared ? run_.views.fenced_shared : run_.views.fenced_global;
  const uint32_t width = run_.lanes.width;
  const uint32_t* order = knowledge + width * Views::order;
  const Kind kind = e.has(Event::write) ? Kind::write : Kind::read;
  access(e.footprint, {epoch, static_cast<uint32_t>(run_.now), kind, true},
         {fenced == Views::none ? nullptr : knowledge + size_t{width} * fenced, order, order});
}

void Races::access(uint32_t footprint, const Access& current, const Order& order) {
  run_.seen.accesses += run_.trace.footprints[footprint].range_count;
  size_t unread = 0;
  uint32_t unread_event = 0;
  const std::span<const uint32_t> regions = regions_.of(footprint);
  for (const uint32_t r : regions) {
    Region& region = state_[r];
    if (current.async && current.kind == Kind::write && region.write.async && region.frontier.empty() &&
        region.write.event != current.event) {
      ++unread;
      unread_event = region.write.event;
    }
    const Access& last = region.write;
    const uint32_t* view = last.async ? order.of_async : order.of_generic;
    if (last.epoch.value != 0 && (view == nullptr || !knows(view, last.epoch)))
      check(r, last, current, order);
    if (current.kind == Kind::write) {
      for (const Access& a : region.frontier) check(r, a, current, order);
      region.frontier.clear();
      region.write = current;
      continue;
    }
    auto same = region.frontier.begin();
    for (; same != region.frontier.end(); ++same) {
      if (same->kind != current.kind) check(r, *same, current, order);
      if (same->epoch.lane == current.epoch.lane && same->kind == current.kind) break;
    }
    if (same == region.frontier.end()) {
      region.frontier.push_back(current);
      continue;
    }
    *same = current;
    for (++same; same != region.frontier.end(); ++same)
      if (same->kind != current.kind) check(r, *same, current, order);
  }
  if (unread != regions.size() || unread == 0) return;
  const uint64_t key =
      uint64_t{run_.trace.events[unread_event].place} << 32 | run_.trace.events[current.event].place;
  const auto [at, fresh] = overwritten_.try_emplace(key, static_cast<uint32_t>(run_.seen.overwrites.size()));
  if (fresh)
    run_.seen.overwrites.push_back({unread_event, current.event, 1});
  else
    ++run_.seen.overwrites[at->second].occurrences;
}

void Races::check(uint32_t region, const Access& prior, const Access& current, const Order& order) {
  if (prior.kind == Kind::read && current.kind == Kind::read) return;
  if (prior.kind == Kind::atomic && current.kind == Kind::atomic) return;
  if (prior.event == current.event) return;  // ranges of one access
  const uint32_t* view = prior.async ? order.of_async : order.of_generic;
  if (view != nullptr && knows(view, prior.epoch)) return;
  if (prior.async || !current.async || !knows(order.happens_before, prior.epoch))
    return conflict(Conflict::Kind::race, region, prior, current);
  conflict(prior.kind == Kind::read ? Conflict::Kind::read_unfenced : Conflict::Kind::write_unfenced, region,
           prior, current);
}

void Races::conflict(Conflict::Kind kind, uint32_t region, const Access& prior, const Access& current) {
  const Event& first = run_.trace.events[prior.event];
  const Event& second = run_.trace.events[current.event];
  const uint64_t key = (uint64_t{first.place} << 32 | second.place) * 4 + static_cast<uint64_t>(kind);
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
