// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "checker/check.h"
#include "cli/trace_class.h"
#include "model/launch/launch.h"
#include "model/result.h"
#include "sim/position_tape.h"

namespace turnstile::cli {

/// Classes of clusters of one launch that need not be executed: what one run owed to its position in the grid
/// (sim/position_tape.h) is computed for another position, and if nothing but addresses in global memory
/// comes out differently there, and these overlap each other as before, that cluster is of the same class.
class FollowedClasses {
 public:
  /// `tickets`: RunOptions::tickets of the runs; has to outlive this.
  static Result<FollowedClasses> create(const sim::Program& program, const Launch& launch,
                                        const sim::TicketCounter* tickets = nullptr);

  /// A run that left this trace, of this class.
  void add(const Trace& trace, std::shared_ptr<const sim::PositionTape> tape, size_t trace_class,
           GlobalAccessSummary summary);

  struct Match {
    size_t trace_class = 0;
    GlobalAccessSummary summary;  ///< of the cluster that was asked about
  };
  /// The class of the cluster with this number; nothing: it has to be executed.
  std::optional<Match> match(uint32_t cluster);

  /// Whether following pays: false once many runs were kept and hardly any cluster was like one of them.
  bool worthwhile() const {
    return runs_.size() < most_runs && (runs_.size() < 96 || matches_ >= runs_.size() / 2);
  }

 private:
  static constexpr size_t most_runs = 256;
  struct Run {
    std::shared_ptr<const sim::PositionTape> tape;
    sim::MovedFootprints footprints;
    std::vector<uint32_t> written;
    std::vector<uint32_t> exact;  ///< and those where it matters which access reads what
    TraceClass overlaps{};
    TraceClass alignment{};  ///< where the verdict may rest on equal values
    size_t trace_class = 0;
    GlobalAccessSummary summary;
  };

  FollowedClasses(const sim::Program& program, const Launch& launch, sim::PositionReplay replay)
      : program_(program), launch_(launch), replay_(std::move(replay)) {}

  const sim::Program& program_;
  const Launch& launch_;
  sim::PositionReplay replay_;
  std::vector<Run> runs_;  ///< the one that matched last first
  size_t matches_ = 0;
};

}  // namespace turnstile::cli
