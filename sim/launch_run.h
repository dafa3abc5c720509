// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/launch/launch.h"
#include "model/result.h"
#include "model/trace.h"

namespace turnstile::sim {

struct Program;        // decoded kernel: sim/program.h
struct PositionTape;   // sim/position_tape.h
class Machine;         // sim/machine.h
struct TicketCounter;  // sim/tickets.h
struct Arrivals;       // sim/arrivals.h
class ExecutionLog;    // sim/execution_log.h

/// What a floating-point value is during a run (design.md section 3).
enum class Domain : uint8_t {
  control,     ///< not computed: only integers, predicates, addresses and synchronisation; enough for every
               ///< verdict about schedules
  bits,        ///< exact bits
  provenance,  ///< the 128-bit hash of the expression that made it (design.md section 5)
  names,  ///< as control, the same trace; besides, every unknown value has a name, so that stores of equal
          ///< values are known as such: the hash of its expression, or of the step that brought it where
          ///< it has none (docs/theory.md, equal values)
};

/// Where names are followed, if not everywhere: what a few values are made of (sim/name_slice.h).
struct NameSlice {
  std::set<uint32_t> stores;           ///< lines of the PTX: the values of these,
  std::set<uint32_t> branches;         ///< and the guards of these instructions
  std::vector<uint8_t> registers;      ///< by register, 0 or 1: an unknown value in others has no name
  std::vector<uint8_t> reads, writes;  ///< by instruction: whether it reads, writes one of them
};

struct RunOptions {
  Domain domain = Domain::control;
  std::shared_ptr<const NameSlice> slice;  ///< with names; null: all values have some
  std::vector<uint32_t> ctas;  ///< linear CTA numbers (x fastest), each brings its cluster; empty: all
  uint32_t clusters_to_cancel =
      0;  ///< how often a clusterlaunchcontrol.try_cancel of each trace succeeds before it fails: the last
          ///< clusters of the grid (CL1, CL7). They should not be among `ctas`
  std::vector<uint32_t> clusters_in_turn;  ///< which ones, in this order; empty: from the last of the grid on
  std::function<bool(const Machine&)> hand_over;  ///< if set, says at each try_cancel whether it succeeds
  bool every_cancel_count = false;  ///< the caller runs all numbers of `clusters_to_cancel` that matter;
                                    ///< otherwise an answer that is looked at makes its trace inconclusive
  bool follow_position = false;     ///< control or names: RunResult::tapes
  /// Control: an integer add to a word of global memory that is known returns its value, as if no other CTA
  /// had come to it but for those in `others_add`. What CTAs outside a trace do is a choice (LF3): the trace
  /// is inconclusive, and its accesses after the first such answer are Event::conditional.
  bool atomics_in_order = false;
  std::map<size_t, uint64_t> others_add;  ///< number of such an add in its machine, from 0: added before it
  /// If set, weighs instructions by mnemonic, and traces say how much their agents executed (Trace::work).
  uint16_t (*work_of)(std::string_view mnemonic) = nullptr;
  /// Control or names: the adds that draw tickets from this counter return tickets 0, 1, .. up to
  /// `clusters_to_cancel` of them (or as `hand_over` says), then one that is no tile, of its own for each
  /// cluster. Which tickets a cluster draws is a choice; whoever sets this looks after the others. Has to
  /// outlive the run.
  const TicketCounter* tickets = nullptr;
  /// Control or names: the clusters that come to this counter are one machine, instead of `ctas`, and the one
  /// that is to come last waits for the others there. Has to outlive the run.
  const Arrivals* arrivals = nullptr;
  ExecutionLog* log = nullptr;  ///< bits: notes what is executed
  uint64_t step_limit =
      50'000'000;  ///< warp instructions per CTA; beyond it the trace says so and is inconclusive
  uint64_t event_limit = 10'000'000;  ///< events per trace, likewise
};

/// What an add returned (RunOptions::atomics_in_order), where and to whom.
struct AtomicAnswer {
  uint64_t value = 0, added = 0;
  uint64_t offset = 0;
  uint32_t buffer = 0, place = 0;
  uint16_t cta = 0, warp = 0;
  uint8_t lane = 0, bytes = 0;
};

struct RunResult {
  std::vector<Trace> traces;  ///< one per cluster, in the order of RunOptions::ctas
  std::vector<std::shared_ptr<const PositionTape>>
      tapes;  ///< of each trace, if followed: what it owes to its position (sim/position_tape.h); null:
              ///< unknown
  std::vector<std::vector<AtomicAnswer>> atomic_answers;  ///< of each trace, RunOptions::atomics_in_order
  std::shared_ptr<const NameSlice> slice;  ///< with which a run went on at branches on data; null: none did
  bool asks_atomics = false;  ///< what an atomic returned would have decided how some trace goes on
  std::vector<std::vector<std::byte>> buffers;  ///< after the launch, by buffer number; bits domain only
  uint64_t instructions = 0;                    ///< warp instructions executed
  std::vector<std::string> not_predicted;  ///< why bits of the outputs are not those of a GPU (bits domain)
};

struct ProgramDeleter {
  void operator()(Program*) const;
};
using ProgramHandle = std::unique_ptr<Program, ProgramDeleter>;

/// Parses and decodes the kernel of a launch and binds its parameters. An instruction that is not implemented
/// is an Error with file, line and mnemonic (ptx.md PG30): it is never skipped.
Result<ProgramHandle> load_program(const Launch& launch);

/// Executes clusters one after the other, each under one fixed schedule (warps in bursts, copies land when
/// nothing else can move). Clusters that no value can pass between run on several threads, with the same
/// result. A fault of the kernel (out of bounds, barrier misuse) ends its cluster and stands in its Trace; an
/// Error is a fault of the input.
Result<RunResult> run_launch(const Program& program, const Launch& launch, const RunOptions& options);

}  // namespace turnstile::sim
