// SPDX-License-Identifier: Apache-2.0
// Matrix forms that are not the plain ones, at protocol level: what sparse and weight-stationary operations
// touch (PTX ISA 9.7.15.6 and 9.7.16.10.5 to 8), and what they may not be. Expected sizes are M, N and K of
// the instruction times bytes, by hand.
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// "writes|reads tensor LANE+LANES/COLUMN+COLUMNS" or "reads shared BYTES", per footprint.
std::vector<std::string> touched(const Ran& r, AsyncOp::Kind kind) {
  std::vector<std::string> out;
  const Trace& t = r.trace();
  for (const Event& e : t.events) {
    if (e.kind != EventKind::async_access || t.ops[e.object].kind != kind) continue;
    const Footprint& f = t.footprints[e.footprint];
    std::string text = e.has(Event::write) ? "writes" : "reads";
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < f.range_count; ++i) {
      const ByteRange& range = t.ranges[f.first_range + i];
      bytes += (range.end - range.begin) * range.count;
      if (f.space == Space::tensor)
        text += " " + std::to_string(range.begin / 2048) + "+" + std::to_string(range.count) + "/" +
                std::to_string(range.begin % 2048 / 4) + "+" + std::to_string((range.end - range.begin) / 4);
    }
    out.push_back(f.space == Space::tensor ? text : text + " shared " + std::to_string(bytes));
  }
  return out;
}

using Texts = std::vector<std::string>;

/// One sparse wgmma; operands at the start of dynamic shared memory, 128 bytes along K, 512 along M or N.
Setup wgmma(const std::string& instruction, const std::string& descriptor = "0x0000002000080000") {
  Setup s;
  s.threads = 128;
  s.domain = sim::Domain::control;
  s.module_text = ".extern .shared .align 1024 .b8 dyn[];";
  s.launch_lines = "dynamic_shared_memory = 65536";
  s.body = "mov.u32 %r2, dyn; shr.u32 %r2, %r2, 4; cvt.u64.u32 %rd4, %r2; mov.b64 %rd5, " + descriptor +
           "; or.b64 %rd4, %rd4, %rd5;\nwgmma.fence.sync.aligned;\n" + instruction +
           "\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\nret;";
  return s;
}

std::string floats(unsigned count) {
  std::string out;
  for (unsigned i = 0; i < count; ++i) out += (i == 0 ? "{%f" : ", %f") + std::to_string(i);
  return out + "}";
}

/// One warp that allocates all columns, issues an operation with thread 0, waits for it and frees.
Setup tensor(const std::string& operation, const std::string& descriptor = "0x0000402000080000") {
  Setup s;
  s.domain = sim::Domain::control;
  s.module_text = ".extern .shared .align 1024 .b8 dyn[];";
  s.launch_lines = "dynamic_shared_memory = 65536";
  s.variables = ".shared .align 8 .b64 bar; .shared .align 4 .b32 slot;";
  s.body = R"(
    mov.u32 %r2, dyn; shr.u32 %r2, %r2, 4; cvt.u64.u32 %rd4, %r2; mov.b64 %rd5, )" +
           descriptor + R"(; or.b64 %rd4, %rd4, %rd5;
    setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 99; mov.u32 %r9, bar; mov.u32 %r8, slot;
    @%p1 mbarrier.init.shared.b64 [%r9], 1;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], 512;
    bar.sync 0;
    ld.shared.b32 %r10, [%r8];
    @!%p1 bra WAIT;
    )" + operation +
           R"(
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];
    WAIT: bar.warp.sync -1;
    W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0; @!%p3 bra W;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 512;
    ret;)";
  return s;
}

/// The instruction descriptor of M x N, K-major, f16 to f32.
std::string descriptor(uint32_t m, uint32_t n, uint32_t more = 0) {
  return "mov.b32 %r3, " + std::to_string((m >> 4) << 24 | (n >> 3) << 17 | 0x10 | more) + ";\n";
}

}  // namespace

