// SPDX-License-Identifier: Apache-2.0
#include "cli/residency.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/program.h"
#include "sim/residency.h"

namespace turnstile::cli {

namespace {

/// The first loop that waits for a flag in global memory.
SourcePosition first_wait(const sim::Program& program) {
  SourcePosition where;
  const auto at = std::find_if(program.code.begin(), program.code.end(), [](const sim::Decoded& d) {
    return d.poll != sim::Decoded::none && d.order != 0 && d.space != sim::AddressSpace::shared;
  });
  if (at == program.code.end()) return where;
  const Place& place = program.places[at->index];
  where.file = place.file.empty() ? place.ptx_file : place.file;
  where.line = place.file.empty() ? place.ptx_line : place.line;
  where.column = place.column;
  where.ptx_line = place.ptx_line;
  where.instruction = place.instruction;
  return where;
}

}  // namespace

Result<void> judge_residency(const sim::Program& program, const Launch& launch, uint64_t resident,
                             Report& report) {
  const Result<sim::Residency> found = sim::needed_residency(program, launch);
  if (!found) return tl::unexpected(found.error());
  if (found->at_most <= 1) return {};
  if (!found->decided || (resident >= found->at_least && resident < found->at_most)) {
    report.inconclusive.push_back(
        {{},
         fmt::format(
             "clusters wait for each other through global memory; whether {} of {} resident at a time are "
             "enough is not decided (F2)",
             resident == 0 ? found->clusters : resident, found->clusters)});
    return {};
  }
  if (resident >= found->at_most) return {};
  Diagnostic d;
  d.finding_class = FindingClass::hang;
  d.rule = "F2";
  d.severity = resident == 0 ? Severity::lint : Severity::error;
  d.message = fmt::format(
      "needs co-residency of {} clusters: with fewer, those that run can wait for ever for one that "
      "has not started",
      found->at_least);
  d.where = first_wait(program);
  d.label = "waits for a flag that another cluster sets";
  d.facts.push_back(fmt::format("the launch has {} clusters, which may start in any order", found->clusters));
  if (resident != 0) d.facts.push_back(fmt::format("only {} are resident at a time (--resident)", resident));
  d.witness = {fmt::format("{} clusters start and wait; the one that they wait for gets no slot",
                           found->at_least - 1)};
  d.help =
      "launch cooperatively with as many clusters as the GPU holds at once, or let no cluster wait for a "
      "later one";
  report.diagnostics.push_back(std::move(d));
  return {};
}

}  // namespace turnstile::cli
