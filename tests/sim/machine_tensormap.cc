// SPDX-License-Identifier: Apache-2.0

// Tensor maps that a kernel makes (semantics.md 6.5), and bulk reductions (BK7).

#include <bit>

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

const std::string kInput =
    "[[buffers]]\nname = \"in\"\ndtype = \"u32\"\nshape = [1024]\nrole = \"in\"\nfill = \"iota\"\n"
    "[[buffers]]\nname = \"work\"\ndtype = \"u32\"\nshape = [64]\nrole = \"in_out\"\nfill = \"zeros\"\n"
    "[[tensor_maps]]\nname = \"map\"\nbuffer = \"in\"\ndims = [32, 32]\nstrides = [128]\nbox = [4, 1]\n";

/// Warp 0 makes a map of its own in `work` and loads a box with it; the four words go to out. `change` edits
/// the map in shared memory at %r7, which starts as a copy of the parameter `map` or as zeros.
Setup made_map(const std::string& change, bool from_zeros = false) {
  Setup s;
  s.parameters = ", .param .u64 in, .param .u64 work, .param .align 64 .b8 map[128]";
  s.launch_text =
      "[[params]]\nbuffer = \"in\"\n[[params]]\nbuffer = \"work\"\n[[params]]\ntensor_map = \"map\"\n" +
      kInput;
  s.variables =
      ".shared .align 128 .b8 tile[128]; .shared .align 128 .b8 image[128]; .shared .align 8 .b64 bar;";
  s.body = R"(
    mov.u32 %r9, bar; mov.u32 %r8, tile; mov.u32 %r7, image; ld.param.u64 %rd2, [in]; ld.param.u64 %rd3, [work];
    setp.ne.u32 %p1, %r0, 0; @%p1 bra COPIED;
    mbarrier.init.shared.b64 [%r9], 1;
    mov.u32 %r4, 0;
  MORE: add.u32 %r5, %r7, %r4; cvt.u64.u32 %rd4, %r4; mov.b64 %rd5, map; add.s64 %rd5, %rd5, %rd4;
    mov.b64 %rd6, 0; LOAD
    st.shared.b64 [%r5], %rd6; add.u32 %r4, %r4, 8; setp.lt.u32 %p2, %r4, 128; @%p2 bra MORE;
)" + change +
           R"(
  COPIED: bar.warp.sync 0xffffffff;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd3], [%r7], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;
    @%p1 bra W;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd3, {0, 1}], [%r9];
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0; @!%p3 bra W;
    setp.gt.u32 %p4, %r0, 3; @%p4 ret;
    shl.b32 %r10, %r0, 2; add.u32 %r10, %r8, %r10; ld.shared.u32 %r11, [%r10]; st.global.u32 [%rd1], %r11; ret;)";
  const std::string load = from_zeros ? "" : "ld.param.b64 %rd6, [%rd5];";
  s.body.replace(s.body.find("LOAD"), 4, load);
  return s;
}

std::string replace(const std::string& field, const std::string& type, const std::string& operands) {
  return "tensormap.replace.tile." + field + ".shared::cta.b1024." + type + " [%r7], " + operands + ";\n";
}

}  // namespace

TEST_CASE("a map copied from a parameter loads what the parameter would") {
  const Ran r = run(made_map(""));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  CHECK(r.words(4) == std::vector<uint32_t>{32, 33, 34, 35});  // row 1
  REQUIRE(!r.result.not_predicted.empty());
  CHECK(contains(r.result.not_predicted[0], "holds tensor maps"));
}

TEST_CASE("a replaced address and stride move the box") {
  const Ran r =
      run(made_map("add.s64 %rd7, %rd2, 256;\n" + replace("global_address", "b64", "%rd7") +
                   replace("global_stride", "b64", "0, 256") + replace("global_dim", "b32", "1, 4")));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  CHECK(r.words(4)[0] == 64 + 64);  // 256 bytes on, and a row of 256 bytes
}

TEST_CASE("a map made of zeros, field by field") {
  const std::string all = replace("global_address", "b64", "%rd2") + replace("rank", "b32", "1") +
                          replace("box_dim", "b32", "0, 4") + replace("box_dim", "b32", "1, 1") +
                          replace("global_dim", "b32", "0, 32") + replace("global_dim", "b32", "1, 32") +
                          replace("global_stride", "b64", "0, 128") +
                          replace("element_stride", "b32", "0, 1") +
                          replace("element_stride", "b32", "1, 1") + replace("elemtype", "b32", "2") +
                          replace("interleave_layout", "b32", "0") + replace("swizzle_mode", "b32", "0") +
                          replace("fill_mode", "b32", "0");
  const Ran r = run(made_map(all, true));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  CHECK(r.words(4) == std::vector<uint32_t>{32, 33, 34, 35});
  // Without element strides it is not a legal map.
  CHECK(contains(run(made_map(replace("global_address", "b64", "%rd2"), true)).problem(), "BS"));
}

