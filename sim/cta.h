// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/protocol/cluster_barrier.h"
#include "model/protocol/mbarrier.h"
#include "model/protocol/named_barrier.h"
#include "sim/copy_groups.h"
#include "sim/flight.h"
#include "sim/footprint_memo.h"
#include "sim/in_flight.h"
#include "sim/launch_run.h"
#include "sim/matrix.h"
#include "sim/memory.h"
#include "sim/optional_body.h"
#include "sim/program.h"
#include "sim/recorder.h"
#include "sim/register_file.h"
#include "sim/tensor_state.h"
#include "sim/unknown_guard.h"

namespace turnstile::sim {

struct SumLog;
class Machine;

/// Why a fragment does not move; set by the handler that returned Step::blocked. `entered` marks two-step
/// instructions (bar.sync, setmaxnreg.inc) whose first step was done.
struct WaitState {
  bool entered = false;
  Blocked::On on = Blocked::On::warp_sync;
  uint32_t object = 0;
  uint32_t count = 0;
  uint64_t target = 0;
};

/// Lanes of a warp with the same program counter. Lanes diverge at branches and meet again when their
/// counters are equal; the fragment with the lowest counter runs first, which gives the usual reconvergence
/// without knowing the control flow graph.
///
/// That they meet again is a choice of ours: a GPU may leave lanes apart that a branch has parted, until they
/// are synchronised. Lanes of one `family` certainly run together; 0: no family.
struct Fragment {
  uint32_t pc = 0;
  LaneMask lanes = 0;
  bool blocked = false;
  WaitState wait;
  uint32_t family = 0;
};

/// Lanes that share their program order in the trace (model/trace.h, AgentId). Forked when a part of them
/// does something visible alone, joined by warp-level synchronisation only (M14, M15).
struct Strand {
  LaneMask lanes = 0;
  AgentId agent;
};

/// A poll that was answered "not yet" and whose wait is still to come (ALG-K2). `strand` stands for the poll:
/// it knows what was known there, and waits until the wait is over.
struct Peek {
  uint32_t place = 0;
  LaneMask lanes = 0;
  AgentId strand;
  uint32_t barrier = 0;
  uint64_t phase = 0;  ///< parity or generation asked for
};

struct Warp {
  Warp(uint16_t number, size_t registers, bool with_cells, NameSource* names,
       const std::vector<uint8_t>* wanted)
      : index(number), regs(registers, with_cells, names, wanted), in_flight(registers), touched(registers) {}

  uint16_t index;
  RegisterFile regs;
  std::vector<Fragment> fragments;
  std::vector<Strand> strands;
  LaneMask started = 0;  ///< lanes that exist
  LaneMask exited = 0;
  uint32_t families = 1;         ///< of fragments, that there were; the first is that of all lanes
  uint32_t owned_registers = 0;  ///< per thread (setmaxnreg)
  InFlightRegisters in_flight;
  TouchedRegisters touched;
  CopyGroups copy_groups;
  std::vector<Peek> peeks;
  std::vector<OpenBody> bodies;     ///< at most one
  uint64_t cluster_arrivals = 0;    ///< at the cluster barrier: the last instance that it arrived in, from 1
  uint64_t cluster_waits = 0;       ///< the last instance that it saw complete
  bool cluster_released = false;    ///< the last arrival was not .relaxed (C3)
  std::vector<WindowMemory> local;  ///< per lane, if the kernel has local memory

