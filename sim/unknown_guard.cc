// SPDX-License-Identifier: Apache-2.0
//
// Compilers place blocks as they like, so ways are followed by control flow, not by position: each until it
// does something else than arithmetic. Branches on a way that depend on something are ways of their own.
#include "sim/unknown_guard.h"

#include <algorithm>
#include <unordered_map>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

constexpr size_t kLongestWay = 512;
constexpr int kDeepest = 6;

struct Way {
  std::vector<uint32_t> stops;                ///< where it comes by; the last may be what it cannot pass
  std::vector<std::vector<uint32_t>> inside;  ///< executed between a stop and the next

  void add_until(size_t stop, std::vector<uint32_t>& out) const {
    for (size_t i = 0; i < stop; ++i) out.insert(out.end(), inside[i].begin(), inside[i].end());
  }
};

std::optional<Meeting> meeting(const Program& program, uint32_t guarded, int depth);

Way way_from(const Program& program, uint32_t at, int depth) {
  Way way;
  while (way.stops.size() < kLongestWay && at < program.code.size() &&
         std::find(way.stops.begin(), way.stops.end(), at) == way.stops.end()) {
    const Decoded& d = program.code[at];
    way.stops.push_back(at);
    way.inside.emplace_back();
    if (d.run == exec_branch && d.guard != Decoded::none) {
      std::optional<Meeting> inner = depth == 0 ? std::nullopt : meeting(program, at, depth - 1);
      if (!inner) break;
      way.inside.back() = std::move(inner->between);
      at = inner->at;
      continue;
    }
    if (d.run != exec_branch && !computes_only(d)) break;
    way.inside.back() = {at};
    at = d.run == exec_branch ? d.target : at + 1;
  }
  return way;
}

std::optional<Meeting> meeting(const Program& program, uint32_t guarded, int depth) {
  const Decoded& d = program.code[guarded];
  if (computes_only(d)) return Meeting{guarded + 1, {guarded}};
  if (d.run != exec_branch) return std::nullopt;
  const Way taken = way_from(program, d.target, depth), passed = way_from(program, guarded + 1, depth);
  std::unordered_map<uint32_t, size_t> on_taken;
  for (size_t i = 0; i < taken.stops.size(); ++i) on_taken.emplace(taken.stops[i], i);
  for (size_t i = 0; i < passed.stops.size(); ++i) {
    const auto common = on_taken.find(passed.stops[i]);
    if (common == on_taken.end()) continue;
    Meeting m{passed.stops[i], {guarded}};
    passed.add_until(i, m.between);
    taken.add_until(common->second, m.between);
    return m;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Meeting> meeting_of_ways(const Program& program, uint32_t guarded) {
  return meeting(program, guarded, kDeepest);
}

}  // namespace turnstile::sim