TEST_CASE("sparse wgmma: A has half of K, B all of it, whatever the type") {
  const auto f16 = run(wgmma("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 " + floats(8) +
                             ", %rd4, %rd4, %r0, 0, 1, 1, 1, 0, 0;"));
  REQUIRE_MESSAGE(f16.finished(), f16.problem());
  CHECK(touched(f16, AsyncOp::Kind::wgmma) == Texts{"reads shared 2048", "reads shared 1024"});
  const auto tf32 = run(wgmma("wgmma.mma_async.sp.sync.aligned.m64n32k16.f32.tf32.tf32 " + floats(16) +
                              ", %rd4, %rd4, %r0, 1, 1, 1, 1;"));
  CHECK(touched(tf32, AsyncOp::Kind::wgmma) == Texts{"reads shared 2048", "reads shared 2048"});
  // N-major B of 16-bit elements: 32 steps of K of 16 elements each.
  const auto transposed = run(wgmma("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 " + floats(8) +
                                    ", %rd4, %rd4, %r0, 0, 1, 1, 1, 0, 1;"));
  CHECK(touched(transposed, AsyncOp::Kind::wgmma) == Texts{"reads shared 2048", "reads shared 1024"});
  const auto registers = run(wgmma("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 " + floats(8) +
                                   ", {%r20, %r21, %r22, %r23}, %rd4, %r0, 0, 1, 1, 1, 0;"));
  CHECK(touched(registers, AsyncOp::Kind::wgmma) == Texts{"reads shared 1024"});
}

TEST_CASE("sparse wgmma: metadata may be data, a B wider than its swizzle is not modelled") {
  Setup s = wgmma(
      "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, %rd4, "
      "%rd4, %r77, 0, 1, 1, 1, 0, 0;");
  CHECK(run(s).finished());  // %r77 was never written
  s.domain = sim::Domain::names;
  CHECK(run(s).finished());
  s.domain = sim::Domain::provenance;
  CHECK(contains(run(s).problem(), "?: "));
  CHECK(contains(run(wgmma("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 " + floats(8) +
                               ", %rd4, %rd4, %r0, 0, 1, 1, 1, 0, 0;",
                           "0xc000002000080000"))
                     .problem(),
                 "?: 'wgmma.mma_async.sp"));
}

TEST_CASE("results of a sparse wgmma are in flight like those of a dense one (WG3)") {
  Setup s =
      wgmma("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 " + floats(8) +
            ", %rd4, %rd4, %r0, 0, 1, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\nadd.f32 %f9, %f0, %f1;");
  CHECK(run(s).count(EventKind::register_hazard) != 0);
}

TEST_CASE("sparse wgmma and mma: what they are not") {
  const std::string operands = ", %rd4, %rd4, %r0, 0, 1, 1, 1, 0, 0;";
  const auto refused = [&](const std::string& form, const std::string& rest) {
    return refusal(wgmma(form + " " + floats(8) + rest));
  };
  CHECK(contains(refused("wgmma.mma_async.sp.sync.aligned.m64n16k16.f32.f16.f16", operands), "this shape"));
  CHECK(contains(refused("wgmma.mma_async.sync.aligned.m64n16k32.f32.f16.f16", operands), "not implemented"));
  CHECK(contains(refused("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16",
                         ", %rd4, %rd4, %r0, 4, 1, 1, 1, 0, 0;"),
                 "a sparsity selector"));
  CHECK(contains(refused("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16",
                         ", %rd4, %rd4, %rd4, 0, 1, 1, 1, 0, 0;"),
                 "needs 32"));
  CHECK(contains(
      refusal("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, "
              "{%r3, %r4}, {%f0, %f1, %f2, %f3}, %r5, 0;\nret;"),
      "this number of registers"));
  CHECK(contains(
      refusal("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, "
              "{%r3, %r4}, {%f0, %f1, %f2, %f3}, %rd5, 0;\nret;"),
      "needs 32"));
}

TEST_CASE("sparse tcgen05.mma: B of twice the bytes, one column of metadata that the selector picks") {
  for (const uint32_t selector : {0u, 1u}) {
    const Ran r =
        run(tensor(descriptor(128, 64, 4 | selector) +
                   "tcgen05.mma.sp.cta_group::1.kind::f16 [%r10+32], %rd4, %rd4, [%r10+256], %r3, %p2;"));
    REQUIRE_MESSAGE(r.finished(), r.problem());
    CHECK(touched(r, AsyncOp::Kind::tensor_mma) ==
          Texts{"reads shared 4096", "reads shared 4096",
                "reads 0+128/" + std::to_string(256 + selector) + "+1", "writes 0+128/32+64"});
  }
  // 8-bit types: 64 of K, so that a row has 64 bits of metadata.
  const Ran f8 =
      run(tensor(descriptor(128, 64, 4) +
                 "tcgen05.mma.sp.cta_group::1.kind::f8f6f4 [%r10], [%r10+200], %rd4, [%r10+256], %r3, 1;"));
  REQUIRE_MESSAGE(f8.finished(), f8.problem());
  CHECK(touched(f8, AsyncOp::Kind::tensor_mma) == Texts{"reads 0+128/200+8", "reads shared 4096",
                                                        "reads 0+128/256+2", "reads 0+128/0+64",
                                                        "writes 0+128/0+64"});
}

