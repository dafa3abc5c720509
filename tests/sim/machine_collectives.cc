// SPDX-License-Identifier: Apache-2.0

// elect, shfl, vote and bar.warp.sync: results follow from the pseudo-code of PTX ISA 9.7.9.6 and 9.7.13,
// worked out by hand for the lanes that are checked.

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// What each lane receives from a shuffle of its own number + 100, with +1000 where the predicate is set.
std::vector<uint32_t> shuffled(const std::string& mode, const std::string& b, const std::string& c) {
  return lane_words("add.u32 %r2, %r0, 100;\nshfl.sync." + mode + ".b32 %r1|%p1, %r2, " + b + ", " + c +
                    ", 0xffffffff;\n@%p1 add.u32 %r1, %r1, 1000;");
}

uint32_t from(uint32_t lane) { return 1100 + lane; }  // in range
uint32_t own(uint32_t lane) { return 100 + lane; }    // out of range: the lane's own value, predicate false

}  // namespace

TEST_CASE("shfl.up moves values up; the first lanes keep their own") {
  const auto w = shuffled("up", "3", "0");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == (i < 3 ? own(i) : from(i - 3)));
}

TEST_CASE("shfl.down moves values down; the last lanes keep their own") {
  const auto w = shuffled("down", "5", "31");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == (i > 26 ? own(i) : from(i + 5)));
}

TEST_CASE("shfl.bfly exchanges lanes whose numbers differ in the mask") {
  const auto w = shuffled("bfly", "6", "31");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == from(i ^ 6));
}

TEST_CASE("shfl.idx reads one lane, and only the low five bits of its number count") {
  for (const char* b : {"9", "41"})
    for (uint32_t v : shuffled("idx", b, "31")) CHECK(v == from(9));
}

TEST_CASE("segments of eight lanes: c = (32 - 8) << 8 and a clamp") {
  const auto idx = shuffled("idx", "3", "0x181f"), up = shuffled("up", "1", "0x1800"),
             down = shuffled("down", "1", "0x181f"), bfly = shuffled("bfly", "8", "0x181f");
  for (uint32_t i = 0; i < 32; ++i) {
    CHECK(idx[i] == from(i / 8 * 8 + 3));
    CHECK(up[i] == (i % 8 == 0 ? own(i) : from(i - 1)));
    CHECK(down[i] == (i % 8 == 7 ? own(i) : from(i + 1)));
    // Lanes 0-7 and 16-23 would read above their segment; the others read below it, which bfly allows.
    CHECK(bfly[i] == (i / 8 % 2 == 0 ? own(i) : from(i ^ 8)));
  }
}

TEST_CASE("a clamp below the segment's end limits idx") {
  const auto w = shuffled("idx", "3", "0x1802");  // at most lane 2 of each eight
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == own(i));
}

TEST_CASE("the lane number of a shuffle may differ from lane to lane") {
  const auto w = lane_words("sub.u32 %r3, 31, %r0;\nshfl.sync.idx.b32 %r1, %r0, %r3, 31, 0xffffffff;");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == 31 - i);
}

TEST_CASE("lanes of a split warp meet at a shuffle") {
  const auto w = lane_words(R"(
    mov.u32 %r2, 1;
    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra MEET;
    mov.u32 %r2, 2;
    nanosleep.u32 10;
  MEET:
    shfl.sync.bfly.b32 %r1, %r2, 16, 31, 0xffffffff;)");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == (i < 16 ? 2 : 1));
}

TEST_CASE("both halves of a warp shuffle with member masks of their own") {
  const auto w = lane_words(R"(
    setp.lt.u32 %p1, %r0, 16;
    selp.b32 %r3, 0xffff, 0xffff0000, %p1;
    selp.b32 %r4, 2, 18, %p1;
    shfl.sync.idx.b32 %r1, %r0, %r4, 31, %r3;)");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == (i < 16 ? 2 : 18));
}

TEST_CASE("a shuffle from a lane that does not take part gives nothing that may be used") {
  const Ran r = run(R"(
    setp.lt.u32 %p1, %r0, 8;
    @!%p1 ret;
    shfl.sync.idx.b32 %r1, %r0, 20, 31, 0xff;
    st.global.u32 [%rd1], %r1;
    ret;)");
  CHECK(r.result.not_predicted.size() == 1);
}

TEST_CASE("votes over the lanes of a mask") {
  const std::string below5 = "setp.lt.u32 %p1, %r0, 5;\n";
  CHECK(lane_words(below5 + "vote.sync.ballot.b32 %r1, %p1, 0xffffffff;")[9] == 0x1f);
  CHECK(lane_words(below5 + "vote.sync.ballot.b32 %r1, !%p1, 0xffffffff;")[9] == 0xffffffe0);
  const auto decide = [&](const std::string& mode, const std::string& setp) {
    return lane_words(setp + "vote.sync." + mode +
                      ".pred %p2, %p1, 0xffffffff;\nselp.b32 %r1, 1, 0, %p2;")[31];
  };
  const std::string all = "setp.lt.u32 %p1, %r0, 32;\n", none = "setp.gt.u32 %p1, %r0, 32;\n";
  CHECK(decide("all", all) == 1);
  CHECK(decide("all", below5) == 0);
  CHECK(decide("any", below5) == 1);
  CHECK(decide("any", none) == 0);
  CHECK(decide("uni", all) == 1);
  CHECK(decide("uni", none) == 1);
  CHECK(decide("uni", below5) == 0);
}

