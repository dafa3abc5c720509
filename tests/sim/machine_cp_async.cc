// SPDX-License-Identifier: Apache-2.0

// cp.async of single threads (semantics.md section 5): what arrives, what is filled with zeros, who waits for
// what.

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// A buffer `in` of words whose word i is i, in %rd2; shared memory of 4 KiB in %r2; the thread's own 16
/// bytes of both in %rd3 and %r3.
Setup copying(const std::string& body, uint32_t threads = 32) {
  Setup s;
  s.threads = threads;
  s.parameters = ", .param .u64 in";
  s.launch_text =
      "[[params]]\nbuffer = \"in\"\n[[buffers]]\nname = \"in\"\ndtype = \"u32\"\nshape = [1024]\nrole = "
      "\"in\"\nfill = \"iota\"\n";
  s.variables = ".shared .align 16 .b8 tile[4096]; .shared .align 8 .b64 bar;";
  s.body = R"(
    ld.param.u64 %rd2, [in]; mov.u32 %r2, tile; mov.u32 %r9, bar;
    mul.wide.u32 %rd3, %r0, 16; add.s64 %rd3, %rd2, %rd3;
    shl.b32 %r3, %r0, 4; add.u32 %r3, %r2, %r3;
)" + body;
  return s;
}

/// Each thread stores the four words of its 16 bytes of shared memory, one 128-word row of `out` each.
const std::string kDump = R"(
    ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r3];
    st.global.u32 [%rd1], %r20; st.global.u32 [%rd1+512], %r21;
    st.global.u32 [%rd1+1024], %r22; st.global.u32 [%rd1+1536], %r23;
    ret;)";

}  // namespace

TEST_CASE("cp.async of 16, 8 and 4 bytes brings the bytes of the source") {
  const Ran r =
      run(copying("cp.async.cg.shared.global [%r3], [%rd3], 16;\n"
                  "cp.async.commit_group; cp.async.wait_group 0;" +
                  kDump));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  const auto words = r.words(512);
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t w = 0; w < 4; ++w) CHECK(words[128 * w + t] == 4 * t + w);
  const Ran parts = run(
      copying("cp.async.ca.shared.global [%r3], [%rd3], 8; cp.async.ca.shared.global [%r3+8], [%rd3+8], 4;\n"
              "cp.async.ca.shared::cta.global.L2::128B [%r3+12], [%rd3+12], 4; cp.async.wait_all;" +
              kDump));
  REQUIRE_MESSAGE(parts.finished(), parts.problem());
  CHECK(parts.words(512) == words);
}

TEST_CASE("a source size below the copy's size fills the rest with zeros, and 0 reads nothing") {
  // Threads above 3 name a source far beyond the buffer: with size 0 it is not touched.
  const Ran r =
      run(copying("mov.u32 %r4, 12; setp.gt.u32 %p1, %r0, 3; selp.b32 %r4, 0, %r4, %p1;\n"
                  "@%p1 add.s64 %rd3, %rd3, 1048576;\n"
                  "cp.async.cg.shared.global [%r3], [%rd3], 16, %r4; cp.async.wait_all;" +
                  kDump));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  const auto words = r.words(512);
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t w = 0; w < 4; ++w) CHECK(words[128 * w + t] == (t < 4 && w < 3 ? 4 * t + w : 0));
}

TEST_CASE("ignore-src fills with zeros where the predicate is true") {
  const Ran r =
      run(copying("and.b32 %r4, %r0, 1; setp.eq.u32 %p1, %r4, 0;\n"
                  "cp.async.cg.shared.global [%r3], [%rd3], 16, %p1; cp.async.wait_all;" +
                  kDump));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  for (uint32_t t = 0; t < 32; ++t) CHECK(r.words(512)[t] == (t % 2 == 0 ? 0 : 4 * t));
}

TEST_CASE("CA1: a source size above the copy's size has no meaning") {
  const Ran r = run(copying("cp.async.ca.shared.global [%r3], [%rd3], 8, 12; cp.async.wait_all; ret;"));
  CHECK(contains(r.problem(), "CA1: "));
}

