// SPDX-License-Identifier: Apache-2.0
//
// "Every warp stores the same partial sum to one word, and the check calls it a race": whether two stores
// leave the same value, when nobody computes the values (Domain::names). Equal names are a claim about all
// inputs, so that they are held to executions with bits.
#include <random>

#include "checker/check.h"
#include "sim/name_slice.h"
#include "sim/stored_values.h"
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

Setup two_warps(const std::string& body) {
  Setup s;
  s.threads = 64;
  s.domain = sim::Domain::names;
  s.variables = ".shared .align 16 .b8 tile[4096];";
  s.parameters = ", .param .u64 data";
  s.launch_text =
      "[[buffers]]\nname = \"data\"\ndtype = \"f32\"\nshape = [64]\nrole = \"in\"\nfill = "
      "\"normal\"\nseed = 1\nstream = 0\n[[params]]\nbuffer = \"data\"\n";
  s.body =
      "ld.param.u64 %rd2, [data]; mov.u32 %r9, tile; and.b32 %r5, %r0, 31; shr.u32 %r6, %r0, 5;\n"
      "setp.ne.u32 %p1, %r6, 0; mul.wide.u32 %rd3, %r5, 4; add.s64 %rd3, %rd3, %rd2;\n"
      "mul.wide.u32 %rd4, %r6, 4; add.s64 %rd4, %rd4, %rd2;\n" +
      body + "\nret;";
  return s;
}

/// What each store to shared memory leaves; 0: nobody knows.
std::vector<uint64_t> left(const std::string& body) {
  const Ran r = run(two_warps(body));
  INFO(r.problem());
  REQUIRE(r.finished());
  std::vector<uint64_t> out;
  for (const Event& e : r.trace().events)
    if (e.kind == EventKind::access && e.has(Event::write) &&
        r.trace().footprints[e.footprint].space == Space::shared)
      out.push_back(e.bytes);
  return out;
}

/// Both warps execute this; do they leave the same?
bool same(const std::string& body) {
  const std::vector<uint64_t> two = left(body);
  REQUIRE(two.size() == 2);
  return two[0] != 0 && two[0] == two[1];
}

const std::string kStore = "\nst.shared.f32 [%r9], %f1;";

}  // namespace

TEST_CASE("two warps that compute the same of the same data leave the same") {
  CHECK(same("ld.global.f32 %f2, [%rd2+8]; add.f32 %f1, %f2, %f2;" + kStore));
  CHECK_FALSE(same("ld.global.f32 %f1, [%rd4];" + kStore));    // of other data
  CHECK_FALSE(same("ld.global.f32 %f1, [%rd3];" + kStore));    // the lanes differ
  CHECK_FALSE(same("mov.f32 %f1, %f7;" + kStore));             // never written
  CHECK_FALSE(same("ld.shared.f32 %f1, [%r9+64];" + kStore));  // nor this
  CHECK_FALSE(same("mov.u32 %r1, %clock; mov.b32 %f1, %r1;" + kStore));
  CHECK(
      same("ld.global.f32 %f2, [%rd2]; ld.global.f32 %f3, [%rd2+4];\n"
           "@%p1 add.f32 %f1, %f2, %f3; @!%p1 add.f32 %f1, %f3, %f2;" +
           kStore));  // a + b = b + a
  CHECK_FALSE(
      same("ld.global.f32 %f2, [%rd2]; ld.global.f32 %f3, [%rd2+4]; ld.global.f32 %f4, [%rd2+8];\n"
           "@%p1 add.f32 %f5, %f2, %f3; @!%p1 add.f32 %f5, %f3, %f4;\n"
           "@%p1 add.f32 %f1, %f5, %f4; @!%p1 add.f32 %f1, %f5, %f2;" +
           kStore));  // (a+b)+c, (b+c)+a
}

TEST_CASE("a butterfly of additions gives every lane of both warps the same sum") {
  const std::string load = "ld.global.f32 %f1, [%rd3];\n";
  const auto step = [](const char* mask) {
    return std::string("mov.b32 %r1, %f1; shfl.sync.bfly.b32 %r2, %r1, ") + mask +
           ", 31, -1; mov.b32 %f2, %r2; add.f32 %f1, %f1, %f2;\n";
  };
  CHECK(same(load + step("16") + step("8") + step("4") + step("2") + step("1") + kStore));
  CHECK_FALSE(same(load + step("16") + step("8") + step("4") + step("2") + kStore));
}

