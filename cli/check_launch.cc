// SPDX-License-Identifier: Apache-2.0
#include "cli/check_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "checker/check.h"
#include "checker/decide.h"
#include "cli/atomic_orders.h"
#include "cli/barrier_names.h"
#include "cli/followed_classes.h"
#include "cli/handed_over.h"
#include "cli/handovers.h"
#include "cli/last_arrivers.h"
#include "cli/residency.h"
#include "cli/source_text.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/tickets.h"
#include "cli/trace_class.h"
#include "model/must.h"
#include "sim/grouping.h"
#include "sim/launch_run.h"
#include "sim/name_slice.h"
#include "sim/program.h"
#include "sim/shared_runs.h"
#include "sim/stored_values.h"
#include "sim/unused_loads.h"

namespace turnstile::cli {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Traces that are held in memory at one time.
constexpr uint64_t batch_size = 8;

/// Clusters that are looked at between two looks at the clock and at Ctrl-C.
constexpr uint64_t most_asked = 256;

/// The pass from which on the runs of the first cluster are shared.
constexpr size_t first_shared = 5;

std::string cta_name(const Trace& trace) {
  return fmt::format("CTA ({}, {}, {})", trace.first_cta[0], trace.first_cta[1], trace.first_cta[2]);
}

/// Two stores compete that may leave the same bytes.
bool is_stores_race(const Diagnostic& d) {
  return d.rule == "M4" && d.severity == Severity::error && !d.sides.empty() &&
         d.where.instruction.starts_with("st") && d.sides[0].position.instruction.starts_with("st");
}
auto stores_races(const Report& report) {
  return std::count_if(report.diagnostics.begin(), report.diagnostics.end(), is_stores_race);
}
/// A load competes with a store, and perhaps for nothing.
bool loads_race(const Report& report) {
  const auto load_and_store = [](const std::string& a, const std::string& b) {
    return a.starts_with("ld") && b.starts_with("st");
  };
  return std::any_of(report.diagnostics.begin(), report.diagnostics.end(), [&](const Diagnostic& d) {
    if (d.rule != "M4" || d.severity != Severity::error || d.sides.empty()) return false;
    const std::string &one = d.where.instruction, &other = d.sides[0].position.instruction;
    return load_and_store(one, other) || load_and_store(other, one);
  });
}
/// The lines of these stores in the PTX.
void add_stores(const Report& report, std::set<uint32_t>& lines) {
  for (const Diagnostic& d : report.diagnostics) {
    if (!is_stores_race(d)) continue;
    lines.insert(d.where.ptx_line);
    for (const Note& side : d.sides) lines.insert(side.position.ptx_line);
  }
}
/// No other errors: names for values may leave none.
bool only_stores_race(const Report& report) {
  return std::all_of(report.diagnostics.begin(), report.diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity != Severity::error || is_stores_race(d); });
}

/// Sorts traces into classes and decides the first of each; folds all reports into the outcome at the end.
class Folder {
 public:
  Folder(CheckOutcome& outcome, const DecideOptions& options, double all_seconds, const sim::Program& program,
         bool keep_reads)
      : outcome_(outcome),
        options_(options),
        all_seconds_(all_seconds),
        program_(program),
        keep_reads_(keep_reads),
        source_(source_for(outcome.launch)) {}

