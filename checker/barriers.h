// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "checker/fences.h"
#include "checker/run_state.h"
#include "model/protocol/mbarrier.h"

namespace turnstile::checker {

/// Causal bookkeeping of the mbarriers and the conditions D1 to D5 on them (algorithms.md 3.2, 5.3). Knows no
/// accesses. Cost of an event: a join of clocks, or less.
///
/// Scopes (HB1). Each barrier has two clocks: what a wait of scope .cluster learns, and what one of scope
/// .cta learns. An arrival inside the CTA enters both with all that its strand knows; one from another CTA
/// enters the first if its own scope is wide enough. Else, by practice and by what the H200 shows (P12, P16),
/// it tells of what was over before it: asynchronous operations that were waited for, and reads before a
/// proxy fence; and of nothing by the letter.
class Barriers {
 public:
  Barriers(RunState& run, Fences& fences);

  void init(const Event& e);
  /// fence.mbarrier_init: what this strand initialised before may be used by other CTAs (MB11).
  void fence_init(const Event& e);
  void inval(const Event& e);
  void arrive(const Event& e);
  void expect(const Event& e);
  void wait(const Event& e);
  /// A generic fence: a wait of scope .cta before it was none too few (M8).
  void fence(const Event& e);
  /// The bytes of a copy land; `knowledge`: everything that its issuer knew at issue.
  void complete(const AsyncOp& op, size_t issue_event, uint32_t* knowledge);
  /// cp.async.mbarrier.arrive without .noinc is issued: one more arrival is pending (MB20, EXT7).
  void raise(const AsyncOp& op, const Event& e);
  /// The arrival of a tcgen05.commit or cp.async.mbarrier.arrive: it publishes that everything up to `done`
  /// on the lane of its queue is over, and nothing else (HB2, HB4).
  void arrive_async(const AsyncOp& op, size_t issue_event, uint32_t* knowledge, Epoch done);

  /// The write of a copy that lands now is known to those who know the completion that it contributes to.
  Epoch landing(uint32_t barrier) const;

  /// D1 for the waits that are blocked at the end, D5 for the phases that are still open.
  void finish();

  /// Highest generation of a barrier that bytes contributed to, as an epoch; value 0 if none.
  Epoch last_bytes(uint32_t barrier) const;
  bool live(uint32_t barrier) const { return states_[barrier].machine.valid(); }

 private:
  struct Expected {
    Epoch epoch;
    size_t event;
    bool covered;
  };
  struct Passed {
    Epoch epoch;
    size_t event;
  };
  struct Contributors {
    std::vector<Epoch> strands;
    bool async = false;  ///< bytes, or the arrival of an operation: known through a wait only (PF15)
    /// Async, and all are commits of this queue: each tells of those before it (policy commit_order).
    uint32_t commits_of = AsyncOp::none;
  };
  struct State {
    Mbarrier machine;
    uint32_t base = 0;    ///< lane value of generation 0: goes on when the object is initialised again
    bool exists = false;  ///< initialised by somebody, or there from the start
    Epoch init;
    size_t init_event = no_event;
    Epoch fenced;  ///< the fence.mbarrier_init after it; value 0: none yet
    Epoch invalidated;
    size_t last_contribution = no_event;
    size_t last_completion = no_event;
    bool early_use_reported = false, unfenced_reported = false, narrow_reported = false,
         unseen_reported = false;
    bool remote_arrivals = false;  ///< some strand of another CTA published into it
    bool refused = false;  ///< an operation had no defined result: the object is left alone from there on
    Contributors open, last, before_last;
    std::vector<Expected> expects;
    std::vector<Passed> passed;
    Epoch async_arrival;  ///< the latest arrival of an operation, as its queue counts; value 0: none
    size_t async_issue = no_event;
    uint64_t bytes_generation = 0;
    uint64_t announced = 0;  ///< bytes expected in the open generation
  };

  /// What the arrivals of one thread's commits in one CTA have told so far (TC24, policy commit_order).
  struct CommitLine {
    uint32_t last = 0;  ///< number of the latest commit in its queue
    std::vector<uint32_t> causal;
  };

  bool usable(uint32_t b, const uint32_t* knowledge, AgentId user, size_t event);
  bool remote(uint32_t b, AgentId agent) const { return run_.cta(agent) != run_.trace.barriers[b].cta; }
  void publish(const Event& e);
  void tell_complete(uint32_t* point, const uint32_t* knowledge) const;
  void tell_reads(uint32_t* point, const uint32_t* knowledge) const;
  void learn(const Event& e, Epoch completion);
  void report_narrow(Misuse::Kind kind, uint32_t b, size_t event);
  void check_slot(const Event& e);
  bool completion_known(uint32_t* causal, uint32_t b, uint64_t generation);
  void contribute(uint32_t b, uint32_t* knowledge, size_t event, bool releases = false);
  static Mbarrier::Outcome announced(State& s, uint64_t bytes, Mbarrier::Outcome outcome);
  void check_seen(uint32_t b, uint32_t* knowledge, size_t event);
  void settle(uint32_t b, Mbarrier::Outcome outcome, size_t event);
  bool alone(const State& s, const uint32_t* causal, uint32_t queue) const;
  void report(Breach::Kind kind, uint32_t b, uint64_t generation, size_t event);

  RunState& run_;
  Fences& fences_;
  std::vector<State> states_;
  std::map<std::pair<uint32_t, uint16_t>, CommitLine> commits_;  ///< by queue and CTA of the barrier
  KnowledgeTable arriving_;                                      ///< all contributions so far
  KnowledgeTable done_;                                          ///< those of the last completion
  KnowledgeTable arriving_near_, done_near_;  ///< narrow scopes: what a wait of scope .cta learns of them
  bool keeps_near_ = false;
  std::vector<uint32_t> complete_;  ///< by lane: all ones if its epochs are completions of asynchronous work
  /// Event by strand and barrier: waits for remote arrivals that no fence has followed yet.
  std::map<std::pair<uint32_t, uint32_t>, size_t> narrow_waits_;
  std::map<std::pair<uint16_t, uint64_t>, std::vector<uint32_t>> slots_;  ///< barriers by CTA and address
};

}  // namespace turnstile::checker
