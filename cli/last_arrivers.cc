// SPDX-License-Identifier: Apache-2.0
#include "cli/last_arrivers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "cli/handovers.h"
#include "cli/text.h"
#include "cli/trace_class.h"
#include "sim/grouping.h"
#include "sim/launch_run.h"

namespace turnstile::cli {

namespace {

constexpr uint64_t most_alone = 4096, most_in_group = 64;
constexpr double most_alone_seconds = 60;

/// What a cluster does that found `before` others at its counter.
struct AloneRun {
  Trace trace;
  std::vector<sim::AtomicAnswer> answers;
};

Result<AloneRun> run_alone(const sim::Program& program, const Launch& launch, uint32_t cluster,
                           uint64_t added) {
  sim::RunOptions options;
  options.ctas = {sim::cta_of_trace(program, launch, cluster)};
  options.atomics_in_order = true;
  if (added != 0) options.others_add[0] = added;
  Result<sim::RunResult> run = sim::run_launch(program, launch, options);
  if (!run) return tl::unexpected<Error>(run.error());
  return AloneRun{std::move(run->traces.front()), std::move(run->atomic_answers.front())};
}

/// It ended by itself, and the only thing unknown is that what it was told is a choice.
bool is_whole(const AloneRun& run) {
  return !run.trace.cut_short && run.trace.faults.empty() &&
         run.trace.unknowns.size() == (run.answers.empty() ? 0u : 1u) && run.trace.live_pollers.empty() &&
         run.trace.blocked.empty();
}

bool same_word(const sim::TicketCounter& word, const sim::AtomicAnswer& a) {
  return a.buffer == word.buffer && a.offset == word.offset && a.bytes == word.bytes &&
         a.added == word.step && a.cta == word.cta && a.warp == word.warp && a.lane == word.lane;
}

/// Of what plain stores leave, only which of them leave the same in one place (leave_the_same).
Trace without_values(Trace trace) {
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> known;
  std::map<uint32_t, uint64_t> values;  // of a footprint
  for (Event& e : trace.events) {
    if (!leave_the_same(e, e)) continue;
    const auto [at, fresh] = known.try_emplace({e.footprint, e.bytes}, 0);
    if (fresh) at->second = ++values[e.footprint];
    e.bytes = at->second;
  }
  return trace;
}

bool same_trace(const Trace& a, const Trace& b) {
  return a.footprints == b.footprints && a.ranges == b.ranges &&
         trace_class(without_values(a)) == trace_class(without_values(b));
}

Note note_at(const sim::Program& program, uint32_t place, std::string text) {
  const Place& at = program.places[place];
  if (at.file.empty()) return {{at.ptx_file, at.ptx_line, 0, at.ptx_line, at.instruction}, std::move(text)};
  return {{at.file, at.line, at.column, at.ptx_line, at.instruction}, std::move(text)};
}

/// Bytes of a buffer of the launch.
struct Touched {
  uint32_t buffer = 0;
  uint64_t begin = 0, end = 0;
};

/// All that a cluster touches in global memory, as generic accesses or by copies; gaps between rows count
/// too.
void note_touched(const Trace& trace, std::vector<Touched>& out) {
  for (const Footprint& f : trace.footprints) {
    if (f.space != Space::global) continue;
    for (uint32_t r = f.first_range; r < f.first_range + f.range_count; ++r) {
      const ByteRange& range = trace.ranges[r];
      const uint64_t rows = range.count == 0 ? 0 : range.count - 1;
      out.push_back({f.allocation, range.begin, range.end + rows * range.stride});
    }
  }
}

/// The counter only grows, and does not come round.
bool counts_up(const sim::TicketCounter& word) {
  const uint64_t far = uint64_t{1} << (8u * word.bytes - 2);
  return word.step != 0 && word.start < far && word.step < far / (word.count + 1);
}

}  // namespace

Result<LastArrivers> find_last_arrivers(const sim::Program& program, const Launch& launch, uint64_t traces,
                                        const std::function<bool()>& stop) {
  LastArrivers out;
  if (traces < 2 || traces > most_alone || traces != clusters_of(program, launch)) return out;
  const auto start = std::chrono::steady_clock::now();
  const auto late = [&] {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return stop() || passed.count() > most_alone_seconds;
  };
  const auto refuse = [&](uint32_t place, std::string text) {
    LastArrivers none;
    none.why_not = note_at(program, place, std::move(text));
    return none;
  };
  std::map<std::pair<uint32_t, uint64_t>, size_t> group_of;
  std::vector<Touched> by_others;
  for (uint32_t c = 0; c < traces; ++c) {
    const Result<AloneRun> run = run_alone(program, launch, c, 0);
    if (!run) return tl::unexpected<Error>(run.error());
    if (!is_whole(*run)) return LastArrivers{};
    if (run->answers.empty()) {
      out.others.push_back(c);
      note_touched(run->trace, by_others);
      continue;
    }
    const sim::AtomicAnswer& a = run->answers.front();
    if (run->answers.size() > 1)
      return refuse(run->answers[1].place,
                    "a CTA comes to counters more than once: which answers go together depends on "
                    "the order of the CTAs (LF3)");
    if (late())
      return refuse(a.place, "the CTAs that come to counters are more than are looked at in a minute");
    const auto [at, fresh] = group_of.try_emplace({a.buffer, a.offset}, out.groups.size());
    if (fresh) out.groups.push_back({sim::counter_of(a), {}, 0});
    sim::Arrivals& group = out.groups[at->second];
    if (!same_word(group.word, a) || a.value != group.word.start)
      return refuse(a.place, "CTAs add to one counter in different ways");
    group.clusters.push_back(c);
    group.word.count = group.clusters.size();
  }
  for (auto at = group_of.begin(); at != group_of.end(); ++at)
    if (const auto next = std::next(at);
        next != group_of.end() && next->first.first == at->first.first &&
        at->first.second + out.groups[at->second].word.bytes > next->first.second)
      return refuse(out.groups[at->second].word.place, "counters overlap");
  // A `red`, a store or an atomic whose answer nobody uses changes what the others are told.
  for (const sim::Arrivals& group : out.groups)
    for (const Touched& t : by_others)
      if (t.buffer == group.word.buffer && group.word.overlaps(t.begin, t.end))
        return refuse(group.word.place,
                      "a CTA that asks for no answer touches the counter too: what the others are told "
                      "depends on when it does (LF3)");
  for (const sim::Arrivals& group : out.groups) {
    const sim::TicketCounter& word = group.word;
    if (group.clusters.size() > most_in_group || !counts_up(word))
      return refuse(word.place, fmt::format("{} CTAs come to one counter, or it does not count up",
                                            group.clusters.size()));
    for (const uint32_t cluster : group.clusters) {
      const Result<AloneRun> first = run_alone(program, launch, cluster, 0);
      if (!first) return tl::unexpected<Error>(first.error());
      for (uint64_t before = 1; before < word.count; ++before) {
        if (late())
          return refuse(word.place, "the CTAs that come to counters are more than are looked at in a minute");
        const Result<AloneRun> run = run_alone(program, launch, cluster, before * word.step);
        if (!run) return tl::unexpected<Error>(run.error());
        if (!is_whole(*run)) return LastArrivers{};
        if (run->answers.size() != 1 || !same_word(word, run->answers.front()))
          return refuse(word.place, "what this atomic returns decides to which counters the CTA comes (LF3)");
        if (before + 1 < word.count && !same_trace(first->trace, run->trace))
          return refuse(
              word.place,
              fmt::format("a CTA that comes to the counter after {} others does something else than "
                          "one that comes first, though {} are still to come (LF3)",
                          before, word.count - 1 - before));
      }
    }
  }
  return out;
}

std::string conclude_last_arrivers(const LastArrivers& arrivers, Report& report) {
  size_t clusters = 0;
  for (const sim::Arrivals& group : arrivers.groups) clusters += group.clusters.size();
  report.guarantee += ", whichever CTA comes last to a counter";
  return fmt::format(
      "{} tell CTAs who is the last (LF3): each of {} that come to one was run as its last, with all others "
      "of that counter; what those do is the same in whatever order they come",
      counted(arrivers.groups.size(), "counter"), counted(clusters, "cluster"));
}

}  // namespace turnstile::cli