  /// `run`: how the trace was made; `again`: the CTAs were seen before, in another run; `tape`: of that run,
  /// replaced where the verdict comes from another one. Gives the number of its class.
  size_t add(Trace& trace, const sim::RunOptions& run, bool again,
             std::shared_ptr<const sim::PositionTape>& tape, const std::string& circumstance = {}) {
    const uint32_t handed = run.clusters_to_cancel;  // by launch control
    outcome_.warps = std::max(outcome_.warps, trace.warps);
    const uint64_t ctas = uint64_t{trace.cluster_ctas} * trace.clusters;
    if (!again) outcome_.ctas_run += ctas;
    // One that was handed over has its tile worked on by another one: only without that all CTAs run.
    if (handed == 0) {
      GlobalAccessSummary summary = summarize_global(trace);
      std::erase_if(summary.ranges, [&](const auto& range) { return left_out_.contains(range.footprint); });
      add_summary(std::move(summary));
    }
    TraceClass alike = trace_class(trace);
    // Where a verdict rests on equal values, which no trace tells, each CTA is asked for them.
    if (by_values_.contains(alike) && name_values(trace, run, tape)) alike = trace_class(trace);
    if (!index_.contains(alike)) {
      name_barriers(trace, source_);
      Report report = decided(trace, run, alike, tape);
      if (!circumstance.empty())
        for (Diagnostic& d : report.diagnostics) d.facts.push_back(circumstance);
      has_errors_ = has_errors_ || report.verdict == Verdict::finding;
      if (index_.emplace(alike, classes_.size()).second)
        classes_.push_back({std::move(report), alike, cta_name(trace), 0, handed});
    }
    Class& c = classes_[index_.at(alike)];
    if (!again) c.ctas += ctas;
    return index_.at(alike);
  }

  /// A cluster that was not executed, of the class of one that was.
  void add_followed(FollowedClasses::Match match, uint64_t ctas) {
    outcome_.ctas_run += ctas;
    outcome_.ctas_followed += ctas;
    classes_[match.trace_class].ctas += ctas;
    add_summary(std::move(match.summary));
  }

  /// Whether this trace is clean, perhaps with names for its values: then these are in it, and the tape is of
  /// the run that gave them.
  bool is_clean(Trace& trace, const sim::RunOptions& run, std::shared_ptr<const sim::PositionTape>& tape) {
    Report seen = check(trace, options_.check);
    if (seen.verdict == Verdict::clean) return true;
    Trace named = trace;
    std::shared_ptr<const sim::PositionTape> named_tape;
    do {
      if (stores_races(seen) == 0 || !only_stores_race(seen)) return false;
      contest(seen, named);
      if (!name_values(named, run, named_tape)) return false;
      seen = check(named, options_.check);
    } while (has_news(seen));
    if (seen.verdict != Verdict::clean) return false;
    trace = std::move(named);
    tape = std::move(named_tape);
    return true;
  }

  /// Footprints of the traces that come next which are none of what other CTAs are compared with.
  void leave_out(std::set<uint32_t> footprints) { left_out_ = std::move(footprints); }

  /// Which values have names in runs for the stores that raced so far, and for branches; null: nothing asked
  /// for names.
  const std::shared_ptr<const sim::NameSlice>& slice() const { return slice_; }

  void set_slice(std::shared_ptr<const sim::NameSlice> slice) { slice_ = std::move(slice); }

  /// What else CTAs may do to global memory.
  void add_accesses(GlobalAccessSummary summary) { add_summary(std::move(summary)); }
  const std::set<uint32_t>& written() const { return written_; }

  /// A buffer was written whose reads were not kept: all has to be done again, and kept.
  bool lacks_reads() const { return lacks_reads_; }

  bool has_errors() const { return has_errors_; }

