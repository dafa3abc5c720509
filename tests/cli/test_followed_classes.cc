// SPDX-License-Identifier: Apache-2.0
//
// A cluster that is not executed is said to do what another one did. Here all are executed as well, and have
// to agree: random kernels whose branches, addresses, loads and stores depend on the position in the grid in
// all manner of ways.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <string>

#include "cli/check_launch.h"
#include "cli/followed_classes.h"
#include "model/ptx/parser.h"
#include "sim/grouping.h"
#include "sim/launch_run.h"
#include "sim/program.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

constexpr const char* kPath = "kernel.toml";

Launch launch_of(const std::string& grid, uint32_t cluster, const char* fill = "zeros") {
  auto launch = parse_launch(
      fmt::format(
          "kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\nblock = [64, 1, 1]\ngrid = {}\n"
          "cluster = [{}, 1, 1]\n"
          "[[buffers]]\nname = \"out\"\ndtype = \"u32\"\nshape = [4096]\nrole = \"in_out\"\nfill = "
          "\"zeros\"\n"
          "[[buffers]]\nname = \"in\"\ndtype = \"u32\"\nshape = [4096]\nrole = \"in\"\nfill = \"{}\"\n"
          "[[params]]\nbuffer = \"out\"\n[[params]]\nbuffer = \"in\"\n",
          grid, cluster, fill),
      kPath, {});
  if (!launch) FAIL(launch.error().text());
  return *launch;
}

std::string kernel(const std::string& body, bool table) {
  return std::string(".version 8.0\n.target sm_90a\n.address_size 64\n") +
         (table ? ".global .align 4 .u32 table[16] = {3,1,4,1,5,9,2,6,5,3,5,8,9,7,9,3};\n" : "") +
         ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
         ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>;\n"
         ".shared .align 16 .b8 tile[512]; .local .align 16 .b8 own[64];\n"
         "ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];\n"
         "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %clusterid.x;\n"
         "mov.u32 %r4, 5; mov.u32 %r5, %nctaid.x; mov.u32 %r6, 0; mov.u32 %r7, tile;\n"
         "mov.u32 %r8, 1; mov.u32 %r9, 2; mov.u32 %r10, 3; mov.u32 %r11, 4;\n"
         "mov.u32 %r12, 7; mov.u32 %r13, 8; mov.u32 %r14, 9; and.b32 %r26, %r0, 31; and.b32 %r27, %r0, 15;\n"
         "cvt.u64.u32 %rd5, %r7; cvta.shared.u64 %rd5, %rd5; mov.u32 %r28, own;\n" +
         (table ? "mov.u64 %rd2, table;\n" : "") + body + "\nret;\n}\n";
}

/// Writes random kernels of values r0 to r11, known or not.
class Generator {
 public:
  /// `data`: values that nobody knows too, r12 to r14, which no branch and no address depends on.
  Generator(uint32_t seed, bool table, bool data = false) : random_(seed), table_(table), data_(data) {}

