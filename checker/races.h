// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "checker/queues.h"
#include "checker/regions.h"
#include "checker/run_state.h"
#include "model/protocol/tensor_queue.h"

namespace turnstile::checker {

/// Races and missing proxy fences in linear time (algorithms.md section 6): per region the last write and a
/// frontier of reads and atomics. An access asks, for each region, whether the last write (a write: also the
/// frontier) is in the view that its proxy must consult (semantics.md 0.5, `ordered`).
class Races {
 public:
  explicit Races(RunState& run);

  using Allocation = std::pair<Space, uint32_t>;

  /// Cuts the allocations that somebody writes or reads with a tag (sorted) into regions; false if there are
  /// too many. The others have no races: most of global memory.
  bool prepare(const std::vector<Allocation>& written);

  void generic(const Event& e);
  /// An access of operation `e.object`, with the knowledge of its issue. `queues` is asked for
  /// the order of issue inside one queue.
  void async(const Event& e, const uint32_t* knowledge, Epoch epoch, const Queues& queues);
  /// Stale data count only where no race explains them.
  void finish();

 private:
  enum class Kind : uint8_t { read, write, atomic };
  struct Access {
    Epoch epoch;
    uint32_t event = 0;
    Kind kind = Kind::read;
    Proxy proxy = Proxy::generic;
    bool ordered = true;  ///< a read or atomic: after the write before it
    bool found = true;    ///< a read: after that write, or after another that left the same bytes
    uint8_t element = 0;  ///< of an atomic: bytes of each element; 0: not known
  };
  struct Region {
    Access write;
    std::vector<Access>
        frontier;  ///< since the last write: reads, and atomics; one entry for each lane and kind. Earlier
                   ///< writes too that left the same bytes as `write`, in no order with it
    std::vector<Access>
        before;  ///< if others may leave the same bytes as `write` once more: what came before the
                 ///< first of these writes, and with which each of them must not compete
  };
  /// Which clock must hold an earlier generic, or an earlier async, access.
  struct Order {
    const uint32_t* of_generic;  ///< null: nothing generic is known
    const uint32_t* of_async;
    const uint32_t* happens_before;
    const uint32_t* causal;                ///< what has happened, visible or not
    const uint32_t* of_reads = nullptr;    ///< besides, for an earlier generic read; null: nothing (HB1)
    const uint32_t* reads_over = nullptr;  ///< the same without regard to proxies
    const uint32_t* any_scope = nullptr;   ///< what scopes keep from it; null: nothing
    const Queues* queues = nullptr;        ///< null: the access is no operation's
    bool careful = false;                  ///< the fast path is not enough: accesses of several CTAs may meet
  };

  void access(uint32_t footprint, const Access& current, const Order& order);
  /// `current` leaves the bytes that are there already (leave_the_same), whoever else may still be writing
  /// them.
  void write_again(uint32_t region, const Access& current, const Order& order);
  /// False: they are not ordered, and it was noted.
  bool check(uint32_t region, const Access& prior, const Access& current, const Order& order);
  static bool known(const Access& prior, const Order& order);
  static bool reader_tells(const Access& reader, const Access& write, const Order& order);
  static bool happened_before(const Access& prior, const Order& order);
  static bool needs_check(const Access& prior, const Access& current) {
    if (prior.kind == Kind::write) return current.kind != Kind::read;  // the last write stands for it
    return prior.kind != current.kind || prior.element != current.element || prior.proxy != current.proxy;
  }
  static bool morally_strong(const Event& a, const Access& prior, const Event& b, const Access& current);
  void conflict(Conflict::Kind kind, uint32_t region, const Access& prior, const Access& current);
  bool ordered_by_queue(uint32_t region, const Access& prior, const Access& current, const Order& order);
  TensorOperation tensor_operation(uint32_t op) const;
  bool same_queue(size_t first, size_t second) const;
  void check_tag(uint32_t region, const Access& current, const Order& order);

  RunState& run_;
  Regions regions_;
  std::vector<Region> state_;
  std::unordered_map<uint64_t, uint32_t>
      known_;                      ///< places and kind of a conflict -> index in Observations::conflicts
  std::vector<uint32_t> counted_;  ///< per conflict: the access that was counted last
  std::unordered_map<uint64_t, uint32_t> overwritten_;
  std::unordered_map<uint64_t, uint32_t> stale_;  ///< places -> index in Observations::stale_reads
  std::vector<uint32_t> stale_region_;            ///< of each of them
  std::vector<uint32_t> raced_;                   ///< regions
  std::vector<uint32_t> accumulator_;  ///< by operation: first footprint that it writes in tensor memory
  bool several_ctas_ = false;
};

}  // namespace turnstile::checker
