// SPDX-License-Identifier: Apache-2.0
//
// Engines E3 and E4 and the portfolio, against the naive search over the same programs (algorithms.md
// section 10). The nightly suite is the same with more programs: test_checker --no-skip -ts=nightly.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "checker/decide.h"
#include "checker/directed.h"
#include "checker/explore.h"
#include "checker/explore_store.h"
#include "tests/checker/orchestration_oracle.h"
#include "tests/checker/orchestration_sketch.h"

using namespace turnstile;
using namespace turnstile::test;
using namespace turnstile::checker;

namespace {

using Kind = SearchFault::Kind;

bool has(const SearchResult& r, Kind kind) {
  return std::any_of(r.faults.begin(), r.faults.end(), [&](const SearchFault& f) { return f.kind == kind; });
}

/// The single run demands visibility, ownership and balance where the naive search sees interleavings only:
/// races through a pool or a landing, a phase consumed twice, bytes that are expected and never come, a store
/// that its thread does not wait for (a policy).
/// A broken condition may stand beside such a finding, which it leads to on some schedule.
bool stricter_than_interleavings(const Report& report) {
  const auto stricter = [](const Diagnostic& d) {
    return d.finding_class == FindingClass::race || d.finding_class == FindingClass::proxy_fence ||
           d.rule == "OB1.1" || d.rule == "MB18" || d.rule == "MB19" || d.rule == "BK6";
  };
  bool any = false;
  for (const Diagnostic& d : report.diagnostics) {
    if (d.severity == Severity::lint) continue;
    if (!stricter(d) && !rests_on_condition(d)) return false;
    any |= stricter(d);
  }
  return any;
}

/// Sketches have few fences, and interleavings no proxies.
DecideOptions without_proxies() {
  DecideOptions options;
  options.check.policies.read_fence = Severity::lint;
  return options;
}

struct Counts {
  std::map<std::string, size_t> by_mechanism;
  size_t programs = 0, clean = 0, cleared = 0, findings = 0, inconclusive = 0, stricter = 0, witnesses = 0,
         shortest = 0, alone = 0, sorted = 0;
};

/// A mechanism that the programs hardly use is not compared.
void check_mechanisms(const Counts& n, size_t least) {
  for (const std::string& m : all_mechanisms()) {
    CAPTURE(m);
    const auto found = n.by_mechanism.find(m);
    REQUIRE(found != n.by_mechanism.end());
    CHECK(found->second >= least);
  }
}

/// A program so small is searched to the end: inconclusive is for programs without a fault, which the search
/// may not clear.
bool agrees(const Report& report, const OrchestrationTruth& truth) {
  if (report.verdict == Verdict::finding) return truth.fault() || stricter_than_interleavings(report);
  return !truth.fault();
}

void compare(uint64_t first, uint64_t last, uint64_t limit, Counts& n) {
  for (uint64_t seed = first; seed <= last; ++seed) {
    Random random(seed);
    const Sketch sketch = random_sketch(random);
    const Orchestration program = lower(sketch);
    const auto truth = explore_naively(program, limit);
    if (!truth) continue;
    ++n.programs;
    for (const std::string& m : mechanisms(sketch)) ++n.by_mechanism[m];
    CAPTURE(seed);
    const auto context = [&] { return sketch.text() + "truth: " + truth->text(); };
    REQUIRE_MESSAGE(orchestration_defect(program).empty(), context());

    SearchOptions reduced;
    const SearchResult one = explore(program, reduced);
    CHECK_MESSAGE(one.complete, context());
    CHECK_MESSAGE(one.faults.empty() == !truth->fault(), context());
    SearchOptions all;
    all.reduce = false;
    all.all_kinds = true;
    all.symmetry = false;
    const SearchResult every = explore(program, all);
    CHECK_MESSAGE(has(every, Kind::hang) == truth->hang, context());
    CHECK_MESSAGE(has(every, Kind::race) == truth->race, context());
    CHECK_MESSAGE(has(every, Kind::stale) == truth->stale, context());
    CHECK_MESSAGE(has(every, Kind::refused) == (truth->refused || truth->dead), context());
    if (!truth->fault()) CHECK_MESSAGE(every.states == truth->states, context());
    all.symmetry = true;
    const SearchResult sorted = explore(program, all);
    for (const Kind kind : {Kind::hang, Kind::race, Kind::stale, Kind::refused})
      CHECK_MESSAGE(has(sorted, kind) == has(every, kind), context());
    if (every.faults.size() < SearchFault::kinds) CHECK_MESSAGE(sorted.states <= every.states, context());
    n.sorted += sorted.states < every.states;

    const Execution run = steer(program, {}, {});
    if (seed % 4 == 0) {
      // Any run will do (docs/theory.md), and so will a trace alone, as a kernel gives it.
      const Continuation other{Continuation::Order::backwards, seed % 8 == 0};
      const Decision again = decide(steer(program, {}, other).trace, without_proxies(), &program);
      CHECK_MESSAGE(agrees(again.report, *truth), context());
      const Report alone = decide(run.trace, without_proxies()).report;
      CHECK_MESSAGE((alone.verdict == Verdict::inconclusive || agrees(alone, *truth)), context());
      n.alone += alone.verdict != Verdict::inconclusive;
    }
    const Decision decision = decide(run.trace, without_proxies(), &program);
    CHECK_MESSAGE(agrees(decision.report, *truth), context());
    switch (decision.report.verdict) {
      case Verdict::clean:
        ++n.clean;
        n.cleared += decision.report.guarantee.find("search") != std::string::npos;
        break;
      case Verdict::finding:
        ++n.findings;
        n.stricter += !truth->fault();
        break;
      case Verdict::inconclusive:
        ++n.inconclusive;
        break;
    }
    if (!decision.witness) continue;
    ++n.witnesses;
    n.shortest += decision.witness->shortest;
    const Result<Witness> read = parse_witness(witness_text(*decision.witness), "witness");
    REQUIRE_MESSAGE(read.has_value(), context());
    const Replay shown = replay(program, *read);
    CHECK_MESSAGE(shown.problem.empty(), context());
    CHECK_MESSAGE(shown.shown, context());
    CHECK_MESSAGE(!shown.steps.empty(), context());
  }
  std::string used;
  for (const std::string& m : all_mechanisms()) used += "\n  " + m + ": " + std::to_string(n.by_mechanism[m]);
  MESSAGE("programs " << n.programs << ", clean " << n.clean << " (by search " << n.cleared << "), findings "
                      << n.findings << " (stricter " << n.stricter << "), inconclusive " << n.inconclusive
                      << ", witnesses " << n.witnesses << " (shortest " << n.shortest
                      << "), of every fourth decided by its trace alone " << n.alone << "; programs with"
                      << used << ", fewer states by symmetry " << n.sorted);
}

/// The leader of a consumer group releases for both its warps: the sibling can be lapped (bugs A6, A9).
Sketch sibling_sketch(uint32_t trips) {
  Sketch s = ring_sketch(1, 1, trips, false);
  s.strands.push_back(s.strands[1]);
  s.ctas.push_back(0);
  std::erase_if(s.strands.back(), [](const SketchOp& o) { return o.kind == SketchOp::Kind::arrive; });
  return s;
}

Decision decided(const Sketch& sketch, const DecideOptions& options = {}) {
  const Orchestration program = lower(sketch);
  return decide(steer(program, {}, {}).trace, options, &program);
}

}  // namespace

