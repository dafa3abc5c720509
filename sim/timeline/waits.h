// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/protocol/mbarrier.h"
#include "model/protocol/named_barrier.h"
#include "model/trace.h"

namespace turnstile::sim {

/// When something has happened, and the node of the timeline that it happened at.
struct Moment {
  static constexpr uint32_t none = 0xffffffff;
  uint64_t time = 0;
  uint32_t node = none;

  void later_of(const Moment& other) {
    if (node == none || other.time > time) *this = other;
  }
};

/// What events of a trace tell each other, replayed in its order: which contribution goes into which phase is
/// what the simulator decided, and the phase is complete when the latest of them has happened.
class Meetings {
 public:
  explicit Meetings(const Trace& trace);

  void mbarrier_init(const Event& e);
  void arrive(const Event& e, Moment when);
  void expect(const Event& e);
  void raise_pending(uint32_t barrier) { mbarriers_[barrier].state.raise_pending(); }
  /// An operation that ends on its barrier: bytes, or one arrival.
  void complete(const AsyncOp& op, Moment when);
  /// The completion that a wait saw; none: it passed at once.
  Moment phase(const Event& wait) const;

  void named_arrive(const Event& e, Moment when);
  Moment named_pass(const Event& e);

  void cluster_arrive(const Event& e, Moment when);
  Moment cluster_pass(const Event& e);

  void signal_write(const Event& e, Moment when) { signals_[e.object].push_back(when); }
  Moment signal_read(const Event& e) const;

  /// Operations of a queue in order of issue: when each is done, and when it has read its source.
  void queue_op(const AsyncOp& op, Moment done, Moment read);
  Moment queue_done(uint32_t queue, uint64_t group, bool read_only) const;
  Moment all_done(uint32_t queue) const { return queue_done(queue, ~uint64_t{0}, false); }

 private:
  struct Phases {
    Moment open;
    std::vector<Moment> complete;

    void close() {
      complete.push_back(open);
      open = {};
    }
  };
  struct MbarrierPhases {
    Mbarrier state;
    Phases phases;
  };
  struct NamedPhases {
    NamedBarrier state;
    Phases phases;
  };
  struct QueueEntry {
    uint64_t group;
    Moment done, read;  ///< of this one and all before it
  };

  static Moment instance(Phases& phases, uint64_t generation);

  std::vector<MbarrierPhases> mbarriers_;
  std::map<uint32_t, NamedPhases> named_;
  std::map<uint32_t, Phases> clusters_;
  std::vector<std::vector<Moment>> signals_;
  std::vector<std::vector<QueueEntry>> queues_;
};

}  // namespace turnstile::sim
