// SPDX-License-Identifier: Apache-2.0
//
// Which strands a search may exchange, and that it finds the same with and without.
#include "checker/symmetry.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "checker/explore.h"
#include "checker/witness.h"
#include "tests/checker/orchestration_sketch.h"

using namespace turnstile;
using namespace turnstile::test;
using namespace turnstile::checker;

namespace {

size_t exchanges_of(const Sketch& sketch) {
  const Orchestration program = lower(sketch);
  return Symmetry(program, Overlaps(program)).exchanges();
}

SearchResult searched(const Sketch& sketch, bool symmetry) {
  SearchOptions options;
  options.reduce = false;
  options.symmetry = symmetry;
  options.all_kinds = true;
  return explore(lower(sketch), options);
}

/// A ring in each of two CTAs, which meet at the end, and nothing in common.
Sketch two_ctas(uint32_t trips) {
  const Sketch one = ring_sketch(1, 1, trips, true);
  Sketch s = one;
  s.cluster_ctas = 2;
  s.buffers_per_cta = one.buffers;
  s.buffers = 2 * one.buffers;
  const auto barriers = static_cast<uint32_t>(one.counts.size());
  for (uint32_t b = 0; b < barriers; ++b) {
    s.counts.push_back(one.counts[b]);
    s.barrier_ctas.push_back(1);
  }
  for (std::vector<SketchOp> strand : one.strands) {
    for (SketchOp& o : strand) {
      o.object += barriers;
      o.buffer += one.buffers;
    }
    s.strands.push_back(strand);
    s.ctas.push_back(1);
  }
  for (auto& strand : s.strands) {
    strand.push_back({SketchOp::Kind::cluster_arrive});
    strand.push_back({SketchOp::Kind::cluster_wait});
  }
  return s;
}

/// Consumers release once too few: the producer hangs, whoever of them it was.
Sketch forgetful(uint32_t consumers) {
  Sketch s = ring_sketch(1, consumers, 3, false);
  for (auto& strand : s.strands) {
    const auto arrive = std::find_if(strand.rbegin(), strand.rend(),
                                     [](const SketchOp& o) { return o.kind == SketchOp::Kind::arrive; });
    if (&strand != &s.strands.front() && arrive != strand.rend()) strand.erase(std::next(arrive).base());
  }
  for (auto& strand : s.strands)
    if (&strand != &s.strands.front()) {
      const auto arrive = std::find_if(strand.begin(), strand.end(),
                                       [](const SketchOp& o) { return o.kind == SketchOp::Kind::arrive; });
      strand.erase(arrive);
    }
  return s;
}

}  // namespace

TEST_CASE("consumers of one ring can be exchanged: with n of them, up to n! states become one") {
  CHECK(exchanges_of(ring_sketch(2, 1, 4, false)) == 0);
  CHECK(exchanges_of(ring_sketch(2, 2, 4, false)) == 1);
  CHECK(exchanges_of(ring_sketch(2, 3, 4, true)) == 3);
  for (const Sketch& sketch :
       {ring_sketch(2, 2, 4, true), ring_sketch(1, 3, 3, false), pool_sketch(3, 2, 2)}) {
    INFO(sketch.text());
    const SearchResult all = searched(sketch, false), sorted = searched(sketch, true);
    CHECK(all.complete);
    CHECK(sorted.complete);
    CHECK(all.faults.empty());
    CHECK(sorted.faults.empty());
    CHECK(sorted.states < all.states);
    CHECK(sorted.states * 6 >= all.states);
  }
}

TEST_CASE("CTAs that do the same can be exchanged, with their barriers, copies and memory") {
  const Sketch sketch = two_ctas(3);
  INFO(sketch.text());
  CHECK(exchanges_of(sketch) == 1);
  const SearchResult all = searched(sketch, false), sorted = searched(sketch, true);
  CHECK(all.complete);
  CHECK(all.faults.empty());
  CHECK(sorted.complete);
  CHECK(sorted.faults.empty());
  CHECK(sorted.states < all.states);
  CHECK(sorted.states * 2 >= all.states);
}

TEST_CASE("strands that differ in anything are not exchanged") {
  const Sketch ring = ring_sketch(2, 2, 4, true);
  REQUIRE(exchanges_of(ring) == 1);
  Sketch longer = ring;  // one of them does more
  longer.strands[2].push_back(longer.strands[2].front());
  CHECK(exchanges_of(longer) == 0);
  Sketch other_tag = ring;
  for (SketchOp& o : other_tag.strands[2])
    if (o.kind == SketchOp::Kind::read) o.tag = 0;
  CHECK(exchanges_of(other_tag) == 0);
  Sketch other_cta = ring;
  other_cta.cluster_ctas = 2;
  other_cta.ctas[2] = 1;
  CHECK(exchanges_of(other_cta) == 0);
  // A turn-taking order: who comes first differs.
  CHECK(exchanges_of(attention_sketch(2, 2, 2, 1)) == 0);
}

TEST_CASE("a fault that was found under other names has a schedule of the program's own") {
  for (const uint32_t consumers : {2u, 3u}) {
    const Sketch sketch = forgetful(consumers);
    INFO(sketch.text());
    const Orchestration program = lower(sketch);
    REQUIRE(Symmetry(program, Overlaps(program)).any());
    const SearchResult all = searched(sketch, false), sorted = searched(sketch, true);
    REQUIRE(!all.faults.empty());
    REQUIRE(sorted.faults.size() == all.faults.size());
    for (size_t i = 0; i < all.faults.size(); ++i) {
      CHECK(sorted.faults[i].kind == all.faults[i].kind);
      CHECK(sorted.faults[i].schedule.size() == all.faults[i].schedule.size());  // as short
    }
    const SearchFault& fault = sorted.faults.front();
    Witness w;
    REQUIRE(fault.kind == SearchFault::Kind::hang);
    w.shows = Witness::Shows::hang;
    w.schedule = fault.schedule;
    CHECK(replay(program, w).shown);
  }
}
