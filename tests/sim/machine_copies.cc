// SPDX-License-Identifier: Apache-2.0

// Bulk and tensor copies, against a model that places every byte by itself.

#include <array>

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// A tensor of 32-bit words over the buffer `in`, whose word at element e is e. Extents and box innermost
/// first; strides are dense over `pitch` words a row.
struct Tensor {
  std::vector<uint32_t> dims, box;
  uint32_t pitch = 0;
  std::string swizzle = "none";
  std::string fill = "zero";
  std::vector<int> coordinates;

  size_t rank() const { return dims.size(); }
  uint32_t box_words() const {
    uint32_t n = 1;
    for (uint32_t b : box) n *= b;
    return n;
  }
  /// Words between neighbours in dimension d.
  uint64_t stride(size_t d) const {
    uint64_t s = d == 0 ? 1 : pitch;
    for (size_t i = 1; i < d; ++i) s *= dims[i];
    return s;
  }
  std::string list(const std::vector<uint32_t>& v) const {
    std::string out;
    for (uint32_t x : v) out += (out.empty() ? "" : ", ") + std::to_string(x);
    return "[" + out + "]";
  }
  std::string toml(const std::string& buffer) const {
    std::vector<uint32_t> strides;
    for (size_t d = 1; d < rank(); ++d) strides.push_back(static_cast<uint32_t>(4 * stride(d)));
    return "[[tensor_maps]]\nname = \"map\"\nbuffer = \"" + buffer + "\"\ndims = " + list(dims) +
           "\nstrides = " + list(strides) + "\nbox = " + list(box) + "\nswizzle = \"" + swizzle +
           "\"\noob_fill = \"" + fill + "\"\n";
  }
  std::string coordinate_text() const {
    std::string out;
    for (int c : coordinates) out += (out.empty() ? "" : ", ") + std::to_string(c);
    return "{" + out + "}";
  }
  /// Word of the tensor that box word w is, or nothing if it is out of bounds.
  std::optional<uint64_t> element(uint32_t w) const {
    uint64_t at = 0;
    for (size_t d = 0; d < rank(); ++d) {
      const int64_t c = coordinates[d] + static_cast<int64_t>(w % box[d]);
      w /= box[d];
      if (c < 0 || c >= static_cast<int64_t>(dims[d])) return std::nullopt;
      at += static_cast<uint64_t>(c) * stride(d);
    }
    return at;
  }
};

/// Where the swizzle puts a byte of the dense box (PTX ISA 5.5.7: chunks of 16 bytes, exchanged within the
/// width of the mode by the number of the 128-byte line within the pattern).
uint32_t placed(const std::string& swizzle, uint32_t byte) {
  const uint32_t line = byte / 128, chunk = byte / 16 % 8;
  uint32_t to = chunk;
  if (swizzle == "128B") to = chunk ^ (line % 8);
  if (swizzle == "64B") to = chunk / 4 * 4 + ((chunk % 4) ^ (line % 4));
  if (swizzle == "32B") to = chunk / 2 * 2 + ((chunk % 2) ^ (line % 2));
  return line * 128 + to * 16 + byte % 16;
}

const std::string kInput =
    "[[buffers]]\nname = \"in\"\ndtype = \"u32\"\nshape = [16384]\nrole = \"in\"\nfill = \"iota\"\n";

/// Loads the box into shared memory and copies it, as it lies there, to `out`.
Setup load_box(const Tensor& t) {
  Setup s;
  s.module_text = ".extern .shared .align 1024 .b8 dyn[];";
  s.launch_lines = "dynamic_shared_memory = 65536";
  s.variables = ".shared .align 8 .b64 bar;";
  s.parameters = ", .param .align 64 .b8 map[128]";
  s.out_words = 16384;
  s.launch_text = "[[params]]\ntensor_map = \"map\"\n" + kInput + t.toml("in");
  const std::string bytes = std::to_string(4 * t.box_words()), words = std::to_string(t.box_words());
  s.body = R"(
    mov.u32 %r2, dyn; mov.u32 %r3, bar;
    setp.eq.u32 %p1, %r0, 0;
    @!%p1 bra WAIT0;
    mbarrier.init.shared.b64 [%r3], 1;
    mov.b64 %rd2, map; cvta.param.u64 %rd3, %rd2;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], )" +
           bytes + ";\ncp.async.bulk.tensor." + std::to_string(t.rank()) +
           "d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd3, " + t.coordinate_text() +
           "], [%r3];\n" + R"(
  WAIT0: bar.sync 0;
  WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
    @!%p2 bra WAIT;
    mov.u32 %r4, %r0;
  NEXT: setp.ge.u32 %p3, %r4, )" +
           words + R"(;
    @%p3 ret;
    mad.lo.s32 %r5, %r4, 4, %r2;
    ld.shared.u32 %r6, [%r5];
    mul.wide.u32 %rd4, %r4, 4; add.s64 %rd4, %rd0, %rd4;
    st.global.u32 [%rd4], %r6;
    add.u32 %r4, %r4, 32;
    bra NEXT;)";
  return s;
}