TEST_CASE("loads that extend a sign, strong loads and what a vote says") {
  CHECK_FALSE(
      same("@%p1 ld.global.s8 %r1, [%rd2]; @!%p1 ld.global.u8 %r1, [%rd2]; st.shared.b32 [%r9], %r1;"));
  // Another thread may write between two strong loads: they need not read the same.
  CHECK_FALSE(same("ld.relaxed.gpu.global.f32 %f1, [%rd2];" + kStore));
  CHECK(
      same("ld.global.f32 %f2, [%rd3]; setp.lt.f32 %p2, %f2, 0f00000000;\n"
           "vote.sync.ballot.b32 %r1, %p2, -1; st.shared.b32 [%r9], %r1;"));
  CHECK_FALSE(
      same("ld.global.f32 %f2, [%rd4]; setp.lt.f32 %p2, %f2, 0f00000000;\n"
           "vote.sync.ballot.b32 %r1, %p2, -1; st.shared.b32 [%r9], %r1;"));
  CHECK(same("ld.global.u32 %r2, [%rd3]; redux.sync.or.b32 %r1, %r2, -1; st.shared.b32 [%r9], %r1;"));
  CHECK_FALSE(
      same("@%p1 redux.sync.or.b32 %r1, %r2, -1; @!%p1 redux.sync.and.b32 %r1, %r2, -1;\n"
           "st.shared.b32 [%r9], %r1;"));
}

TEST_CASE("halves of packed operations do not depend on each other") {
  CHECK(
      same("ld.global.f32 %f2, [%rd2]; mov.b64 %rd5, {%f2, %f8}; add.f32x2 %rd6, %rd5, %rd5;\n"
           "mov.b64 {%f1, %f3}, %rd6;" +
           kStore));
  CHECK_FALSE(
      same("ld.global.f32 %f2, [%rd2]; mov.b64 %rd5, {%f2, %f8}; add.f32x2 %rd6, %rd5, %rd5;\n"
           "mov.b64 {%f3, %f1}, %rd6;" +
           kStore));
}

TEST_CASE("a branch around arithmetic leaves the same where it decides alike") {
  const auto around = [](const std::string& address) {
    return "ld.global.f32 %f1, [" + address +
           "]; setp.lt.f32 %p2, %f1, 0f00000000;\n"
           "@%p2 bra OVER; mul.f32 %f1, %f1, 0f40000000;\nOVER:" +
           kStore;
  };
  CHECK(same(around("%rd2")));
  CHECK_FALSE(same(around("%rd4")));
}

TEST_CASE("M4: a partial sum that every warp stores is no race, two sums are") {
  for (const auto& [address, rule] : {std::pair("%rd2", ""), {"%rd4", "M4"}}) {
    Setup s = two_warps("ld.global.f32 %f2, [" + std::string(address) + "]; add.f32 %f1, %f2, %f2;" + kStore);
    s.domain = sim::Domain::control;
    const Launch launch = launch_of(s);
    const auto program = program_of(s, launch);
    REQUIRE(program.has_value());
    Result<sim::RunResult> result = sim::run_launch(**program, launch, {});
    REQUIRE(result.has_value());
    Trace& trace = result->traces[0];
    CHECK(check(trace).verdict == Verdict::finding);  // nobody knows what they store
    REQUIRE(sim::name_stored_values(**program, launch, {}, trace));
    const Report report = check(trace);
    CHECK(report.verdict == (*rule == '\0' ? Verdict::clean : Verdict::finding));
    REQUIRE(report.diagnostics.size() == 1);
    CHECK(report.diagnostics[0].rule == "M4");
    CHECK(report.diagnostics[0].severity == (*rule == '\0' ? Severity::lint : Severity::error));
  }
}

namespace {

class Arithmetic {
 public:
  explicit Arithmetic(uint32_t seed) : random_(seed) {}

