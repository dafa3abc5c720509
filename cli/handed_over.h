// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checker/check.h"
#include "cli/trace_class.h"
#include "model/launch/launch.h"
#include "model/result.h"
#include "sim/position_tape.h"
#include "sim/tape_parts.h"
#include "sim/tickets.h"

namespace turnstile::cli {

/// Whether it matters which clusters launch control hands over, and in which order (CL7): runs of one cluster
/// in which it was handed some are shown to be those of every choice (docs/theory.md, launch control). The
/// same for which tickets a cluster draws from a counter (docs/theory.md, tickets).
class HandedOver {
 public:
  /// `tickets`: RunOptions::tickets of the runs; has to outlive this.
  static Result<HandedOver> create(const sim::Program& program, const Launch& launch,
                                   const sim::TicketCounter* tickets = nullptr);

  /// A run with so many handovers.
  void add(const Trace& trace, std::shared_ptr<const sim::PositionTape> tape, uint32_t handed);
  /// A run without any: what it owes to the value that it drew instead of a ticket.
  void add_refusal(const Trace& trace, std::shared_ptr<const sim::PositionTape> tape);
  /// Footprints in that run that only follow this value, and are among those of all such values.
  static std::set<uint32_t> of_refusal(const Trace& trace, const sim::PositionTape& tape);
  /// Whether what is drawn instead of a ticket decides no more than addresses, of the runs so far.
  const std::optional<Note>& examine_refusals();
  /// How much of what was added was new.
  size_t size() const { return kinds_.size() + fixed_.size() + (objection_ ? 1 : 0); }
  /// Whether runs of these parts were added.
  bool knows(const std::vector<sim::Hash128>& kinds) const;

  struct Examined {
    /// Why the verdicts of the runs are not those of every choice; nothing: they are, if no two of the
    /// summaries conflict, nor one with what a CTA does that is handed nothing.
    std::optional<Note> objection;
    /// What the runs do to global memory for each cluster id, wherever it is worked on.
    std::vector<GlobalAccessSummary> accesses;
  };
  /// Once, at the end. `written`: buffers that CTAs write which are handed nothing.
  Examined examine(const std::set<uint32_t>& written);

 private:
  /// Whose ids a part is owed to.
  enum class Ids : uint8_t { clusters, tickets, refusals };
  /// One kind of part, of the first run that had it.
  struct Kind {
    Ids ids = Ids::clusters;
    uint32_t number = 0;  ///< of the part in that run
    sim::Hash128 hash;
    std::shared_ptr<const sim::PositionTape> tape;
    std::shared_ptr<const sim::MovedFootprints> before;
    std::shared_ptr<const GlobalAccessSummary> summary;
    std::vector<uint32_t> written;
    sim::TapePart part;
    uint32_t handed = 0;  ///< in that run
  };

  /// Accesses that no id moves, of the first run that had them.
  struct Fixed {
    GlobalAccessSummary accesses;
    uint32_t handed = 0;
  };

  HandedOver(const sim::Program& program, const Launch& launch, const sim::TicketCounter* tickets,
             sim::PositionReplay replay)
      : program_(program), launch_(launch), tickets_(tickets), replay_(std::move(replay)) {}
  void object(uint32_t place, std::string text);
  bool examine_kind(const Kind& kind, uint64_t id, TraceClass overlaps, GlobalAccessSummary& out);
  void add_run(const Trace& trace, std::shared_ptr<const sim::PositionTape> tape, uint32_t handed,
               bool refusal_only);
  void examine_id(Ids ids, uint64_t id, bool first_tickets, std::span<const TraceClass> overlaps,
                  const std::set<uint32_t>& of_interest, std::vector<GlobalAccessSummary>& out);
  std::string id_name(Ids ids, uint64_t id) const;
  /// First id, and how many there are.
  std::pair<uint64_t, uint64_t> range_of(Ids ids) const;
  static TraceClass overlaps_of(const Kind& kind);

  const sim::Program& program_;
  const Launch& launch_;
  const sim::TicketCounter* tickets_;
  sim::PositionReplay replay_;
  std::vector<Kind> kinds_;
  std::vector<Fixed> fixed_;
  std::optional<Note> objection_;  ///< the first
};

}  // namespace turnstile::cli