void check_load(const Tensor& t) {
  const Ran r = run(load_box(t));
  INFO(r.problem(), " ", t.swizzle, " ", t.coordinate_text());
  REQUIRE(r.finished());
  const auto words = r.words(t.box_words());
  uint32_t wrong = 0;
  for (uint32_t w = 0; w < t.box_words(); ++w) {
    const auto element = t.element(w);
    const uint32_t expected = element ? static_cast<uint32_t>(*element) : t.fill == "nan" ? 0x7ff77ff7 : 0;
    wrong += words[placed(t.swizzle, 4 * w) / 4] != expected ? 1 : 0;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a box of each swizzle lies in shared memory as the hardware puts it") {
  check_load({{64, 40}, {8, 40}, 64, "none", "zero", {16, 0}});
  check_load({{64, 40}, {8, 40}, 64, "32B", "zero", {16, 0}});
  check_load({{64, 40}, {16, 40}, 64, "64B", "zero", {16, 0}});
  check_load({{64, 40}, {32, 40}, 64, "128B", "zero", {32, 0}});
}

TEST_CASE("what lies outside of the tensor is filled with zeros, on every side") {
  for (const char* swizzle : {"none", "128B"}) {
    check_load({{60, 40}, {32, 16}, 64, swizzle, "zero", {40, 30}});   // beyond both ends
    check_load({{60, 40}, {32, 16}, 64, swizzle, "zero", {-20, -3}});  // before both starts
    check_load({{60, 40}, {32, 16}, 64, swizzle, "zero", {64, 0}});    // wholly outside
    check_load({{60, 40}, {32, 16}, 64, swizzle, "zero", {0, -16}});
    check_load({{60, 40}, {32, 16}, 64, swizzle, "zero", {2000000000, 2000000000}});
    check_load({{60, 40}, {32, 16}, 64, swizzle, "zero", {-2000000000, 5}});
  }
}

TEST_CASE("a load through a map of tf32 rounds to nearest even, and fills with halves of 0x7ff7") {
  // Words and results: an H200's (golden/records/numerics/tensor_maps.txt).
  const std::vector<std::pair<uint32_t, uint32_t>> seen = {
      {0x4180c562, 0x4180c000}, {0x8042618a, 0x80426000}, {0x0f7dbf3a, 0x0f7dc000}, {0xd2a43034, 0xd2a44000},
      {0x4180d000, 0x4180c000}, {0x7f401000, 0x7f400000}, {0xffc00000, 0x7fffe000}, {0x7fffffff, 0x7fffe000}};
  for (const char* type : {"f32", "tf32"}) {
    const Tensor tensor{{32}, {64}, 32, "none", "nan", {0}};
    Setup s = load_box(tensor);
    s.launch_text =
        "[[params]]\ntensor_map = \"map\"\n[[params]]\nbuffer = \"in\"\n[[buffers]]\nname = \"in\"\ndtype = "
        "\"f32\"\n"
        "shape = [32]\nrole = \"in_out\"\nfill = \"zeros\"\n" +
        tensor.toml("in") + "dtype = \"" + type + "\"\n";
    // The kernel writes what it then loads.
    s.parameters = ", .param .align 64 .b8 map[128], .param .u64 input";
    std::string stores = "ld.param.u64 %rd5, [input]; cvta.to.global.u64 %rd5, %rd5;\n";
    for (size_t i = 0; i < seen.size(); ++i)
      stores += "mov.u32 %r6, " + std::to_string(seen[i].first) + "; st.global.u32 [%rd5+" +
                std::to_string(4 * i) + "], %r6;\n";
    s.body = stores + "fence.proxy.async;\n" + s.body;
    const Ran r = run(s);
    INFO(type, " ", r.problem());
    REQUIRE(r.finished());
    const auto words = r.words(64);
    for (size_t i = 0; i < seen.size(); ++i)
      CHECK(words[i] == (std::string(type) == "tf32" ? seen[i].second : seen[i].first));
    CHECK(words[32] == 0x7ff77ff7);
  }
}

TEST_CASE("boxes of one to five dimensions") {
  check_load({{1000}, {256}, 1000, "none", "zero", {900}});
  check_load({{32, 20}, {16, 8}, 32, "none", "zero", {4, 15}});
  check_load({{32, 8, 6}, {16, 4, 3}, 32, "none", "zero", {20, 6, -1}});
  check_load({{16, 4, 4, 6}, {8, 2, 3, 2}, 16, "none", "zero", {4, 1, 2, 5}});
  check_load({{16, 4, 3, 4, 5}, {8, 2, 2, 3, 2}, 16, "none", "zero", {-4, 3, 1, -1, 4}});
  check_load({{8, 4, 3, 4, 5}, {8, 2, 2, 3, 2}, 8, "32B", "zero", {0, 3, 1, -1, 4}});
}

TEST_CASE("a copy of another rank than its map is a fault") {
  Tensor t{{64, 40}, {8, 40}, 64, "none", "zero", {16, 0}};
  Setup s = load_box(t);
  const size_t at = s.body.find("tensor.2d");
  s.body.replace(at, 9, "tensor.1d");
  s.body.replace(s.body.find("{16, 0}"), 7, "{16}");
  CHECK(contains(run(s).problem(), "BS5: "));
}

namespace {

/// The load of a small box with one piece of text replaced.
std::string problem_of_load(const std::string& from, const std::string& to) {
  Setup s = load_box({{64, 40}, {8, 40}, 64, "none", "zero", {16, 0}});
  const size_t at = s.body.find(from);
  REQUIRE(at != std::string::npos);
  s.body.replace(at, from.size(), to);
  return run(s).problem();
}

}  // namespace

TEST_CASE("operands of a tensor load that cannot be are faults") {
  CHECK(problem_of_load("[%r2], [%rd3", "[%r2], [%rd3").empty());
  CHECK(contains(problem_of_load("[%r2], [%rd3", "[%r2+64], [%rd3"), "BS2: "));
  CHECK(
      contains(problem_of_load("[%r2], [%rd3", "[%r2+64896], [%rd3"), "memory: a tensor copy of 1280 bytes"));
  // A map may lie in global memory (BS4), but this launch tells of none there; a parameter that is no map is
  // one.
  CHECK(contains(problem_of_load("[%r2], [%rd3", "[%r2], [%rd0"), "?: a copy with a tensor map in global"));
  CHECK(contains(problem_of_load("], [%r3];", "], [%r3+8];"), "MB10: "));
  CHECK(contains(problem_of_load("mbarrier.init.shared.b64 [%r3], 1;", ""), "MB10: "));
}

TEST_CASE("too few bytes expected: over-delivery leaves the phase open and the waiter blocked") {
  CHECK(problem_of_load("_, [%r3], 1280", "_, [%r3], 1264") == "blocked");
  CHECK(problem_of_load("_, [%r3], 1280", "_, [%r3], 1296") == "blocked");
}

namespace {

/// 32 threads write 0x1000 + word into shared memory, thread 0 stores the box and waits, as `rest` says.
Setup store_box(const Tensor& t, const std::string& rest) {
  Setup s;
  s.module_text = ".extern .shared .align 1024 .b8 dyn[];";
  s.launch_lines = "dynamic_shared_memory = 4096";
  s.parameters = ", .param .align 64 .b8 map[128]";
  s.launch_text = "[[params]]\ntensor_map = \"map\"\n" + t.toml("out");
  s.body = R"(
    mov.u32 %r2, dyn;
    mov.u32 %r4, %r0;
  NEXT: setp.ge.u32 %p3, %r4, )" +
           std::to_string(t.box_words()) + R"(;
    @%p3 bra FILLED;
    mad.lo.s32 %r5, %r4, 4, %r2;
    add.u32 %r6, %r4, 0x1000;
    st.shared.u32 [%r5], %r6;
    add.u32 %r4, %r4, 32;
    bra NEXT;
  FILLED:
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.eq.u32 %p1, %r0, 0;
    mov.b64 %rd2, map; cvta.param.u64 %rd3, %rd2;
    @%p1 cp.async.bulk.tensor.)" +
           std::to_string(t.rank()) + "d.global.shared::cta.bulk_group [%rd3, " + t.coordinate_text() +
           "], [%r2];\n" + rest + "\nret;";
  return s;
}
const std::string kWait = "@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;";

}  // namespace

