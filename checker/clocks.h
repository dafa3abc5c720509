// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace turnstile::checker {

// Vector clocks of algorithms.md 5.2, representation B: lanes = strands + mbarriers + named barriers +
// queues, one fixed width per trace. Every question is "is this epoch in that clock?" (one comparison), every
// update a maximum.

/// One point on one lane. A clock knows it iff its entry of that lane is at least `value`; value 0 is known
/// to everyone.
struct Epoch {
  uint32_t lane = 0;
  uint32_t value = 0;
};

/// Which lane belongs to whom. Queue lanes come in pairs: sources read (BK3), and everything done. In a queue
/// of tcgen05.mma the first of the pair says what was issued (TC20).
struct Lanes {
  uint32_t first_barrier = 0;
  uint32_t first_named = 0;
  uint32_t first_queue = 0;
  uint32_t width = 0;  ///< a multiple of 8, so that joins vectorise without a tail

  Lanes() = default;
  Lanes(size_t agents, size_t barriers, size_t named, size_t queues)
      : first_barrier(static_cast<uint32_t>(agents)),
        first_named(static_cast<uint32_t>(agents + barriers)),
        first_queue(static_cast<uint32_t>(agents + barriers + named)),
        width(static_cast<uint32_t>((agents + barriers + named + 2 * queues + 7) / 8 * 8)) {}

  uint32_t agent(uint32_t a) const { return a; }
  uint32_t barrier(uint32_t b) const { return first_barrier + b; }
  uint32_t named(uint32_t n) const { return first_named + n; }
  uint32_t read_done(uint32_t q) const { return first_queue + 2 * q; }
  uint32_t issued(uint32_t q) const { return read_done(q); }
  uint32_t all_done(uint32_t q) const { return first_queue + 2 * q + 1; }
};

/// Which views a knowledge has. Row 0 is the causal order, row 1 the visibility order (hb of semantics.md
/// 0.5). The others exist only if the trace has a use for them: a g2a row for each space with a proxy fence
/// (without it nothing generic is ever known to the async proxy there); for descriptors (TMAP2) one of what
/// is released to the tensormap proxy, and for each descriptor what is acquired; three for tensor memory
/// (TC23): ordered, published at a thread sync, received there. Four if arrivals or waits of scope .cta meet
/// on a barrier of another CTA (HB1): generic reads that are over although the visibility order does not hold
/// them, and of these those that a proxy fence of each space covers; and what the order would hold if scopes
/// did not matter, beyond what it does hold: for reports only.
struct Views {
  struct Uses {
    bool shared_fences = false, global_fences = false, map_fences = false, tensor_memory = false;
    std::vector<uint32_t> maps;     ///< footprints of descriptors that copies use, sorted
    bool narrow_scopes = false;     ///< remote arrivals of scope .cta, or waits of that scope for remote ones
    bool relaxed_barriers = false;  ///< relaxed arrivals or waits: fences may stand in for them (M7, M8)
  };

  static constexpr uint32_t causal = 0, order = 1, none = 0xffffffff;
  uint32_t fenced_shared = none;
  uint32_t fenced_global = none;
  uint32_t map_released = none, first_map = none;
  std::vector<uint32_t> maps;  ///< Uses::maps: a row each, from first_map on
  uint32_t reads_over = none, shared_reads_over = none, global_reads_over = none;
  uint32_t any_scope = none;
  uint32_t travelling = 2;  ///< rows that a release publishes and an acquire receives; the tensor rows have
                            ///< their own way (TC23)
  uint32_t tensor = none, tensor_out = none, tensor_in = none;
  uint32_t rows = 2;

  /// What is acquired of the descriptor with this footprint.
  uint32_t map_acquired(uint32_t footprint) const {
    const auto at = std::lower_bound(maps.begin(), maps.end(), footprint);
    return at == maps.end() || *at != footprint ? none : first_map + static_cast<uint32_t>(at - maps.begin());
  }

  Views() = default;
  explicit Views(const Uses& uses) {
    if (uses.shared_fences) fenced_shared = rows++;
    if (uses.global_fences) fenced_global = rows++;
    if (uses.map_fences) {
      map_released = rows++;
      first_map = rows;
      maps = uses.maps;
      rows += static_cast<uint32_t>(maps.size());
    }
    if (uses.narrow_scopes) {
      any_scope = rows++;
      reads_over = rows++;
      if (uses.shared_fences) shared_reads_over = rows++;
      if (uses.global_fences) global_reads_over = rows++;
    }
    travelling = rows;
    if (uses.tensor_memory) {
      tensor = rows++;
      tensor_out = rows++;
      tensor_in = rows++;
    }
  }
};

/// into = max(into, from), n a multiple of 8. Joins are what the single run spends most of its time on.
void join(uint32_t* into, const uint32_t* from, size_t n);

/// into = min(into, from): what both know.
void meet(uint32_t* into, const uint32_t* from, size_t n);

inline bool knows(const uint32_t* clock, Epoch e) { return clock[e.lane] >= e.value; }

/// The knowledge of many owners, flat: for each owner its rows one after the other. Pointers stay valid until
/// `take` grows the table.
class KnowledgeTable {
 public:
  KnowledgeTable() = default;
  KnowledgeTable(const Lanes& lanes, const Views& views, size_t owners)
      : width_(lanes.width), stride_(size_t{lanes.width} * views.rows), words_(stride_ * owners) {}

  uint32_t* all(size_t owner) { return words_.data() + stride_ * owner; }
  const uint32_t* all(size_t owner) const { return words_.data() + stride_ * owner; }
  uint32_t* row(size_t owner, uint32_t view) { return all(owner) + size_t{width_} * view; }
  const uint32_t* row(size_t owner, uint32_t view) const { return all(owner) + size_t{width_} * view; }
  size_t stride() const { return stride_; }
  size_t words() const { return words_.size(); }

  /// An owner that nobody uses, with undefined contents.
  uint32_t take() {
    if (!free_.empty()) {
      const uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    words_.resize(words_.size() + stride_);
    return static_cast<uint32_t>(words_.size() / stride_ - 1);
  }
  void give_back(uint32_t slot) { free_.push_back(slot); }

 private:
  uint32_t width_ = 0;
  size_t stride_ = 0;
  std::vector<uint32_t> words_;
  std::vector<uint32_t> free_;
};

}  // namespace turnstile::checker