  /// Lines of a sequence that ends in %f10, and of one like it.
  std::pair<std::vector<std::string>, std::vector<std::string>> two_sequences() {
    std::vector<Line> first(3 + below(6)), second;
    for (Line& l : first) l = any();
    second = first;
    for (size_t edits = below(3); edits > 0; --edits) {
      Line& l = second[below(second.size())];
      if (below(3) != 0)
        std::swap(l.a, l.b);
      else
        l = any();
    }
    return {text(first), text(second)};
  }

 private:
  struct Line {
    size_t op = 0;
    unsigned to = 0, a = 0, b = 0, c = 0;
  };
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  unsigned reg() { return 10 + static_cast<unsigned>(below(4)); }
  Line any() { return {below(9), below(2) == 0 ? 10 : reg(), reg(), reg(), reg()}; }
  static std::vector<std::string> text(const std::vector<Line>& lines) {
    std::vector<std::string> out;
    for (const Line& l : lines) {
      const auto f = [](unsigned n) { return "%f" + std::to_string(n); };
      const std::string two = f(l.to) + ", " + f(l.a) + ", " + f(l.b) + ";";
      switch (l.op) {
        case 0:
        case 1:
          out.push_back("add.f32 " + two);
          break;
        case 2:
          out.push_back("mul.f32 " + two);
          break;
        case 3:
          out.push_back("sub.f32 " + two);
          break;
        case 4:
          out.push_back("max.f32 " + two);
          break;
        case 5:
          out.push_back("fma.rn.f32 " + f(l.to) + ", " + f(l.a) + ", " + f(l.b) + ", " + f(l.c) + ";");
          break;
        case 6:
          out.push_back("shfl.sync.bfly.b32 %r1, " + f(l.a) + ", " + std::to_string(1u << (l.b & 3)) +
                        ", 31, -1; mov.b32 " + f(l.to) + ", %r1;");
          break;
        case 7:
          out.push_back("setp.lt.f32 %p3, " + f(l.a) + ", " + f(l.b) + "; selp.f32 " + f(l.to) + ", " +
                        f(l.b) + ", " + f(l.c) + ", %p3;");
          break;
        default:
          out.push_back("mov.b64 %rd5, {" + f(l.a) + ", " + f(l.b) + "}; mov.b64 %rd6, {" + f(l.c) + ", " +
                        f(l.a) + "}; add.f32x2 %rd7, %rd5, %rd6; mov.b64 {" + f(l.to) + ", %f20}, %rd7;");
      }
    }
    return out;
  }

  std::mt19937 random_;
};

/// Both warps execute arithmetic of random operations, each in an order of its own, and store what comes out.
std::string two_sequences(uint32_t seed) {
  const auto [first, second] = Arithmetic(seed).two_sequences();
  std::string body =
      "and.b32 %r7, %r5, 1; mul.wide.u32 %rd8, %r7, 4; add.s64 %rd8, %rd8, %rd2;\n"
      "ld.global.f32 %f10, [%rd8]; and.b32 %r7, %r5, 3; mul.wide.u32 %rd8, %r7, 4;\n"
      "add.s64 %rd8, %rd8, %rd2; ld.global.f32 %f11, [%rd8+16]; ld.global.f32 %f12, [%rd2+40];\n"
      "mov.f32 %f13, 0f3FC00000;\n@%p1 bra SECOND;\n";
  for (const std::string& line : first) body += line + "\n";
  body += "bra.uni BOTH;\nSECOND:\n";
  for (const std::string& line : second) body += line + "\n";
  body +=
      "BOTH: mul.wide.u32 %rd8, %r5, 4; shl.b32 %r8, %r5, 2; add.u32 %r8, %r8, %r9;\n"
      "st.shared.f32 [%r8], %f10; st.global.f32 [%rd1], %f10;";
  return body;
}

/// Whether both warps leave the same in the last store to shared memory, in a run that has names only for
/// what is stored there, and how many registers have none.
std::pair<bool, size_t> same_in_slice(const std::string& body) {
  const Setup s = two_warps(body);
  const Launch launch = launch_of(s);
  const auto program = program_of(s, launch);
  REQUIRE(program);
  const auto ran = [&](const sim::RunOptions& options) {
    auto result = sim::run_launch(**program, launch, options);
    REQUIRE(result);
    return std::move(result->traces.front());
  };
  sim::RunOptions options;
  options.domain = sim::Domain::control;
  const Trace before = ran(options);
  uint32_t last = 0;
  const auto is_store = [&](const Event& e) {
    return e.kind == EventKind::access && e.has(Event::write) &&
           before.footprints[e.footprint].space == Space::shared;
  };
  for (const Event& e : before.events)
    if (is_store(e)) last = std::max(last, e.place);
  options.slice = sim::name_slice(**program, before, nullptr, {before.places[last].ptx_line}, {});
  options.domain = sim::Domain::names;
  std::vector<uint64_t> left;
  for (const Event& e : ran(options).events)
    if (is_store(e) && e.place == last) left.push_back(e.bytes);
  REQUIRE(left.size() == 2);
  const std::vector<uint8_t>& registers = options.slice->registers;
  return {left[0] != 0 && left[0] == left[1],
          static_cast<size_t>(std::count(registers.begin(), registers.end(), 0))};
}

}  // namespace