TEST_CASE("a store writes the part of its box that is inside, and no other byte") {
  for (const char* swizzle : {"none", "128B"}) {
    const Tensor t{{60, 40}, {32, 8}, 64, swizzle, "zero", {40, 36}};
    const Ran r = run(store_box(t, kWait));
    INFO(r.problem());
    REQUIRE(r.finished());
    std::vector<uint32_t> expected(4096, 0);
    for (uint32_t w = 0; w < t.box_words(); ++w)
      if (const auto e = t.element(w)) expected[*e] = 0x1000 + placed(swizzle, 4 * w) / 4;
    CHECK(r.words(4096) == expected);
  }
}

TEST_CASE("a store at a negative coordinate is a fault") {
  CHECK(contains(run(store_box({{60, 40}, {32, 8}, 64, "none", "zero", {-4, 0}}, kWait)).problem(),
                 "BS14: a tensor store starts at the negative coordinate -4"));
}

TEST_CASE("BS15: a tile that starts at no multiple of 16 bytes is a fault, as it is on the H200 (P5)") {
  for (const char* swizzle : {"none", "128B"})
    CHECK(contains(run(store_box({{60, 40}, {32, 8}, 64, swizzle, "zero", {2, 0}}, kWait)).problem(),
                   "BS15: the innermost coordinate 2 of a tensor copy is 8 bytes"));
  CHECK(run(store_box({{60, 40}, {32, 8}, 64, "none", "zero", {4, 3}}, kWait)).finished());
}

