// SPDX-License-Identifier: Apache-2.0

// Sections 1 and 12 of semantics.md at PTX level: for each rule a kernel that breaks it and one that keeps
// it.

#include "tests/sim/rule_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// Thread 0 (%p3) and thread 32 (%p4), of one CTA; with `ctas` = 2 thread 0 of CTA 0 and of CTA 1.
std::string of_two(const std::string& first, const std::string& second, uint32_t ctas = 1) {
  Setup s;
  s.ctas = ctas;
  s.threads = ctas == 2 ? 32 : 64;
  s.module_text =
      ".global .align 8 .b32 flag[2]; .global .align 4 .u32 data = 0; .global .align 4 .u32 other = 0;";
  s.body = std::string("mov.u32 %r1, %ctaid.x; setp.eq.u32 %p9, %r1, 0;\n") +
           (ctas == 2 ? "setp.eq.u32 %p3, %r0, 0; and.pred %p4, %p3, !%p9; and.pred %p3, %p3, %p9;\n"
                      : "setp.eq.u32 %p3, %r0, 0; setp.eq.u32 %p4, %r0, 32;\n") +
           "@%p3 bra FIRST; @%p4 bra SECOND; ret;\nFIRST:\n" + first + "\nret;\nSECOND:\n" + second +
           "\nret;";
  return judged(s);
}

const std::string put_data = "st.global.u32 [data], 7;\n", get_data = "ld.global.u32 %r6, [data];\n";
std::string poll(const std::string& load) {
  return "W: " + load + " %r5, [flag]; setp.ne.u32 %p5, %r5, 1; @%p5 bra W;\n";
}

}  // namespace

TEST_CASE("M1, M4: conflicting accesses of two threads are a race unless both are strong") {
  CHECK(of_two("st.relaxed.gpu.global.u32 [data], 7;", "st.relaxed.gpu.global.u32 [data], 8;") == "clean");
  CHECK(of_two("st.relaxed.gpu.global.u32 [data], 7;", get_data) != "clean");
  CHECK(of_two(put_data, "red.global.add.u32 [data], 1;") != "clean");
}

TEST_CASE("M2, M3: strong accesses need scopes that reach each other") {
  CHECK(of_two("red.relaxed.gpu.global.add.u32 [data], 1;", "red.relaxed.gpu.global.add.u32 [data], 1;", 2) ==
        "clean");
  CHECK(of_two("red.relaxed.cta.global.add.u32 [data], 1;", "red.relaxed.gpu.global.add.u32 [data], 1;", 2) !=
        "clean");
  CHECK(of_two("red.relaxed.cta.global.add.u32 [data], 1;", "red.relaxed.cta.global.add.u32 [data], 1;") ==
        "clean");
}

TEST_CASE("M7: the forms of a release") {
  const std::string wait = poll("ld.acquire.gpu.global.u32") + get_data;
  CHECK(of_two(put_data + "st.release.gpu.global.u32 [flag], 1;", wait) == "clean");
  CHECK(of_two(put_data + "red.release.gpu.global.add.u32 [flag], 1;", wait) == "clean");
  CHECK(of_two(put_data + "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [flag], 1;", wait) == "clean");
  CHECK(of_two(put_data + "st.relaxed.gpu.global.u32 [flag], 1;", wait) != "clean");
  // Only what precedes the first operation of the pattern is covered.
  CHECK(of_two("fence.acq_rel.gpu;" + put_data + "st.relaxed.gpu.global.u32 [flag], 1;", wait) != "clean");
}

TEST_CASE("M8: the forms of an acquire") {
  const std::string set = put_data + "st.release.gpu.global.u32 [flag], 1;";
  CHECK(of_two(set, poll("ld.relaxed.gpu.global.u32") + "fence.acq_rel.gpu;" + get_data) == "clean");
  CHECK(of_two(set, poll("ld.relaxed.gpu.global.u32") + get_data) != "clean");
  CHECK(of_two(set, poll("ld.relaxed.gpu.global.u32") + get_data + "fence.acq_rel.gpu;") != "clean");
}

TEST_CASE("M9: a chain of atomics carries a release on") {
  // Both add; who waits for 2 knows what both did.
  const std::string add = "red.release.gpu.global.add.u32 [flag], 1;\n";
  const std::string wait =
      "W: ld.acquire.gpu.global.u32 %r5, [flag]; setp.lt.u32 %p5, %r5, 2; @%p5 bra W;\n" + get_data;
  CHECK(of_two(put_data + add, add + wait) == "clean");
}

TEST_CASE("M12, GM5: volatile orders nothing") {
  const std::string set = put_data + "st.volatile.global.u32 [flag], 1;";
  CHECK(of_two(set, poll("ld.volatile.global.u32") + get_data) != "clean");
  CHECK(of_two(put_data + "membar.gl; st.volatile.global.u32 [flag], 1;",
               poll("ld.volatile.global.u32") + "membar.gl;" + get_data) == "clean");
}

