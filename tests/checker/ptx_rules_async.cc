// SPDX-License-Identifier: Apache-2.0

// Rules of semantics.md in PTX: for each id a kernel that breaks it and one that keeps it, executed and
// checked. Asynchronous mechanisms; tests/checker/ptx_rules_*.cc share the form.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "checker/check.h"
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// The report of all traces of a kernel in one.
Report report_of(const Setup& s) {
  const Ran r = run(s);
  Report total;
  for (const Trace& t : r.result.traces) merge_into(total, check(t));
  conclude(total);
  return total;
}

std::string told(const Report& r) {
  std::string out = "verdict " + std::string(verdict_name(r.verdict));
  for (const Diagnostic& d : r.diagnostics) out += "\n" + d.rule + ": " + d.message;
  for (const Note& n : r.inconclusive) out += "\n? " + n.text;
  return out;
}

bool cites(const Report& r, const std::string& rule) {
  return std::any_of(r.diagnostics.begin(), r.diagnostics.end(),
                     [&](const Diagnostic& d) { return d.rule == rule; });
}

/// 64 threads; %p1: thread 0; %p2: warp 1; %r2: two barriers of count 1 made by thread 0 (MB11 kept); %r3: 1
/// KiB of shared memory; %rd2: `in`; %r9: a flag `slot`.
Setup kernel(const std::string& body, uint32_t threads = 64) {
  Setup s;
  s.threads = threads;
  s.domain = sim::Domain::control;
  s.parameters = ", .param .u64 in";
  s.launch_text =
      "[[params]]\nbuffer = \"in\"\n[[buffers]]\nname = \"in\"\ndtype = \"u32\"\nshape = [1024]\nrole = "
      "\"in\"\nfill = \"iota\"\n";
  s.variables = ".shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 bar[2];";
  s.body = R"(
    ld.param.u64 %rd2, [in]; mov.u32 %r2, bar; mov.u32 %r3, tile; setp.eq.u32 %p1, %r0, 0; setp.gt.u32 %p2, %r0, 31;
    @!%p1 bra READY; mbarrier.init.shared.b64 [%r2], 1; mbarrier.init.shared.b64 [%r2+8], 1; READY: bar.sync 0;
)" + body + "\nret;";
  return s;
}

std::string wait(const std::string& name, const std::string& parity, const std::string& offset = "0") {
  return name + ": mbarrier.try_wait.parity.shared.b64 %p5, [%r2+" + offset + "], " + parity +
         "; @!%p5 bra " + name + ";\n";
}
const std::string kLoad =
    "mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 64;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2], 64, [%r2];\n";

/// What the assembler says of a kernel; empty: it takes it, or there is none here.
std::string ptxas_complaint(const Setup& s, const std::string& target) {
  const std::string ptxas = "/usr/local/cuda/bin/ptxas";
  if (!std::filesystem::exists(ptxas)) return {};
  std::string text = kernel_text(s);
  const std::string head = ".version 8.0\n.target sm_90a";
  text.replace(text.find(head), head.size(), ".version 8.8\n.target " + target);
  const std::string base =
      std::filesystem::temp_directory_path().string() + "/turnstile_rule_" + std::to_string(::getpid());
  std::ofstream(base + ".ptx") << text;
  const std::string command =
      ptxas + " -arch=" + target + " -o /dev/null " + base + ".ptx 2> " + base + ".log";
  const int code = std::system(command.c_str());
  std::stringstream log;
  log << std::ifstream(base + ".log").rdbuf();
  std::filesystem::remove(base + ".ptx");
  std::filesystem::remove(base + ".log");
  return code == 0 ? std::string() : "ptxas: " + log.str();
}

struct Case {
  const char* rule;
  std::string bad, good;
};

void check_cases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const Report bad = report_of(kernel(c.bad)), good = report_of(kernel(c.good));
    {
      INFO(std::string(c.rule), " broken: ", told(bad));
      CHECK(cites(bad, c.rule));
    }
    INFO(std::string(c.rule), " kept: ", told(good));
    CHECK(good.verdict == Verdict::clean);
    CHECK(ptxas_complaint(kernel(c.good), "sm_90a") == "");
  }
}

}  // namespace