TEST_CASE("bulk groups belong to a thread: another thread's wait covers nothing") {
  const Tensor t{{60, 40}, {32, 8}, 64, "none", "zero", {0, 0}};
  const auto groups_waited = [&](const std::string& rest) {
    const Ran r = run(store_box(t, rest));
    REQUIRE(r.finished());
    uint64_t most = 0;
    for (const Event& e : r.trace().events)
      if (e.kind == EventKind::group_wait) most = std::max(most, e.generation);
    return most;
  };
  CHECK(groups_waited(kWait) == 1);
  CHECK(groups_waited("@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 1;") == 0);
  CHECK(groups_waited("@%p1 cp.async.bulk.commit_group; @!%p1 cp.async.bulk.wait_group 0;") == 0);
  CHECK(groups_waited("@%p1 cp.async.bulk.wait_group 0;") == 0);  // not committed
  // All lanes wait: each lane for its own groups.
  CHECK(groups_waited("@%p1 cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;") == 1);
}

namespace {

Ran plain_load(const std::string& shared, const std::string& global, const std::string& bytes) {
  Setup s;
  s.module_text = ".extern .shared .align 128 .b8 dyn[];";
  s.launch_lines = "dynamic_shared_memory = 4096";
  s.variables = ".shared .align 8 .b64 bar;";
  s.parameters = ", .param .u64 in";
  s.launch_text = "[[params]]\nbuffer = \"in\"\n" + kInput;
  s.body =
      "mov.u32 %r2, dyn; mov.u32 %r3, bar; ld.param.u64 %rd2, [in]; setp.eq.u32 %p1, %r0, 0; @!%p1 bra W0;"
      "mbarrier.init.shared.b64 [%r3], 1; mov.u32 %r9, " +
      bytes +
      "; mbarrier.arrive.expect_tx.shared.b64 _, [%r3], %r9;"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [" +
      shared + "], [" + global +
      "], %r9, [%r3];\n W0: bar.sync 0; W: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra W;"
      "mad.lo.s32 %r5, %r0, 4, %r2; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd1], %r6; ret;";
  return run(s);
}

}  // namespace

TEST_CASE("a plain bulk copy moves its bytes") {
  const Ran r = plain_load("%r2", "%rd2+16", "128");
  INFO(r.problem());
  REQUIRE(r.finished());
  for (uint32_t i = 0; i < 32; ++i) CHECK(r.words(32)[i] == i + 4);
}

TEST_CASE("sizes and addresses of plain bulk copies are multiples of 16, inside both memories") {
  CHECK(contains(plain_load("%r2", "%rd2", "20").problem(), "BS1: "));
  CHECK(contains(plain_load("%r2", "%rd2", "0").problem(),
                 "?: a bulk copy of 0 bytes"));  // MB28: PTX is silent
  CHECK(contains(plain_load("%r2+8", "%rd2", "128").problem(), "BS1: "));
  CHECK(contains(plain_load("%r2", "%rd2+8", "128").problem(), "BS1: "));
  CHECK(contains(plain_load("%r2", "%rd2+65424", "128").problem(), "leaves buffer 'in'"));
  CHECK(contains(plain_load("%r2+4000", "%rd2", "128").problem(), "memory: "));
  CHECK(contains(plain_load("%r2", "%rd2", "0x7ffffff0").problem(), "MB17: "));
}
