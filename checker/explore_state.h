// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "checker/independence.h"
#include "checker/symmetry.h"
#include "model/orchestration.h"
#include "model/protocol/bit_stream.h"
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

  void save(BitWriter& writer) const {
    machine_.save(writer);
    save_tags(writer, [](uint32_t cell) { return cell; });
  }
  void save(BitWriter& writer, const Symmetry::Names& names) const {
    machine_.save(writer, names.machine);
    save_tags(writer, [&](uint32_t cell) { return names.cell[cell]; });
  }
  void load(BitReader& r) {
    machine_.load(r);
    for (uint32_t c = 0; c < tags_.size(); ++c)
      tags_[c] = static_cast<uint32_t>(r.get(overlaps_->tag_bits(c)));
  }

 private:
  template <typename From>
  void save_tags(BitWriter& writer, From from) const {
    BitWriter w = writer;
    for (uint32_t c = 0; c < tags_.size(); ++c) w.put(tags_[from(c)], overlaps_->tag_bits(c));
    writer = w;
  }

  bool touch(const Event& e) {
    // It adds to contents whose generation stays what it is, as in the single run.
    if (e.kind == EventKind::access && e.has(Event::atomic)) return false;
    bool stale = false;
    for (const uint32_t cell : overlaps_->cells(e.footprint)) {
      if (e.has(Event::write))
        tags_[cell] = overlaps_->tag_number(cell, e.generation);
      else
        stale |= e.generation != 0 && overlaps_->tag(cell, tags_[cell]) != e.generation;
    }
    return stale;
  }

  const Overlaps* overlaps_;
  OrchestrationMachine machine_;
  std::vector<uint32_t> tags_;  ///< by cell: number of its tag (Overlaps::tag)
  Event event_;
};

}  // namespace turnstile::checker
