// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/cta.h"
#include "sim/recorder.h"

namespace turnstile::sim {

/// The barrier of one cluster (semantics.md C1-C5). Who has arrived is with the warps (Warp::cluster_arrivals).
struct ClusterBarrier {
  uint64_t completed = 0;  ///< instances
};

/// The CTAs that are executed together and leave one trace: those of a cluster, or those of a whole launch
/// that wait for each other through global memory. CTAs are ordered by cluster, then by rank.
class Machine {
 public:
  /// `numbers`: linear numbers of the CTAs in the grid, whole clusters.
  Machine(const Program& program, const Launch& launch, GlobalMemory& global, const RunOptions& options,
          std::span<const uint32_t> numbers);

  /// Runs to the end and hands out the trace. Once.
  Trace run();

  const Program& program;
  const Launch& launch;
  GlobalMemory& global;
  const RunOptions& options;
  Recorder recorder;
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<ClusterBarrier> barriers;  ///< by cluster

  uint32_t cluster_size() const { return cluster_size_; }
  /// Everything ends here: a fault or an unknown stands in the trace.
  void halt() { stopped_ = true; }
  bool halted() const { return stopped_; }
  /// Completes the barrier of a cluster if every thread of it that still runs has arrived.
  void settle_cluster_barrier(uint32_t cluster);

 private:
  bool land_one();

  uint32_t cluster_size_ = 1;
  bool stopped_ = false;
};

/// CTAs of a cluster of this program (CTA number -> number of its cluster, x fastest).
uint32_t cluster_of(const Program& program, const Launch& launch, uint32_t cta);
/// The CTAs of a cluster, by rank.
std::vector<uint32_t> ctas_of_cluster(const Program& program, const Launch& launch, uint32_t cluster);

}  // namespace turnstile::sim