  std::string body() {
    std::string out;
    const uint32_t steps = 4 + below(14);
    for (uint32_t i = 0; i < steps; ++i) out += step(2);
    return out;
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string value() { return fmt::format("%r{}", below(12) == 7 ? 0 : below(12) % 12); }
  std::string target() {
    constexpr uint32_t free[] = {4, 6, 8, 9, 10, 11};
    return fmt::format("%r{}", free[below(6)]);
  }
  std::string source() {
    const std::string v = value();
    return v == "%r7" ? "%r0" : v;
  }
  std::string compare() {
    constexpr const char* how[] = {"lt.u32", "eq.u32", "ge.s32", "ne.u32"};
    return fmt::format("and.b32 %r20, {}, {}; setp.{} %p1, %r20, {};\n", source(), 1 + below(7),
                       how[below(4)], below(6));
  }

  std::string compute() {
    const std::string t = target(), a = source(), b = source();
    switch (below(12)) {
      case 0:
        return fmt::format("mad.lo.u32 {}, {}, {}, {};\n", t, a, b, source());
      case 1:
        return fmt::format("shr.u32 {}, {}, {};\n", t, a, below(4));
      case 2:
        return fmt::format("and.b32 {}, {}, {};\n", t, a, 1 + below(31));
      case 3:
        return fmt::format("sub.u32 {}, {}, {};\n", t, a, b);
      case 4:
        return compare() + fmt::format("selp.b32 {}, {}, {}, %p1;\n", t, a, b);
      case 5:
        return fmt::format("div.u32 {}, {}, {};\n", t, a, 1 + below(5));
      case 6:
        return fmt::format("rem.u32 {}, {}, {};\n", t, a, 1 + below(5));
      case 7:
        return fmt::format("mov.b32 {}, {};\n", t, a);
      case 8:
        return fmt::format("shl.b32 {}, {}, {};\n", t, a, below(4));
      case 9:
        return compare() + fmt::format("@%p1 add.u32 {}, {}, {};\n", t, a, b);
      case 10:
        return fmt::format("mov.b64 %rd8, {{{}, {}}}; add.s64 %rd8, %rd8, 1; mov.b64 {{{}, %r21}}, %rd8;\n",
                           a, b, t);
      default:
        return fmt::format("add.u32 {}, {}, {};\n", t, a, b);
    }
  }

  std::string shared_address() {
    return fmt::format("and.b32 %r22, {}, 124; add.u32 %r22, %r22, %r7;\n", source());
  }
  std::string global_address(const char* base, const char* mask) {
    // Sometimes by pointer arithmetic on the position, as compilers hoist it.
    if (below(2) == 0)
      return fmt::format(
          "and.b32 %r23, {}, {}; mul.wide.u32 %rd4, %r23, 4; add.s64 %rd4, {}, %rd4; "
          "add.s64 %rd4, %rd4, {};\n",
          source(), mask, base, 4 * below(8));
    return fmt::format(
        "shl.b32 %r23, {}, 5; mad.lo.u32 %r23, {}, 4, %r23; and.b32 %r23, %r23, {}; "
        "mul.wide.u32 %rd4, %r23, 4; add.s64 %rd4, {}, %rd4;\n",
        source(), "%r0", mask, base);
  }

  std::string datum() { return fmt::format("%r{}", 12 + below(3)); }
  /// Both warps, or both halves of a warp, do the same.
  const char* replicated() { return below(2) == 0 ? "%r26" : "%r27"; }
  std::string touch_data() {
    const std::string d = datum();
    switch (below(12)) {
      case 9:
      case 10:  // the warps load places that are one in some clusters
        return fmt::format(
            "setp.lt.u32 %p4, %r0, 32; selp.b32 %r29, {}, {}, %p4; mad.lo.u32 %r23, %r29, 32, %r26; "
            "and.b32 %r23, %r23, 1023; mul.wide.u32 %rd4, %r23, 4; add.s64 %rd4, %rd1, %rd4; "
            "ld.global.u32 {}, [%rd4];\n",
            source(), source(), d);
      case 11:  // what was stored, perhaps
        return fmt::format(
            "mad.lo.u32 %r23, {}, 32, {}; and.b32 %r23, %r23, 1023; mul.wide.u32 %rd4, %r23, 4; "
            "add.s64 %rd4, %rd0, %rd4; st.global.u32 [%rd4], {}; ld.global.u32 {}, [%rd4];\n",
            source(), replicated(), below(2) == 0 ? source() : datum(), d);
      case 0:
      case 1:
        return fmt::format(
            "mad.lo.u32 %r23, {}, {}, {}; and.b32 %r23, %r23, 1023; mul.wide.u32 %rd4, %r23, 4; "
            "add.s64 %rd4, %rd1, %rd4; ld.global.u32 {}, [%rd4];\n",
            source(), 32 * below(3), replicated(), d);
      case 2:
        return fmt::format("add.u32 {}, {}, {};\n", d, datum(), below(2) == 0 ? source() : replicated());
      case 3:
        return compare() + fmt::format("selp.b32 {}, {}, {}, %p1;\n", d, datum(), datum());
      case 4:
        return compare() + fmt::format("selp.b32 {}, {}, {}, %p1;\n", d, datum(), source());
      case 5:
        return fmt::format("add.u32 {}, {}, {};\n", d, source(), replicated());
      case 6:
        return fmt::format("shl.b32 %r22, {}, 2; add.u32 %r22, %r22, %r7; ld.shared.u32 {}, [%r22+256];\n",
                           replicated(), d);
      case 7:
        return fmt::format(
            "mad.lo.u32 %r23, {}, 32, {}; and.b32 %r23, %r23, 1023; mul.wide.u32 %rd4, %r23, 4; "
            "add.s64 %rd4, %rd0, %rd4; st.global.u32 [%rd4], {};\n",
            source(), replicated(), d);
      default:
        return fmt::format("shl.b32 %r22, {}, 2; add.u32 %r22, %r22, %r7; st.shared.u32 [%r22+256], {};\n",
                           replicated(), d);
    }
  }

  /// A value through memory that has a window of its own, to a branch.
  std::string through_windows() {
    const std::string to = target();
    std::string out = "shl.b32 %r22, %r0, 2; and.b32 %r22, %r22, 60;\n";
    if (below(2) == 0)
      out += fmt::format("add.u32 %r22, %r22, %r28; st.local.u32 [%r22], {}; ld.local.u32 {}, [%r22];\n",
                         source(), to);
    else
      out += fmt::format(
          "cvt.u64.u32 %rd6, %r22; add.s64 %rd6, %rd5, %rd6; add.u32 %r22, %r22, %r7; st.u32 [%rd6], {}; "
          "{};\n",
          source(),
          below(2) == 0 ? fmt::format("ld.u32 {}, [%rd6]", to) : fmt::format("ld.shared.u32 {}, [%r22]", to));
    return out + fmt::format("and.b32 %r20, {}, 3; setp.lt.u32 %p3, %r20, {};\n", to, below(4)) +
           fmt::format("@%p3 st.global.u32 [%rd0+{}], %r4;\n", 4 * below(64));
  }

  std::string touch() {
    if (data_ && below(3) != 0) return touch_data();
    switch (below(11)) {
      case 10:
        return through_windows();
      case 8:
      case 9: {  // through memory, whole or in part
        std::string out = "shl.b32 %r22, %r0, 2; add.u32 %r22, %r22, %r7;\n";
        out += fmt::format("st.shared.u32 [%r22], {};\n", source());
        if (below(3) == 0) out += fmt::format("st.shared.u8 [%r22+{}], {};\n", below(4), source());
        if (below(3) == 0) out += fmt::format("st.shared.u32 [%r22], {};\n", source());
        const std::string to = target();
        out += below(3) == 0 ? fmt::format("ld.shared.u8 {}, [%r22];\n", to)
                             : fmt::format("ld.shared.u32 {}, [%r22];\n", to);
        return out +
               fmt::format("and.b32 %r20, {}, {}; setp.lt.u32 %p3, %r20, {};\n", to, 1 + below(7), below(6)) +
               fmt::format("@%p3 st.global.u32 [%rd0+{}], %r4;\n", 4 * below(64));
      }
      case 0:
      case 1:
        return shared_address() + fmt::format("st.shared.u32 [%r22], {};\n", source());
      case 2:
      case 3:
        return shared_address() + fmt::format("ld.shared.u32 {}, [%r22];\n", target());
      case 4:
        return global_address("%rd0", "1023") + fmt::format("st.global.u32 [%rd4], {};\n", source());
      case 5:
        return global_address("%rd1", "1023") + "ld.global.u32 %r24, [%rd4];\n";
      case 6:
        if (table_)
          return fmt::format(
              "and.b32 %r23, {}, 15; mul.wide.u32 %rd4, %r23, 4; add.s64 %rd4, %rd2, %rd4; "
              "ld.global.u32 {}, [%rd4];\n",
              source(), target());
        return global_address("%rd0", "1023") + "red.global.add.u32 [%rd4], 1;\n";
      default:
        return shared_address() + fmt::format("st.shared.u8 [%r22], {};\n", source());
    }
  }

  std::string step(int depth) {
    const uint32_t kind = below(10);
    if (kind < 4) return compute();
    if (kind < 7 || depth == 0) return touch();
    if (kind == 7) return "bar.sync 0;\n";
    if (kind == 8) {
      const std::string label = fmt::format("L{}", labels_++);
      std::string out = compare() + fmt::format("@%p1 bra {};\n", label);
      for (uint32_t n = 1 + below(3); n != 0; --n) out += below(2) == 0 ? compute() : touch();
      return out + label + ":\n";
    }
    // A loop of up to four turns, bounded by a value.
    const std::string label = fmt::format("L{}", labels_++);
    std::string out = fmt::format("and.b32 %r25, {}, 3; {}:\n", source(), label);
    for (uint32_t n = 1 + below(2); n != 0; --n) out += below(2) == 0 ? compute() : touch();
    return out + fmt::format("setp.ne.u32 %p2, %r25, 0; sub.u32 %r25, %r25, 1; @%p2 bra {};\n", label);
  }

  std::mt19937 random_;
  bool table_, data_;
  uint32_t labels_ = 0;
};

/// Fingerprints of what was stored are of one cluster, and where memory is read that nobody writes does not
/// matter, not even whether two reads are of the same place: both are left out of a comparison.
TraceClass class_without_values(Trace trace) {
  const std::vector<uint32_t> written = written_allocations(trace);
  std::vector<Footprint> kept;
  std::map<std::array<uint32_t, 3>, uint32_t> numbers;
  for (Event& e : trace.events) {
    if (e.kind == EventKind::access) e.bytes = 0;
    if (e.kind != EventKind::access && e.kind != EventKind::async_access) continue;
    Footprint f = trace.footprints[e.footprint];
    if (f.space == Space::global && !std::binary_search(written.begin(), written.end(), f.allocation))
      f.first_range = f.range_count = 0;
    const auto [at, fresh] = numbers.try_emplace(
        {static_cast<uint32_t>(f.space), f.allocation, f.first_range}, static_cast<uint32_t>(kept.size()));
    if (fresh) kept.push_back(f);
    e.footprint = at->second;
  }
  trace.footprints = std::move(kept);
  return trace_class(trace);
}

/// As a set: two reads of one place may be of two places in another cluster. Then each of the two
/// instructions is said to read both, where nobody writes: `of_whom` counts elsewhere only.
std::set<std::array<uint64_t, 6>> ranges_of(const GlobalAccessSummary& summary) {
  std::set<uint32_t> written;
  for (const GlobalAccessSummary::Range& r : summary.ranges)
    if (r.writes) written.insert(r.buffer);
  std::set<std::array<uint64_t, 6>> out;
  for (const GlobalAccessSummary::Range& r : summary.ranges) {
    const uint64_t of_whom = written.contains(r.buffer) ? r.place : ~uint64_t{0};
    out.insert({r.buffer, of_whom, static_cast<uint64_t>(r.kind), r.writes, r.bytes.begin, r.bytes.end});
  }
  return out;
}

/// What a verdict says, without where memory lies and without values.
std::set<std::array<std::string, 4>> findings_of(Trace trace) {
  std::set<std::array<std::string, 4>> out;
  for (Event& e : trace.events)
    if (e.kind == EventKind::access) e.bytes = 0;
  for (const Diagnostic& d : check(trace).diagnostics)
    out.insert({d.rule, std::to_string(static_cast<int>(d.severity)), std::to_string(d.where.ptx_line),
                d.sides.empty() ? "" : std::to_string(d.sides[0].position.ptx_line)});
  return out;
}

struct Tally {
  size_t matched = 0, executed = 0;
};

void compare_all(const std::string& text, const Launch& launch, Tally& tally) {
  auto module = ptx::parse(text, "k.ptx");
  if (!module) FAIL(module.error().text());
  auto program = sim::build_program(std::move(*module), launch);
  if (!program) FAIL(program.error().text());
  const uint64_t clusters = sim::trace_count(**program, launch);
  const auto run = [&](uint64_t cluster, bool follow) {
    sim::RunOptions options;
    options.follow_position = follow;
    options.ctas.push_back(sim::cta_of_trace(**program, launch, cluster));
    auto result = sim::run_launch(**program, launch, options);
    if (!result) FAIL(result.error().text());
    return std::move(*result);
  };
  auto followed = FollowedClasses::create(**program, launch);
  if (!followed) FAIL(followed.error().text());
  std::vector<TraceClass> of_run;
  std::vector<std::set<std::array<std::string, 4>>> findings_of_run;  ///< executed and not followed
  for (uint64_t c = 0; c < clusters; ++c) {
    const sim::RunResult plain = run(c, false);
    const TraceClass expected = class_without_values(plain.traces[0]);
    if (const auto match = followed->match(static_cast<uint32_t>(c))) {
      ++tally.matched;
      INFO(text);
      INFO("cluster ", c);
      REQUIRE(of_run[match->trace_class] == expected);
      REQUIRE(findings_of_run[match->trace_class] == findings_of(plain.traces[0]));
      const GlobalAccessSummary summary = summarize_global(plain.traces[0]);
      REQUIRE(std::equal(std::begin(summary.cta), std::end(summary.cta), std::begin(match->summary.cta)));
      REQUIRE(ranges_of(summary) == ranges_of(match->summary));
      continue;
    }
    ++tally.executed;
    const sim::RunResult seen = run(c, true);
    // Without a tape: it was executed with names for its values, and is not followed.
    if (seen.tapes[0] == nullptr || !seen.tapes[0]->loses_values)
      CHECK(class_without_values(seen.traces[0]) == expected);
    of_run.push_back(class_without_values(seen.traces[0]));
    findings_of_run.push_back(findings_of(plain.traces[0]));
    followed->add(seen.traces[0], seen.tapes[0], of_run.size() - 1, summarize_global(seen.traces[0]));
  }
}

}  // namespace

