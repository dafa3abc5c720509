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

/// Which numbers up to `most` are run. `few`: all of them.
void choose_counts(const sim::Program& program, const Launch& launch, uint32_t most, bool few, bool thorough,
                   const std::function<bool()>& stop, const std::function<void(uint32_t done)>& progress,
                   Handovers& h) {
  constexpr uint32_t longest_run = 32, most_decided = 64;
  constexpr size_t most_unusual = 8;
  uint32_t decided = most + 1;
  if (!few) {
    sim::HandoverSurvey survey;
    survey.why_not = "not every CTA was asked for";
    if (thorough)
      survey =
          sim::survey_handovers(program, launch, most, h.tickets ? &*h.tickets : nullptr, stop, progress);
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
      h.counts.push_back(std::min(most, longest_run - 1));
      survey.first.resize(std::min(survey.first.size(), most_unusual));
      h.counts.insert(h.counts.end(), survey.first.begin(), survey.first.end());
    }
  }
  for (uint32_t n = 0; n < decided; ++n) h.counts.push_back(n);
}

void finish_counts(uint32_t most, Handovers& h) {
  for (uint32_t& n : h.counts) n = std::min(n, most);
  std::sort(h.counts.begin(), h.counts.end());
  h.counts.erase(std::unique(h.counts.begin(), h.counts.end()), h.counts.end());
  h.all = h.counts.size() == size_t{most} + 1 || h.period != 0;
}

}  // namespace

uint64_t clusters_of(const sim::Program& program, const Launch& launch) {
  const Dim3 shape = sim::cluster_shape(program);
  return launch.cta_count() / (uint64_t{1} * shape[0] * shape[1] * shape[2]);
}

Handovers handovers_of(const sim::Program& program, const Launch& launch, uint64_t traces, bool thorough,
                       const std::function<bool()>& stop,
                       const std::function<void(uint32_t done)>& progress) {
  constexpr uint64_t most_runs = 1024;
  const uint64_t clusters = clusters_of(program, launch);
  // Clusters that wait for each other run together, and none is left to hand over.
  if (!sim::takes_clusters(program) || traces != clusters) return {};
  Handovers h;
  h.counts = launch.clusters_to_cancel;
  h.few = clusters * clusters <= most_runs;
  const auto most = static_cast<uint32_t>(clusters - 1);
  if (h.counts.empty()) {
    h.first_only = clusters > 2;  // of two there is one order
    choose_counts(program, launch, most, h.few, thorough, stop, progress, h);
  }
  finish_counts(most, h);
  return h;
}

Handovers drawn_tickets_of(const sim::Program& program, const Launch& launch,
                           const sim::TicketCounter& counter, bool thorough,
                           const std::function<bool()>& stop,
                           const std::function<void(uint32_t done)>& progress) {
  constexpr uint32_t most_runs = 32;
  Handovers h;
  h.tickets = counter;
  h.counts.clear();
  const auto most = static_cast<uint32_t>(counter.count);
  if (clusters_of(program, launch) == 1) {  // nobody else takes any
    h.counts = {most};
    h.all = true;
    return h;
  }
  h.first_only = true;
  choose_counts(program, launch, most, most < most_runs, thorough, stop, progress, h);
  finish_counts(most, h);
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

namespace {

/// The words of a report about what one cluster is given by choice.
struct Words {
  std::string run;  ///< what was run
  std::string_view rounds, which, each, guarantee;
};

Words words_for(const Handovers& h, uint64_t traces) {
  if (h.tickets)
    return {fmt::format("a cluster may draw up to {} tickets (LF3): {} were run", h.tickets->count,
                        numbers_text(h.counts)),
            "tickets", "tickets", "ticket", ", for every number of tickets that a cluster draws"};
  return {fmt::format("launch control may hand up to {} clusters over to one (CL1): {} were run", traces - 1,
                      numbers_text(h.counts)),
          "tiles", "clusters", "cluster", ", for every number of clusters that launch control hands over"};
}

}  // namespace

std::string conclude_handovers(const Handovers& handovers, const HandoverVerdict& verdict, uint64_t traces,
                               Report& report) {
  const auto add = [&](std::string text) { report.inconclusive.push_back({{}, std::move(text)}); };
  // One cluster gets all tickets there are, in their order.
  const bool alone = handovers.tickets && traces == 1;
  const bool choices = !handovers.first_only ? alone || traces <= 2 : !verdict.objection;
  bool numbers = handovers.all;
  std::string why_not = handovers.why_not;
  if (handovers.period != 0 && !(verdict.certified && verdict.repeats)) {
    numbers = false;
    why_not = verdict.certified ? "the others access memory in ways that these do not"
                                : "one run does not decide them";
  }
  const Words words = words_for(handovers, traces);
  const std::string run = words.run + (handovers.first_only && (choices || !handovers.few)
                                           ? ", all but none for the first cluster only"
                                           : "");
  std::string covered = run;
  if (numbers && handovers.period != 0)
    covered += fmt::format(
        "; all numbers were executed, and from {} on each run is that with {} fewer, with one round of the "
        "same {} {} put in",
        handovers.start, handovers.period, handovers.period, words.rounds);
  if (choices && handovers.first_only)
    covered +=
        fmt::format("; only addresses depend on which {} they are, and those were computed for every {}",
                    words.which, words.each);
  if (numbers && choices) {
    if (alone) return covered;
    report.guarantee += words.guarantee;
    if (handovers.tickets || traces > 2) report.guarantee += ", and every choice and order of them";
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
