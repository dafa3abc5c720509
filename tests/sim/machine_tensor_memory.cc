// SPDX-License-Identifier: Apache-2.0

// tcgen05 at protocol level (semantics.md section 9): who may allocate, load and issue, and what each
// operation touches. machine_tensor_values.cc has what it computes.

#include <algorithm>
#include <map>
#include <utility>

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// Four warps; %r2: the address that warp 0 allocates `columns` columns at, %r3: lane part of this warp, %r9:
/// a barrier of count 1. Thread 0 has %p1. Warp 0 frees at the end.
Setup tensor(const std::string& body, const std::string& columns = "128", uint32_t threads = 128) {
  Setup s;
  s.threads = threads;
  s.domain = sim::Domain::control;
  s.variables = ".shared .align 1024 .b8 tile[32768]; .shared .align 8 .b64 bar; .shared .align 4 .b32 slot;";
  s.body = R"(
    mov.u32 %r9, bar; mov.u32 %r8, slot; mov.u32 %r7, tile; setp.eq.u32 %p1, %r0, 0; shr.u32 %r6, %r0, 5;
    setp.ne.u32 %p2, %r6, 0;
    @!%p1 bra INITED; mbarrier.init.shared.b64 [%r9], 1; INITED:
    @%p2 bra ALLOCATED;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], )" +
           columns + R"(;
    ALLOCATED: bar.sync 0;
    ld.shared.b32 %r2, [%r8]; shl.b32 %r3, %r6, 21;
)" + body + R"(
    bar.sync 0;
    @%p2 bra FREED;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, )" +
           columns + R"(;
    FREED: ret;)";
  return s;
}

/// The one operation of this kind.
const AsyncOp& only_op(const Ran& r, AsyncOp::Kind kind) {
  const AsyncOp* found = nullptr;
  for (const AsyncOp& op : r.trace().ops)
    if (op.kind == kind) {
      REQUIRE(found == nullptr);
      found = &op;
    }
  REQUIRE(found != nullptr);
  return *found;
}

/// "tensor:lane+lanes/column+columns" or "shared:begin-end" of what an operation touches, reads first.
std::vector<std::string> touched(const Ran& r, AsyncOp::Kind kind) {
  std::vector<std::string> out;
  const Trace& t = r.trace();
  for (const Event& e : t.events) {
    if (e.kind != EventKind::async_access || t.ops[e.object].kind != kind) continue;
    const Footprint& f = t.footprints[e.footprint];
    for (uint32_t i = 0; i < f.range_count; ++i) {
      const ByteRange& range = t.ranges[f.first_range + i];
      std::string text = e.has(Event::write) ? "writes " : "reads ";
      if (f.space == Space::tensor)
        text += "lanes " + std::to_string(range.begin / 2048) + "+" + std::to_string(range.count) +
                " columns " + std::to_string(range.begin % 2048 / 4) + "+" +
                std::to_string((range.end - range.begin) / 4);
      else
        text += "shared " + std::to_string(range.end - range.begin);
      out.push_back(text);
    }
  }
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("an allocation is recorded with its columns, its address is stored, and it is freed") {
  const Ran r = run(tensor(""));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  CHECK(r.count(EventKind::tensor_alloc) == 1);
  CHECK(r.count(EventKind::tensor_dealloc) == 1);
  for (const Event& e : r.trace().events)
    if (e.kind == EventKind::tensor_alloc) {
      CHECK(e.count == 128);
      CHECK(e.bytes == 1);
      CHECK(e.generation == 0);
    }
}

TEST_CASE("TC4 to TC8: what an allocation may not be") {
  CHECK(contains(run(tensor("", "48")).problem(), "TC4: 48 columns"));
  CHECK(contains(
      run(tensor("@%p2 bra A; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], 256; A:", "32"))
          .problem(),
      "TC5: "));
  CHECK(
      contains(run(tensor("@%p2 bra A; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 64; A:")).problem(),
               "TC6: "));
  CHECK(contains(run(tensor("@%p2 bra A; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
                            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], 32; A:"))
                     .problem(),
                 "TC7: "));
  CHECK(contains(
      run(tensor(
              "@!%p1 bra A; tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%r9]; A:"))
          .problem(),
      "TC8: "));
  CHECK(contains(run(tensor("", "128", 16)).problem(), "TC4: "));  // half a warp
}

TEST_CASE("an allocation that does not fit waits for the columns that another warp frees") {
  const std::string body = R"(
    setp.ne.u32 %p3, %r6, 1; @%p3 bra SECOND;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], 32;
    SECOND:)";
  const Ran r = run(tensor(body, "512"));
  REQUIRE(!r.trace().blocked.empty());  // warp 0 frees behind a barrier that warp 1 never reaches
  bool waits = false;
  for (const Blocked& b : r.trace().blocked)
    waits = waits || (b.on == Blocked::On::tensor_alloc && b.count == 32);
  CHECK(waits);
}

