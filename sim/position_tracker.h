// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/cta.h"
#include "sim/position_names.h"
#include "sim/position_tape.h"

namespace turnstile::sim {

/// Follows, while a cluster runs, what it computes from its position in the grid (%ctaid, %clusterid), and
/// writes the tape of it. What it does not follow it pins: another cluster is then told to be the same only
/// if the value is. Forgetting to follow costs classes; forgetting to pin would be a false `clean`, so that
/// the rule for everything unnamed in before() is to pin.
///
/// A register follows a slot: its value in these lanes is that of the slot plus what both differ by now, so
/// that adding a constant needs no new slot.
class PositionTracker {
 public:
  /// `with_names`: in a run with names, values that are known get one as soon as they follow the position.
  PositionTracker(const Program& program, const Launch& launch, bool with_names);

  /// The registers of a CTA that hold its position.
  void start(Cta& cta);
  /// Around the execution of one instruction for some lanes.
  void before(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes);
  void after(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, Step step);
  /// A guard is looked at.
  void guard(const Cta& cta, const Warp& warp, uint32_t reg, LaneMask lanes);
  /// The instruction under way stores values that follow a position: their bytes tell of this cluster only.
  bool stores_position() const { return stores_position_; }
  /// Number of the use of the box that the instruction under way copies, for Copy::position_use.
  uint32_t use_of_box(Cta& cta, const Warp& warp, const Decoded& d, unsigned lane, const Copy& copy);

  /// A request to launch control is issued: its number. An answer to it landed in this CTA; `handover`: how
  /// many clusters were handed over by then, 0: none this time.
  size_t note_request();
  void note_answer(Cta& cta, uint64_t offset, uint64_t bits, uint32_t handover, size_t request,
                   const ClusterRequest::Answer& answer);

  /// The instruction under way draws a ticket for this lane, or something that is none: TapeNode::handover.
  void note_ticket(unsigned lane, uint32_t handover, bool refused) { ticket_ = {lane, handover, refused}; }

  /// A footprint in global memory was recorded by an access of this use.
  void note_footprint(uint32_t footprint);
  void note_empty_box(uint32_t use);
  /// What is recorded next belongs to this use, until the next instruction.
  void set_use(uint32_t use) { use_ = use; }

  const PositionTape& tape_so_far() const { return *tape_; }
  /// The tape, at the end of the run.
  std::shared_ptr<const PositionTape> finish(Machine& machine);

 private:
  /// What a register follows in some lanes.
  struct Track {
    uint32_t slot = 0;
    LaneMask lanes = 0;
  };
  /// Bytes in shared memory that follow one lane of a slot.
  struct Cell {
    uint32_t slot = 0;
    uint32_t lane = 0;
    uint64_t address = 0, bytes = 0;
  };

  std::vector<Track>& tracks(const Cta& cta, const Warp& warp);
  Track track(const Cta& cta, const Warp& warp, uint32_t reg) const;
  bool any_followed(const Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes) const;
  void follow(const Cta& cta, Warp& warp, uint32_t reg, LaneMask lanes, uint32_t slot);
  void give_names(const Cta& cta, Warp& warp, uint32_t reg, LaneMask lanes);
  void add_node(TapeNode node);
  void pin(const Cta& cta, const Warp& warp, uint32_t reg, LaneMask lanes);
  void pin_cells(Cta& cta);
  uint32_t new_slot(uint8_t bits, const LaneValues& values);
  uint32_t use_of_address(const Cta& cta, const Warp& warp, const Decoded& d, size_t source, LaneMask lanes,
                          uint32_t alignment);
  TapeOperand operand(const Cta& cta, const Warp& warp, uint32_t reg, LaneMask lanes);
  bool same_but_shifted(const Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes, Track& out) const;
  LaneMask forget_undecided(Warp& warp, const Decoded& d);
  void follow_results(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes);
  void follow_loads(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes);
  void follow_ticket(Cta& cta, Warp& warp, const Decoded& d);
  void follow_stores(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes);

  const Program& program_;
  std::shared_ptr<PositionTape> tape_ = std::make_shared<PositionTape>();
  bool with_names_ = false;
  PositionNames names_;
  bool opaque_ = true;                                   ///< no value can come out of global memory
  std::vector<std::vector<std::vector<Track>>> tracks_;  ///< by CTA, warp, register; empty: none follows
  std::unordered_map<uint64_t, std::vector<uint32_t>> nodes_by_hash_;
  std::unordered_map<uint32_t, uint32_t> answer_slots_;  ///< by handover
  std::vector<Cell> cells_{Cell{}};

  // Of the instruction under way.
  static constexpr uint32_t nobody = 0xffffffff;
  uint32_t use_ = nobody;
  bool lost_ = false;  ///< something was recorded by nobody that this class knows of
  bool stores_position_ = false;
  bool computes_ = false;
  struct Ticket {
    unsigned lane = 0;
    uint32_t handover = 0;  ///< 0: none
    bool refused = false;
  };
  Ticket ticket_;
  Track shifted_;                      ///< the result follows this
  std::vector<TapeOperand> operands_;  ///< of an instruction that only computes
  LaneValues addresses_{};             ///< of a load or store in shared memory
};

}  // namespace turnstile::sim