  LaneMask live() const { return started & ~exited; }
  /// A family for a part of the lanes of another.
  uint32_t part_of_family(uint32_t family) { return family == 0 ? 0 : ++families; }
  ClusterBarrier::Seat cluster_seat(uint64_t completed) const {
    return cluster_arrivals > completed       ? ClusterBarrier::Seat::arrived
           : cluster_arrivals > cluster_waits ? ClusterBarrier::Seat::released
                                              : ClusterBarrier::Seat::out;
  }
};

/// Bulk groups of one thread (BK2).
struct BulkQueue {
  uint32_t queue = 0;  ///< number in the trace
  uint64_t committed = 0;
  uint64_t in_flight = 0;  ///< operations not yet landed
};

/// An mbarrier object: its number in the trace and its state.
struct BarrierObject {
  static constexpr uint32_t nowhere = 0xffffffff;
  static constexpr uint64_t several = ~uint64_t{0};
  uint32_t number = 0;
  Mbarrier state;
  uint32_t no_complete_place = nowhere;  ///< of an arrive.noComplete of the open phase
  uint64_t no_complete_thread = 0;       ///< who executed it, or `several`
};

/// A bulk copy between issue and landing.
struct Copy {
  uint32_t op = 0;
  bool to_shared = true;
  bool tensor = true;
  uint32_t map = 0;
  std::shared_ptr<const TensorMap> made_map;  ///< one that the kernel made, instead of `map`
  uint32_t map_footprint = 0;                 ///< of its bytes
  int64_t coordinates[5] = {0, 0, 0, 0, 0};
  size_t coordinate_count = 0;  ///< the rank, or 5 of four rows (box_rows)
  uint32_t shared = 0;          ///< address in the shared window
  uint32_t buffer = 0;          ///< plain copies
  uint64_t offset = 0, bytes = 0;
  uint16_t byte_mask = 0xffff;       ///< plain stores: which bytes of each 16 are copied
  Cta* target = nullptr;             ///< whose shared memory a load writes (MB30: one copy for each)
  BarrierObject* barrier = nullptr;  ///< loads complete on it; entries of Cta::barriers stay
  BulkQueue* queue = nullptr;        ///< stores belong to it
  Reduction reduction;               ///< a store that combines with what is there
  uint32_t position_use = 0;         ///< PositionTape::uses
};

/// One wgmma.mma_async of a warp group. It runs when all four warps have issued it.
struct WarpGroupOp {
  uint32_t op = 0;
  const Decoded* text = nullptr;
  uint64_t a = 0, b = 0;  ///< descriptors (a: unused with A in registers)
  uint32_t scale_d = 1;
  uint8_t warps_issued = 0;
  uint64_t group = 0;
};

/// wgmma state of four consecutive warps (section 7 of semantics.md).
struct WarpGroup {
  uint32_t queue = AsyncOp::none;
  std::vector<WarpGroupOp> ops;
  size_t executed = 0;  ///< ops before this number have run
  uint64_t issued[4] = {0, 0, 0, 0};
  uint64_t committed[4] = {0, 0, 0, 0};
  uint8_t fenced = 0;                         ///< warps that have executed wgmma.fence (WG1)
  uint32_t register_request = 0;              ///< warps that wait in setmaxnreg.inc, bit by bit
  uint32_t register_grant = 0;                ///< warps whose inc was granted and that have not seen it yet
  uint32_t register_release = 0;              ///< warps that executed the open setmaxnreg.dec
  uint32_t register_turns[4] = {0, 0, 0, 0};  ///< setmaxnreg executed by each warp
  std::vector<const Decoded*> register_turn;  ///< who came first in each turn: all four do the same (RG1)
  AgentId register_agent;                     ///< who came last
  uint32_t release_total = 0;                 ///< registers that they give back once all have
};

/// What is known of a named barrier at which warps met in a part of the program that they may jump over. The
/// trace leaves such meetings out, so that it shows no order that is not there if they do.
struct OptionalMeetings {
  bool open = false;  ///< the open instance is one of them
  Hash128 condition;
  uint32_t branch = 0;
  std::vector<uint64_t> instances;
  uint64_t warps = 0;  ///< who met there
  uint32_t count = 0;
  uint32_t place = 0;
};

/// What the threads that meet at a named barrier say (barrier.red), by instance.
struct BarrierVotes {
  uint8_t operation = 0;  ///< BarrierReduction
  bool known = true;
  uint32_t threads = 0, agree = 0;
  uint32_t warps = 0, told = 0;  ///< that have come, that have had the result
};

/// The machine state of one CTA and what instruction handlers may do with it. Handlers live in exec_*.cc, one
/// family each.
class Cta {
 public:
  /// `index`: its number in the machine.
  Cta(Machine& machine, uint16_t index, Dim3 position);

