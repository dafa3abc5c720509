// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/trace.h"
#include "sim/hash128.h"
#include "sim/position_tape.h"

namespace turnstile::sim {

/// What one run owed to one cluster id: that of its own cluster, or that of one which launch control handed
/// over to it.
struct TapePart {
  std::vector<uint32_t> nodes;                       ///< of the tape, in order
  std::vector<std::pair<uint32_t, uint32_t>> moved;  ///< as PositionTape::moved, without fixed uses
  std::vector<uint32_t> empty_boxes;
  /// Parts of one kind ask the same of their id and access the same places for it: what holds for one of
  /// them, whatever the id, holds for the other.
  Hash128 kind;
};

/// Where a footprint in global memory lies: the place as a function of the id of its part.
struct FootprintName {
  static constexpr uint32_t nobody = 0xffffffff, several = 0xfffffffe;
  uint32_t part = nobody;  ///< nobody: the same for every id
  Hash128 place;
};

struct TapeParts {
  std::vector<TapePart> parts;       ///< own, then by TapeNode::handover
  std::vector<FootprintName> names;  ///< by footprint
  /// An instruction whose result depends on two ids, or on one in some lanes and on another in others, and
  /// reaches an address or something that has to be the same. Then the parts do not tell everything.
  std::optional<uint32_t> mixed;
};

/// Cuts a tape into what it owes to each id, as it grows.
class TapeSplitter {
 public:
  /// Takes in what was added since the last time: linear in that, but for one look at what is pinned.
  void update(const PositionTape& tape, const Trace& trace, uint32_t handovers);
  /// With the kinds of the parts brought up to date.
  const TapeParts& parts(const PositionTape& tape, const Trace& trace);

 private:
  void take_node(const PositionTape& tape, uint32_t n);
  void take_access(const PositionTape& tape, const Trace& trace, uint32_t footprint, uint32_t use);
  void touch(uint32_t part);
  Hash128 kind_of(const PositionTape& tape, const Trace& trace, const TapePart& part) const;
  Hash128 operand(const PositionTape& tape, const TapeOperand& o) const;
  Hash128 use(const PositionTape& tape, const PositionUse& u) const;
  uint32_t owner_of(const PositionUse& u) const;

  std::vector<uint32_t> owner_;   ///< by slot
  std::vector<Hash128> defined_;  ///< by slot: the computation that made it
  std::vector<LaneMask> pinned_;  ///< by slot, as seen last
  std::vector<Hash128> nodes_;    ///< by node
  std::vector<bool> named_;       ///< by footprint
  std::vector<bool> changed_;     ///< by part
  size_t accesses_ = 0;           ///< of PositionTape::accesses
  size_t empty_boxes_ = 0;
  TapeParts out_;
};

/// Of a tape that is complete.
TapeParts parts_of(const PositionTape& tape, const Trace& trace, uint32_t handovers);

}  // namespace turnstile::sim
