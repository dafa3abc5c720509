// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/orchestration.h"
#include "model/protocol/async_groups.h"
#include "model/protocol/cluster_barrier.h"
#include "model/protocol/cta_lifetime.h"
#include "model/protocol/mbarrier.h"
#include "model/protocol/named_barrier.h"
#include "model/protocol/pool.h"
#include "model/protocol/register_pool.h"
#include "model/protocol/signal.h"
#include "model/protocol/tensor_memory.h"

namespace turnstile {

struct OrchestrationPlan;
struct OrchestrationRenaming;
class BitReader;
class BitWriter;

/// Operational semantics of an Orchestration (semantics.md 0.5, protocol layer): which step can happen now
/// and what it changes. Knows no happens-before. Used by sim/ to execute a .mimw program, by checker/ to
/// search schedules and to replay witnesses; composed of the state machines beside it, one a mechanism.
///
/// A wait is a poll (E1): it can pass while what it tests holds, and it can miss a phase that has come and
/// gone. Only bar.sync and barrier.cluster are woken, as the hardware does (N3, C2).
class OrchestrationMachine {
 public:
  /// The next event of a strand, or the next event of an operation in flight (an access or its completion).
  struct Step {
    enum class Kind : uint8_t { strand, operation };
    Kind kind = Kind::strand;
    uint32_t index = 0;  ///< of the strand, or into tables.ops
    friend bool operator==(Step, Step) = default;
  };

  /// The program must outlive the machine, and must have passed orchestration_defect(). Copies share what is
  /// known of the program.
  explicit OrchestrationMachine(const Orchestration& program);
  OrchestrationMachine(const OrchestrationMachine&) = default;
  OrchestrationMachine(OrchestrationMachine&&) = default;
  OrchestrationMachine& operator=(const OrchestrationMachine& other);
  OrchestrationMachine& operator=(OrchestrationMachine&&) = default;
  ~OrchestrationMachine() = default;

  /// All steps that are possible now: strands in order, then operations by queue, in each by issue (those
  /// without an order by number).
  void enabled(std::vector<Step>& steps) const;
  bool is_enabled(Step step) const;

  /// The event that the step executes when it is taken; null if there is none left, or not yet any.
  const Event* next(Step step) const;

  /// Executes an enabled step. `event` receives it as a trace records it (generation filled in). A rule that
  /// it breaks is returned as a Fault with the rule id of semantics.md. If the state after it is not defined
  /// (over-arrival, wrong count, access to an exited CTA ...), the strand goes no further, the operation is
  /// gone, and stopped() holds; else (a leak, a warp that arrives twice) everything goes on.
  std::vector<Fault> take(Step step, Event& event);

  /// No strand has anything left to do. Operations may still be in flight.
  bool strands_ended() const { return unended_ == 0 && !stopped_; }
  bool strand_ended(uint32_t strand) const;
  /// Some step had no defined result: what comes after it means little.
  bool stopped() const { return stopped_; }
  /// Some strand is past the end of what is known of it (Strand::whole is false), or at a test that came out
  /// otherwise in the trace (Event::polled_once): nobody knows how it goes on, so a state in which nothing
  /// can move is no deadlock.
  bool beyond_knowledge() const;
  /// Events that the strand has executed.
  uint32_t position(uint32_t strand) const { return pc_[strand]; }
  std::span<const AsyncGroups::Operation> in_flight() const { return flights_.all(); }
  /// Of one barrier; its generation is exact only if the state was not loaded.
  const Mbarrier& barrier(uint32_t index) const { return barriers_[index]; }

  /// The strands that have not ended, and what each waits for; meaningful when nothing is enabled.
  std::vector<Blocked> blocked() const;

  /// Whole state as bytes, replacing their contents; equal iff the states are equal; for the tables of a
  /// search. Of a generation only the parity is kept: nothing that the machine decides looks at more of it
  /// (waits test parity: W2; bar.sync and barrier.cluster keep one bit a strand). So the generations in
  /// events after load() are not those of a run from the start; a witness is replayed from there.
  void save(std::vector<uint8_t>& bytes) const;
  void load(std::span<const uint8_t> bytes);
  /// The same as part of a longer string. No state's bits begin with all the bits of another state.
  void save(BitWriter& writer) const;
  void load(BitReader& reader);
  /// The state under other names, as if it had been reached under them.
  void save(BitWriter& writer, const OrchestrationRenaming& names) const;