TEST_CASE("search, directed schedules and verdicts agree with every interleaving") {
  Counts n;
  compare(1, 5000, 1500, n);
  CHECK(n.programs > 4000);
  CHECK(n.clean > 1000);
  CHECK(n.findings > 1000);
  CHECK(n.witnesses > 300);
  CHECK(n.inconclusive < n.programs / 60);  // where the search cannot clear: clearing.h
  CHECK(n.stricter < n.programs / 50);
  check_mechanisms(n, 100);
}

TEST_SUITE("nightly") {
  TEST_CASE("search, directed schedules and verdicts agree with every interleaving: 100,000 programs" *
            doctest::skip()) {
    Counts n;
    compare(1'000'001, 1'100'000, 20'000, n);
    CHECK(n.programs > 95'000);
    check_mechanisms(n, 2'000);
  }
}

TEST_CASE("the search visits the states that the naive search visits, and fewer where steps go alone") {
  for (const Sketch& sketch :
       {ring_sketch(2, 2, 8, false), attention_sketch(2, 1, 3, 1), cluster_sketch(1, 2, 2),
        ping_pong_sketch(3), flags_sketch(2, 3, false), expect_sketch(2, 4), drop_sketch(4),
        wgmma_sketch(2, 4, 1), store_sketch(2, 4), copy_sketch(2, 3, CopySignal::waits),
        copy_sketch(2, 3, CopySignal::arrives), copy_sketch(2, 3, CopySignal::arrives_counted),
        remote_sketch(4), tensor_sketch(2, 2, 3, 2), registers_sketch(2, true),
        whole_cta_sketch(3, 2, true)}) {
    INFO(sketch.text());
    const Orchestration program = lower(sketch);
    const auto truth = explore_naively(program, 200'000);
    REQUIRE(truth);
    INFO("truth: " << truth->text());
    CHECK(!truth->fault());
    SearchOptions options;
    options.reduce = false;
    options.symmetry = false;
    const SearchResult all = explore(program, options);
    CHECK(all.complete);
    CHECK(all.faults.empty());
    CHECK(all.states == truth->states);
    const SearchResult alone = explore(program);
    CHECK(alone.complete);
    CHECK(alone.faults.empty());
    // Of two CTAs that only reach into each other no step goes alone.
    CHECK(alone.states <= all.states);
    CHECK((alone.states < all.states || sketch.base == "remote"));
    const Decision d = decide(steer(program, {}, {}).trace, without_proxies(), &program);
    CHECK(d.report.verdict == Verdict::clean);
  }
}

// Seed 1016701: the steps that go alone took the arrival of a counted cp.async.mbarrier.arrive for a byte.
TEST_CASE("an arrival of cp.async can lap a wait: no step hides it by going alone") {
  Sketch s = copy_sketch(1, 2, CopySignal::arrives_counted);
  std::vector<SketchOp>& loader = s.strands.front();
  loader.insert(loader.begin() + 4, SketchOp(loader.front()));  // waits for the fresh phase once more
  const Orchestration program = lower(s);
  const auto truth = explore_naively(program, 10'000);
  REQUIRE(truth);
  CHECK(truth->hang);
  CHECK(has(explore(program), Kind::hang));
}

// Landed, arrived, then expected: were the expect no completion, the waiter would hang on that schedule.
TEST_CASE("an expect_tx that brings the bytes to zero completes the phase (Q19, probe P15)") {
  Sketch s;
  s.base = "late expect";
  s.counts = {1};
  s.barrier_ctas = {0};
  s.buffers = 1;
  s.ctas = {0, 0};
  s.strands = {{{SketchOp::Kind::load, 0, 1, 0, 1},
                {SketchOp::Kind::arrive, 0, 1},
                {SketchOp::Kind::expect, 0, 1, 0, 1}},
               {{SketchOp::Kind::wait, 0, 0}}};
  const Orchestration program = lower(s);
  const auto truth = explore_naively(program, 1'000);
  REQUIRE(truth);
  CHECK(!truth->hang);
  SearchOptions all;
  all.reduce = false;
  all.all_kinds = true;
  CHECK(!has(explore(program, all), Kind::hang));
  const Decision d = decided(s);  // that the phase can complete before its bytes is a finding all the same
  CHECK(d.report.verdict == Verdict::finding);
}

// Seed 1216 of an earlier set: what comes after two counts on one id (NX1) counts like any other schedule.
TEST_CASE("two thread counts on one named barrier: refused, and who waits with the second one hangs") {
  Sketch s = ping_pong_sketch(2);
  s.strands[0][3].count = 96;  // the second bar_sync
  const Orchestration program = lower(s);
  const auto truth = explore_naively(program, 10'000);
  REQUIRE(truth);
  SearchOptions all;
  all.reduce = false;
  all.all_kinds = true;
  const SearchResult every = explore(program, all);
  CHECK(truth->hang);
  CHECK(truth->refused);
  CHECK(has(every, Kind::hang) == truth->hang);
  CHECK(has(every, Kind::refused) == truth->refused);
  CHECK(has(every, Kind::race) == truth->race);
}

TEST_CASE("a sibling warp that nobody waits for is lapped: the shortest schedule to the hang") {
  const Sketch sketch = sibling_sketch(3);
  const Decision d = decided(sketch);
  CHECK(d.report.verdict == Verdict::finding);
  REQUIRE(!d.report.diagnostics.empty());
  const Diagnostic& first = d.report.diagnostics.front();
  CHECK(first.rule == "ALG-D2");
  CHECK(!first.witness.empty());
  CHECK(first.witness_is_shortest);
  REQUIRE(d.witness);
  CHECK(replay(lower(sketch), *d.witness).shown);
  // The same text under another program: either a step is not possible or the fault does not show.
  const Replay elsewhere = replay(lower(ring_sketch(1, 1, 3, false)), *d.witness);
  CHECK(!elsewhere.shown);
}

TEST_CASE("no shorter schedule shows the fault than the one that is called shortest") {
  for (const uint64_t seed : {3U, 11U, 17U, 23U, 42U, 77U}) {
    Random random(seed);
    const Sketch sketch = random_sketch(random);
    const Orchestration program = lower(sketch);
    SearchOptions options;
    options.reduce = false;
    const SearchResult found = explore(program, options);
    if (found.faults.empty()) continue;
    CAPTURE(sketch.text());
    CHECK(found.shortest);
    options.reduce = true;
    const SearchResult reduced = explore(program, options);
    REQUIRE(!reduced.faults.empty());
    if (reduced.faults.front().kind == found.faults.front().kind)
      CHECK(reduced.faults.front().schedule.size() >= found.faults.front().schedule.size());
  }
}

TEST_CASE("a search that stops at a limit is inconclusive, never clean") {
  const Orchestration program = lower(cluster_sketch(2, 2, 2));
  SearchOptions options;
  options.limits.states = 100;
  options.reduce = false;
  const SearchResult r = explore(program, options);
  CHECK(!r.complete);
  CHECK(!r.shortest);
  CHECK(!r.limit.empty());
  CHECK(r.faults.empty());
}

TEST_CASE("a search that reaches its bound of memory is not decided, and says what allows more") {
  const Orchestration program = lower(cluster_sketch(3, 2, 4));
  DecideOptions options;
  options.check.policies.read_fence = Severity::lint;
  SearchOptions search;
  search.reduce = search.symmetry = false;
  search.limits.bytes = uint64_t{1} << 20;
  const SearchResult r = explore(program, search);
  CHECK(!r.complete);
  CHECK(r.limit == "1 MiB of states");
  CHECK(r.bytes < search.limits.bytes + (search.limits.bytes >> 1));
  options.search.states = 10;
  options.raise_limits = "--search-seconds allows more";
  const auto last_reason = [&](const Sketch& sketch, Verdict verdict) {
    const Report report = decided(sketch, options).report;
    CHECK(report.verdict == verdict);
    REQUIRE(!report.inconclusive.empty());
    return report.inconclusive.back().text;
  };
  Sketch pools = pool_sketch(3, 2, 2);
  CHECK(last_reason(pools, Verdict::inconclusive) ==
        "the search of its schedules stopped at 10 states (--search-seconds allows more)");
  // With an error that every schedule has (PX1) the verdict stands, however the search ends.
  for (const SketchOp::Kind kind :
       {SketchOp::Kind::write, SketchOp::Kind::store, SketchOp::Kind::store_commit})
    pools.strands[0].push_back({kind, 0, 1, pools.buffers});
  pools.strands[0].push_back({SketchOp::Kind::store_wait, 0, 0});
  ++pools.buffers;
  CHECK(last_reason(pools, Verdict::finding) ==
        "the search of its schedules stopped at 10 states, early because of the errors that every schedule "
        "has");
}

TEST_CASE("a search that the user stops says so") {
  SearchOptions options;
  options.reduce = false;
  options.interrupted = [] { return true; };
  const SearchResult r = explore(lower(cluster_sketch(2, 2, 2)), options);
  CHECK(!r.complete);
  CHECK(r.limit == "stopped by the user");
}

TEST_CASE("the state table finds what it holds, across its growth, whatever the lengths") {
  StateTable table;
  const auto state = [](uint32_t i) {  // every 1,000th is longer than one byte of length can say
    std::vector<uint8_t> bytes(i % 1000 == 999 ? 255 + i % 7 : 3 + i % 13);
    for (size_t k = 0; k < 3; ++k) bytes[k] = static_cast<uint8_t>(i >> (8 * k));
    return bytes;
  };
  std::vector<uint32_t> at;
  for (uint32_t i = 0; i < 50'000; ++i) {
    const auto inserted = table.insert(state(i), i == 0 ? StateTable::none : at.back());
    CHECK(inserted.is_new);
    at.push_back(inserted.at);
  }
  CHECK(table.size() == 50'000);
  for (uint32_t i = 0; i < 50'000; i += 97) {
    const auto found = table.insert(state(i), 0);
    CHECK(!found.is_new);
    CHECK(found.at == at[i]);
  }
  CHECK(table.parent(at[40'000]) == at[39'999]);
  uint32_t i = 0;
  for (uint32_t a = table.first(); a != StateTable::none; a = table.after(a), ++i) {
    const std::span<const uint8_t> bytes = table.state(a);
    const std::vector<uint8_t> wanted = state(i);
    if (a != at[i] || !std::equal(bytes.begin(), bytes.end(), wanted.begin(), wanted.end())) break;
  }
  CHECK(i == 50'000);
  CHECK(table.bytes() < 50'000 * 40);
}

TEST_CASE("states are told apart by all their bytes, not by a hash") {
  StateTable table;
  std::vector<uint8_t> bytes(40);
  for (size_t k = 0; k < bytes.size(); ++k)
    for (const int v : {1, 2, 255}) {
      bytes[k] = static_cast<uint8_t>(v);
      // The same hash for all: they meet in one bucket with one tag.
      CHECK(table.insert(bytes, 42, StateTable::none).is_new);
      CHECK(!table.insert(bytes, 42, StateTable::none).is_new);
      bytes[k] = 0;
    }
  CHECK(table.size() == 120);
}

TEST_CASE("a witness file that is not one is an error with its line") {
  const Decision d = decided(sibling_sketch(3));
  REQUIRE(d.witness);
  Witness w = *d.witness;
  w.input = {{"mimw", "ring with blanks.mimw"}, {"set", "n=3"}};
  w.message = "two\nlines";
  const std::string good = witness_text(w);
  const Result<Witness> read = parse_witness(good, "w");
  REQUIRE(read.has_value());
  CHECK(read->schedule == w.schedule);
  CHECK(read->input == w.input);
  CHECK(read->message == "two lines");
  CHECK(read->shortest == w.shortest);
  CHECK(read->program == w.program);
  for (const std::string& bad :
       {std::string(), std::string("hello\n"), "turnstile witness 2" + good.substr(19),
        good + "steps s1*99999999999\n", good + "steps q1\n", good + "steps s1*0\n", good + "program xyz\n",
        good + "unknown 1\n", good + "steps s4294967296\n",
        std::string("turnstile witness 1\nshows hang\n")}) {
    const Result<Witness> r = parse_witness(bad, "w");
    CAPTURE(bad);
    CHECK(!r.has_value());
  }
  for (size_t cut = 0; cut < good.size(); cut += 7) (void)parse_witness(good.substr(0, cut), "w");
}

TEST_CASE("a schedule with steps that cannot be is no witness") {
  const Orchestration program = lower(ring_sketch(1, 1, 2, false));
  Witness w;
  for (const Witness::Step step :
       {Witness::Step{Witness::Step::Kind::strand, 9999}, Witness::Step{Witness::Step::Kind::operation, 9999},
        Witness::Step{Witness::Step::Kind::strand, 1}}) {
    w.schedule = {step};
    const Replay r = replay(program, w);
    CHECK(!r.shown);
    CHECK(!r.problem.empty());
  }
}

TEST_CASE("one run does not decide who gets the units of a pool; a search of all schedules does") {
  const Decision d = decided(pool_sketch(3, 2, 2));
  INFO(d.report.guarantee);
  CHECK(d.report.verdict == Verdict::clean);
  CHECK(d.report.guarantee.find("search over") != std::string::npos);
  CHECK(!d.witness);
}

TEST_CASE("who holds units while waiting for more can starve the others: hang, with the schedule") {
  Sketch s = pool_sketch(2, 2, 1);
  for (auto& strand : s.strands) strand.insert(strand.begin(), SketchOp(strand.front()));  // takes twice
  const Decision d = decided(s);
  CHECK(d.report.verdict == Verdict::finding);
  REQUIRE(d.witness);
  CHECK(d.witness->shows == Witness::Shows::hang);
  CHECK(d.witness->shortest);
  CHECK(d.witness->schedule.size() == 2);  // each takes one unit
}