TEST_CASE("clusters that are followed do what they do when they are executed") {
  Tally tally;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const bool table = seed % 3 == 1;
    Generator generator(seed, table);
    const Launch launch = launch_of(seed % 2 == 0 ? "[8, 2, 1]" : "[16, 1, 1]", seed % 5 == 4 ? 2 : 1);
    compare_all(kernel(generator.body(), table), launch, tally);
  }
  MESSAGE(tally.matched, " clusters followed, ", tally.executed, " executed");
  CHECK(tally.matched > 800);  // else the test says little
  CHECK(tally.executed > 800);
}

namespace {

struct EqualValues {
  size_t matched = 0, equal = 0, otherwise = 0;
};

/// Stores that a run of one cluster calls equal, as indices of events: (the first, another one).
std::vector<std::pair<size_t, size_t>> equal_stores(const Trace& trace) {
  std::vector<std::pair<size_t, size_t>> out;
  std::map<std::pair<uint32_t, uint64_t>, size_t> first;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    if (e.kind != EventKind::access || !e.has(Event::write) || e.has(Event::atomic) || e.bytes == 0) continue;
    const auto [at, fresh] = first.try_emplace({e.footprint, e.bytes}, i);
    if (!fresh) out.emplace_back(at->second, i);
  }
  return out;
}

