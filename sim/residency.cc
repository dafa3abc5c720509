// SPDX-License-Identifier: Apache-2.0
//
// A hang for want of slots: R clusters are resident, all of them stuck, and those they wait for have not
// started. Let W be the clusters that get stuck when they run alone. Whoever is stuck is in W, and not
// everybody is, so that min(|W|, clusters - 1) + 1 slots are always enough. From below: hold some clusters
// back, run all others; if s of them get stuck, then s slots can be filled with these (fewer started clusters
// set fewer flags). Held back are those that wait for nobody, or where everybody waits for somebody, one.
#include "sim/residency.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/machine.h"

namespace turnstile::sim {

namespace {

/// Number of clusters that are stuck at the end if just these are started; nothing if a fault or an unknown
/// stopped the execution.
Result<std::optional<uint64_t>> stuck_of(const Program& program, const Launch& launch,
                                         const std::vector<uint32_t>& started) {
  auto global = GlobalMemory::create(launch, program.variables, Domain::control, {});
  if (!global) return tl::unexpected<Error>(global.error());
  std::vector<uint32_t> ctas;
  for (uint32_t cluster : started)
    for (uint32_t cta : ctas_of_cluster(program, launch, cluster)) ctas.push_back(cta);
  const RunOptions options;
  Machine machine(program, launch, *global, options, ctas);
  machine.run();
  if (machine.halted()) return std::optional<uint64_t>();
  return std::optional<uint64_t>(machine.unfinished_clusters().size());
}

}  // namespace

Result<Residency> needed_residency(const Program& program, const Launch& launch) {
  Residency out;
  out.clusters = launch.cta_count() / program.cluster_size();
  bool together = false;
  if (why_together(program, launch, together).empty()) return out;
  auto undecided = [&] {
    out.at_most = out.clusters;
    out.decided = false;
    return out;
  };
  if (!together) return undecided();

  std::vector<uint32_t> waiters, others;
  for (uint32_t c = 0; c < out.clusters; ++c) {
    const auto stuck = stuck_of(program, launch, {c});
    if (!stuck) return tl::unexpected<Error>(stuck.error());
    if (!*stuck) return undecided();
    (**stuck != 0 ? waiters : others).push_back(c);
  }
  if (waiters.empty()) return out;
  out.at_most = std::min<uint64_t>(waiters.size(), out.clusters - 1) + 1;
  out.at_least = 2;  // the waiter alone is stuck

  std::vector<std::vector<uint32_t>> attempts;  // clusters that are started
  if (!others.empty()) attempts.push_back(waiters);
  constexpr uint32_t most_attempts = 16;
  const auto count = static_cast<uint32_t>(out.clusters);
  for (uint32_t i = 0; i < std::min(count, most_attempts); ++i) {
    const uint32_t held = i * (count - 1) / std::max(1u, std::min(count, most_attempts) - 1);
    std::vector<uint32_t>& started = attempts.emplace_back();
    for (uint32_t c = 0; c < count; ++c)
      if (c != held) started.push_back(c);
  }
  for (const std::vector<uint32_t>& started : attempts) {
    if (out.at_least == out.at_most) break;
    const auto stuck = stuck_of(program, launch, started);
    if (!stuck) return tl::unexpected<Error>(stuck.error());
    if (!*stuck) return undecided();
    out.at_least = std::max(out.at_least, **stuck + 1);
  }
  return out;
}

}  // namespace turnstile::sim
