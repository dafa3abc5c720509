// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/hash128.h"
#include "sim/position_tape.h"

namespace turnstile::sim {

/// Names of the values on a tape (Domain::names): hashes of the expressions over %ctaid and %clusterid that
/// made them. Values of one name are the same in every cluster for which the tape holds, whereas equal
/// numbers in the run of the tape say something about that one alone.
class PositionNames {
 public:
  /// The slots that this node of the tape, the last one, gives values to.
  void add(const Program& program, const PositionTape& tape, const TapeNode& node);

  /// The value that differs by `delta` from that of a slot in a lane.
  Hash128 name(const PositionTape& tape, uint32_t slot, unsigned lane, uint64_t delta) const;

 private:
  /// `base` plus `offset`: values that differ by a constant share their base, however often it was added.
  struct Sum {
    Hash128 base;
    uint64_t offset = 0;
  };
  Sum& at(uint32_t slot, unsigned lane);
  Hash128 operand(const Program& program, const PositionTape& tape, const TapeNode& node, size_t source,
                  unsigned lane) const;

  std::vector<std::vector<Sum>> sums_;  ///< by slot and lane
};

}  // namespace turnstile::sim
