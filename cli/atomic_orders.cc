// SPDX-License-Identifier: Apache-2.0
#include "cli/atomic_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "cli/text.h"
#include "sim/grouping.h"
#include "sim/launch_run.h"

namespace turnstile::cli {

namespace {

constexpr uint64_t most_clusters = 4, most_before = 32;
constexpr size_t most_calls = 8;  ///< at which the others take the rest

using Order = std::map<size_t, uint64_t>;  ///< RunOptions::others_add

Order others_before(size_t call, uint64_t number) {
  Order out;
  out[call] = number;
  return out;
}

/// What else may happen to a cluster that was given these answers when it came first.
std::set<Order> other_orders(const std::vector<uint64_t>& first, uint64_t clusters) {
  std::set<Order> out;
  if (first.size() == 1) {
    for (uint64_t before = 1; before < std::min(clusters, most_before); ++before)
      out.insert(others_before(0, before));
    return out;
  }
  for (size_t call = 0; call < std::min(first.size(), most_calls); ++call)
    if (first.back() > first[call]) out.insert(others_before(call, first.back() - first[call]));
  for (const uint64_t between : {uint64_t{1}, uint64_t{2}}) {
    Order every;
    for (size_t call = 0; call < first.size(); ++call) every[call] = between;
    out.insert(every);
    out.insert(others_before(0, between));
  }
  return out;
}

std::string answers_text(const std::vector<uint64_t>& answers) {
  constexpr size_t most = 8;
  std::string out;
  for (size_t i = 0; i < std::min(answers.size(), most); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", answers[i]);
  return answers.size() > most ? out + ", ..." : out;
}

}  // namespace

Result<AtomicOrders> run_atomic_orders(const sim::Program& program, const Launch& launch, uint64_t clusters,
                                       const DecideOptions& options, const std::function<bool()>& stop) {
  AtomicOrders out;
  const auto run = [&](uint64_t cluster, const Order& order) -> Result<std::vector<uint64_t>> {
    sim::RunOptions choice;
    choice.ctas = {sim::cta_of_trace(program, launch, cluster)};
    choice.atomics_in_order = true;
    choice.others_add = order;
    Result<sim::RunResult> done = sim::run_launch(program, launch, choice);
    if (!done) return tl::unexpected<Error>(done.error());
    std::vector<uint64_t> answers;
    for (const sim::AtomicAnswer& a : done->atomic_answers.front()) answers.push_back(a.value);
    if (answers.empty()) return answers;
    ++out.runs;
    Report report = decide(done->traces.front(), options).report;
    for (Diagnostic& d : report.diagnostics)
      d.facts.push_back(fmt::format("when its atomics return {}", answers_text(answers)));
    merge_into(out.report, report);
    return answers;
  };
  for (uint64_t cluster = 0; cluster < std::min(clusters, most_clusters) && !stop(); ++cluster) {
    const Result<std::vector<uint64_t>> first = run(cluster, {});
    if (!first) return tl::unexpected<Error>(first.error());
    if (first->empty()) break;
    ++out.clusters;
    for (const Order& order : other_orders(*first, clusters)) {
      if (stop()) break;
      if (const auto other = run(cluster, order); !other) return tl::unexpected<Error>(other.error());
    }
  }
  out.sentence = fmt::format(
      "what an atomic returns depends on the order in which CTAs come to it (LF3): {} for the first {} of {} "
      "clusters, others were not run",
      counted(out.runs, "order"), out.clusters, clusters);
  return out;
}

}  // namespace turnstile::cli
