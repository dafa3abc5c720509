// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "model/launch/launch.h"
#include "model/ptx/parser.h"
#include "sim/launch_run.h"
#include "sim/program.h"

/// Small kernels for the warp machine. Each test writes a body; around it stand registers, a buffer `out` of
/// 32-bit words and the address of the thread's own word in it.
namespace turnstile::test {

struct Setup {
  std::string body;
  uint32_t threads = 32;
  uint32_t ctas = 1;
  std::string module_text;   ///< before the entry
  std::string variables;     ///< at the start of the body: .shared and .local
  std::string parameters;    ///< after `out`: ", .param .u32 n"
  std::string launch_text;   ///< more TOML: [[params]] for them, buffers, tensor maps
  std::string launch_lines;  ///< lines of [launch]: dynamic_shared_memory, registers_per_thread
  sim::Domain domain = sim::Domain::bits;
  uint64_t step_limit = 1'000'000;
  uint32_t out_words = 4096;
};

/// %rd0: address of out; %rd1: of the thread's word, out + 4 * (tid.x + ctaid.x * ntid.x); %r0: tid.x.
inline std::string kernel_text(const Setup& s) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n" + s.module_text +
         "\n.visible .entry k(.param .u64 out" + s.parameters + ")\n{\n" +
         ".reg .pred %p<16>; .reg .b16 %rs<16>; .reg .b32 %r<96>; .reg .b64 %rd<32>; .reg .f32 %f<300>;\n" +
         s.variables +
         "\nld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r95, %ctaid.x;\nmov.u32 %r94, "
         "%ntid.x;\n"
         "mad.lo.s32 %r95, %r95, %r94, %r0;\nmul.wide.u32 %rd1, %r95, 4;\nadd.s64 %rd1, %rd0, %rd1;\n" +
         s.body + "\n}\n";
}

inline std::string launch_toml(const Setup& s) {
  return "kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\ngrid = [" + std::to_string(s.ctas) +
         ", 1, 1]\nblock = [" + std::to_string(s.threads) + ", 1, 1]\n" + s.launch_lines +
         "\n[[buffers]]\nname = \"out\"\ndtype = \"u32\"\nshape = [" + std::to_string(s.out_words) +
         "]\nrole = \"out\"\n"
         "[[params]]\nbuffer = \"out\"\n" +
         s.launch_text;
}

inline Launch launch_of(const Setup& s) {
  Result<Launch> launch = parse_launch(launch_toml(s), "k.toml", {});
  if (!launch) FAIL(launch.error().text());
  return *launch;
}

inline Result<sim::ProgramHandle> program_of(const Setup& s, const Launch& launch) {
  Result<ptx::Module> module = ptx::parse(kernel_text(s), "k.ptx");
  if (!module) FAIL(module.error().text());
  return sim::build_program(std::move(*module), launch);
}

/// The error that refuses this kernel; empty if it is accepted.
inline std::string refusal(const Setup& s) {
  const Launch launch = launch_of(s);
  const auto program = program_of(s, launch);
  return program ? std::string() : program.error().text();
}
inline std::string refusal(std::string_view body) {
  Setup s;
  s.body = body;
  return refusal(s);
}

struct Ran {
  sim::RunResult result;
  Launch launch;

  const Trace& trace(size_t i = 0) const { return result.traces.at(i); }
  std::vector<uint32_t> words(size_t count, size_t buffer = 0) const {
    const std::vector<std::byte>& bytes = result.buffers.at(buffer);
    std::vector<uint32_t> out(count);
    REQUIRE(bytes.size() >= 4 * count);
    std::memcpy(out.data(), bytes.data(), 4 * count);
    return out;
  }
  bool finished() const {
    for (const Trace& t : result.traces)
      if (!t.faults.empty() || !t.unknowns.empty() || !t.blocked.empty()) return false;
    return true;
  }
  /// "RULE: message" of the first fault, else "?: message" of the first unknown, else "".
  std::string problem() const {
    for (const Trace& t : result.traces) {
      if (!t.faults.empty()) return t.faults[0].rule + ": " + t.faults[0].message;
      if (!t.unknowns.empty()) return "?: " + t.unknowns[0].message;
      if (!t.blocked.empty()) return "blocked";
    }
    return {};
  }
  size_t count(EventKind kind) const {
    size_t n = 0;
    for (const Event& e : trace().events) n += e.kind == kind ? 1 : 0;
    return n;
  }
  std::string mnemonic(uint32_t place) const { return trace().places.at(place).instruction; }
};

inline Ran run(const Setup& s) {
  Ran out;
  out.launch = launch_of(s);
  const auto program = program_of(s, out.launch);
  if (!program) FAIL(program.error().text());
  sim::RunOptions options;
  options.domain = s.domain;
  options.step_limit = s.step_limit;
  Result<sim::RunResult> result = sim::run_launch(**program, out.launch, options);
  if (!result) FAIL(result.error().text());
  out.result = std::move(*result);
  return out;
}

inline Ran run(std::string_view body, uint32_t threads = 32) {
  Setup s;
  s.body = body;
  s.threads = threads;
  return run(s);
}

/// The word that each of 32 lanes stores, of a body that leaves it in %r1.
inline std::vector<uint32_t> lane_words(std::string_view body) {
  const Ran r = run(std::string(body) + "\nst.global.u32 [%rd1], %r1;\nret;");
  INFO(r.problem());
  REQUIRE(r.finished());
  return r.words(32);
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace turnstile::test