/// Whatever the names of one cluster call equal has to be the same bits in each cluster that is followed.
void compare_values(const std::string& text, const Launch& launch, EqualValues& tally) {
  auto module = ptx::parse(text, "k.ptx");
  if (!module) FAIL(module.error().text());
  auto program = sim::build_program(std::move(*module), launch);
  if (!program) FAIL(program.error().text());
  const auto run = [&](uint64_t cluster, sim::Domain domain) {
    sim::RunOptions options;
    options.domain = domain;
    options.follow_position = domain == sim::Domain::names;
    options.ctas.push_back(sim::cta_of_trace(**program, launch, cluster));
    auto result = sim::run_launch(**program, launch, options);
    if (!result) FAIL(result.error().text());
    return std::move(*result);
  };
  auto followed = FollowedClasses::create(**program, launch);
  if (!followed) FAIL(followed.error().text());
  std::vector<Trace> runs;
  for (uint64_t c = 0; c < sim::trace_count(**program, launch); ++c) {
    const auto match = followed->match(static_cast<uint32_t>(c));
    if (!match) {
      const sim::RunResult named = run(c, sim::Domain::names);
      followed->add(named.traces[0], named.tapes[0], runs.size(), summarize_global(named.traces[0]));
      runs.push_back(named.traces[0]);
      continue;
    }
    ++tally.matched;
    const Trace& names = runs[match->trace_class];
    const Trace bits = run(c, sim::Domain::bits).traces[0];
    const bool same_course = std::equal(names.events.begin(), names.events.end(), bits.events.begin(),
                                        bits.events.end(), [](const Event& a, const Event& b) {
                                          return a.kind == b.kind && a.agent == b.agent &&
                                                 a.place == b.place && a.flags == b.flags;
                                        });
    if (!same_course) {  // a branch on what only bits know
      ++tally.otherwise;
      continue;
    }
    for (const auto& pair : equal_stores(names)) {
      const size_t a = pair.first, b = pair.second;
      ++tally.equal;
      INFO(text);
      INFO("cluster ", c, " by the run of class ", match->trace_class, ", events ", a, " and ", b);
      REQUIRE(bits.events[a].bytes == bits.events[b].bytes);
    }
  }
}

}  // namespace

