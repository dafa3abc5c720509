// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/protocol/mbarrier.h"
#include "model/protocol/named_barrier.h"
#include "model/report.h"
#include "model/trace.h"

namespace turnstile::checker {

/// Names of things as a report says them: "warp 5 (consumer 0)", "full[2]", "A[2]+0x40", "gemm.cu:141".
class Names {
 public:
  explicit Names(const Trace& trace) : trace_(trace) {}

  std::string warp(AgentId strand) const;
  std::string warp_number(uint32_t warp_key) const;  ///< of run_state.h
  std::string barrier(uint32_t b) const;
  std::string named_barrier(uint32_t object) const;
  std::string named_id(uint32_t object) const;  ///< "id5"
  /// "buf[1]", "C", "tm.acc": what holds these bytes.
  std::string holder(Space space, uint32_t allocation, uint64_t begin) const;
  /// Name of the object that an event is about; empty: none.
  std::string object_of(const Event& event) const;
  std::string bytes(Space space, uint32_t allocation, uint64_t begin, uint64_t end) const;
  SourcePosition position(uint32_t place) const;
  std::string line(uint32_t place) const;
  Note note(uint32_t place, std::string text) const { return {position(place), std::move(text)}; }

  /// What an access does, as a phrase: "TMA store reads", "generic store writes".
  std::string action(const Event& access) const;
  /// "phase 1 (parity 1)"; generation = completions before the phase.
  static std::string phase(uint64_t generation);

 private:
  const Trace& trace_;
};

/// Everything that happened to the barriers, by barrier and generation. Made only when there is something to
/// explain.
class History {
 public:
  enum class Kind : uint8_t { arrive, expect, bytes, wait };
  struct Entry {
    Kind kind = Kind::arrive;
    size_t event = 0;         ///< bytes: the issue of the copy
    uint64_t generation = 0;  ///< the phase that was open; wait: completions observed
  };
  struct Contribution {  ///< to a named barrier
    size_t event = 0;
    uint64_t instance = 0;  ///< completed before it
  };

  explicit History(const Trace& trace);

  const std::vector<Entry>& of(uint32_t barrier) const { return entries_[barrier]; }
  const Mbarrier& barrier(uint32_t b) const { return machines_[b]; }  ///< at the end
  std::vector<Contribution> named(uint32_t object, NamedBarrier& machine) const;

  /// Warps (warp_key) that arrive on a barrier, in any phase, sorted.
  std::vector<uint32_t> arrivers(uint32_t barrier) const;
  /// The last wait of a warp before an event, or Trace size.
  size_t last_wait_before(uint32_t warp_key, size_t event) const;

 private:
  const Trace& trace_;
  std::vector<std::vector<Entry>> entries_;
  std::vector<Mbarrier> machines_;
};

}  // namespace turnstile::checker
