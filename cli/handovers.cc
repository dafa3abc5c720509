// SPDX-License-Identifier: Apache-2.0
#include "cli/handovers.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/grouping.h"
#include "sim/handover_survey.h"

namespace turnstile::cli {

namespace {

std::string numbers_text(const std::vector<uint32_t>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ", numbers[i]);
  return out;
}

}  // namespace

uint64_t clusters_of(const sim::Program& program, const Launch& launch) {
  const Dim3 shape = sim::cluster_shape(program);
  return launch.cta_count() / (uint64_t{1} * shape[0] * shape[1] * shape[2]);
}

Handovers handovers_of(const sim::Program& program, const Launch& launch, uint64_t traces, bool thorough,
                       const std::function<bool()>& stop) {
  constexpr uint64_t most_runs = 1024, longest_run = 32, most_decided = 64;
  constexpr size_t most_unusual = 8;
  const uint64_t clusters = clusters_of(program, launch);
  // Clusters that wait for each other run together, and none is left to hand over.
  if (!sim::takes_clusters(program) || traces != clusters) return {};
  Handovers h;
  h.counts = launch.clusters_to_cancel;
  h.few = clusters * clusters <= most_runs;
  const auto most = static_cast<uint32_t>(clusters - 1);
  if (h.counts.empty()) {
    h.first_only = clusters > 2;  // of two there is one order
    uint32_t decided = most + 1;
    if (!h.few) {
      sim::HandoverSurvey survey;
      survey.why_not = "not every CTA was asked for";
      if (thorough) survey = sim::survey_handovers(program, launch, most, stop);
      h.why_not = survey.why_not;
      if (h.why_not.empty() && survey.runs > most_decided)
        h.why_not = fmt::format("they repeat from {} on only", survey.start);
      decided = 6;  // enough for each slot of a pipeline to come round
      if (h.why_not.empty()) {
        decided = survey.runs;
        h.start = survey.start;
        h.period = survey.period;
        h.kinds = std::move(survey.kinds);
      } else {  // and a long run, and those that differ from all before them
        h.counts.push_back(static_cast<uint32_t>(std::min<uint64_t>(clusters, longest_run) - 1));
        survey.first.resize(std::min(survey.first.size(), most_unusual));
        h.counts.insert(h.counts.end(), survey.first.begin(), survey.first.end());
      }
    }
    for (uint32_t n = 0; n < decided; ++n) h.counts.push_back(n);
  }
  for (uint32_t& n : h.counts) n = std::min(n, most);
  std::sort(h.counts.begin(), h.counts.end());
  h.counts.erase(std::unique(h.counts.begin(), h.counts.end()), h.counts.end());
  h.all = h.counts.size() == clusters || h.period != 0;
  return h;
}

std::vector<HandoverPass> Handovers::passes(uint64_t clusters) const {
  std::vector<HandoverPass> out;
  for (const uint32_t n : counts)
    out.push_back({n, 0, first_only && n != 0 ? 1 : clusters, first_only && n != 0});
  return out;
}

void Handovers::add_other_clusters(std::vector<HandoverPass>& passes, uint64_t clusters) const {
  if (!few) return;
  for (const uint32_t n : counts)
    if (n != 0) passes.push_back({n, 1, clusters, false});
}

std::string conclude_handovers(const Handovers& handovers, const HandoverVerdict& verdict, uint64_t traces,
                               Report& report) {
  const auto add = [&](std::string text) { report.inconclusive.push_back({{}, std::move(text)}); };
  const bool choices = !handovers.first_only ? traces <= 2 : !verdict.objection;
  bool numbers = handovers.all;
  std::string why_not = handovers.why_not;
  if (handovers.period != 0 && !(verdict.certified && verdict.repeats)) {
    numbers = false;
    why_not = verdict.certified ? "the others access memory in ways that these do not"
                                : "one run does not decide them";
  }
  const std::string run = fmt::format(
      "launch control may hand up to {} clusters over to one (CL1): {} were run{}", traces - 1,
      numbers_text(handovers.counts),
      handovers.first_only && (choices || !handovers.few) ? ", all but none for the first cluster only" : "");
  std::string covered = run;
  if (numbers && handovers.period != 0)
    covered += fmt::format(
        "; all numbers were executed, and from {} on each run is that with {} fewer, with one round of the "
        "same {} "
        "tiles put in",
        handovers.start, handovers.period, handovers.period);
  if (choices && handovers.first_only)
    covered +=
        "; only addresses depend on which clusters they are, and those were computed for every cluster";
  if (numbers && choices) {
    report.guarantee += ", for every number of clusters that launch control hands over";
    if (traces > 2) report.guarantee += ", and every choice and order of them";
    return covered;
  }
  if (!numbers) add(fmt::format("{}, others were not{}{}", run, why_not.empty() ? "" : ": ", why_not));
  if (choices) return covered;
  if (verdict.objection)
    report.inconclusive.push_back(*verdict.objection);
  else if (handovers.all)  // a tile may take another course than the one that was run in its place
    add("clusters were handed over in one order, the last of the grid first; the order is not specified "
        "(CL7), "
        "and others were not run");
  return covered;
}

}  // namespace turnstile::cli