  /// In numbers, what a run added that handed clusters over, for add_told(); empty: more than these can say.
  /// `before`: what was here then.
  struct Seen {
    size_t classes = 0, contested = 0;
    std::shared_ptr<const sim::NameSlice> slice;
  };
  Seen seen() const { return {classes_.size(), contested_.size(), slice_}; }
  std::vector<uint64_t> told(const Seen& before) const {
    if (contested_.size() != before.contested || slice_ != before.slice || before.classes == 0) return {};
    if (classes_.size() == before.classes) return {0};
    const Class &added = classes_.back(), &like = classes_[before.classes - 1];
    const Report& r = added.report;
    if (classes_.size() != before.classes + 1 || r.verdict != Verdict::clean || !r.inconclusive.empty() ||
        r.guarantee != like.report.guarantee || r.engine != like.report.engine ||
        r.not_examined != like.report.not_examined || outcome_.witness)
      return {};
    std::vector<uint64_t> words = {1,        added.alike[0], added.alike[1], r.events, r.accesses,
                                   r.agents, r.warps,        r.barriers,     r.phases};
    const std::vector<const Diagnostic*> known = diagnostics_of(before.classes);
    for (const Diagnostic& d : r.diagnostics) {
      const auto at =
          std::find_if(known.begin(), known.end(), [&](const Diagnostic* k) { return same_finding(*k, d); });
      if (at == known.end()) return {};
      words.push_back(static_cast<uint64_t>(at - known.begin()));
      words.push_back(d.occurrences);
    }
    return words;
  }
  /// The same here: `words` came from a process that had what this one has.
  void add_told(std::span<const uint64_t> words, uint32_t handed) {
    constexpr size_t numbers = 9;
    if (words.size() < numbers) return;
    Class added{{}, {words[1], words[2]}, classes_.back().first_cta, 0, handed};
    Report& r = added.report;
    const Report& like = classes_.back().report;
    r.verdict = Verdict::clean;
    r.guarantee = like.guarantee;
    r.engine = like.engine;
    r.not_examined = like.not_examined;
    r.events = words[3];
    r.accesses = words[4];
    r.agents = static_cast<uint32_t>(words[5]);
    r.warps = static_cast<uint32_t>(words[6]);
    r.barriers = static_cast<uint32_t>(words[7]);
    r.phases = words[8];
    const std::vector<const Diagnostic*> known = diagnostics_of(classes_.size());
    for (size_t i = numbers; i + 1 < words.size(); i += 2) {
      r.diagnostics.push_back(*known.at(words[i]));
      r.diagnostics.back().occurrences = words[i + 1];
    }
    index_.emplace(added.alike, classes_.size());
    classes_.push_back(std::move(added));
  }

  const GlobalAccessSummary& last_summary() const { return summaries_.back(); }
  /// Its report rests on the certificate of one run, whether clean or not.
  bool certified(size_t number) const {
    return classes_[number].report.guarantee.find("(one run, certificate") != std::string::npos;
  }

  void finish() {
    outcome_.classes = classes_.size();
    const std::string guarantee = guarantee_of_all();
    for (const Class& c : classes_) merge_into(outcome_.report, c.report);
    if (outcome_.launch.cta_count() > 1)
      for (Diagnostic& d : outcome_.report.diagnostics) d.facts.push_back(where_seen(d));
    outcome_.report.guarantee = guarantee;
    if (summaries_.size() > 1) merge_into(outcome_.report, check_between(summaries_, options_.check));
    // What a clean verdict does not speak about (ux.md): said each time, so that nobody takes it for granted.
    outcome_.report.not_examined = {"floating-point values (turnstile simulate)"};
  }

 private:
  struct Class {
    Report report;
    TraceClass alike{};
    std::string first_cta;
    uint64_t ctas = 0;
    uint32_t handed = 0;
  };

  /// What the first classes say, each once.
  std::vector<const Diagnostic*> diagnostics_of(size_t classes) const {
    std::vector<const Diagnostic*> known;
    for (size_t c = 0; c < classes; ++c)
      for (const Diagnostic& d : classes_[c].report.diagnostics)
        if (std::none_of(known.begin(), known.end(),
                         [&](const Diagnostic* k) { return same_finding(*k, d); }))
          known.push_back(&d);
    return known;
  }

  /// Keeps what may conflict between CTAs. Reads of buffers that nobody has written so far are most of it in
  /// a large grid, and hardly ever matter.
  void add_summary(GlobalAccessSummary summary) {
    for (const GlobalAccessSummary::Range& r : summary.ranges)
      if (r.writes) {
        lacks_reads_ = lacks_reads_ || unkept_.contains(r.buffer);
        written_.insert(r.buffer);
      }
    if (!keep_reads_) {
      const auto unkept = [&](const GlobalAccessSummary::Range& r) { return !written_.contains(r.buffer); };
      for (const GlobalAccessSummary::Range& r : summary.ranges)
        if (unkept(r)) unkept_.insert(r.buffer);
      std::erase_if(summary.ranges, unkept);
      summary.ranges.shrink_to_fit();
    }
    summaries_.push_back(std::move(summary));
  }