TEST_CASE("mbarrier objects: MB1, MB9, MB10, MB15 to MB22, W1, W5") {
  const std::string one = "@!%p1 bra END; mbarrier.arrive.shared.b64 _, [%r2];\nEND: " + wait("W", "0");
  check_cases({
      {"MB1", "@%p1 mbarrier.inval.shared.b64 [%r2]; @%p1 mbarrier.init.shared.b64 [%r2], 0;", one},
      {"MB9", "@%p1 mbarrier.init.shared.b64 [%r2], 1;", one},
      {"MB10", "@%p1 mbarrier.inval.shared.b64 [%r2]; @%p1 mbarrier.arrive.shared.b64 _, [%r2];", one},
      {"MB15", "mbarrier.arrive.shared.b64 _, [%r2], 2;", one},
      {"MB16", wait("W", "0"), one},
      {"MB17", "@%p1 mbarrier.expect_tx.relaxed.cta.shared.b64 [%r2], 1048576;", one},
      {"MB20",
       "@!%p1 bra END; mbarrier.inval.shared.b64 [%r2]; mbarrier.init.shared.b64 [%r2], 1048575;\n"
       "cp.async.mbarrier.arrive.shared.b64 [%r2]; END:",
       one},
      {"MB21", "@%p1 mbarrier.arrive_drop.shared.b64 _, [%r2];", one},
      {"MB22", "@%p1 mbarrier.arrive.noComplete.shared.b64 %rd3, [%r2], 1;", one},
      {"W1",
       "@!%p1 bra END; mbarrier.arrive.shared.b64 %rd3, [%r2]; mbarrier.arrive.shared.b64 _, [%r2];\n"
       "mbarrier.arrive.shared.b64 _, [%r2]; V: mbarrier.try_wait.shared.b64 %p5, [%r2], %rd3; @!%p5 bra V; "
       "END:",
       "@!%p1 bra END; mbarrier.arrive.shared.b64 %rd3, [%r2];\n"
       "V: mbarrier.try_wait.shared.b64 %p5, [%r2], %rd3; @!%p5 bra V; END:"},
      {"W5", "mov.u32 %r5, 2; V: mbarrier.try_wait.parity.shared.b64 %p5, [%r2], %r5; @!%p5 bra V;", one},
  });
}

TEST_CASE("bytes of a phase: MB18, MB19; parity: W2") {
  const std::string fine = "@!%p1 bra END;\n" + kLoad + "END: " + wait("W", "0");
  check_cases({
      {"MB18",
       "@!%p1 bra END; mbarrier.expect_tx.relaxed.cta.shared.b64 [%r2], 16;\n" + kLoad +
           "END: " + wait("W", "0"),
       fine},
      {"W2", "@!%p1 bra END;\n" + wait("E", "0", "8") + kLoad + "END: " + wait("W", "0"),
       "@!%p1 bra END;\n" + wait("E", "1", "8") + kLoad + "END: " + wait("W", "0")},
  });
}

TEST_CASE("cp.async: CA1, CA5, CA6, CA7") {
  const std::string copy =
      "shl.b32 %r4, %r0, 2; add.u32 %r4, %r3, %r4; mul.wide.u32 %rd3, %r0, 4; add.s64 %rd3, %rd2, %rd3;\n"
      "cp.async.ca.shared.global [%r4], [%rd3], 4;\n";
  const std::string neighbour =
      "xor.b32 %r5, %r0, 32; shl.b32 %r5, %r5, 2; add.u32 %r5, %r3, %r5; ld.shared.u32 %r6, [%r5];";
  const std::string fine = copy + "cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;\n" + neighbour;
  check_cases({
      {"CA1", "cp.async.ca.shared.global [%r3], [%rd2], 4, 8; cp.async.wait_all;", fine},
      {"CA5", copy + copy + "cp.async.wait_all;", fine},
      {"CA6", copy + "cp.async.commit_group; ld.shared.u32 %r6, [%r4]; cp.async.wait_group 0;", fine},
      {"CA7", copy + "cp.async.commit_group; bar.sync 0; cp.async.wait_group 0;\n" + neighbour, fine},
  });
}