TEST_CASE("shapes of tcgen05.ld and st: lanes, columns and registers") {
  auto load = [](const std::string& form, uint32_t registers, const std::string& more = "") {
    std::string list;
    for (uint32_t i = 0; i < registers; ++i) list += (i == 0 ? "%r" : ", %r") + std::to_string(16 + i);
    const Ran r =
        run(tensor("setp.ne.u32 %p3, %r6, 1; @%p3 bra L; add.u32 %r2, %r2, %r3;\ntcgen05.ld.sync.aligned." +
                   form + ".b32 {" + list + "}, [%r2+4]" + more +
                   ";\ntcgen05.wait::ld.sync.aligned; sub.u32 %r2, %r2, %r3; L:"));
    INFO(r.problem());
    REQUIRE(r.finished());
    return touched(r, AsyncOp::Kind::tensor_load);
  };
  CHECK(load("32x32b.x8", 8) == Texts{"reads lanes 32+32 columns 4+8"});
  CHECK(load("16x64b.x4", 4) == Texts{"reads lanes 32+16 columns 4+8"});
  CHECK(load("16x128b.x2", 4) == Texts{"reads lanes 32+16 columns 4+8"});
  CHECK(load("16x256b.x1", 4) == Texts{"reads lanes 32+16 columns 4+8"});
  CHECK(load("16x32bx2.x2", 2, ", 64") ==
        Texts{"reads lanes 32+16 columns 4+2", "reads lanes 32+16 columns 68+2"});
  CHECK(load("32x32b.x2.pack::16b", 2) == Texts{"reads lanes 32+32 columns 4+4"});
  const Ran store =
      run(tensor("add.u32 %r2, %r2, %r3; tcgen05.st.sync.aligned.32x32b.x2.b32 [%r2], {%r0, %r0};\n"
                 "tcgen05.wait::st.sync.aligned; sub.u32 %r2, %r2, %r3;"));
  REQUIRE_MESSAGE(store.finished(), store.problem());
  CHECK(touched(store, AsyncOp::Kind::tensor_store).size() == 4);
  Texts stored = touched(store, AsyncOp::Kind::tensor_store);
  CHECK(std::count(stored.begin(), stored.end(), "writes lanes 96+32 columns 0+2") == 1);
}

TEST_CASE("TC1: a warp reaches its own quarter of the lanes only; TC3: only what is allocated") {
  CHECK(
      contains(run(tensor("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r16}, [%r2];")).problem(), "TC1: warp "));
  CHECK(contains(
      run(tensor("add.u32 %r2, %r2, %r3; tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r16, %r17}, [%r2+127];"))
          .problem(),
      "TC3: column 128"));
}

TEST_CASE("what tcgen05.ld brings is not known") {
  const Ran r =
      run(tensor("add.u32 %r4, %r2, %r3; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r16}, [%r4];\n"
                 "tcgen05.wait::ld.sync.aligned; setp.eq.u32 %p4, %r16, 0; @%p4 ret;"));
  CHECK(contains(r.problem(), "?: the guard of 'ret'"));
}

