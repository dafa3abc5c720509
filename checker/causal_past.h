// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/trace.h"

namespace turnstile::checker {

/// The events before an event, in the causal order (algorithms.md 5.1), as indices into the trace: what has
/// to be executed to get there, in an order that does. A completion stands for all contributions up to it.
/// Its size is linear in the events.
class CausalPast {
 public:
  explicit CausalPast(const Trace& trace);

  /// Everything before any of the events, sorted; they themselves only if something else needs them.
  std::vector<size_t> before(const std::vector<size_t>& events) const;
  /// The contributions that the first `generation` completions of an mbarrier counted.
  std::vector<size_t> contributions(uint32_t barrier, uint64_t generation) const;
  /// Those that were counted while `generation` completions had happened.
  std::vector<size_t> counted_in(uint32_t barrier, uint64_t generation) const;
  size_t previous(size_t event) const { return previous_[event]; }

 private:
  class Builder;

  struct Item {
    size_t event = 0;
    uint64_t group = 0;  ///< of a queue; else 0
  };
  /// The first items of a list, as far as they belong to a group up to this one: they precede an event.
  struct Prefix {
    uint32_t list = 0;
    uint32_t length = 0;
    uint64_t group = 0;
  };

  size_t first_counted(uint32_t barrier, uint64_t generation) const;

  size_t events_ = 0;
  std::vector<size_t> previous_;          ///< in its strand or operation; no_event: none
  std::vector<size_t> joined_;            ///< the last event of a strand that meets its own; no_event: none
  std::vector<std::vector<Item>> lists_;  ///< events on one object, in the order of the trace
  std::vector<Prefix> prefixes_;          ///< of all events, one event after the other
  std::vector<uint32_t> first_prefix_;    ///< by event, into prefixes_
  std::vector<uint32_t> counted_;         ///< by mbarrier: the list of its contributions
  std::vector<std::vector<uint32_t>> completed_;  ///< by mbarrier: contributions up to each completion
};

}  // namespace turnstile::checker
