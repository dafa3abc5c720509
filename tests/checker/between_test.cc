// SPDX-License-Identifier: Apache-2.0
//
// Global memory between CTAs, and the partition of memory into regions, against all pairs.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "checker/regions.h"
#include "tests/checker/expect.h"
#include "tests/checker/trace_builder.h"

using namespace turnstile;
using namespace turnstile::test;
using Kind = GlobalAccessSummary::Kind;

namespace {

GlobalAccessSummary cta(uint32_t x, std::vector<std::pair<Kind, ByteRange>> accesses, uint32_t buffer = 0) {
  GlobalAccessSummary s;
  s.cta[0] = x;
  auto names = std::make_shared<GlobalAccessSummary::Names>();
  names->buffers = {"C"};
  for (const auto& [kind, range] : accesses) {
    SourcePosition at;
    at.file = "kernel.cu";
    at.line = at.ptx_line = static_cast<uint32_t>(kind) + 1;
    names->places.push_back(at);
    s.ranges.push_back({buffer, static_cast<uint32_t>(names->places.size() - 1), kind, kind != Kind::read,
                        false, 0, false, range, 0});
  }
  s.names = std::move(names);
  return s;
}

}  // namespace

TEST_CASE("tiles of a matrix that touch but do not overlap do not race") {
  // 4 x 2 tiles of 16 rows by 64 bytes in rows of 128 bytes.
  std::vector<GlobalAccessSummary> ctas;
  for (uint32_t t = 0; t < 8; ++t) {
    const uint64_t begin = t / 2 * 16 * 128 + t % 2 * 64;
    ctas.push_back(cta(t, {{Kind::write, {begin, begin + 64, 128, 16}}}));
  }
  CHECK(check_between(ctas).verdict == Verdict::clean);
  ctas.push_back(cta(8, {{Kind::read, {128 * 5 + 60, 128 * 5 + 68, 0, 1}}}));  // one read across two of them
  const Report r = check_between(ctas);
  CHECK(r.verdict == Verdict::finding);
  REQUIRE(!r.diagnostics.empty());
  CHECK(r.diagnostics.front().message.find("CTA (8, 0, 0)") != std::string::npos);
  CHECK(r.diagnostics.front().rule == "GM1");
}

TEST_CASE("reads share, atomics share, one CTA may do what it likes") {
  CHECK(
      check_between(std::vector{cta(0, {{Kind::read, {0, 64, 0, 1}}}), cta(1, {{Kind::read, {0, 64, 0, 1}}})})
          .verdict == Verdict::clean);
  CHECK(check_between(
            std::vector{cta(0, {{Kind::atomic, {0, 4, 0, 1}}}), cta(1, {{Kind::atomic, {0, 4, 0, 1}}})})
            .verdict == Verdict::clean);
  CHECK(check_between(std::vector{cta(0, {{Kind::write, {0, 64, 0, 1}}, {Kind::read, {0, 64, 0, 1}}})})
            .verdict == Verdict::clean);
  CHECK(
      check_between(std::vector{cta(0, {{Kind::atomic, {0, 4, 0, 1}}}), cta(1, {{Kind::read, {2, 3, 0, 1}}})})
          .verdict == Verdict::finding);
}

TEST_CASE("the sweep finds a race between CTAs exactly where all pairs find one") {
  size_t races = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<GlobalAccessSummary> ctas;
    for (uint32_t c = 0; c < 4; ++c) {
      std::vector<std::pair<Kind, ByteRange>> accesses;
      for (uint64_t a = 0; a < random() % 3; ++a) {
        const uint64_t begin = random() % 200, length = 1 + random() % 12;
        accesses.push_back(
            {static_cast<Kind>(random() % 3),
             {begin, begin + length, 16 + random() % 8, 1 + static_cast<uint32_t>(random() % 3)}});
      }
      ctas.push_back(cta(c, accesses));
    }
    bool expected = false;
    for (const auto& a : ctas)
      for (const auto& b : ctas)
        for (const auto& x : a.ranges)
          for (const auto& y : b.ranges) {
            if (&a == &b || (x.kind == Kind::read && y.kind == Kind::read) ||
                (x.kind == Kind::atomic && y.kind == Kind::atomic))
              continue;
            for (uint32_t i = 0; i < x.bytes.count; ++i)
              for (uint32_t j = 0; j < y.bytes.count; ++j)
                expected |= x.bytes.begin + i * x.bytes.stride < y.bytes.end + j * y.bytes.stride &&
                            y.bytes.begin + j * y.bytes.stride < x.bytes.end + i * x.bytes.stride;
          }
    CAPTURE(seed);
    CHECK((check_between(ctas).verdict == Verdict::finding) == expected);
    races += expected;
  }
  CHECK(races > 200);
  CHECK(races < 1800);
}