TEST_CASE("cp.async with an mbarrier orders like its wait (HB2)") {
  const std::string body =
      "setp.ne.u32 %p3, %r0, 32; @%p2 bra READER; @!%p1 bra END;\n"
      "cp.async.ca.shared.global [%r3], [%rd2], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [%r2]; "
      "cp.async.wait_all; bra END;\n"
      "READER: @%p3 bra END;\n" +
      wait("W", "0") + "ld.shared.u32 %r6, [%r3];\nEND:";
  const Report r = report_of(kernel(body));
  CHECK_MESSAGE(r.verdict == Verdict::clean, told(r));
}

TEST_CASE("bulk copies: BS1, BK2, BK3, PX1, PX2") {
  const std::string store =
      "@!%p1 bra END; st.shared.u32 [%r3], %r0; fence.proxy.async;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r3], 16; cp.async.bulk.commit_group;\n";
  const std::string fine = store + "cp.async.bulk.wait_group 0;\nEND:";
  auto without_fence = [&](std::string text) {
    const std::string fence = " fence.proxy.async;";
    text.erase(text.find(fence), fence.size());
    return text;
  };
  check_cases({
      {"BS1", "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd0+4], [%r3], 16;", fine},
      {"PX1", without_fence(fine), fine},
      {"BK3",
       store +
           "cp.async.bulk.wait_group.read 0; ld.global.u32 %r6, [%rd0]; cp.async.bulk.wait_group 0;\nEND:",
       store + "cp.async.bulk.wait_group 0; ld.global.u32 %r6, [%rd0];\nEND:"},
      {"BK2",
       store +
           "END: setp.ne.u32 %p3, %r0, 1; @%p3 bra OUT; cp.async.bulk.wait_group.read 0; OUT: bar.sync 0;\n"
           "@!%p1 bra LAST; st.shared.u32 [%r3+4], %r0; cp.async.bulk.wait_group 0; LAST:",
       store +
           "cp.async.bulk.wait_group.read 0;\nEND: bar.sync 0; @!%p1 bra LAST; st.shared.u32 [%r3+4], %r0;\n"
           "cp.async.bulk.wait_group 0; LAST:"},
      {"PX2", "@!%p1 bra END; ld.shared.u32 %r6, [%r3];\n" + kLoad + "END: " + wait("W", "0"),
       "@!%p1 bra END; ld.shared.u32 %r6, [%r3]; fence.proxy.async;\n" + kLoad + "END: " + wait("W", "0")},
  });
}

namespace {

/// One warp group with 64 columns at %r8; %r7: those of this warp's quarter.
Setup tensor(const std::string& body, bool frees = true) {
  Setup s = kernel("", 128);
  s.variables += ".shared .align 4 .b32 slot; .shared .align 1024 .b8 operand[16384];";
  s.body.erase(s.body.rfind("\nret;"));
  s.body +=
      "mov.u32 %r9, slot; shr.u32 %r6, %r0, 5; setp.ne.u32 %p7, %r6, 0; @%p7 bra MADE;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r9], 64;\nMADE: bar.sync 0;\n"
      "ld.shared.b32 %r8, [%r9]; shl.b32 %r7, %r6, 21; add.u32 %r7, %r7, %r8;\n" +
      body + "\nbar.sync 0; @%p7 bra FREED;\n" +
      (frees ? "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 64;\n" : "") + "FREED: ret;";
  return s;
}

const std::string kMma =
    "mov.u32 %r10, operand; shr.u32 %r10, %r10, 4; cvt.u64.u32 %rd5, %r10; or.b64 %rd5, %rd5, "
    "0x4000404000010000;\n"
    "mov.b32 %r11, 67239952; setp.ne.u32 %p6, %r10, %r10;\n"  // M 64, N 16, f32
    "tcgen05.mma.cta_group::1.kind::f16 [%r8], %rd5, %rd5, %r11, %p6;\n";
const std::string kCommit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];\n";
const std::string kTensorLoad =
    "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, [%r7];\n"
    "tcgen05.wait::ld.sync.aligned;\n";
const std::string kAfter = "tcgen05.fence::after_thread_sync;\n";