  /// Every warp runs until none of its lanes can move. Whether anything moved.
  bool run_warps();
  /// The oldest operation in flight that it issued (number in the trace); AsyncOp::none if there is none.
  uint32_t oldest_in_flight() const;
  bool land_one();
  void note_blocked();
  /// At the end: a setmaxnreg that some warps of a group never came to is undefined (RG1).
  void check_register_turns();

  // What handlers use.
  Machine& machine;
  const Program& program;
  const Launch& launch;
  GlobalMemory& global;
  const RunOptions& options;
  Dim3 position;
  uint16_t index;       ///< in the machine: what traces call its CTA and its shared memory
  uint16_t rank;        ///< in its cluster
  uint16_t cluster;     ///< number of the cluster in the machine
  uint32_t window_tag;  ///< in every shared address of a cluster launch: rank << 24 (PE7); 0 otherwise
  Recorder& recorder;
  WindowMemory shared;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<WarpGroup> groups;
  std::map<uint64_t, BarrierObject> barriers;  ///< by shared address; entries stay when invalidated
  NamedBarrier named[16];
  std::array<OptionalMeetings, 16> optional_named;
  std::array<std::map<uint64_t, BarrierVotes>, 16> votes;  ///< of instances that somebody may still ask for
  std::map<uint32_t, BulkQueue> bulk_queues;               ///< by warp * 32 + lane
  ByteRun scratch;                                         ///< of the instruction that runs
  std::deque<Copy> copies;
  std::deque<Flight> flights;
  TensorState tensor;
  bool cancel_failed = false;  ///< it has seen a try_cancel fail (CL4)
  int64_t free_registers = 0;  ///< pool of setmaxnreg, in registers of one thread
  std::map<std::pair<uint64_t, uint32_t>, OperandFootprint> operand_footprints;  ///< sim/matrix.h
  FootprintMemo row_footprints;  ///< in its shared memory, of what the lanes of a warp access
  uint64_t steps = 0;
  std::vector<std::string> not_predicted;  ///< RunResult::not_predicted
  SumLog* sum_log = nullptr;               ///< explains one element of a row (sim/rows.h)

  /// Offset of an address in the own shared window; beyond its end if it is that of another CTA (MB8).
  uint32_t shared_offset(uint64_t address) const { return static_cast<uint32_t>(address) - window_tag; }
  /// The CTA that a shared::cluster address names; null: no such CTA in the cluster.
  Cta* owner_of(uint64_t address) const;
  bool ended() const;
  uint32_t shared_footprint(std::span<const ByteRange> ranges) {
    return recorder.footprint(Space::shared, index, ranges);
  }
  /// Unknown values have expressions.
  bool provenance() const { return options.domain == Domain::provenance || names_values(); }
  /// What has no expression gets a name instead of ending the run.
  bool names_values() const { return options.domain == Domain::names; }
  /// Whether an instruction reads (writes) registers whose expressions are followed.
  bool reads_expressions(const Decoded& d) const {
    return provenance() && (options.slice == nullptr || options.slice->reads[d.index] != 0);
  }
  bool writes_expressions(const Decoded& d) const {
    return provenance() && (options.slice == nullptr || options.slice->writes[d.index] != 0);
  }
  bool with_data() const { return options.domain != Domain::control && !names_values(); }

  /// The strands of these lanes, forking those of which only a part takes part.
  std::vector<Strand> strands_of(Warp& warp, LaneMask lanes, uint32_t place);
  /// The part of the program that these lanes are in and might have jumped over; null: in none.
  static const OpenBody* open_body(const Warp& warp, LaneMask lanes);
  /// At the end: barriers that were left out of the trace were of the same warps as all others of their
  /// number.
  void check_optional_meetings();
  /// One strand for all of these lanes: warp-level synchronisation that orders memory (M9, M15).
  AgentId join_strands(Warp& warp, LaneMask lanes, uint32_t place);
  /// Execution order only (shfl, elect, vote: M15).
  void order_strands(Warp& warp, LaneMask lanes, uint32_t place);
  AgentId any_strand(const Warp& warp, LaneMask lanes) const;