namespace {

/// Descriptor of K-major rows of 128 bytes, 128-byte swizzle, at the tile + `offset`; in `to`.
std::string descriptor(const std::string& to, const std::string& offset) {
  return "add.u32 %r10, %r7, " + offset + "; shr.u32 %r10, %r10, 4; cvt.u64.u32 " + to + ", %r10; or.b64 " +
         to + ", " + to + ", 0x4000404000010000;\n";  // stride 1024, bit 46, swizzle mode 2
}

/// An mma by thread 0 and its commit; `idesc` and enable-input-d as given.
std::string mma(const std::string& kind, const std::string& idesc, const std::string& enable) {
  return "@!%p1 bra DONE;\n" + descriptor("%rd2", "0") + descriptor("%rd3", "16384") + "mov.b32 %r11, " +
         idesc + "; setp.ne.u32 %p5, " + enable + ", 0;\ntcgen05.mma.cta_group::1.kind::" + kind +
         " [%r2], %rd2, %rd3, %r11, %p5;\n"
         "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];\nDONE:\n"
         "W: mbarrier.try_wait.parity.shared.b64 %p6, [%r9], 0; @!%p6 bra W;\n"
         "tcgen05.fence::after_thread_sync;";
}

// M and N in the instruction descriptor (PTX ISA table 44: N >> 3 at bit 17, M >> 4 at bit 24).
std::string idesc(uint32_t m, uint32_t n) { return std::to_string(m >> 4 << 24 | n >> 3 << 17 | 1 << 4); }

}  // namespace

TEST_CASE("tcgen05.mma reads both tiles of shared memory and the accumulator, which it writes") {
  const Ran r = run(tensor(mma("f16", idesc(128, 64), "1")));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  const Texts seen = touched(r, AsyncOp::Kind::tensor_mma);
  // 32 bytes of K of each row of A (128) and B (64), in pieces of 32 bytes or joined by the swizzle.
  size_t shared_bytes = 0;
  for (const std::string& text : seen)
    if (text.rfind("reads shared ", 0) == 0) shared_bytes += std::stoul(text.substr(13));
  CHECK(shared_bytes == 32 * (128 + 64));
  CHECK(seen[seen.size() - 2] == "reads lanes 0+128 columns 0+64");
  CHECK(seen.back() == "writes lanes 0+128 columns 0+64");
  CHECK(only_op(r, AsyncOp::Kind::tensor_commit).barrier == 0);
  CHECK(r.count(EventKind::tensor_fence_after) >= 1);
}

TEST_CASE("an mma that starts a sum does not read the accumulator; 64 rows lie in 16 lanes of each quarter") {
  const Ran r = run(tensor(mma("f16", idesc(64, 8), "0")));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  Texts tensor_part;
  for (const std::string& text : touched(r, AsyncOp::Kind::tensor_mma))
    if (contains(text, "lanes")) tensor_part.push_back(text);
  CHECK(tensor_part == Texts{"writes lanes 0+16 columns 0+8", "writes lanes 32+16 columns 0+8",
                             "writes lanes 64+16 columns 0+8", "writes lanes 96+16 columns 0+8"});
}

TEST_CASE("TC13, TC28, TC29: an mma of many threads, of no shape, with a bad descriptor") {
  CHECK(contains(
      run(tensor("mov.b64 %rd2, 0; mov.b32 %r11, 0; tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd2, %rd2, "
                 "%r11, %p1;"))
          .problem(),
      "TC13: 32 threads"));
  CHECK(contains(run(tensor(mma("f16", idesc(96, 64), "1"))).problem(), "TC28: "));
  CHECK(contains(run(tensor(mma("f16", idesc(128, 12 * 8 * 3), "1"))).problem(), "TC28: "));
  CHECK(contains(run(tensor("@!%p1 bra A; mov.b64 %rd2, 64; mov.b32 %r11, " + idesc(128, 64) +
                            "; tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd2, %rd2, %r11, %p1; A:"))
                     .problem(),
                 "TC29: "));
  CHECK(contains(
      refusal(tensor("tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::use [%r2], [%r2], %rd2, %r11, "
                     "%p1;")),
      "TC30"));
}

