// SPDX-License-Identifier: Apache-2.0
// barrier.red: one answer from the predicates of all threads that meet (PTX ISA 9.7.13.2), by hand; and the
// four rows of a tile::gather4.
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

Ran words_of(const std::string& body, uint32_t threads) {
  const Ran r = run(body + "\nst.global.u32 [%rd1], %r1;\nret;", threads);
  INFO(r.problem());
  REQUIRE(r.finished());
  return r;
}

}  // namespace

TEST_CASE("barrier.red counts threads of all warps, again and again") {
  const Ran r = words_of(R"(
    mov.u32 %r1, 0; mov.u32 %r2, 0;
    AGAIN:
    setp.lt.u32 %p1, %r0, %r2;
    barrier.cta.red.popc.u32 %r3, 2, 96, %p1;
    mad.lo.u32 %r1, %r1, 3, %r3;
    add.u32 %r2, %r2, 31;
    setp.lt.u32 %p2, %r2, 125;
    @%p2 bra AGAIN;)",
                         96);
  uint32_t want = 0;  // thresholds 0, 31, 62, 93, 124 of 96 threads
  for (const uint32_t count : {0u, 31u, 62u, 93u, 96u}) want = want * 3 + count;
  for (const uint32_t word : r.words(96)) CHECK(word == want);
}

TEST_CASE(
    "barrier.red orders memory and is one instance for all: a barrier.sync of it would be another form") {
  CHECK(contains(run(R"(
    setp.lt.u32 %p1, %r0, 32;
    @%p1 bra FIRST;
    barrier.cta.red.or.pred %p2, 1, 64, %p1;
    bra DONE;
    FIRST: barrier.cta.sync 1, 64;
    DONE: ret;)",
                     64)
                     .problem(),
                 "?: named barrier 1: barrier.red"));
  CHECK(contains(run(R"(
    setp.lt.u32 %p1, %r0, 32;
    @%p1 bra FIRST;
    barrier.cta.red.or.pred %p2, 1, 64, %p1;
    bra DONE;
    FIRST: barrier.cta.red.and.pred %p2, 1, 64, %p1;
    DONE: ret;)",
                     64)
                     .problem(),
                 "?: named barrier 1: barrier.red"));
}

TEST_CASE("barrier.red of unknown predicates gives an unknown answer and goes on") {
  const std::string body =
      "setp.eq.u32 %p1, %r77, 0;\nbar.red.and.pred %p2, 0, %p1;\nselp.b32 %r1, 1, 0, %p2;\nst.global.u32 "
      "[%rd1], "
      "%r1;\nret;";
  const Ran r = run(body, 64);
  REQUIRE(r.finished());
  CHECK_FALSE(r.result.not_predicted.empty());
  for (const sim::Domain domain : {sim::Domain::names, sim::Domain::control}) {
    Setup s;
    s.body = body;
    s.threads = 64;
    s.domain = domain;
    CHECK(run(s).finished());
  }
}

TEST_CASE("operands of barrier.red are checked") {
  CHECK(contains(refusal("bar.red.popc.u32 %p1, 0, %p1;\nret;"), "needs 32"));
  CHECK(contains(refusal("bar.red.and.pred %r1, 0, %p1;\nret;"), "must be"));
  CHECK(contains(refusal("bar.red.and.u32 %r1, 0, %p1;\nret;"), "its modifiers"));
  CHECK(contains(refusal("bar.red.popc.u32 %r1, 0;\nret;"), "is not implemented"));
  CHECK(contains(refusal("bar.red.popc.u32 %rs1, 0, %p1;\nret;"), "needs 32"));
}

namespace {

/// A tensor of 8 rows of 16 words over `in`, word e is e; rows are copied to shared memory and on to `out`.
Ran gathered(const std::string& coordinates, const std::string& box = "[8, 1]") {
  Setup s;
  s.variables = ".shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar;";
  s.parameters = ", .param .u64 in, .param .align 64 .b8 map[128]";
  s.launch_text =
      "[[params]]\nbuffer = \"in\"\n[[params]]\ntensor_map = \"map\"\n[[buffers]]\nname = \"in\"\ndtype = "
      "\"u32\"\nshape = [128]\nrole = \"in\"\nfill = \"iota\"\ncontrol_data = true\n[[tensor_maps]]\nname = "
      "\"map\"\nbuffer = \"in\"\ndims = [16, 8]\nstrides = [64]\nbox = " +
      box + "\n";
  s.body = R"(
    mov.u32 %r2, tile; mov.u32 %r3, bar; setp.eq.u32 %p1, %r0, 0; mov.b64 %rd4, map; cvta.param.u64 %rd4, %rd4;
    @%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;
    @%p1 cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r2], [%rd4, )" +
           coordinates + R"(], [%r3];
    W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra W;
    mad.lo.u32 %r4, %r0, 4, %r2; ld.shared.u32 %r1, [%r4]; st.global.u32 [%rd1], %r1;
    ret;)";
  return run(s);
}

}  // namespace

TEST_CASE("tile::gather4 brings four rows, in the order in which they are named") {
  const Ran r = gathered("{4, 5, 0, 7, 9}");
  REQUIRE_MESSAGE(r.finished(), r.problem());
  const std::vector<uint32_t> rows = {5, 0, 7, 9};
  for (uint32_t word = 0; word < 32; ++word) {
    const uint32_t row = rows[word / 8];
    CHECK(r.words(32)[word] == (row >= 8 ? 0 : row * 16 + 4 + word % 8));  // row 9: out of bounds
  }
  uint64_t read = 0;  // three rows of 32 bytes lie in the tensor
  for (const Event& e : r.trace().events) {
    if (e.kind != EventKind::async_access || e.has(Event::write)) continue;
    const Footprint& f = r.trace().footprints[e.footprint];
    for (uint32_t i = 0; i < f.range_count; ++i) {
      const ByteRange& range = r.trace().ranges[f.first_range + i];
      read += (range.end - range.begin) * range.count;
    }
  }
  CHECK(read == 96);
}

TEST_CASE("tile::gather4 takes one column and four rows, of a map whose box is one row") {
  CHECK(contains(gathered("{4, 5, 0, 7, 1}", "[8, 4]").problem(), "?: "));
  CHECK(contains(gathered("{1, 5, 0, 7, 1}").problem(), "BS15"));
  CHECK(contains(
      refusal("cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
              "[%r2], [%rd4, {0, 0}], [%r3];\nret;"),
      "is not implemented"));
  CHECK(contains(
      refusal("cp.async.bulk.tensor.2d.global.shared::cta.tile::gather4.bulk_group [%rd4, {0, 0, 1, 2, "
              "3}], [%r3];\nret;"),
      "its modifiers"));
}