TEST_CASE("a vote counts the executing lanes of its mask only") {
  const Ran r = run(R"(
    setp.lt.u32 %p1, %r0, 4;
    @!%p1 ret;
    setp.lt.u32 %p2, %r0, 40;
    vote.sync.ballot.b32 %r1, %p2, 0xf;
    st.global.u32 [%rd1], %r1;
    ret;)");
  REQUIRE(r.finished());
  CHECK(r.words(5) == std::vector<uint32_t>{15, 15, 15, 15, 0});
}

TEST_CASE("elect chooses exactly one lane and tells all of them which [Q11 shows]") {
  const auto w = lane_words(R"(
    elect.sync %r2|%p1, 0xffffffff;
    mov.u32 %r1, %r2;
    @%p1 add.u32 %r1, %r1, 100;)");
  uint32_t leaders = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    leaders += w[i] >= 100 ? 1 : 0;
    CHECK(w[i] % 100 == w[0] % 100);
    if (w[i] >= 100) CHECK(w[i] - 100 == i);
  }
  CHECK(leaders == 1);
}

TEST_CASE("a lane that its member mask leaves out is a fault") {
  for (const char* body :
       {"elect.sync _|%p1, 0xff; ret;", "bar.warp.sync 0xff; ret;",
        "shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xff; ret;", "vote.sync.ballot.b32 %r1, %p1, 0xff; ret;"})
    CHECK(contains(run(body).problem(), "M15: "));
}

TEST_CASE("one lane alone at bar.warp.sync for all: the trace says which lanes wait for which") {
  const Ran r = run(R"(
    setp.eq.u32 %p1, %r0, 3;
    @%p1 bra ALONE;
    bar.warp.sync 0xffffffff;
    ret;
  ALONE:
    bar.warp.sync 0xffffffff;
    bar.warp.sync 0xffffffff;
    ret;)");
  const Trace& t = r.trace();
  REQUIRE(t.blocked.size() == 2);
  for (const Blocked& b : t.blocked) {
    CHECK(b.on == Blocked::On::warp_sync);
    CHECK((b.object == 8u || b.object == ~8u));
    CHECK(b.count == ~b.object);
  }
}

TEST_CASE("lanes wait at a CTA barrier for the rest of their warp, which waits at another one") {
  const Ran r = run(R"(
    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra LOW;
    bar.sync 1, 32;
    ret;
  LOW:
    bar.sync 2, 32;
    ret;)");
  const Trace& t = r.trace();
  REQUIRE(t.blocked.size() == 2);
  for (const Blocked& b : t.blocked) {
    CHECK(b.on == Blocked::On::warp_sync);
    CHECK((b.object == 0xffffu || b.object == 0xffff0000u));
    CHECK(b.count == ~b.object);
    CHECK(r.mnemonic(b.place) == "bar.sync");
  }
}

namespace {

struct Joins {
  size_t forks = 0, memory = 0, order = 0;
};
Joins joins(const Ran& r) {
  Joins j;
  for (const Event& e : r.trace().events) {
    if (e.kind == EventKind::fork) ++j.forks;
    if (e.kind == EventKind::join) ++(e.has(Event::memory) ? j.memory : j.order);
  }
  return j;
}

const std::string kLeaderInits = R"(
    mov.u32 %r2, bar;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared.b64 [%r2], 1;
)";

Ran with_barrier(const std::string& rest) {
  Setup s;
  s.variables = ".shared .align 8 .b64 bar;";
  s.body = kLeaderInits + rest + "\nret;";
  return run(s);
}

}  // namespace

TEST_CASE("what one lane does visibly makes it a strand of its own") {
  const Joins alone = joins(with_barrier(""));
  CHECK(alone.forks == 1);
  CHECK(alone.memory + alone.order == 0);
}

TEST_CASE("bar.warp.sync and bar.sync join strands with their memory") {
  for (const char* sync : {"bar.warp.sync 0xffffffff;", "bar.sync 0;"}) {
    const Joins j = joins(with_barrier(sync));
    CHECK(j.forks == 1);
    CHECK(j.memory == 1);
    CHECK(j.order == 0);
  }
}

TEST_CASE("shfl, elect and vote order the execution of strands, not their memory") {
  for (const char* sync : {"shfl.sync.idx.b32 %r3, %r0, 0, 31, 0xffffffff;", "elect.sync _|%p2, 0xffffffff;",
                           "vote.sync.any.pred %p2, %p1, 0xffffffff;"}) {
    const Joins j = joins(with_barrier(sync));
    CHECK(j.forks == 1);
    CHECK(j.memory == 0);
    CHECK(j.order > 0);
  }
}