TEST_CASE("a summary has the global accesses of a trace, each once, with atomics kept apart") {
  TraceBuilder b(1);
  for (int i = 0; i < 3; ++i) b.write(0, 5, b.global(0));
  b.atomic(0, 6, b.global(1));
  b.read(0, 7, b.shared(0));
  const GlobalAccessSummary s = summarize_global(b.trace);
  REQUIRE(s.ranges.size() == 2);
  CHECK(s.ranges[0].kind == Kind::write);
  CHECK(s.ranges[1].kind == Kind::atomic);
  CHECK(s.names->places[s.ranges[1].place].line == 6);
}

TEST_CASE(
    "regions: two footprints share a region exactly if they share bytes, and regions tell all footprints "
    "apart") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    Trace t;
    for (uint32_t f = 0; f < 6; ++f) {
      Footprint fp{Space::shared, static_cast<uint32_t>(random() % 2), static_cast<uint32_t>(t.ranges.size()),
                   1 + static_cast<uint32_t>(random() % 3)};
      for (uint32_t r = 0; r < fp.range_count; ++r) {
        const uint64_t begin = random() % 60;
        t.ranges.push_back(
            {begin, begin + random() % 9, 10 + random() % 9, 1 + static_cast<uint32_t>(random() % 3)});
      }
      t.footprints.push_back(fp);
    }
    std::vector<std::set<uint64_t>> bytes(t.footprints.size());
    for (size_t f = 0; f < bytes.size(); ++f)
      for (uint32_t r = 0; r < t.footprints[f].range_count; ++r) {
        const ByteRange& range = t.ranges[t.footprints[f].first_range + r];
        for (uint32_t i = 0; i < range.count; ++i)
          for (uint64_t x = range.begin; x < range.end; ++x)
            bytes[f].insert(1000 * t.footprints[f].allocation + x + i * range.stride);
      }
    checker::Regions regions;
    REQUIRE(regions.build(t, std::vector<bool>(t.footprints.size(), true)));
    CAPTURE(seed);
    // Bytes are alike if the same footprints cover them: the expected number of regions is the number of
    // different sets.
    std::map<uint64_t, std::set<size_t>> covering;
    for (size_t f = 0; f < bytes.size(); ++f)
      for (uint64_t x : bytes[f]) covering[x].insert(f);
    std::set<std::set<size_t>> classes;
    for (const auto& [x, set] : covering) classes.insert(set);
    CHECK(regions.count() == classes.size());
    for (size_t f = 0; f < bytes.size(); ++f) {
      size_t expected = 0;
      for (const auto& set : classes) expected += set.count(f);
      CHECK(regions.of(static_cast<uint32_t>(f)).size() == expected);
      for (size_t g = 0; g < bytes.size(); ++g) {
        const auto a = regions.of(static_cast<uint32_t>(f)), b = regions.of(static_cast<uint32_t>(g));
        const bool share = std::any_of(
            a.begin(), a.end(), [&](uint32_t r) { return std::find(b.begin(), b.end(), r) != b.end(); });
        const bool overlap =
            std::any_of(bytes[f].begin(), bytes[f].end(), [&](uint64_t x) { return bytes[g].contains(x); });
        CHECK(share == overlap);
      }
    }
  }
}
