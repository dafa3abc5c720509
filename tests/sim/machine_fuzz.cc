// SPDX-License-Identifier: Apache-2.0

// Broken kernels must be refused or stop with a reason: never a crash, never without end. The sanitizer build
// runs this too.

#include <algorithm>
#include <random>

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  void apply(ptx::Entry& entry) {
    const size_t count = 1 + below(3);
    for (size_t i = 0; i < count; ++i) mutate(entry);
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  Instruction& any(ptx::Entry& e) { return e.instructions[below(e.instructions.size())]; }

  void mutate(ptx::Entry& e) {
    Instruction& i = any(e);
    switch (below(11)) {
      case 0:  // another instruction's operands
        i.operands = any(e).operands;
        break;
      case 1:
        if (i.operands.size() > 1) std::swap(i.operands[below(i.operands.size())], i.operands[0]);
        break;
      case 2:
        if (!i.operands.empty())
          i.operands.erase(i.operands.begin() + static_cast<ptrdiff_t>(below(i.operands.size())));
        break;
      case 3:
        if (!i.operands.empty()) i.operands.push_back(i.operands[below(i.operands.size())]);
        break;
      case 4:  // dropped: becomes another one
        i = any(e);
        break;
      case 5:
        i.guard =
            ptx::Guard{ptx::RegisterId{static_cast<uint32_t>(below(e.registers.size()))}, below(2) == 0};
        if (e.registers[i.guard->predicate.v].bits != 1) i.guard.reset();
        break;
      case 6:
        i.guard.reset();
        break;
      case 7:  // another mnemonic over these operands
        i.modifiers = any(e).modifiers;
        break;
      default:
        if (!i.operands.empty()) change(e, i.operands[below(i.operands.size())]);
        break;
    }
  }

  void change(const ptx::Entry& e, Operand& o) {
    if (!o.elements.empty() && below(2) == 0) return change(e, o.elements[below(o.elements.size())]);
    static const uint64_t numbers[] = {0,   1,    2,          3,          31,           32,        33,
                                       127, 4096, 0x7fffffff, 0xffffffff, ~uint64_t{0}, 1ull << 40};
    switch (o.kind) {
      case OperandKind::reg:
        o.reg.v = static_cast<uint32_t>(below(e.registers.size()));
        break;
      case OperandKind::immediate:
        o.immediate = numbers[below(std::size(numbers))];
        break;
      case OperandKind::label:
        o.label = static_cast<uint32_t>(below(e.instructions.size() + 1));
        break;
      case OperandKind::address:
        o.offset = static_cast<int64_t>(numbers[below(std::size(numbers))]);
        break;
      case OperandKind::symbol:
        o.symbol = static_cast<uint32_t>(below(e.symbols.size()));
        break;
      case OperandKind::vector:
      case OperandKind::paired:
        o.elements.resize(1 + below(o.elements.size()));
        break;
      case OperandKind::special:
      case OperandKind::sink:
        o.kind = OperandKind::immediate;
        o.immediate = numbers[below(std::size(numbers))];
        break;
    }
  }

  std::mt19937 random_;
};

struct Tally {
  int refused = 0, ran = 0;
};

/// Loads and runs one CTA of a mutated kernel; the result does not matter, only that there is one.
void run_mutant(const ptx::Module& original, const Launch& launch, uint32_t seed, sim::Domain domain,
                Tally& tally) {
  ptx::Module module = original;
  Mutator(seed).apply(module.entries[0]);
  const Result<sim::ProgramHandle> program = sim::build_program(std::move(module), launch);
  if (!program) {
    ++tally.refused;
    CHECK(!program.error().text().empty());
    return;
  }
  sim::RunOptions options;
  options.domain = domain;
  options.ctas = {0};
  options.step_limit = 20'000;
  options.event_limit = 20'000;
  const Result<sim::RunResult> result = sim::run_launch(**program, launch, options);
  ++tally.ran;
  if (!result) return;
  const Trace& t = result->traces.at(0);
  // What the trace names is there.
  for (const Event& e : t.events) {
    REQUIRE(e.agent.v < t.agents.size());
    REQUIRE(e.place < t.places.size());
    if (e.kind == EventKind::access) REQUIRE(e.footprint < t.footprints.size());
  }
  for (const Fault& f : t.faults) CHECK(!f.message.empty());
}

}  // namespace

TEST_CASE("mutated copies of the GEMM kernel are refused or stop with a reason") {
  const std::string folder = std::string(TURNSTILE_SOURCE_DIR) + "/kernels/gemm_bf16_hopper/";
  LaunchOverrides overrides;
  overrides.vars = {{"M", 128}, {"N", 256}, {"K", 128}};
  const Result<Launch> launch = read_launch(folder + "gemm.toml", overrides);
  REQUIRE(launch);
  const Result<ptx::Module> module = ptx::parse_file(folder + "gemm_bf16_hopper.ptx");
  REQUIRE(module);
  Tally tally;
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    run_mutant(*module, *launch, seed, sim::Domain::control, tally);
  }
  for (uint32_t seed = 1001; seed <= 1012; ++seed) {
    CAPTURE(seed);
    run_mutant(*module, *launch, seed, sim::Domain::bits, tally);
    run_mutant(*module, *launch, seed, sim::Domain::provenance, tally);
  }
  // The mutations are no nonsense: a good part decodes, a good part is refused.
  CHECK(tally.ran > 50);
  CHECK(tally.refused > 50);
}