TEST_CASE("tcgen05.cp fills tensor memory, tcgen05.shift moves rows, a commit waits for both") {
  const Ran r =
      run(tensor("@!%p1 bra DONE;\n" + descriptor("%rd2", "0") +
                 "tcgen05.cp.cta_group::1.128x256b [%r2], %rd2; tcgen05.cp.cta_group::1.32x128b.warpx4 "
                 "[%r2+16], %rd2;\n"
                 "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];\nDONE:\n"
                 "W: mbarrier.try_wait.parity.shared.b64 %p6, [%r9], 0; @!%p6 bra W;"));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  Texts tensor_part;
  for (const std::string& text : touched(r, AsyncOp::Kind::tensor_copy))
    if (contains(text, "lanes")) tensor_part.push_back(text);
  CHECK(tensor_part == Texts{"writes lanes 0+128 columns 0+8", "writes lanes 0+128 columns 16+4"});
}

TEST_CASE("a commit on its own arrives at once") {
  const Ran r = run(tensor(
      "@!%p1 bra DONE; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];\nDONE:\n"
      "W: mbarrier.try_wait.parity.shared.b64 %p6, [%r9], 0; @!%p6 bra W;"));
  CHECK_MESSAGE(r.finished(), r.problem());
}

TEST_CASE("cta_group::2 needs a pair of CTAs") {
  Setup s = tensor("");
  for (size_t at = 0; (at = s.body.find("cta_group::1", at)) != std::string::npos;) s.body[at + 11] = '2';
  CHECK(contains(run(s).problem(), "TC9: "));
  s.ctas = 2;
  s.launch_lines = "cluster = [2, 1, 1]";
  const Ran pair = run(s);
  CHECK_MESSAGE(pair.finished(), pair.problem());
  CHECK(pair.count(EventKind::tensor_alloc) == 2);
}

TEST_CASE("a paired mma touches shared and tensor memory of both CTAs; its commit arrives in both") {
  Setup s =
      tensor("@!%p1 bra DONE; mov.u32 %r12, %cluster_ctarank; setp.ne.u32 %p7, %r12, 0; @%p7 bra DONE;\n" +
             descriptor("%rd2", "0") + descriptor("%rd3", "16384") + "mov.b32 %r11, " + idesc(256, 64) +
             "; setp.ne.u32 %p5, %r0, 0; mov.u16 %rs1, 3;\n"
             "tcgen05.mma.cta_group::2.kind::f16 [%r2], %rd2, %rd3, %r11, %p5;\n"
             "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
             "[%r9], %rs1;\n"
             "DONE: W: mbarrier.try_wait.parity.shared.b64 %p6, [%r9], 0; @!%p6 bra W;");
  for (size_t at = 0; (at = s.body.find("cta_group::1", at)) != std::string::npos;) s.body[at + 11] = '2';
  // Both CTAs are there, with their barriers, before the first paired operation.
  const std::string first = "bar.sync 0;";
  s.body.insert(s.body.find(first), "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ");
  s.ctas = 2;
  s.launch_lines = "cluster = [2, 1, 1]";
  const Ran r = run(s);
  REQUIRE_MESSAGE(r.finished(), r.problem());
  std::map<std::pair<Space, uint32_t>, uint64_t> bytes;
  const Trace& t = r.trace();
  for (const Event& e : t.events) {
    if (e.kind != EventKind::async_access || t.ops[e.object].kind != AsyncOp::Kind::tensor_mma) continue;
    const Footprint& f = t.footprints[e.footprint];
    for (uint32_t i = 0; i < f.range_count; ++i) {
      const ByteRange& range = t.ranges[f.first_range + i];
      bytes[{f.space, f.allocation}] += (range.end - range.begin) * range.count;
    }
  }
  for (const uint32_t cta : {0u, 1u}) {
    CHECK(bytes[{Space::shared, cta}] == 32 * (128 + 32));  // half of the rows of A, half of B
    CHECK(bytes[{Space::tensor, cta}] == 128 * 64 * 4);     // half of the rows of D, all columns; not read
  }
  size_t commits = 0;
  for (const AsyncOp& op : t.ops) commits += op.kind == AsyncOp::Kind::tensor_commit ? 1 : 0;
  CHECK(commits == 2);
}