  /// One run where it stands for all schedules, else a search over them.
  Report decided(Trace& trace, const sim::RunOptions& run, TraceClass& alike,
                 std::shared_ptr<const sim::PositionTape>& tape) {
    const Clock::time_point start = Clock::now();
    DecideOptions options = options_;
    options.briefly = has_errors_ || spent_seconds_ > all_seconds_;
    Decision decision = decide(trace, options);
    spent_seconds_ += since(start);
    if (stores_races(decision.report) != 0) {
      contest(decision.report, trace);
      if (name_values(trace, run, tape)) {
        Decision named = decide(trace, options);
        while (has_news(named.report)) {
          contest(named.report, trace);
          if (!name_values(trace, run, tape)) break;
          named = decide(trace, options);
        }
        if (stores_races(named.report) < stores_races(decision.report)) {
          by_values_.insert(alike);
          alike = trace_class(trace);
          decision = std::move(named);
        }
      }
    }
    if (loads_race(decision.report)) {
      sim::mark_unused_loads(program_, trace);
      Decision without = decide(trace, options);
      if (!loads_race(without.report)) decision = std::move(without);
    }
    if (decision.witness && !outcome_.witness) {
      const Dim3& grid = outcome_.launch.grid;
      outcome_.witness = std::move(decision.witness);
      outcome_.witness_cta =
          trace.first_cta[0] +
          uint64_t{grid[0]} * (trace.first_cta[1] + uint64_t{grid[1]} * trace.first_cta[2]);
      outcome_.witness_handed = run.clusters_to_cancel;
      if (run.arrivals != nullptr) outcome_.witness_last = run.arrivals->clusters[run.arrivals->last];
    }
    return std::move(decision.report);
  }

  /// Stores race whose values had no names so far.
  bool has_news(const Report& report) const {
    std::set<uint32_t> lines;
    add_stores(report, lines);
    return !std::includes(contested_.begin(), contested_.end(), lines.begin(), lines.end());
  }
  void contest(const Report& report, const Trace& trace) {
    if (!has_news(report)) return;
    add_stores(report, contested_);
    slice_ = sim::name_slice(program_, trace, slice_.get(), contested_, {});
  }

  bool name_values(Trace& trace, const sim::RunOptions& run,
                   std::shared_ptr<const sim::PositionTape>& tape) const {
    sim::RunOptions sliced = run;
    sliced.slice = slice_;
    std::optional<sim::NamedValues> named = sim::name_stored_values(program_, outcome_.launch, sliced, trace);
    if (!named) return false;
    tape = std::move(named->tape);
    return true;
  }

  /// Where one class was decided by one run and another by a search, both are said.
  std::string guarantee_of_all() const {
    std::map<std::string, uint64_t> classes;
    for (const Class& c : classes_) ++classes[c.report.guarantee];
    if (classes.size() <= 1) return classes.empty() ? std::string() : classes.begin()->first;
    std::string text;
    for (const auto& [guarantee, count] : classes)
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", counted_classes(count), guarantee);
    return text;
  }

  static std::string counted_classes(uint64_t count) {
    return count == 1 ? "one class of CTAs" : fmt::format("{} classes", count);
  }

  std::string where_seen(const Diagnostic& finding) const {
    const Class* first = nullptr;
    uint64_t ctas = 0;
    for (const Class& c : classes_) {
      const auto& seen = c.report.diagnostics;
      if (!std::any_of(seen.begin(), seen.end(),
                       [&](const Diagnostic& d) { return same_finding(d, finding); }))
        continue;
      if (first == nullptr) first = &c;
      ctas += c.handed == first->handed ? c.ctas : 0;
    }
    must(first != nullptr, "a finding that no class has");
    if (first->handed != 0 && outcome_.draws_tickets)
      return fmt::format("when {} draws {}", first->first_cta, counted(first->handed, "ticket"));
    if (first->handed != 0)
      return fmt::format("when launch control hands {} over to {}", counted(first->handed, "cluster"),
                         first->first_cta);
    if (ctas == outcome_.ctas_run) return fmt::format("the same in each of {} CTAs", ctas);
    return fmt::format("in {} of {} CTAs, the first is {}", ctas, outcome_.ctas_run, first->first_cta);
  }

