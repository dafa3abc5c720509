// SPDX-License-Identifier: Apache-2.0
// kernels/ptx_forms: the forms of tests/ptx_forms that sm_90a has and whose results are predicted, in a few
// kernels, so that a GPU can be asked about all of them at once (`turnstile golden record`). The files are
// made here; TURNSTILE_WRITE_FORMS=1 writes them anew.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "model/launch/launch.h"
#include "model/ptx/parser.h"
#include "sim/launch_run.h"
#include "sim/program.h"
#include "tests/sim/ptx_forms.h"

namespace turnstile::test {

namespace {

struct Probe {
  std::string name, ptx, launch;
};

void replace_first(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  INFO(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

bool of_hopper(const FormCase& c) { return c.target == "sm_90a" || c.target == "sm_80"; }

bool carries(const FormCase& c) {
  const std::string root = c.form.substr(0, c.form.find('.'));
  return c.form.find(".cc.") != std::string::npos || root == "addc" || root == "subc" || root == "madc";
}

/// A result of 8 bytes for each lane and form; carry chains have a kernel of their own.
Probe arithmetic_probe(const std::string& name, bool chains) {
  FormCase all;
  std::string table;
  size_t words = 0;
  unsigned number = 0;
  for (const FormCase& c : read_form_cases()) {
    if (c.operands.empty() || !of_hopper(c) || carries(c) != chains) continue;
    std::vector<uint64_t> in;
    for (size_t i = 0; i + 1 < c.operands.size(); ++i) in.push_back(form_input(c, i, 0));
    if (form_reference(c, in).kind == FormResult::Kind::unknown) continue;
    // Modelled after this record was made; golden/records/numerics has all of their inputs.
    if (c.form == "sqrt.approx.ftz.f32" || c.form == "tanh.approx.f32") continue;
    std::string body = c.body;
    replace_first(body, "TABLE", "table+" + std::to_string(8 * words));
    table += (table.empty() ? "" : ", ") + form_words(c);
    words += 32 * in.size();
    replace_first(body, "[%d6]", "[%d6+" + std::to_string(256 * number) + "]");
    all.body += "// " + std::to_string(number) + ": " + c.form + "\n{\n" + body + "}\n";
    ++number;
  }
  table = ".global .align 8 .b64 table[" + std::to_string(words) + "] = {" + table + "};\n";
  Probe p{name, form_module("sm_90a") + table + form_kernel(all, name), form_launch(all)};
  replace_first(p.launch, "[8192]", "[" + std::to_string(64 * number) + "]");
  return p;
}

/// Loads, stores and collectives of one warp, each with 512 bytes of `out` that it leaves something in;
/// lanes.cases has a kernel of its own.
Probe warp_probe(const std::string& name) {
  FormCase all;
  unsigned number = 0;
  for (const FormCase& c : read_form_cases()) {
    const bool whole = c.threads == 32 && c.grid == 1 && of_hopper(c) &&
                       (c.place.rfind("lanes.cases", 0) == 0) == (name == "lanes");
    if (!c.operands.empty() || !whole || c.expected.rfind("lane", 0) != 0 || c.form == "ret") continue;
    all.body += "// " + std::to_string(number) + ": " + c.form +
                "\n{\nbar.warp.sync -1; mul.wide.u32 %d2, %r0, 4; add.s64 %d2, %d0, %d2; "
                "mul.wide.u32 %d6, %r0, 8; add.s64 %d6, %d0, %d6; mul.wide.u32 %d7, %r0, 16; "
                "add.s64 %d7, %d0, %d7;\n" +
                c.body + "add.s64 %d0, %d0, 512;\n}\n";
    ++number;
  }
  Probe p{name, form_module("sm_90a") + form_kernel(all, name), form_launch(all)};
  replace_first(p.launch, "[8192]", "[" + std::to_string(128 * number) + "]");
  return p;
}

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE(
    "the kernels that ask a GPU about the forms of tests/ptx_forms are what it says, and are predicted") {
  for (Probe p : {arithmetic_probe("arithmetic", false), arithmetic_probe("carries", true),
                  warp_probe("warp"), warp_probe("lanes")}) {
    INFO(p.name);
    const std::string base = TURNSTILE_SOURCE_DIR "/kernels/ptx_forms/" + p.name;
    replace_first(p.launch, "\"k.ptx\"", "\"" + p.name + ".ptx\"");
    replace_first(p.launch, "entry = \"k\"", "entry = \"" + p.name + "\"");
    // What no case writes: zero on the GPU too.
    replace_first(p.launch, "role = \"out\"", "role = \"in_out\"\nfill = \"zeros\"");
    const std::string lead = "Made by tests/sim/ptx_forms_probe.cc from tests/ptx_forms.\n";
    p.launch = "# SPDX-License-Identifier: Apache-2.0\n# " + lead + p.launch;
    p.ptx = "// SPDX-License-Identifier: Apache-2.0\n// " + lead + p.ptx;
    if (std::getenv("TURNSTILE_WRITE_FORMS") != nullptr) {
      std::ofstream(base + ".ptx") << p.ptx;
      std::ofstream(base + ".toml") << p.launch;
    }
    CHECK(text_of(base + ".ptx") == p.ptx);
    CHECK(text_of(base + ".toml") == p.launch);
    Result<ptx::Module> module = ptx::parse(p.ptx, p.name + ".ptx");
    REQUIRE(module);
    Result<Launch> launch = parse_launch(p.launch, base + ".toml", {});
    REQUIRE(launch);
    const auto program = sim::build_program(std::move(*module), *launch);
    REQUIRE(program);
    sim::RunOptions options;
    options.domain = sim::Domain::bits;
    const Result<sim::RunResult> result = sim::run_launch(**program, *launch, options);
    REQUIRE(result);
    CHECK(result->not_predicted.empty());
    for (const Trace& t : result->traces) {
      CHECK(t.faults.empty());
      CHECK(t.unknowns.empty());
      CHECK(t.blocked.empty());
    }
  }
}

}  // namespace turnstile::test
