// SPDX-License-Identifier: Apache-2.0
#include "sim/unused_loads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "sim/handlers.h"
#include "sim/program.h"

namespace turnstile::sim {

namespace {

/// Where the values of a load can go: to these stores, if to nothing else.
using Sinks = std::optional<std::vector<uint32_t>>;

bool stays_in_registers(const Decoded& d) {
  return computes_only(d) || d.run == exec_shuffle || d.run == exec_vote;
}

bool is_plain_store(const Decoded& d) {
  // Stores to local memory leave no event, and a generic address may be one.
  return d.run == exec_store && d.order == 0 &&
         (d.space == AddressSpace::global || d.space == AddressSpace::shared);
}

/// Register -> instructions that read it.
using Readers = std::unordered_map<uint32_t, std::vector<uint32_t>>;

/// Nothing: some instruction reads registers that are no operands of it.
std::optional<Readers> readers_of(const Program& program) {
  Readers readers;
  for (const Decoded& d : program.code) {
    if (d.poll != Decoded::none) return std::nullopt;
    for (const uint32_t r : d.src)
      if (r != Decoded::none) readers[r].push_back(d.index);
    if (d.guard != Decoded::none) readers[d.guard].push_back(d.index);
  }
  return readers;
}

Sinks sinks_of(const Program& program, const Readers& readers, const Decoded& load) {
  std::vector<char> carries(program.register_count, 0);
  std::vector<uint32_t> grown;
  const auto add = [&](const Decoded& d) {
    for (const uint32_t r : d.dst)
      if (r != Decoded::none && carries[r] == 0) {
        carries[r] = 1;
        grown.push_back(r);
      }
  };
  std::vector<uint32_t> stores;
  add(load);
  while (!grown.empty()) {
    const uint32_t from = grown.back();
    grown.pop_back();
    const auto reading = readers.find(from);
    if (reading == readers.end()) continue;
    for (const uint32_t i : reading->second) {
      const Decoded& d = program.code[i];
      if (d.guard == from) return std::nullopt;
      if (stays_in_registers(d))
        add(d);
      else if (is_plain_store(d) && d.src[0] != from)
        stores.push_back(i);
      else
        return std::nullopt;
    }
  }
  return stores;
}

bool is_weak(const Event& e) { return e.kind == EventKind::access && !e.has(Event::atomic); }

}  // namespace

void mark_unused_loads(const Program& program, Trace& trace) {
  const std::optional<Readers> readers = readers_of(program);
  if (!readers) return;
  const auto warp_of = [&](const Event& e) {
    const AgentInfo& agent = trace.agents[e.agent.v];
    return uint32_t{agent.cta} << 16 | agent.warp;
  };
  std::set<std::pair<uint32_t, uint32_t>> stored;  // warp, place
  for (const Event& e : trace.events)
    if (is_weak(e) && e.has(Event::write)) stored.emplace(warp_of(e), e.place);
  std::map<uint32_t, Sinks> found;  // by place
  for (Event& e : trace.events) {
    if (!is_weak(e) || e.has(Event::write) || e.place >= program.code.size()) continue;
    const Decoded& d = program.code[e.place];
    if (d.run != exec_load || d.order != 0) continue;
    const auto [at, fresh] = found.try_emplace(e.place);
    if (fresh) at->second = sinks_of(program, *readers, d);
    const Sinks& sinks = at->second;
    if (sinks && std::none_of(sinks->begin(), sinks->end(), [&](uint32_t place) {
          return stored.contains({warp_of(e), place});
        }))
      e.flags |= Event::unused;
  }
}

}  // namespace turnstile::sim
