// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "cli/trace_class.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

/// Two stores of a warp to global buffer 0 at the given addresses, one load from buffer 1, one store to
/// shared memory.
Trace trace(uint64_t first, uint64_t second, uint64_t loaded, uint64_t shared) {
  Trace t;
  t.warps = 1;
  t.agents = {{0, 0, ""}};
  t.ranges = {{first, first + 16, 0, 1},
              {second, second + 16, 0, 1},
              {loaded, loaded + 4, 0, 1},
              {shared, shared + 4, 0, 1}};
  t.footprints = {
      {Space::global, 0, 0, 1}, {Space::global, 0, 1, 1}, {Space::global, 1, 2, 1}, {Space::shared, 0, 3, 1}};
  for (uint32_t i = 0; i < 4; ++i) {
    Event e;
    e.kind = EventKind::access;
    e.flags = i == 2 ? 0 : Event::write;
    e.footprint = i;
    e.place = i;
    t.events.push_back(e);
  }
  return t;
}

}  // namespace

TEST_CASE("CTAs that write elsewhere in global memory in the same manner are of one class") {
  const TraceClass base = trace_class(trace(0, 16, 0, 8));
  CHECK(trace_class(trace(1024, 1040, 0, 8)) == base);
  CHECK(trace_class(trace(0, 16, 4096, 8)) == base);  // memory that is only read cannot conflict
  Trace other_cta = trace(0, 16, 0, 8);
  other_cta.first_cta[0] = 7;
  CHECK(trace_class(other_cta) == base);
}

TEST_CASE("what could change a verdict changes the class") {
  const TraceClass base = trace_class(trace(0, 16, 0, 8));
  CHECK(trace_class(trace(0, 15, 0, 8)) != base);                               // the stores overlap
  CHECK(trace_class(trace(16, 15, 0, 8)) != trace_class(trace(15, 16, 0, 8)));  // which one lies first
  CHECK(trace_class(trace(0, 16, 0, 12)) != base);
  Trace t = trace(0, 16, 0, 8);
  t.events[1].place = 0;
  CHECK(trace_class(t) != base);
  t = trace(0, 16, 0, 8);
  t.events[3].agent.v = 1;
  CHECK(trace_class(t) != base);
  t = trace(0, 16, 0, 8);
  t.blocked.push_back({});
  CHECK(trace_class(t) != base);
  t = trace(0, 16, 0, 8);
  t.faults.push_back({{}, 0, "memory", "out of bounds", ""});
  CHECK(trace_class(t) != base);
  t = trace(0, 16, 0, 8);
  t.barriers.push_back({0, 0x40, "full[0]"});
  CHECK(trace_class(t) != base);
  t = trace(0, 16, 0, 8);
  t.events.pop_back();
  CHECK(trace_class(t) != base);
}

TEST_CASE("only overlap tells places in global memory apart") {
  // The order of places that nothing overlaps, and whether two loads of memory that nobody writes are of one.
  CHECK(trace_class(trace(16, 0, 0, 8)) == trace_class(trace(0, 16, 0, 8)));
  Trace one = trace(0, 16, 0, 8), two = one;
  for (Trace* t : {&one, &two}) {
    t->events.push_back(t->events[2]);
    t->ranges.push_back({64, 68, 0, 1});
    t->footprints.push_back({Space::global, 1, 4, 1});
  }
  two.events.back().footprint = 4;
  CHECK(trace_class(one) == trace_class(two));
  // Stores to that memory, or a fence on what was read: then it counts.
  for (Trace* t : {&one, &two}) {
    t->events.push_back(t->events[2]);
    t->events.back().flags = Event::write;
  }
  CHECK(trace_class(one) != trace_class(two));
  Trace fenced = trace(0, 16, 0, 8);
  fenced.footprints.push_back({Space::global, 1, 2, 1});
  fenced.events.push_back({});
  fenced.events.back().kind = EventKind::fence_tensormap;
  fenced.events.back().footprint = 2;
  Trace other = fenced;
  other.events.back().footprint = 4;
  CHECK(trace_class(fenced) != trace_class(other));
}

TEST_CASE("boxes in global memory are compared row by row") {
  // Two boxes of 2 rows of 64 bytes, side by side; the row pitch differs between the traces, the overlap does
  // not.
  const auto boxes = [](uint64_t pitch, uint64_t distance) {
    Trace t = trace(0, 0, 0, 0);
    t.ranges[0] = {0, 64, pitch, 2};
    t.ranges[1] = {distance, distance + 64, pitch, 2};
    return t;
  };
  CHECK(trace_class(boxes(256, 64)) == trace_class(boxes(512, 64)));
  CHECK(trace_class(boxes(256, 64)) != trace_class(boxes(256, 63)));
}

TEST_CASE("stores to different columns of tensor memory are of different classes") {
  Trace t = trace(0, 16, 0, 8);
  t.footprints[3].space = Space::tensor;
  Trace other = trace(0, 16, 0, 12);
  other.footprints[3].space = Space::tensor;
  CHECK(trace_class(t) != trace_class(other));
}
