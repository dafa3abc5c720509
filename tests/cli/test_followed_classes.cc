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

Launch launch_of(const std::string& grid, uint32_t cluster) {
  auto launch = parse_launch(
      fmt::format(
          "kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\nblock = [64, 1, 1]\ngrid = {}\n"
          "cluster = [{}, 1, 1]\n"
          "[[buffers]]\nname = \"out\"\ndtype = \"u32\"\nshape = [4096]\nrole = \"in_out\"\nfill = "
          "\"zeros\"\n"
          "[[buffers]]\nname = \"in\"\ndtype = \"u32\"\nshape = [4096]\nrole = \"in\"\nfill = \"zeros\"\n"
          "[[params]]\nbuffer = \"out\"\n[[params]]\nbuffer = \"in\"\n",
          grid, cluster),
      kPath, {});
  if (!launch) FAIL(launch.error().text());
  return *launch;
}

std::string kernel(const std::string& body, bool table) {
  return std::string(".version 8.0\n.target sm_90a\n.address_size 64\n") +
         (table ? ".global .align 4 .u32 table[16] = {3,1,4,1,5,9,2,6,5,3,5,8,9,7,9,3};\n" : "") +
         ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
         ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>;\n"
         ".shared .align 16 .b8 tile[512];\n"
         "ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];\n"
         "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %clusterid.x;\n"
         "mov.u32 %r4, 5; mov.u32 %r5, %nctaid.x; mov.u32 %r6, 0; mov.u32 %r7, tile;\n"
         "mov.u32 %r8, 1; mov.u32 %r9, 2; mov.u32 %r10, 3; mov.u32 %r11, 4;\n" +
         (table ? "mov.u64 %rd2, table;\n" : "") + body + "\nret;\n}\n";
}

/// Writes random kernels of values r0 to r11, known or not.
class Generator {
 public:
  Generator(uint32_t seed, bool table) : random_(seed), table_(table) {}

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

  std::string touch() {
    switch (below(10)) {
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
  bool table_;
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

/// As a set: two reads of one place may be of two places in another cluster.
std::set<std::array<uint64_t, 6>> ranges_of(const GlobalAccessSummary& summary) {
  std::set<std::array<uint64_t, 6>> out;
  for (const GlobalAccessSummary::Range& r : summary.ranges)
    out.insert({r.buffer, r.place, static_cast<uint64_t>(r.kind), r.writes, r.bytes.begin, r.bytes.end});
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
  for (uint64_t c = 0; c < clusters; ++c) {
    const sim::RunResult plain = run(c, false);
    const TraceClass expected = class_without_values(plain.traces[0]);
    if (const auto match = followed->match(static_cast<uint32_t>(c))) {
      ++tally.matched;
      INFO(text);
      INFO("cluster ", c);
      REQUIRE(of_run[match->trace_class] == expected);
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
