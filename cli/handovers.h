// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/launch/launch.h"
#include "model/report.h"
#include "sim/hash128.h"
#include "sim/program.h"
#include "sim/tickets.h"

namespace turnstile::cli {

uint64_t clusters_of(const sim::Program& program, const Launch& launch);

/// Some clusters are run, from `begin` to before `end`, each with this number of handovers.
struct HandoverPass {
  uint32_t handed = 0;
  uint64_t begin = 0, end = 0;
  bool stands_for_all = false;  ///< the run of the first cluster is to stand for every choice of clusters
};

/// How many clusters launch control hands over to the one that asks, or how many tickets one draws: a choice
/// that no schedule of one run covers, so that each number is a run of its own (LF3, CL1).
struct Handovers {
  std::vector<uint32_t> counts = {0};
  bool all = false;                 ///< every number that is possible is run, or repeats one that is
  bool first_only = false;          ///< all but none for the first cluster only, to stand for all others
  uint32_t start = 0, period = 0;   ///< sim::HandoverSurvey, if numbers that are not run repeat others
  std::vector<sim::Hash128> kinds;  ///< sim::HandoverSurvey::kinds
  std::string why_not;              ///< sim::HandoverSurvey::why_not
  bool few = false;                 ///< few enough that each number can be run for each cluster
  std::optional<sim::TicketCounter> tickets;  ///< it is these, drawn from a counter, instead of clusters

  std::vector<HandoverPass> passes(uint64_t clusters) const;
  /// Where the runs of the first cluster do not stand for all: those of the others, if they are few.
  void add_other_clusters(std::vector<HandoverPass>& passes, uint64_t clusters) const;
};

/// What came out of them.
struct HandoverVerdict {
  bool certified = true;          ///< each run stands for all schedules by the certificate of one run
  bool repeats = false;           ///< the runs that were made have all that Handovers::kinds names
  std::optional<Note> objection;  ///< why they do not stand for every choice of clusters
};

/// `thorough`: otherwise a few numbers do, since the verdict is open for another reason. `progress`: is told
/// how many numbers the survey of them has seen, out of one for each cluster; may be empty.
Handovers handovers_of(const sim::Program& program, const Launch& launch, uint64_t traces, bool thorough,
                       const std::function<bool()>& stop, const std::function<void(uint32_t done)>& progress);

/// The same for tickets that clusters draw from a counter.
Handovers drawn_tickets_of(const sim::Program& program, const Launch& launch,
                           const sim::TicketCounter& counter, bool thorough,
                           const std::function<bool()>& stop,
                           const std::function<void(uint32_t done)>& progress);

/// Says in the report what was not covered, and gives a sentence about what was.
std::string conclude_handovers(const Handovers& handovers, const HandoverVerdict& verdict, uint64_t traces,
                               Report& report);

}  // namespace turnstile::cli