TEST_CASE(
    "the trace has the stores to the map, the fences and the read of the copy through the tensormap proxy") {
  const Ran r = run(made_map(replace("global_dim", "b32", "1, 16")));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  size_t release = 0, acquire = 0, reads = 0;
  for (const Event& e : r.trace().events) {
    if (e.kind == EventKind::fence_tensormap) {
      ++(e.has(Event::release) ? release : acquire);
      CHECK(e.scope == Scope::gpu);
    }
    if (e.kind == EventKind::async_access && e.has(Event::tensormap)) {
      ++reads;
      CHECK(r.trace().footprints[e.footprint].allocation == 2);
    }
  }
  CHECK(release == 1);
  CHECK(acquire >= 1);
  CHECK(reads == 1);
}

TEST_CASE("a map that ordinary stores made is not followed") {
  Setup s = made_map("");
  const std::string load = "cp.async.bulk.tensor.2d";
  s.body.insert(s.body.find(load), "st.global.u32 [%rd3+4], %r0; ");
  CHECK(contains(run(s).problem(), "?: a copy with a tensor map in global memory"));
}

namespace {

/// Thread 0 fills 16 bytes with `word`, and reduces them into out[0..3], which hold `start`.
Ran reduced(const std::string& operation, uint32_t start, uint32_t word) {
  Setup s;
  s.threads = 1;
  s.variables = ".shared .align 16 .b8 tile[16];";
  s.body = "mov.u32 %r2, tile; mov.b32 %r3, " + std::to_string(word) + "; mov.b32 %r4, " +
           std::to_string(start) +
           ";\nst.shared.v4.b32 [%r2], {%r3, %r3, %r3, %r3}; st.global.v4.b32 [%rd0], {%r4, %r4, %r4, %r4};\n"
           "fence.proxy.async;\ncp.reduce.async.bulk.global.shared::cta.bulk_group." +
           operation + " [%rd0], [%r2], 16;\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;";
  return run(s);
}
uint32_t result(const std::string& operation, uint32_t start, uint32_t word) {
  const Ran r = reduced(operation, start, word);
  REQUIRE_MESSAGE(r.finished(), r.problem());
  CHECK(r.words(4)[0] == r.words(4)[3]);
  return r.words(4)[0];
}

}  // namespace

TEST_CASE("bulk reductions of integers") {
  CHECK(result("add.u32", 0xffffffff, 3) == 2);
  CHECK(result("min.s32", 5, 0xfffffffe) == 0xfffffffe);
  CHECK(result("min.u32", 5, 0xfffffffe) == 5);
  CHECK(result("max.s32", 5, 0xfffffffe) == 5);
  CHECK(result("and.b32", 12, 10) == 8);
  CHECK(result("or.b32", 12, 10) == 14);
  CHECK(result("xor.b32", 12, 10) == 6);
  CHECK(result("inc.u32", 4, 9) == 5);
  CHECK(result("inc.u32", 9, 9) == 0);
  CHECK(result("dec.u32", 0, 9) == 9);
  CHECK(result("dec.u32", 4, 9) == 3);
  CHECK(result("dec.u32", 12, 9) == 9);
}

TEST_CASE("bulk reductions of floats: subnormals are kept, order is not specified [BK7 shows]") {
  CHECK(result("add.f32", std::bit_cast<uint32_t>(1.5f), std::bit_cast<uint32_t>(2.0f)) ==
        std::bit_cast<uint32_t>(3.5f));
  CHECK(result("add.f32", 1, 1) == 2);  // H200, against BK7: docs/numerics.md
  CHECK(result("add.noftz.f16", 0x00010001, 0x00010001) == 0x00020002);
  CHECK(result("add.noftz.bf16", 0x3f803f80, 0x3f803f80) == 0x40004000);
  CHECK(result("max.f16", 0x3c003c00, 0xbc00bc00) == 0x3c003c00);
  const Ran r = reduced("add.f32", 0, 0);
  REQUIRE(r.result.not_predicted.size() == 1);
  CHECK(contains(r.result.not_predicted[0], "BK7"));
  CHECK(reduced("add.u32", 0, 0).result.not_predicted.empty());
}

TEST_CASE("what PTX does not define is refused by name") {
  auto refused = [](const std::string& form) {
    return refusal("cp.reduce.async.bulk.global.shared::cta.bulk_group." + form + " [%rd0], [%r2], 16; ret;");
  };
  CHECK(contains(refused("inc.s32"), "this operation on '.s32'"));
  CHECK(contains(refused("add.f16"), "its modifiers"));
  CHECK(contains(refused("min.f32"), "this operation on '.f32'"));
}

TEST_CASE("a reduction writes with atomic accesses") {
  const Ran r = reduced("add.u32", 0, 1);
  bool atomic = false;
  for (const Event& e : r.trace().events)
    atomic = atomic || (e.kind == EventKind::async_access && e.has(Event::write) && e.has(Event::atomic));
  CHECK(atomic);
}
