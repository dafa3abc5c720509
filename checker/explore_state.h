// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checker/independence.h"
#include "model/orchestration.h"
#include "model/protocol/orchestration_machine.h"

namespace turnstile::checker {

/// A state of a search: that of the machine, and the tags that memory holds (orchestration_bugs.md 1.1).
class ExploreState {
 public:
  ExploreState(const Orchestration& program, const Overlaps& overlaps, bool tags)
      : overlaps_(&overlaps), machine_(program), tags_(tags ? overlaps.cell_count() : 0, 0) {}

  const OrchestrationMachine& machine() const { return machine_; }
  const Event& event() const { return event_; }  ///< of the last step

  struct Outcome {
    bool stale = false;         ///< a read finds another tag than it demands
    std::vector<Fault> faults;  ///< errors only
  };
  Outcome take(OrchestrationMachine::Step step) {
    Outcome outcome;
    if (!tags_.empty())
      if (const Event* e = machine_.next(step); is_access(e)) outcome.stale = touch(*e);
    outcome.faults = machine_.take(step, event_);
    // No faults by themselves, the single run advises: bug class nbar-arrives-only; a store in flight at the
    // end of its CTA, which waits until it has read (BK6; H200, probe P14).
    if (!outcome.faults.empty())
      std::erase_if(outcome.faults, [](const Fault& f) { return f.rule == "C4" || f.rule == "BK6"; });
    return outcome;
  }

  static bool is_access(const Event* e) {
    return e != nullptr && (e->kind == EventKind::access || e->kind == EventKind::async_access);
  }

  void save(std::vector<uint8_t>& bytes) const {
    machine_.save(bytes);
    for (const uint32_t tag : tags_)
      for (unsigned shift = 0; shift < 8 * tag_bytes; shift += 8)
        bytes.push_back(static_cast<uint8_t>(tag >> shift));
  }
  void load(std::span<const uint8_t> bytes) {
    const size_t own = bytes.size() - tag_bytes * tags_.size();
    machine_.load(bytes.first(own));
    for (size_t i = 0; i < tags_.size(); ++i) {
      const uint8_t* at = bytes.data() + own + tag_bytes * i;
      tags_[i] = at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16;
    }
  }

 private:
  static constexpr size_t tag_bytes = 3;

  bool touch(const Event& e) {
    const auto tag = static_cast<uint32_t>(e.generation & 0xffffff);
    bool stale = false;
    for (const uint32_t cell : overlaps_->cells(e.footprint)) {
      if (e.has(Event::write))
        tags_[cell] = tag;
      else
        stale |= tag != 0 && tags_[cell] != tag;
    }
    return stale;
  }

  const Overlaps* overlaps_;
  OrchestrationMachine machine_;
  std::vector<uint32_t> tags_;
  Event event_;
};

}  // namespace turnstile::checker
