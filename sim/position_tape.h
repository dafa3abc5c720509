// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "model/trace.h"
#include "sim/program.h"

namespace turnstile::sim {

using LaneValues = std::array<uint64_t, warp_size>;

/// A value that an instruction on the tape reads, by lane: in the lanes of `moving` it is that of the slot
/// plus the constant, in the others the constant alone; in lanes that are not `known` it is unknown.
struct TapeOperand {
  uint32_t slot = 0;  ///< 0: none
  LaneMask moving = 0;
  LaneMask known = 0;
  bool uniform = false;   ///< one constant for all lanes
  uint64_t constant = 0;  ///< the constant, or (not uniform) its index in PositionTape::constants
};

struct TapeResult {
  uint32_t slot = 0;
  LaneMask known = 0;  ///< of the lanes that executed it; elsewhere the slot means nothing
};

/// One way in which a value came from the position of the cluster.
struct TapeNode {
  enum class Kind : uint8_t {
    position,  ///< %ctaid or %clusterid of a CTA of the cluster
    compute,   ///< an instruction that only computes, executed again
    gather,    ///< lanes of other slots side by side: out of memory, or written by parts of a warp
    answer,    ///< launch control's, that a cluster is handed over (sim/launch_control.h), or a ticket
    refusal,   ///< what was drawn instead of a ticket (sim/tickets.h)
  };
  Kind kind = Kind::compute;
  const Decoded* instruction = nullptr;
  LaneMask lanes = 0;
  std::vector<TapeOperand> sources;  ///< compute: as Decoded::src
  std::vector<TapeResult> results;   ///< compute: as Decoded::dst; slot 0: not followed. Others: one
  uint32_t cta = 0;                  ///< position: rank in the cluster
  uint32_t handover = 0;             ///< answer: from 1; refusal: one more than the answers before
  uint8_t axis = 0;
  bool of_cluster = false;  ///< position: %clusterid
  struct Lane {
    uint32_t slot = 0;
    uint32_t lane = 0;
    uint64_t constant = 0;
  };
  std::vector<Lane> from;  ///< gather: by lane; slot 0: not part of it
  uint8_t bits = 64;       ///< gather: width of the values
};

/// How an access to global memory moves with the position.
struct PositionUse {
  // Addresses: all of these lanes by one distance.
  uint32_t slot = 0;
  LaneMask lanes = 0;
  uint32_t alignment = 1;  ///< bytes
  // Box of a tensor map.
  bool is_box = false;
  bool is_load = false;
  uint32_t map = 0;
  std::shared_ptr<const TensorMap> made_map;  ///< one that the kernel made, instead of `map`
  std::vector<TapeOperand> coordinates;       ///< of lane 0, as 32-bit values
};

/// One execution of try_cancel (semantics.md section 10).
struct ClusterRequest {
  struct Answer {
    uint32_t op = 0;          ///< number in the trace
    uint32_t barrier = 0;     ///< where it completes
    uint64_t generation = 0;  ///< of that barrier when it landed: the phase that it belongs to
  };
  std::vector<Answer> answers;  ///< that have landed, one for each CTA that receives it
};

/// Everything in which one run of a cluster depended on where it lies in the grid. Another cluster does the
/// same (the same events in the same order, but for the places of its accesses in global memory) if every
/// pinned value is the same there: those that decided branches, or reached anything that the tape does not
/// follow.
struct PositionTape {
  static constexpr uint32_t fixed_use = 0;  ///< an access that does not move

  std::vector<TapeNode> nodes;  ///< in order of execution
  std::vector<LaneValues> constants;
  std::vector<LaneValues> values{LaneValues{}};  ///< of each slot, in this run; slot 0 is none
  std::vector<LaneMask> pinned{0};               ///< lanes of each slot that have to be the same
  std::vector<uint8_t> bits{0};                  ///< width of each slot
  std::vector<PositionUse> uses{PositionUse{}};
  std::set<std::pair<uint32_t, uint32_t>> moved;        ///< (footprint in global memory, use)
  std::vector<std::pair<uint32_t, uint32_t>> accesses;  ///< the same in the order in which they came
  std::set<uint32_t> empty_boxes;                       ///< uses whose box lay wholly outside its tensor
  std::vector<ClusterRequest> requests;                 ///< to launch control, in the order of issue
  bool loses_values = false;  ///< some values count as unknown here though this cluster knows them, since
                              ///< another may not; and what it stored of its position has no fingerprint
                              ///< (Event::bytes). A verdict other than clean may come from that alone
  bool names = false;         ///< of a run with names: its verdict may rest on which values are equal
  bool whole = false;         ///< the run ended by itself; otherwise it says nothing about other clusters
};

/// The footprints of a trace as another cluster would leave them.
struct MovedFootprints {
  std::vector<Footprint> footprints;  ///< same numbers and order as in the trace
  std::vector<ByteRange> ranges;
};

/// One of them.
struct MovedFootprint {
  uint32_t number = 0;  ///< in its trace
  std::vector<ByteRange> ranges;
};

struct TapePart;       // sim/tape_parts.h
struct TicketCounter;  // sim/tickets.h

class PositionReplay {
 public:
  /// Not copyable: holds a machine that executes instructions of tapes. An Error is one of the launch.
  /// `tickets`: those of RunOptions::tickets in the runs of the tapes; has to outlive this.
  static Result<PositionReplay> create(const Program& program, const Launch& launch,
                                       const TicketCounter* tickets);
  PositionReplay(PositionReplay&&) noexcept;
  PositionReplay& operator=(PositionReplay&&) noexcept;
  ~PositionReplay();

  /// Footprints of the cluster with this number, if it does what the run of the tape did, which left
  /// `before`. Nothing: it differs, or that cannot be told. Reads of one footprint may be of several places
  /// here: then it holds all of them, except in the allocations of `exact` (sorted), which have to hold those
  /// that the run wrote.
  std::optional<MovedFootprints> replay(const PositionTape& tape, const MovedFootprints& before,
                                        std::span<const uint32_t> exact, uint32_t cluster);

  /// The same for what the run owed to one cluster id, of its own or of one that was handed over, with
  /// `cluster` in its place: the footprints of `part`. `drawn`: for what it owed to one ticket, or to what
  /// was drawn instead of one, this value in its place.
  std::optional<std::vector<MovedFootprint>> replay_part(const PositionTape& tape, const TapePart& part,
                                                         const MovedFootprints& before, uint32_t cluster,
                                                         std::optional<uint64_t> drawn = {});

  /// The instruction whose result differed, where the last replay_part() gave nothing for that reason.
  std::optional<uint32_t> differs_at() const { return differs_at_; }

 private:
  struct State;
  explicit PositionReplay(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  std::optional<uint32_t> differs_at_;
};

}  // namespace turnstile::sim