 private:
  using Faults = std::vector<Fault>;

  template <typename Names>
  void write(BitWriter& writer, const Names& names) const;

  const Event& at(uint32_t strand) const { return (*program_).strands[strand].events[pc_[strand]]; }
  bool has_next(uint32_t strand) const { return pc_[strand] < (*program_).strands[strand].events.size(); }
  uint32_t cluster_of(uint32_t strand) const;
  uint16_t cta_of(uint32_t strand) const { return program_->tables.agents[strand].cta; }
  bool dead(uint32_t cta) const;
  bool started(uint32_t cta) const;

  bool strand_enabled(uint32_t strand) const;
  bool operation_enabled(const AsyncGroups::Operation& o) const;
  bool group_done(const Event& wait) const;
  bool forked(const Event& fork) const;
  bool registers_granted(uint32_t strand) const;

  void take_strand(uint32_t strand, Event& event, Faults& faults);
  void take_operation(uint32_t op, Event& event, Faults& faults);
  void step_mbarrier(uint32_t strand, Event& event, Faults& faults);
  void step_named(uint32_t strand, Event& event, Faults& faults);
  void step_cluster(uint32_t strand, Event& event, Faults& faults);
  void step_registers(uint32_t strand, const Event& event, Faults& faults);
  void step_tensor(uint32_t strand, const Event& event, Faults& faults);
  void step_signal(Event& event);
  void step_issue(const Event& event, Faults& faults);
  void land_on_barrier(uint32_t op, const Event& event, Faults& faults);
  void note_barrier(Mbarrier::Outcome outcome, uint32_t barrier, const Event& event, Faults& faults);
  void complete_named(uint32_t named, const Event& event, Faults& faults);
  void release_for_exited(uint32_t named, uint32_t leaving, const Event& event, Faults& faults);
  void release_seats(uint32_t cluster);
  void leave(uint32_t strand, const Event& exit, Faults& faults);
  void end_strand(uint32_t strand, const Event& last, Faults& faults);
  void end_cta(uint32_t cta, const Event& last, Faults& faults);
  void note_access(const Event& event, uint16_t cta, Faults& faults);

  /// A fault after which the state is not defined.
  void stop(Faults& faults, const Event& event, std::string rule, std::string subject, std::string message,
            std::string help);
  static void remark(Faults& faults, const Event& event, std::string rule, std::string subject,
                     std::string message, std::string help);
  std::string barrier_name(uint32_t barrier) const;
  static std::string named_name(uint32_t object);
  static std::string named_id(uint32_t object);
  std::string memory_name(uint32_t footprint) const;

  const Orchestration* program_;
  std::shared_ptr<const OrchestrationPlan> plan_;

  // A new member has to be copied by operator=.
  std::vector<uint32_t> pc_;      // by strand
  std::vector<uint8_t> faulted_;  // by strand
  std::vector<Mbarrier> barriers_;
  AsyncGroups flights_;
  bool stopped_ = false;
  // Does not change unless OrchestrationPlan::has_rest.
  std::vector<uint8_t> passes_;              // by strand: its bar.sync has completed
  std::vector<ClusterBarrier::Seat> seats_;  // by strand
  std::vector<NamedBarrier> named_;          // by index in the plan
  std::vector<Contribution> contributions_;  // of named barriers, by participant
  std::vector<ClusterBarrier> clusters_;
  std::vector<Signal> signals_;
  std::vector<Pool> pools_;
  std::vector<Pool> registers_;  // by CTA: free registers
  std::vector<RegisterGroup> register_groups_;
  std::vector<TensorMemory> tensor_memory_;  // by CTA

  // Follows from the above.
  uint32_t unended_ = 0;
  std::vector<CtaLifetime> ctas_;  // by CTA
  // For events only; not part of the state.
  std::vector<uint64_t> instance_;  // by strand: number of the named barrier instance it contributed to
};

/// First reason why a program cannot be run: an index out of range, an operation issued twice ... Empty:
/// none.
std::string orchestration_defect(const Orchestration& program);

}  // namespace turnstile
