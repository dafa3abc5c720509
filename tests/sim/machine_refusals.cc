// SPDX-License-Identifier: Apache-2.0

// Operands that an instruction cannot have are refused when the kernel is read, with file, line and mnemonic.

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

TEST_CASE("an instruction that is not implemented is refused with its place") {
  const std::string text = refusal("\n\nvadd.s32.s32.s32 %r1, %r2, %r3;\nret;");
  CHECK(contains(text, "k.ptx:"));
  CHECK(contains(text, "'vadd.s32.s32.s32' is not implemented"));
}

TEST_CASE("forms of atomics and orders that have no model are refused by name") {
  CHECK(contains(refusal("atom.global.exch.b128 %r1, [%rd0], %r2; ret;"), "is not implemented"));
  CHECK(contains(refusal("st.bulk.weak.shared::cta [%rd0], 128, 0; ret;"), "is not implemented"));
  CHECK(contains(refusal("ld.acquire.gpu.local.u32 %r1, [%rd0]; ret;"), "its memory order"));
}

TEST_CASE("operands of a wrong kind are refused for every family") {
  const char* bodies[] = {
      "add.u32 5, %r1, %r2;",
      "add.u32 {%r1, %r2}, %r3, %r4;",
      "add.u32 %r1, {%r2, %r3};",
      "add.u32 %r1, %r2;",
      "add.u32 %r1, %r2, %r3, %r4;",
      "add.u32 %r1|%p1, %r2, %r3;",
      "add.u32 %r1, %p1, %r3;",
      "add.u32 %p1, %r1, %r3;",
      "add.u64 %rd1, %r1, %rd2;",
      "add.u32 %r1, [%r2], %r3;",
      "setp.eq.u32 %r1, %r2, %r3;",
      "setp.eq.u32 %p1, %r2, L; L:",
      "mov.u32 5, %r1;",
      "mov.u32 %rd1, %r1;",
      "mov.u64 %rd1, %r1;",
      "mov.u32 %r1, %p1;",
      "mov.u32 %r1, {%r2, %r3};",
      "mov.b64 {%r2, %r3}, {%r4, %r5};",
      "mov.b32 %r1, {%r2, %r3, %r4, %r5, %r6};",
      "mov.u32 %r1;",
      "selp.b32 %r1, %r2, %r3, %r4;",
      "selp.b32 %r1, %r2, %rd3, %p1;",
      "ld.global.u32 %r1, %rd1;",
      "ld.global.u32 5, [%rd1];",
      "ld.global.u32 {%r1, %r2}, [%rd1];",
      "ld.global.v2.u32 %r1, [%rd1];",
      "ld.global.v4.u32 {%r1, %r2}, [%rd1];",
      "ld.global.u64 %r1, [%rd1];",
      "ld.global.u32 %p1, [%rd1];",
      "ld.global.u32 %r1, [%p1];",
      "ld.global.v8.u64 {%rd1,%rd2,%rd3,%rd4,%rd5,%rd6,%rd7,%rd8}, [%rd0];",
      "st.global.u32 [%rd1], {%r1, %r2};",
      "st.global.u32 %rd1, %r1;",
      "st.global.u64 [%rd1], %r1;",
      "st.global.u32 [%rd1];",
      "st.param.u32 [out], %r1;",
      "bra %r1;",
      "brx.idx %r1, L; L:",
      "mbarrier.init.shared.b64 %r1, 1;",
      "mbarrier.init.shared.b64 [%r1];",
      "mbarrier.arrive.shared.b64 [%r1];",
      "mbarrier.arrive.shared.b64 %r2, [%r1];",
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r1];",
      "mbarrier.try_wait.parity.shared.b64 %r1, [%r2], 0;",
      "mbarrier.try_wait.parity.shared.b64 %p1, [%r2];",
      "mbarrier.try_wait.shared.b64 %p1, [%r2], %r3;",
      "bar.sync [%r1];",
      "bar.sync;",
      "bar.sync 0, 32, 5;",
      "bar.arrive 1;",
      "bar.warp.sync;",
      "setmaxnreg.inc.sync.aligned.u32 %r1;",
      "setmaxnreg.inc.sync.aligned.u32 20;",
      "setmaxnreg.inc.sync.aligned.u32 100;",
      "setmaxnreg.dec.sync.aligned.u32 264;",
      "elect.sync %r1, 0xffffffff;",
      "elect.sync %r1|%r2, 0xffffffff;",
      "shfl.sync.idx.b32 %rd1, %r1, 0, 31, 0xffffffff;",
      "shfl.sync.idx.b32 %r1, %r2, 0, 31;",
      "vote.sync.all.pred %r1, %p1, 0xffffffff;",
      "vote.sync.ballot.b32 %r1, %r2, 0xffffffff;",
      "cp.async.bulk.wait_group %r1;",
      "cp.async.bulk.commit_group 0;",
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16;",
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], %r1, 16;",
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], "
      "[%r3];",
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], [%r3];",
      "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r2, %r3}], [%r4];",
      "wgmma.wait_group.sync.aligned %r1;",
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3}, %rd1, %rd2, 1, 1, 1, 0, 0;",
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,_}, %rd1, %rd2, 1, 1, 1, 0, 0;",
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %r1, %rd2, 1, 1, 1, 0, 0;",
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1;",
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd1, %rd2;",
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, {%r1,%r2}, %rd2, 1, 1, 1, 0;",
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, 0, 2;",
      "wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4,%f5,%f6}, %rd1, %rd2, 1, 1, 1, "
      "0, 0;",
      "ret 5;",
      "trap %r1;",
  };
  for (const char* body : bodies) {
    INFO(std::string(body));
    Setup s;
    s.body = std::string(body) + "\nret;";
    Result<ptx::Module> module = ptx::parse(kernel_text(s), "k.ptx");
    if (!module) {  // refused even earlier
      CHECK(!module.error().text().empty());
      continue;
    }
    const Launch launch = launch_of(s);
    const auto program = sim::build_program(std::move(*module), launch);
    CHECK(!program);
    if (program) continue;
    CHECK(contains(program.error().text(), "k.ptx:"));
    CHECK(contains(program.error().text(), "'"));
  }
}