TEST_CASE("values that have one name in a run are equal in each cluster that is followed") {
  EqualValues tally;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Generator generator(seed, seed % 3 == 1, true);
    const Launch launch =
        launch_of(seed % 2 == 0 ? "[8, 2, 1]" : "[16, 1, 1]", seed % 5 == 4 ? 2 : 1, "wide");
    compare_values(kernel(generator.body(), seed % 3 == 1), launch, tally);
  }
  MESSAGE(tally.matched, " clusters followed, ", tally.equal, " pairs of stores of one name, ",
          tally.otherwise, " clusters took another course");
  CHECK(tally.matched > 500);
  CHECK(tally.equal > 500);
}

TEST_CASE("values that are equal in the first cluster alone keep the others apart") {
  const std::string both =
      "setp.lt.u32 %p4, %r0, 32; shl.b32 %r22, %r26, 2; add.u32 %r22, %r22, %r7;\n"
      "mul.wide.u32 %rd4, %r26, 4; add.s64 %rd6, %rd1, %rd4; add.s64 %rd7, %rd0, %rd4;\n";
  const auto loads = [](const char* index, const char* to) {
    return fmt::format("mul.wide.u32 %rd4, {}, 128; add.s64 %rd4, %rd6, %rd4; ld.global.u32 {}, [%rd4];\n",
                       index, to);
  };
  const std::string stores = "@%p4 st.shared.u32 [%r22+256], %r12;\n@!%p4 st.shared.u32 [%r22+256], %r13;\n";
  const auto equal_in_first = [&](const std::string& body, const char* fill = "iota") {
    INFO(body);
    EqualValues tally;
    compare_values(kernel(both + body, false), launch_of("[4, 1, 1]", 1, fill), tally);
    CHECK(tally.otherwise == 0);
    return tally;
  };
  SUBCASE("one place, in the first cluster") {
    // Warp 0 stores its upper half, warp 1 its lower half sixteen places further on: the same places.
    const EqualValues tally = equal_in_first(
        loads("%r1", "%r12") +
        "ld.global.u32 %r13, [%rd6+64];\n"
        "setp.ge.u32 %p5, %r26, 16; and.pred %p6, %p4, %p5;\n@%p6 st.shared.u32 [%r22+256], %r12;\n"
        "not.pred %p7, %p5; not.pred %p3, %p4; and.pred %p7, %p7, %p3;\n@%p7 st.shared.u32 [%r22+320], "
        "%r13;\n");
    CHECK(tally.matched == 1);  // in 1 the warps load places that meet otherwise, in 2 and 3 none that meet
  }
  SUBCASE("a choice by position") {
    const EqualValues tally = equal_in_first(
        "ld.global.u32 %r14, [%rd6]; ld.global.u32 %r15, [%rd6+128]; setp.lt.u32 %p5, %r1, 1;\n"
        "selp.b32 %r12, %r14, %r15, %p5; mov.u32 %r13, %r14;\n" +
        stores);
    CHECK(tally.matched == 3);
    CHECK(tally.equal == 0);
  }
  SUBCASE("a choice by position, of which one is known") {
    const EqualValues tally = equal_in_first(
        "ld.global.u32 %r14, [%rd6]; setp.lt.u32 %p5, %r1, 1;\n"
        "selp.b32 %r12, %r14, %r8, %p5; mov.u32 %r13, %r14;\n" +
        stores);
    CHECK(tally.matched == 3);
    CHECK(tally.equal == 0);
  }
  SUBCASE("a position that went through global memory") {
    const EqualValues tally =
        equal_in_first("st.global.u32 [%rd7], %r1; ld.global.u32 %r12, [%rd7]; mov.u32 %r13, 0;\n" + stores);
    CHECK(tally.matched == 3);
    CHECK(tally.equal == 3);  // the stores of the position itself, by both warps
  }
  SUBCASE("sums of a position and what nobody knows") {
    const EqualValues tally = equal_in_first(
        "ld.global.u32 %r14, [%rd6]; add.u32 %r12, %r14, %r1;\n"
        "add.u32 %r13, %r14, 0;\n" +
        stores);
    CHECK(tally.matched == 3);
    CHECK(tally.equal == 0);
  }
  SUBCASE("equal wherever the cluster lies") {
    const EqualValues tally =
        equal_in_first(loads("%r1", "%r14") +
                       "add.u32 %r12, %r14, %r1;\n"
                       "add.u32 %r15, %r1, 3; sub.u32 %r15, %r15, 3; add.u32 %r13, %r15, %r14;\n" +
                       stores);
    CHECK(tally.matched == 3);
    CHECK(tally.equal == 3);
  }
}

TEST_CASE("a position that reaches addresses alone makes one class, and one that decides a branch two") {
  Tally tally;
  const std::string store =
      "mad.lo.u32 %r10, %r1, 64, %r0; mul.wide.u32 %rd3, %r10, 4; add.s64 %rd3, %rd0, %rd3;\n";
  compare_all(kernel(store + "st.global.u32 [%rd3], %r4;", false), launch_of("[16, 1, 1]", 1), tally);
  CHECK(tally.executed == 1);
  tally = {};
  compare_all(kernel(store + "setp.lt.u32 %p1, %r1, 3; @%p1 st.global.u32 [%rd3], %r4;", false),
              launch_of("[16, 1, 1]", 1), tally);
  CHECK(tally.executed == 2);
}