TEST_CASE("M13: membar is a fence of its scope") {
  CHECK(of_two(put_data + "membar.gl; st.relaxed.gpu.global.u32 [flag], 1;",
               poll("ld.relaxed.gpu.global.u32") + "membar.gl;" + get_data, 2) == "clean");
  CHECK(of_two(put_data + "membar.cta; st.relaxed.gpu.global.u32 [flag], 1;",
               poll("ld.relaxed.gpu.global.u32") + "membar.gl;" + get_data, 2) != "clean");
}

TEST_CASE("M14: lanes of one warp are not ordered by executing together") {
  Setup s;
  s.module_text = ".global .align 4 .u32 data = 0;";
  s.body = "st.global.u32 [data], %r0; ret;";
  CHECK(judged(s) != "inconclusive");
  s.body = "setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [data], 7; ld.global.u32 %r5, [data]; ret;";
  CHECK(judged(s) != "clean");
  s.body =
      "setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [data], 7; bar.warp.sync -1; ld.global.u32 %r5, [data]; "
      "ret;";
  CHECK(judged(s) == "clean");  // M15
}

TEST_CASE("F1: threads of one CTA may wait for each other; F4: not with plain loads") {
  CHECK(of_two("st.release.gpu.global.u32 [flag], 1;", poll("ld.acquire.gpu.global.u32")) == "clean");
  CHECK(cites(of_two(poll("ld.global.u32"), "st.release.gpu.global.u32 [flag], 1;"), "F4"));
}

TEST_CASE("a flag that is never set hangs") {
  const std::string found = of_two("ret;", poll("ld.acquire.gpu.global.u32"));
  CHECK(found != "clean");
  CHECK(found.find("inconclusive") == std::string::npos);
}

TEST_CASE("GM1: message passing between CTAs") {
  CHECK(of_two(put_data + "fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [flag], 1;",
               poll("ld.acquire.gpu.global.u32") + get_data, 2) == "clean");
  CHECK(of_two(put_data + "red.relaxed.gpu.global.add.u32 [flag], 1;",
               poll("ld.acquire.gpu.global.u32") + get_data, 2) != "clean");
}

TEST_CASE("one thread may release for its CTA, after a CTA barrier [GM2 violates] [GM2 obeys]") {
  Setup s;
  s.ctas = 2;
  s.threads = 64;
  s.module_text = ".global .align 4 .u32 flag = 0; .global .align 4 .b32 data[64];";
  auto with = [&](const std::string& barrier) {
    s.body =
        "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p9, %r1, 0; setp.eq.u32 %p3, %r0, 0; @!%p9 bra READER;\n"
        "mul.wide.u32 %rd3, %r0, 4; mov.u64 %rd2, data; add.s64 %rd3, %rd3, %rd2; st.global.u32 [%rd3], "
        "7;\n" +
        barrier +
        "@%p3 fence.acq_rel.gpu; @%p3 red.relaxed.gpu.global.add.u32 [flag], 1; ret;\n"
        "READER: @!%p3 bra MEET; W: ld.acquire.gpu.global.u32 %r5, [flag]; setp.ne.u32 %p5, %r5, 1; @%p5 bra "
        "W;\n"
        "MEET: bar.sync 0; ld.global.u32 %r6, [data+160]; ret;";
    return judged(s);
  };
  CHECK(with("bar.sync 0;\n") == "clean");
  CHECK(with("") != "clean");
}

TEST_CASE("GM3: a scope that does not reach the other CTA orders nothing (LT42)") {
  CHECK(of_two(put_data + "st.release.cta.global.u32 [flag], 1;",
               poll("ld.acquire.gpu.global.u32") + get_data, 2) != "clean");
  CHECK(of_two(put_data + "st.release.gpu.global.u32 [flag], 1;",
               poll("ld.acquire.cta.global.u32") + get_data, 2) != "clean");
  CHECK(of_two(put_data + "st.release.gpu.global.u32 [flag], 1;",
               poll("ld.acquire.gpu.global.u32") + get_data, 2) == "clean");
  CHECK(of_two(put_data + "st.release.cta.global.u32 [flag], 1;",
               poll("ld.acquire.cta.global.u32") + get_data) == "clean");
}

TEST_CASE("GM4: red reads nothing that its thread could acquire (LT43)") {
  // The reader's red comes after the writer's, but tells it nothing.
  CHECK(of_two(put_data + "red.release.gpu.global.add.u32 [flag], 1;",
               "red.relaxed.gpu.global.add.u32 [flag], 1;\nfence.acq_rel.gpu;" + get_data) != "clean");
}