TEST_CASE("the message says which operand and what it must be") {
  CHECK(contains(refusal("ld.global.u32 %r1, %rd1; ret;"),
                 "'ld.global.u32' does not take this operand 2: it must be an address in brackets"));
  CHECK(contains(refusal("add.u32 %r1, %r2; ret;"), "'add.u32'"));
  CHECK(contains(refusal("ld.global.u64 %r1, [%rd0]; ret;"), "uses a register of 32 bits where it needs 64"));
}

TEST_CASE("entry and parameters must fit the launch") {
  Setup s;
  s.body = "ret;";
  {
    Launch launch = launch_of(s);
    launch.entry = "other";
    const auto program = program_of(s, launch);
    REQUIRE(!program);
    CHECK(contains(program.error().text(), "has no entry 'other'; it has 'k'"));
  }
  s.parameters = ", .param .u32 n";
  CHECK(contains(refusal(s), "entry 'k' has 2 parameters, [[params]] lists 1"));
  s.launch_text = "[[params]]\nu64 = 1\n";
  CHECK(contains(refusal(s), "parameter 1 of 'k' has 4 bytes in the PTX"));
  s.launch_text = "[[params]]\nbuffer = \"out\"\n";
  CHECK(contains(refusal(s), "gives a buffer address of 8 bytes"));
}

TEST_CASE("thread counts must fit the kernel's own bounds") {
  Setup s;
  const auto with = [&](const std::string& directive, uint32_t threads) {
    s.body = "ret;";
    s.threads = threads;
    const Launch launch = launch_of(s);
    std::string text = kernel_text(s);
    text.insert(text.find("\n{"), " " + directive);
    Result<ptx::Module> module = ptx::parse(text, "k.ptx");
    if (!module) FAIL(module.error().text());
    const auto program = sim::build_program(std::move(*module), launch);
    return program ? std::string() : program.error().text();
  };
  CHECK(with(".reqntid 64, 1, 1", 64).empty());
  CHECK(contains(with(".reqntid 64, 1, 1", 96), "requires exactly 64"));
  CHECK(contains(with(".maxntid 64, 1, 1", 96), "the kernel allows 64"));
}