void check_tensor(const char* rule, const Setup& bad, const Setup& good) {
  const Report broken = report_of(bad), kept = report_of(good);
  {
    INFO(std::string(rule), " broken: ", told(broken));
    CHECK(cites(broken, rule));
  }
  INFO(std::string(rule), " kept: ", told(kept));
  CHECK(kept.verdict == Verdict::clean);
  CHECK(ptxas_complaint(good, "sm_100a") == "");
}

}  // namespace

TEST_CASE("tensor memory: TC6, TC13, TC17, TC19, TC23, TC25") {
  const std::string fine = "@!%p1 bra W;\n" + kMma + kCommit + wait("W", "0") + kAfter + kTensorLoad;
  check_tensor("TC6", tensor("", false), tensor(""));
  check_tensor("TC13", tensor("@%p7 bra S;\n" + kMma + "S:"), tensor(fine));
  const std::string stores = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r7], {%r0};\n";
  check_tensor("TC17", tensor(stores + kTensorLoad + "tcgen05.wait::st.sync.aligned;"),
               tensor(stores + "tcgen05.wait::st.sync.aligned;\n" + kTensorLoad));
  check_tensor(
      "TC19",
      tensor("@!%p1 bra S;\n" + kMma + kCommit + "S: bar.sync 0;\n" + kAfter + kTensorLoad + wait("W", "0")),
      tensor(fine));
  check_tensor("TC23", tensor("@!%p1 bra W;\n" + kMma + kCommit + wait("W", "0") + kTensorLoad),
               tensor(fine));
  check_tensor("TC25",
               tensor("@!%p1 bra S;\n" + kMma + "S: bar.sync 0; setp.ne.u32 %p3, %r0, 64; @%p3 bra W;\n" +
                      kCommit + wait("W", "0") + kAfter + kTensorLoad),
               tensor(fine));
}

TEST_CASE("dependent launch: PD5") {
  const std::string read = "ld.global.u32 %r6, [%rd2];", write = "st.global.u32 [%rd0], %r0;";
  check_cases({
      {"PD5", "@!%p1 bra END; " + read + " griddepcontrol.wait; " + read + " END:",
       "@!%p1 bra END; griddepcontrol.wait; " + read + read + " END:"},
      {"PD5", "@!%p1 bra END; " + write + " griddepcontrol.wait; END:",
       "@!%p1 bra END; griddepcontrol.launch_dependents; griddepcontrol.wait; " + write + " END:"},
  });
}

namespace {

/// Thread 0 changes a copy of the parameter `map` in `out`, with or without the acquire of TMAP2, and loads a
/// box.
Setup made_map(bool fenced) {
  Setup s = kernel("");
  s.parameters += ", .param .align 64 .b8 map[128]";
  const size_t buffers = s.launch_text.find("[[buffers]]");
  s.launch_text =
      s.launch_text.substr(0, buffers) + "[[params]]\ntensor_map = \"map\"\n" +
      s.launch_text.substr(buffers) +
      "[[tensor_maps]]\nname = \"map\"\nbuffer = \"in\"\ndims = [16, 16]\nstrides = [64]\nbox = [4, 1]\n";
  s.variables += ".shared .align 128 .b8 image[128];";
  s.body.erase(s.body.rfind("\nret;"));
  s.body += R"(
    mov.u32 %r7, image; add.s64 %rd3, %rd0, 1024; @!%p1 bra COPIED; mov.u32 %r4, 0;
  MORE: add.u32 %r5, %r7, %r4; cvt.u64.u32 %rd4, %r4; mov.b64 %rd5, map; add.s64 %rd5, %rd5, %rd4;
    ld.param.b64 %rd6, [%rd5]; st.shared.b64 [%r5], %rd6;
    add.u32 %r4, %r4, 8; setp.lt.u32 %p3, %r4, 128; @%p3 bra MORE;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r7], 1, 8;
  COPIED: @%p2 bra END; bar.warp.sync 0xffffffff;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd3], [%r7], 128;
)";
  if (fenced) s.body += "fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;\n";
  s.body +=
      "@!%p1 bra W; mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd3, {0, 1}], "
      "[%r2];\n" +
      wait("W", "0") + "END: ret;";
  return s;
}

}  // namespace

TEST_CASE("tensor maps made by the kernel: TMAP2") { check_tensor("TMAP2", made_map(false), made_map(true)); }