TEST_CASE("equal names mean equal bits, for all data that is tried") {
  size_t proved = 0, differ = 0;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    const std::string body = two_sequences(seed);
    const bool proof = same(body);
    bool equal = true;
    for (const char* data : {"1", "2", "3"}) {
      Setup s = two_warps(body);
      s.domain = sim::Domain::bits;
      s.launch_text.replace(s.launch_text.find("seed = 1"), 8, std::string("seed = ") + data);
      const Ran r = run(s);
      REQUIRE(r.finished());
      const auto words = r.words(64);
      equal = equal && std::equal(words.begin(), words.begin() + 32, words.begin() + 32);
    }
    CAPTURE(body);
    if (proof) CHECK(equal);
    proved += proof ? 1 : 0;
    differ += equal ? 0 : 1;
  }
  CHECK(proved > 100);
  CHECK(differ > 50);
}

TEST_CASE("a run that names what a store is made of tells about it what one tells that names everything") {
  size_t alike = 0;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    const std::string body = two_sequences(seed);
    CAPTURE(body);
    const auto [same_here, unnamed] = same_in_slice(body);
    CHECK(same_here == same(body));
    CHECK(unnamed != 0);
    alike += same_here ? 1 : 0;
  }
  CHECK(alike > 50);
}

TEST_CASE("what a store is made of may come through memory, a shuffle, a choice or a branch on data") {
  const std::string through =
      "ld.global.f32 %f2, [%rd2+8]; st.shared.f32 [%r9+64], %f2; bar.sync 0; ld.shared.f32 %f1, [%r9+64];" +
      kStore;
  CHECK(same_in_slice(through).first);
  CHECK_FALSE(same_in_slice("ld.global.f32 %f2, [%rd4]; shl.b32 %r7, %r6, 2; add.u32 %r7, %r7, %r9;\n"
                            "st.shared.f32 [%r7+64], %f2; bar.sync 0; ld.shared.f32 %f1, [%r7+64];" +
                            kStore)
                  .first);
  const std::string sum =
      "ld.global.f32 %f1, [%rd3]; mov.b32 %r1, %f1; shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1; "
      "redux.sync.or.b32 %r3, %r2, -1; mov.b32 %f1, %r3;";
  CHECK(same_in_slice(sum + kStore).first);
  CHECK_FALSE(same_in_slice("mov.f32 %f1, %f7;" + kStore).first);  // never written
  const auto branch = [](const std::string& data) {
    return "ld.global.f32 %f2, " + data +
           "; mov.f32 %f1, 0f00000000; setp.gt.f32 %p2, %f2, %f1;\n@%p2 bra SKIP; add.f32 %f1, %f2, "
           "%f2;\nSKIP:" +
           kStore;
  };
  CHECK(same_in_slice(branch("[%rd2+8]")).first);
  CHECK_FALSE(same_in_slice(branch("[%rd4]")).first);  // each warp decides by data of its own
}