TEST_CASE("sparse tcgen05.mma of 64 rows: D and metadata lie in the same half of the lanes") {
  const Ran r =
      run(tensor(descriptor(64, 32, 4) +
                 "tcgen05.mma.sp.cta_group::1.kind::f16 [%r10], %rd4, %rd4, [%r10+256], %r3, %p2;"));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  CHECK(touched(r, AsyncOp::Kind::tensor_mma) == Texts{"reads shared 2048", "reads shared 2048",
                                                       "reads 0+16/256+2 32+16/256+2 64+16/256+2 96+16/256+2",
                                                       "writes 0+16/0+32 32+16/0+32 64+16/0+32 96+16/0+32"});
}

TEST_CASE("tcgen05.mma.ws: D fills all lanes, with as many columns as M has rows of 128") {
  const auto touches = [](uint32_t m, uint32_t n) {
    const Ran r = run(
        tensor(descriptor(m, n) +
               "tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::fill [%r10], %rd4, %rd4, %r3, %p2;"));
    INFO(r.problem());
    REQUIRE(r.finished());
    return touched(r, AsyncOp::Kind::tensor_mma);
  };
  CHECK(touches(32, 64) == Texts{"reads shared 1024", "reads shared 2048", "writes 0+128/0+16"});
  CHECK(touches(64, 128) == Texts{"reads shared 2048", "reads shared 4096", "writes 0+128/0+64"});
  CHECK(touches(128, 256) == Texts{"reads shared 4096", "reads shared 8192", "writes 0+128/0+256"});
}

TEST_CASE("tcgen05.mma.ws: shapes it does not have, and what is not modelled") {
  const auto problem = [](const std::string& idesc, const std::string& a) {
    return run(tensor(idesc + "tcgen05.mma.ws.cta_group::1.kind::f16 [%r10], " + a + ", %rd4, %r3, %p2;"))
        .problem();
  };
  CHECK(contains(problem(descriptor(64, 32), "%rd4"), "TC28: "));
  CHECK(contains(problem(descriptor(16, 64), "%rd4"), "TC28: "));
  CHECK(contains(problem(descriptor(64, 64), "[%r10+256]"), "?: "));
  CHECK(problem(descriptor(128, 64), "[%r10+256]").empty());
  CHECK(contains(refusal(tensor("tcgen05.mma.ws.cta_group::2.kind::f16 [%r10], %rd4, %rd4, %r3, %p2;")),
                 "its modifiers"));
  CHECK(contains(
      refusal(tensor(
          "tcgen05.mma.ws.cta_group::1.kind::f16 [%r10], %rd4, %rd4, %r3, {%r1, %r1, %r1, %r1}, %p2;")),
      "its operands"));
}

TEST_CASE("columns that a sparse operation names have to be allocated (TC3)") {
  CHECK(contains(
      run(tensor(descriptor(128, 64, 4) +
                 "tcgen05.mma.sp.cta_group::1.kind::f8f6f4 [%r10], %rd4, %rd4, [%r10+511], %r3, %p2;"))
          .problem(),
      "TC3: "));
}

TEST_CASE("multimem is read, and inconclusive where it is executed") {
  const Ran r = run("multimem.red.relaxed.sys.global.add.u32 [%rd1], %r0;\nret;");
  CHECK(contains(r.problem(), "?: 'multimem.red.relaxed.sys.global.add.u32' needs a multicast address"));
  CHECK(run("setp.gt.u32 %p1, %r0, 99;\n@%p1 multimem.st.weak.global.v4.f32 [%rd1], {%f0, %f1, %f2, "
            "%f3};\nret;")
            .finished());
  CHECK(contains(refusal("multimem.red.relaxed.sys.global.u32 [%rd1], %r0;\nret;"), "its modifiers"));
  CHECK(contains(refusal("multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r0], 16;\nret;"),
                 "this operation"));
  CHECK(contains(refusal("multimem.ld_reduce.add.bogus.u32 %r0, [%rd1];\nret;"), "'.bogus'"));
}
