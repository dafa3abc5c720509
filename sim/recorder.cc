// SPDX-License-Identifier: Apache-2.0
#include "sim/recorder.h"

#include <algorithm>
#include <utility>

#include "model/must.h"
#include "sim/hash128.h"
#include "sim/position_tracker.h"

namespace turnstile::sim {

Event& Recorder::add(EventKind kind, AgentId agent, uint32_t place) {
  Event e;
  e.kind = kind;
  e.agent = agent;
  e.place = place;
  trace_.events.push_back(e);
  if (counts_work_) {
    // What lands is noted under its issuer, which is elsewhere by then.
    const bool lands = kind == EventKind::async_access || kind == EventKind::async_complete;
    const bool any = !lands && agent.v < work_.size();
    trace_.work.push_back(any ? std::exchange(work_[agent.v], 0) : 0);
  }
  return trace_.events.back();
}

void Recorder::work(AgentId agent, uint32_t amount) {
  if (work_.size() <= agent.v) work_.resize(trace_.agents.size());
  uint32_t& sum = work_[agent.v];
  sum = sum > UINT32_MAX - amount ? UINT32_MAX : sum + amount;
}

uint32_t Recorder::footprint(Space space, uint32_t allocation, std::span<const ByteRange> ranges) {
  Hash128 h = hash_number(static_cast<uint64_t>(space), allocation);
  for (const ByteRange& r : ranges) {
    h = combine(h, {r.begin << 1, r.end});
    if (r.count != 1) h = combine(h, {r.stride << 1, r.count});
  }
  auto& known = footprints_by_hash_[h.hi];
  for (uint32_t id : known) {
    const Footprint& f = trace_.footprints[id];
    if (f.space != space || f.allocation != allocation || f.range_count != ranges.size()) continue;
    if (!std::equal(ranges.begin(), ranges.end(), trace_.ranges.begin() + f.first_range)) continue;
    if (positions != nullptr && space == Space::global) positions->note_footprint(id);
    return id;
  }
  const auto id = static_cast<uint32_t>(trace_.footprints.size());
  trace_.footprints.push_back(
      {space, allocation, static_cast<uint32_t>(trace_.ranges.size()), static_cast<uint32_t>(ranges.size())});
  trace_.ranges.insert(trace_.ranges.end(), ranges.begin(), ranges.end());
  known.push_back(id);
  if (positions != nullptr && space == Space::global) positions->note_footprint(id);
  return id;
}

AgentId Recorder::take_agent(uint16_t cta, uint16_t warp, const std::string& role) {
  auto& free = free_agents_[uint32_t{cta} << 16 | warp];
  if (!free.empty()) {
    const AgentId agent = free.back();
    free.pop_back();
    return agent;
  }
  must(trace_.agents.size() < 0xffff, "more strands than agent numbers");
  trace_.agents.push_back({.cta = cta, .warp = warp, .role = role});
  return {static_cast<uint16_t>(trace_.agents.size() - 1)};
}

void Recorder::release_agent(AgentId agent) {
  const AgentInfo& info = trace_.agents[agent.v];
  free_agents_[uint32_t{info.cta} << 16 | info.warp].push_back(agent);
}

uint32_t Recorder::add_queue(const QueueInfo& info) {
  trace_.queues.push_back(info);
  return static_cast<uint32_t>(trace_.queues.size() - 1);
}

uint32_t Recorder::add_barrier(const BarrierInfo& info) {
  trace_.barriers.push_back(info);
  return static_cast<uint32_t>(trace_.barriers.size() - 1);
}

uint32_t Recorder::add_op(const AsyncOp& op) {
  trace_.ops.push_back(op);
  return static_cast<uint32_t>(trace_.ops.size() - 1);
}

void Recorder::unknown(uint32_t place, std::string message, std::string help) {
  // A loop meets the same reason again and again.
  const bool told = std::any_of(trace_.unknowns.begin(), trace_.unknowns.end(),
                                [&](const Unknown& u) { return u.place == place && u.message == message; });
  if (!told) trace_.unknowns.push_back({place, std::move(message), std::move(help)});
}

void Recorder::fault(AgentId agent, uint32_t place, std::string rule, std::string message, std::string help) {
  trace_.faults.push_back({agent, place, std::move(rule), std::move(message), std::move(help)});
}

void normalise(std::vector<ByteRange>& ranges) {
  const auto before = [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; };
  if (!std::is_sorted(ranges.begin(), ranges.end(), before)) std::sort(ranges.begin(), ranges.end(), before);
  size_t kept = 0;
  for (const ByteRange& r : ranges) {
    if (kept != 0 && r.begin <= ranges[kept - 1].end)
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, r.end);
    else
      ranges[kept++] = r;
  }
  ranges.resize(kept);
}

}  // namespace turnstile::sim
