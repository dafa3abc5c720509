// SPDX-License-Identifier: Apache-2.0
#include "sim/narrow_scopes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace turnstile::sim {

namespace {

struct Touched {
  uint16_t cta = 0;
  ByteRange bytes;
};

bool narrow(const Event& e) {
  return e.kind == EventKind::access && e.has(Event::atomic) && e.scope < Scope::gpu;
}

bool overlap(const ByteRange& a, const ByteRange& b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

bool has_narrow_atomics(const Trace& trace, size_t begin) {
  return std::any_of(trace.events.begin() + static_cast<ptrdiff_t>(begin), trace.events.end(), narrow);
}

void unmark_narrow_atomics(Trace& trace) {
  // Who touches what, each footprint once for each CTA; accesses of single threads are plain ranges.
  std::map<std::pair<Space, uint32_t>, std::vector<Touched>> touched;
  std::set<std::pair<uint16_t, uint32_t>> known;
  for (const Event& e : trace.events) {
    if (e.kind != EventKind::access || !known.insert({trace.agents[e.agent.v].cta, e.footprint}).second)
      continue;
    const Footprint& f = trace.footprints[e.footprint];
    for (uint32_t r = 0; r < f.range_count; ++r)
      touched[{f.space, f.allocation}].push_back(
          {trace.agents[e.agent.v].cta, trace.ranges[f.first_range + r]});
  }
  std::map<std::tuple<uint16_t, uint32_t, Scope>, bool> answers;
  for (Event& e : trace.events) {
    if (!narrow(e)) continue;
    const uint16_t cta = trace.agents[e.agent.v].cta;
    const auto [answer, fresh] = answers.try_emplace({cta, e.footprint, e.scope}, false);
    if (fresh) {
      const Footprint& f = trace.footprints[e.footprint];
      for (const Touched& t : touched[{f.space, f.allocation}]) {
        const bool reached = t.cta == cta || (e.scope == Scope::cluster &&
                                              t.cta / trace.cluster_ctas == cta / trace.cluster_ctas);
        for (uint32_t r = 0; r < f.range_count && !reached; ++r)
          answer->second = answer->second || overlap(t.bytes, trace.ranges[f.first_range + r]);
      }
    }
    if (answer->second) e.flags = static_cast<uint8_t>(e.flags & ~Event::atomic);
  }
}

}  // namespace turnstile::sim