  /// A strand that stood for a peek is over: `agent` takes up what it knew.
  void absorb(AgentId agent, AgentId peek, uint32_t place);
  /// Peeks of these lanes whose wait was never executed, so that their answer decided nothing: of the poll at
  /// `peek`, or (any_peek) all.
  static constexpr uint32_t any_peek = 0xffffffff;
  void drop_peeks(Warp& warp, LaneMask lanes, uint32_t place, uint32_t peek);

  Fragment& fragment_at(Warp& warp, LaneMask lanes);
  Step fault(const Warp& warp, LaneMask lanes, const Decoded& d, std::string rule, std::string message,
             std::string help = {});
  /// Registers of a pending wgmma group are touched (WG3): noted, and the execution goes on.
  void hazard(Warp& warp, LaneMask lanes, const Decoded& d, uint64_t group);
  Step unknown(const Decoded& d, std::string message, std::string help = {});
  /// Whether all lanes of the warp that still run are in `lanes`; otherwise the fragment waits for the
  /// others.
  bool converged(const Warp& warp, LaneMask lanes) const { return warp.live() == lanes; }
  Step wait_for_lanes(Warp& warp, LaneMask lanes, LaneMask missing);
  Step wait_for_lanes(Warp& warp, LaneMask lanes) {
    return wait_for_lanes(warp, lanes, warp.live() & ~lanes);
  }
  /// All lanes of `mask` leave the kernel.
  void exit_lanes(Warp& warp, LaneMask mask, uint32_t place);

  /// The mbarrier object at this shared address, live or not; null if there never was one.
  BarrierObject* barrier_at(uint64_t address);
  /// Whether these bytes of shared memory touch a live barrier object (MB9).
  bool overlaps_barrier(uint64_t offset, uint64_t bytes) const;
  BulkQueue& bulk_queue(const Warp& warp, unsigned lane);
  /// Writes global memory. In the bits domain, bytes that are not known make the result not predicted.
  void write_global(uint32_t buffer, uint64_t offset, uint64_t bytes, const ByteRun& in, size_t from,
                    uint32_t place);
  void run_ready_matrix_ops(WarpGroup& group);
  std::string shared_name(uint64_t address) const;
  /// Whether an operation of this queue in a group up to `group` has not landed yet (not for bulk queues).
  bool in_flight(uint32_t queue, uint64_t group) const;
  /// The CTA ends here: what landed broke a rule, and a fault stands in the trace.
  void halt();

 private:
  bool run_warp(Warp& warp);
  uint32_t last_place() const { return static_cast<uint32_t>(program.code.size() - 1); }
  void land(const Copy& copy);
  bool check_in_flight(Warp& warp, const Decoded& d, LaneMask lanes);
  /// Lanes of a fragment for which the guard of its instruction is not known go on where that makes no
  /// difference. False: it does make one.
  bool pass_unknown_guard(Warp& warp, Fragment& fragment, LaneMask lanes);
  /// Lanes go into what their branch may jump over. False: that is no answer for them.
  bool enter_optional_body(Warp& warp, Fragment& fragment, LaneMask lanes);
  static size_t strands_in(const Warp& warp, LaneMask lanes);
  /// Lanes that have come to the end of one forget what they computed.
  static void close_optional_bodies(Warp& warp);
  /// Names of what the ways leave in these registers.
  void name_results(Warp& warp, uint32_t guarded, const Meeting& ways, const std::vector<uint32_t>& written,
                    LaneMask lanes);
  static void note_touched(Warp& warp, const Decoded& d);

  std::unordered_map<uint32_t, std::optional<Meeting>> meetings_;  ///< by instruction, as far as asked for
  std::unordered_map<uint32_t, std::optional<OptionalBody>> bodies_;
  uint64_t last_barrier_address_ = 0;  // lanes and loops name the same barrier again and again
  BarrierObject* last_barrier_ = nullptr;
};

/// After a reduction in memory, whose order against other reductions is not specified: equal expressions of
/// two such words would not say that they are equal in every schedule.
inline void forget_order(const Cta& cta, ByteRun& run) {
  if (cta.names_values()) std::fill(run.cells.begin(), run.cells.end(), undefined_byte);
}

/// Names of places in static shared memory ("full[2]"), from the symbols of the kernel.
void add_shared_names(const Program& program, const Launch& launch, Trace& trace);

}  // namespace turnstile::sim
