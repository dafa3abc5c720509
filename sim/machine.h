// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "model/protocol/cluster_barrier.h"
#include "sim/cta.h"
#include "sim/descriptor.h"
#include "sim/flag_words.h"
#include "sim/position_tape.h"
#include "sim/recorder.h"

namespace turnstile::sim {

class ExecutionLog;
class PositionTracker;

/// The CTAs that are executed together and leave one trace: those of a cluster, or those of a whole launch
/// that wait for each other through global memory. CTAs are ordered by cluster, then by rank.
class Machine {
 public:
  /// `numbers`: linear numbers of the CTAs in the grid, whole clusters.
  Machine(const Program& program, const Launch& launch, GlobalMemory& global, const RunOptions& options,
          std::span<const uint32_t> numbers);

  ~Machine();

  /// Runs to the end and hands out the trace. Once.
  Trace run();
  /// RunResult::tapes of this cluster.
  std::shared_ptr<const PositionTape> tape() const { return tape_; }

  const Program& program;
  const Launch& launch;
  GlobalMemory& global;
  const RunOptions& options;
  Recorder recorder;
  FlagWords flags;
  NameSource names;
  std::vector<uint16_t> work;                ///< by instruction, if RunOptions::work_of weighs them
  std::optional<uint32_t> wants_names;       ///< instruction at which, with names of more values, it could go
                                             ///< on
  bool asks_atomics = false;                 ///< RunResult::asks_atomics
  std::vector<AtomicAnswer> atomic_answers;  ///< RunResult::atomic_answers
  std::optional<size_t> first_answer;        ///< event at which the first of them came
  std::vector<std::unique_ptr<Cta>> ctas;
  uint32_t cancelled = 0;        ///< clusters that try_cancel took so far, or tickets that were drawn
  std::vector<uint8_t> arrived;  ///< by cluster: it has come (RunOptions::arrivals)
  bool refused = false;          ///< something was drawn that is no tile (RunOptions::tickets)
  std::map<std::pair<uint32_t, uint64_t>, DescriptorBytes>
      descriptors;                             ///< made by the kernel, by buffer and offset
  std::vector<ClusterBarrier> barriers;        ///< by cluster; members are threads
  std::unique_ptr<PositionTracker> positions;  ///< RunOptions::follow_position
  ExecutionLog* log = nullptr;                 ///< RunOptions::log

  uint32_t cluster_size() const { return cluster_size_; }
  /// Looks at the events that came since the last time: whoever forks here need not look at them again.
  void look_for_narrow_atomics();
  /// All CTAs of the launch are here: nobody else can write its memory.
  bool covers_launch() const { return ctas.size() == launch.cta_count(); }
  /// Clusters of which a thread still runs; after run().
  std::vector<uint32_t> unfinished_clusters() const;
  /// Everything ends here: a fault or an unknown stands in the trace.
  void halt() { stopped_ = true; }
  bool halted() const { return stopped_; }

 private:
  bool land_one();
  void note_blocked();
  void mark_after_answer();

  uint32_t cluster_size_ = 1;
  bool stopped_ = false;
  bool narrow_atomics_ = false;  ///< among the events that were looked at
  size_t looked_at_ = 0;
  std::shared_ptr<const PositionTape> tape_;
};

/// What one machine holds at most, of CTAs and of threads, when CTAs of different clusters have to run
/// together.
constexpr uint64_t most_machine_ctas = 256, most_machine_threads = 60'000;
/// Why the clusters of this launch cannot be executed one by one; empty: they can. `together`: they are few
/// enough to be one machine.
std::string why_together(const Program& program, const Launch& launch, bool& together);

/// CTAs of a cluster of this program (CTA number -> number of its cluster, x fastest).
uint32_t cluster_of(const Program& program, const Launch& launch, uint32_t cta);
/// The CTAs of a cluster, by rank.
std::vector<uint32_t> ctas_of_cluster(const Program& program, const Launch& launch, uint32_t cluster);

}  // namespace turnstile::sim