TEST_CASE("mutated copies of a kernel of everything else do not crash either") {
  Setup s;
  s.threads = 128;
  s.module_text = ".extern .shared .align 128 .b8 dyn[];";
  s.launch_lines = "dynamic_shared_memory = 4096\nregisters_per_thread = 128";
  s.variables = ".shared .align 8 .b64 bar[2]; .local .align 8 .b8 depot[32];";
  s.body = R"(
    mov.u32 %r2, bar;
    mov.u32 %r3, dyn;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared.b64 [%r2], 128;
    @%p1 mbarrier.init.shared.b64 [%r2+8], 1;
    bar.sync 0;
    elect.sync %r4|%p2, 0xffffffff;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2+8], 64;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd0], 64, [%r2+8];
    mbarrier.arrive.shared.b64 %rd2, [%r2];
  WAIT: mbarrier.try_wait.shared.b64 %p3, [%r2], %rd2;
    @!%p3 bra WAIT;
  WAIT2: mbarrier.try_wait.parity.shared.b64 %p3, [%r2+8], 0;
    @!%p3 bra WAIT2;
    shfl.sync.bfly.b32 %r5|%p4, %r0, 1, 31, 0xffffffff;
    shfl.sync.idx.b32 %r6, %r0, 3, 0x181f, 0xffffffff;
    vote.sync.ballot.b32 %r7, %p4, 0xffffffff;
    vote.sync.all.pred %p5, %p4, 0xffffffff;
    bar.warp.sync 0xffffffff;
    st.local.v2.u32 [depot+8], {%r5, %r6};
    ld.local.v2.u32 {%r8, %r9}, [depot+8];
    cvta.shared.u64 %rd4, %rd2;
    selp.b32 %r10, %r8, %r9, %p5;
    mov.b64 %rd5, {%r8, %r9};
    mov.b64 {%r11, %r12}, %rd5;
    add.u32 %r13, %r0, 32;
    and.b32 %r14, %r0, 3;
    LIST: .branchtargets A, B, C, D;
    brx.idx %r14, LIST;
  A: add.u32 %r13, %r13, 1;
  B: add.u32 %r13, %r13, 1;
  C: add.u32 %r13, %r13, 1;
  D: bar.sync 1, 128;
    bar.arrive 2, 256;
    setmaxnreg.dec.sync.aligned.u32 64;
    fence.proxy.async.shared::cta;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r3], 64;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    wgmma.fence.sync.aligned;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    st.global.u32 [%rd1+64], %r13;
    @%p1 mbarrier.inval.shared.b64 [%r2];
    ret;)";
  const Launch launch = launch_of(s);
  const Result<ptx::Module> module = ptx::parse(kernel_text(s), "k.ptx");
  if (!module) FAIL(module.error().text());
  {
    const Ran r = run(s);
    INFO(r.problem());
    CHECK(r.finished());
  }
  Tally tally;
  for (uint32_t seed = 1; seed <= 1500; ++seed) {
    CAPTURE(seed);
    const auto domain = static_cast<sim::Domain>(seed % 3);
    run_mutant(*module, launch, seed, domain, tally);
  }
  CHECK(tally.ran > 300);
}

TEST_CASE("absurd launches of a good kernel are refused with a reason") {
  Setup s;
  s.body = "ret;";
  s.ctas = 2'000'000'000;
  const Launch launch = launch_of(s);
  const auto program = program_of(s, launch);
  REQUIRE(program);
  const auto result = sim::run_launch(**program, launch, {});
  REQUIRE(!result);
  CHECK(contains(result.error().text(), "more than one run executes"));
  sim::RunOptions one;
  one.ctas = {1'999'999'999};
  CHECK(sim::run_launch(**program, launch, one));
  one.ctas = {2'000'000'000};
  CHECK(!sim::run_launch(**program, launch, one));

  s.ctas = 1;
  s.variables = ".shared .align 16 .b8 big[300000];";
  CHECK(contains(refusal(s), "static shared memory exceeds"));
  s.variables = ".local .align 16 .b8 big[1000000000];";
  CHECK(contains(refusal(s), "local memory of"));
  s.variables = "";
  s.module_text = ".global .align 16 .b8 big[99999999999];";
  CHECK(contains(refusal(s), "module-scope variables of more than"));
  s.module_text = "";
  s.threads = 1024;
  s.variables = ".reg .b32 %many<900000>; mov.b32 %many1, %many899999;";
  CHECK(contains(refusal(s), "more than one run holds"));
}