  CheckOutcome& outcome_;
  const DecideOptions& options_;
  double all_seconds_;        ///< for deciding all classes
  double spent_seconds_ = 0;  ///< of these
  const sim::Program& program_;
  std::set<TraceClass> by_values_;  ///< of traces without the names of their values
  bool keep_reads_;
  bool lacks_reads_ = false, has_errors_ = false;
  std::set<uint32_t> written_, unkept_;  ///< buffers
  std::set<uint32_t> left_out_;
  std::set<uint32_t> contested_;  ///< lines of stores that raced
  std::shared_ptr<const sim::NameSlice> slice_;
  SourceText source_;
  std::map<TraceClass, size_t> index_;
  std::vector<Class> classes_;
  std::vector<GlobalAccessSummary> summaries_;
};

/// The runs in which clusters are handed over, or tickets drawn, weighed by how many tiles each works on.
uint64_t tiles_of(std::span<const HandoverPass> passes) {
  uint64_t tiles = 0;
  for (const HandoverPass& p : passes)
    tiles += p.handed == 0 ? 0 : (p.end - p.begin) * (uint64_t{p.handed} + 1);
  return tiles;
}

void add_reason(Report& report, std::string text) { report.inconclusive.push_back({{}, std::move(text)}); }

/// The clusters that come to a counter run together, once with each of them as the last one.
Result<void> fold_last_arrivers(const sim::Program& program, const Launch& launch,
                                const LastArrivers& arrivers, Folder& folder) {
  const auto fold = [&](const sim::RunOptions& options, bool again,
                        const std::string& circumstance) -> Result<void> {
    Result<sim::RunResult> run = sim::run_launch(program, launch, options);
    if (!run) return tl::unexpected(run.error());
    std::shared_ptr<const sim::PositionTape> tape;
    folder.add(run->traces.front(), options, again, tape, circumstance);
    return {};
  };
  sim::RunOptions options;
  options.domain = sim::Domain::control;
  for (sim::Arrivals group : arrivers.groups)
    for (group.last = 0; group.last < group.clusters.size() && !interrupted(); ++group.last) {
      const uint32_t last = sim::cta_of_trace(program, launch, group.clusters[group.last]);
      options.ctas = {last};
      options.arrivals = &group;
      const Dim3& grid = launch.grid;
      const std::string circumstance =
          fmt::format("when CTA ({}, {}, {}) comes last of {} to the counter at {}+0x{:x}", last % grid[0],
                      last / grid[0] % grid[1], last / grid[0] / grid[1], group.clusters.size(),
                      launch.buffers[group.word.buffer].name, group.word.offset);
      if (auto done = fold(options, group.last != 0, circumstance); !done) return done;
    }
  options.arrivals = nullptr;
  for (const uint32_t cluster : arrivers.others) {
    if (interrupted()) break;
    options.ctas = {sim::cta_of_trace(program, launch, cluster)};
    if (auto done = fold(options, false, {}); !done) return done;
  }
  return {};
}