TEST_CASE("CA5: two copies of one group to the same bytes; a commit between them makes two groups") {
  const std::string twice =
      "cp.async.ca.shared.global [%r3], [%rd3], 8; BETWEEN cp.async.ca.shared.global [%r3+4], [%rd3], 4;\n"
      "cp.async.wait_all; ret;";
  auto with = [&](const std::string& between) {
    std::string body = twice;
    body.replace(body.find("BETWEEN"), 7, between);
    return run(copying(body)).problem();
  };
  CHECK(contains(with(""), "CA5: "));
  CHECK(with("cp.async.commit_group; cp.async.wait_group 0;").empty());
}

TEST_CASE("cp.async out of bounds or misaligned is refused where it is issued") {
  CHECK(
      contains(run(copying("cp.async.ca.shared.global [%r3], [%rd3+4096], 4; ret;")).problem(), "memory: "));
  CHECK(contains(run(copying("cp.async.cg.shared.global [%r3], [%rd3+4], 16; ret;")).problem(), "aligned"));
  CHECK(contains(refusal(copying("cp.async.cg.shared.global [%r3], [%rd3], 8; ret;")), "a copy of 8 bytes"));
}

TEST_CASE("CA3: wait_group N lets the N newest groups be pending; the trace names the group waited for") {
  const Ran r =
      run(copying("cp.async.ca.shared.global [%r3], [%rd3], 4; cp.async.commit_group;\n"
                  "cp.async.ca.shared.global [%r3+4], [%rd3], 4; cp.async.commit_group;\n"
                  "cp.async.wait_group 1; cp.async.wait_group 0; ret;"));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  std::vector<uint64_t> waited, committed;
  for (const Event& e : r.trace().events) {
    if (e.kind == EventKind::group_wait) waited.push_back(e.generation);
    if (e.kind == EventKind::group_commit) committed.push_back(e.generation);
  }
  CHECK(committed == std::vector<uint64_t>{1, 2});
  CHECK(waited == std::vector<uint64_t>{1, 2});
  REQUIRE(r.trace().ops.size() == 2);  // the warp acts as one
  CHECK(r.trace().ops[1].group == 2);
  CHECK(r.trace().queues[r.trace().ops[0].queue].kind == QueueInfo::Kind::cp_async);
}

TEST_CASE("copies of a part of a warp belong to its threads, each with a queue of its own") {
  const Ran r =
      run(copying("setp.lt.u32 %p1, %r0, 2; @%p1 cp.async.ca.shared.global [%r3], [%rd3], 4;\n"
                  "cp.async.wait_all; ret;"));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  REQUIRE(r.trace().ops.size() == 2);
  CHECK(r.trace().ops[0].queue != r.trace().ops[1].queue);
  CHECK(r.trace().queues[r.trace().ops[1].queue].lane == 1);
}

TEST_CASE("lanes that wait apart for what the warp issued together are not followed") {
  const Ran r =
      run(copying("cp.async.ca.shared.global [%r3], [%rd3], 4; cp.async.commit_group;\n"
                  "setp.lt.u32 %p1, %r0, 2; @%p1 cp.async.wait_group 0; ret;"));
  CHECK(contains(r.problem(), "?: the lanes of a warp wait apart"));
}

TEST_CASE("cp.async.mbarrier.arrive: with .noinc the init counts it, without it the phase does") {
  auto waits = [](const std::string& count, const std::string& arrive) {
    return copying("setp.ne.u32 %p1, %r0, 0; @%p1 bra GO;\nmbarrier.init.shared.b64 [%r9], " + count +
                   ";\nGO: bar.sync 0;\ncp.async.cg.shared.global [%r3], [%rd3], 16;\n" + arrive +
                   "\nW: mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0; @!%p2 bra W;" + kDump);
  };
  const Ran counted = run(waits("32", "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r9];"));
  REQUIRE_MESSAGE(counted.finished(), counted.problem());
  CHECK(counted.words(512)[128 * 3 + 31] == 127);
  const Ran raised =
      run(waits("32", "cp.async.mbarrier.arrive.shared.b64 [%r9]; mbarrier.arrive.shared.b64 _, [%r9];"));
  REQUIRE_MESSAGE(raised.finished(), raised.problem());
  CHECK(raised.words(512)[128 * 3 + 31] == 127);
  // .noinc arrivals that nobody counted in: the phase is over after the first of them.
  CHECK(contains(run(waits("40", "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r9];")).problem(),
                 "blocked"));
}