/// check_launch, with all reads kept or only those of buffers that are written by then. Nothing: the latter
/// was not enough.
Result<std::optional<CheckOutcome>> check_once(const Launch& launch, const CheckLimits& limits,
                                               const CheckProgress& progress, bool keep_reads) {
  CheckOutcome outcome;
  outcome.launch = launch;
  Clock::time_point start = Clock::now();
  const Result<sim::ProgramHandle> program = sim::load_program(launch);
  if (!program) return tl::unexpected(program.error());
  outcome.target = (*program)->module.target;
  outcome.launch.cluster = sim::cluster_shape(**program);
  outcome.execute_seconds = since(start);

  outcome.policies = limits.policies;
  DecideOptions options;
  options.check.policies = limits.policies.policies;
  options.search = limits.search;
  options.shorten_seconds = limits.shorten_seconds;
  options.raise_limits = "--search-seconds and --search-memory allow more";
  options.interrupted = interrupted;
  Folder folder(outcome, options, limits.all_searches_seconds, **program, keep_reads);
  const uint64_t total = launch.cta_count();
  const uint64_t traces = sim::trace_count(**program, launch), ctas_each = total / traces;
  const uint64_t wanted_traces =
      limits.ctas == 0 ? traces : std::min((limits.ctas + ctas_each - 1) / ctas_each, traces);
  const uint64_t wanted = wanted_traces * ctas_each;
  start = Clock::now();
  const bool asks_counters = sim::asks_counters(**program, launch);
  Result<TicketScheduler> scheduler = TicketScheduler{};
  if (asks_counters) scheduler = find_tickets(**program, launch, traces);
  if (!scheduler) return tl::unexpected(scheduler.error());
  const sim::TicketCounter* tickets = scheduler->counter ? &*scheduler->counter : nullptr;
  outcome.draws_tickets = tickets != nullptr;
  Result<LastArrivers> arrivers = LastArrivers{};
  if (asks_counters && tickets == nullptr && !scheduler->why_not && wanted == total)
    arrivers = find_last_arrivers(**program, launch, traces, interrupted);
  if (!arrivers) return tl::unexpected(arrivers.error());
  const auto surveyed = [&](uint32_t numbers) {
    if (progress)
      progress(numbers, tickets != nullptr ? tickets->count + 1 : traces,
               tickets != nullptr ? "numbers of tickets that a cluster may draw"
                                  : "numbers of clusters that launch control may hand over");
  };
  const Handovers handovers =
      tickets != nullptr
          ? drawn_tickets_of(**program, launch, *tickets, wanted == total, interrupted, surveyed)
          : handovers_of(**program, launch, traces, wanted == total, interrupted, surveyed);
  outcome.execute_seconds += since(start);
  uint64_t done = 0, handed_tiles = 0;
  std::optional<Clock::time_point> first_error;
  bool cut = false;  // an error stands, and the other CTAs took too long
  bool asks_atomics = false;
  Result<FollowedClasses> followed = FollowedClasses::create(**program, launch, tickets);
  if (!followed) return tl::unexpected(followed.error());
  Result<HandedOver> handed_over = HandedOver::create(**program, launch, tickets);
  if (!handed_over) return tl::unexpected(handed_over.error());
  HandoverVerdict handed_verdict;
  // One trace for each cluster, and each cluster once: only then one can stand for another.
  bool follow = (handovers.counts.size() == 1 || handovers.first_only) && traces > 1 &&
                traces == clusters_of(**program, launch);
  std::vector<HandoverPass> passes = handovers.passes(wanted_traces);
  if (!arrivers->groups.empty()) {
    passes.clear();
    outcome.has_last_arrivers = true;
    start = Clock::now();
    if (const Result<void> folded = fold_last_arrivers(**program, launch, *arrivers, folder); !folded)
      return tl::unexpected(folded.error());
    outcome.check_seconds += since(start);
  }
  const size_t planned = passes.size();
  // One trace of a pass; with one that is followed and may have lost values, what it stands for.
  const auto take = [&](Trace& trace, std::shared_ptr<const sim::PositionTape> tape, sim::RunOptions alone,
                        bool stands_for_all) -> Result<void> {
    const uint32_t handed = alone.clusters_to_cancel;
    if (tape != nullptr && tape->loses_values && !folder.is_clean(trace, alone, tape)) {
      // Perhaps only for want of values: run again, and not followed.
      alone.follow_position = false;
      Result<sim::RunResult> plain = sim::run_launch(**program, launch, alone);
      if (!plain) return tl::unexpected<Error>(plain.error());
      trace = std::move(plain->traces.front());
      tape = nullptr;
    }
    const bool refused = tickets != nullptr && traces > 1 && !stands_for_all;
    // Those of each refusal are compared with everybody, whoever draws it.
    if (refused && tape != nullptr) folder.leave_out(HandedOver::of_refusal(trace, *tape));
    const size_t number = folder.add(trace, alone, handed != handovers.counts.front(), tape);
    folder.leave_out({});
    if (refused) handed_over->add_refusal(trace, tape);
    if (stands_for_all) {
      handed_over->add(trace, tape, handed);
      handed_verdict.certified = handed_verdict.certified && folder.certified(number);
    }
    if (follow) followed->add(trace, std::move(tape), number, folder.last_summary());
    follow = follow && followed->worthwhile();
    return {};
  };
  const auto options_of = [&](const HandoverPass& pass) {
    sim::RunOptions run_options;
    run_options.domain = sim::Domain::control;
    run_options.clusters_to_cancel = pass.handed;
    // What was not run is said once, below; where clusters run together, by the trace itself.
    run_options.every_cancel_count = handovers.all || traces > 1;
    run_options.follow_position = follow || pass.stands_for_all || (tickets != nullptr && traces > 1);
    run_options.tickets = tickets;
    run_options.slice = folder.slice();
    return run_options;
  };
  std::set<uint32_t> told;  // numbers of handovers whose run another process has judged
  const auto judge_together = [&](std::span<const HandoverPass> rest) {
    std::vector<uint32_t> numbers;
    for (const HandoverPass& p : rest) {
      if (!p.stands_for_all || p.begin != 0 || p.end != 1) return;
      numbers.push_back(p.handed);
    }
    sim::RunOptions shared = options_of(rest.front());
    const auto judge = [&](sim::HandedRun run) -> std::vector<uint64_t> {
      const Folder::Seen before = folder.seen();
      const size_t parts = handed_over->size();
      sim::RunOptions alone = shared;
      alone.clusters_to_cancel = run.handed;
      alone.ctas = {sim::cta_of_trace(**program, launch, 0)};
      if (!take(run.trace, std::move(run.tape), std::move(alone), true) || handed_over->size() != parts ||
          !handed_verdict.certified)
        return {};
      return folder.told(before);
    };
    const auto add = [&](uint32_t handed, const std::vector<uint64_t>& words) {
      if (words.empty()) return;
      folder.add_told(words, handed);
      told.insert(handed);
      handed_tiles += uint64_t{handed} + 1;
      if (progress) progress(handed_tiles, tiles_of(passes), "tiles, by how many come to one cluster");
    };
    sim::share_runs(**program, launch, shared, numbers, judge, add);
  };
  for (size_t pass = 0; pass < passes.size(); ++pass) {
    const uint32_t handed = passes[pass].handed;
    const bool stands_for_all = passes[pass].stands_for_all;
    if (handed != 0) follow = false;
    // The first runs bring what the others repeat.
    if (stands_for_all && tickets == nullptr && pass == first_shared && pass + 1 < planned &&
        !interrupted() && !cut && handed_verdict.certified && !folder.has_errors()) {
      start = Clock::now();
      judge_together(std::span(passes).first(planned).subspan(pass));
      outcome.execute_seconds += since(start);
    }
    const uint64_t wanted_here =
        stands_for_all && told.contains(handed) ? passes[pass].begin : passes[pass].end;
    uint64_t at_once = follow ? 1 : batch_size;
    for (uint64_t next = passes[pass].begin; next < wanted_here && !interrupted() && !cut;) {
      sim::RunOptions run_options = options_of(passes[pass]);
      start = Clock::now();
      const uint64_t first = next;
      for (; next < wanted_here && run_options.ctas.size() < at_once && next - first < most_asked; ++next) {
        std::optional<FollowedClasses::Match> match;
        if (follow) match = followed->match(static_cast<uint32_t>(next));
        if (match)
          folder.add_followed(std::move(*match), ctas_each);
        else
          run_options.ctas.push_back(sim::cta_of_trace(**program, launch, next));
      }
      at_once = std::min(2 * at_once, batch_size);
      Result<sim::RunResult> run = sim::RunResult{};
      if (!run_options.ctas.empty()) run = sim::run_launch(**program, launch, run_options);
      if (!run) return tl::unexpected(run.error());
      asks_atomics = asks_atomics || run->asks_atomics;
      if (run->slice != nullptr) folder.set_slice(run->slice);
      outcome.execute_seconds += since(start);
      start = Clock::now();
      for (size_t i = 0; i < run->traces.size(); ++i) {
        sim::RunOptions alone = run_options;
        alone.ctas = {run_options.ctas[i]};
        if (const Result<void> taken = take(run->traces[i], run->tapes[i], std::move(alone), stands_for_all);
            !taken)
          return tl::unexpected(taken.error());
      }
      outcome.check_seconds += since(start);
      if (folder.has_errors() && limits.ctas == 0) {
        if (!first_error) first_error = Clock::now();
        // Only before launch control's numbers are run: what is left out has to be CTAs, which are counted.
        cut = pass == 0 && next < wanted_here && since(*first_error) > limits.seconds_after_error;
      }
      done += (next - first) * ctas_each;
      if (progress && handed == 0) progress(std::min(done, wanted), wanted, "CTAs");
      handed_tiles += handed == 0 ? 0 : (next - first) * (uint64_t{handed} + 1);
      if (progress && handed != 0)
        progress(handed_tiles, tiles_of(passes), "tiles, by how many come to one cluster");
    }
    if (pass + 1 != planned || !handovers.first_only || interrupted() || cut) continue;
    start = Clock::now();
    handed_verdict.repeats = handed_over->knows(handovers.kinds);
    HandedOver::Examined examined = handed_over->examine(folder.written());
    handed_verdict.objection = std::move(examined.objection);
    for (GlobalAccessSummary& summary : examined.accesses) folder.add_accesses(std::move(summary));
    if (handed_verdict.objection) handovers.add_other_clusters(passes, wanted_traces);
    outcome.check_seconds += since(start);
  }
  if (folder.lacks_reads() && !keep_reads) return std::nullopt;
  start = Clock::now();
  folder.finish();
  if (((sim::takes_clusters(**program) && traces > 1) || tickets != nullptr) && !cut)
    outcome.launch_control = conclude_handovers(handovers, handed_verdict, traces, outcome.report);
  if (!arrivers->groups.empty()) outcome.launch_control = conclude_last_arrivers(*arrivers, outcome.report);
  outcome.check_seconds += since(start);
  start = Clock::now();
  if (const Result<void> judged = judge_residency(**program, launch, limits.resident, outcome.report);
      !judged)
    return tl::unexpected(judged.error());
  outcome.execute_seconds += since(start);

  asks_atomics = asks_atomics || scheduler->why_not || (tickets != nullptr && handed_verdict.objection);
  if (scheduler->why_not) outcome.report.inconclusive.push_back(*scheduler->why_not);
  if (arrivers->why_not) outcome.report.inconclusive.push_back(*arrivers->why_not);
  if (asks_atomics && traces == clusters_of(**program, launch) && !interrupted()) {
    start = Clock::now();
    const Result<AtomicOrders> orders = run_atomic_orders(**program, launch, traces, options, interrupted);
    if (!orders) return tl::unexpected(orders.error());
    if (orders->runs != 0) {
      merge_into(outcome.report, orders->report);
      add_reason(outcome.report, orders->sentence);
    }
    outcome.check_seconds += since(start);
  }

  if (interrupted())
    add_reason(outcome.report,
               fmt::format("stopped by the user after {} of {} CTAs", outcome.ctas_run, wanted));
  else if (cut && outcome.ctas_run < total)
    add_reason(outcome.report,
               fmt::format("stopped after {} of {} CTAs, {} s after the first error (--ctas {} executes all)",
                           outcome.ctas_run, total, limits.seconds_after_error, total));
  else if (wanted < total)
    add_reason(outcome.report, fmt::format("only {} of {} CTAs were executed (--ctas)", wanted, total));
  conclude(outcome.report);
  return outcome;
}

}  // namespace

Result<CheckOutcome> check_launch(const Launch& launch, const CheckLimits& limits,
                                  const CheckProgress& progress) {
  for (const bool keep_reads : {false, true}) {
    Result<std::optional<CheckOutcome>> outcome = check_once(launch, limits, progress, keep_reads);
    if (!outcome) return tl::unexpected(outcome.error());
    if (*outcome) return std::move(**outcome);
  }
  must(false, "a check that kept all reads lacks some");
  return {};
}

}  // namespace turnstile::cli
