// SPDX-License-Identifier: Apache-2.0
// Tensor memory that several warps allocate and free: TC5 and TC6 hold in every order, not only in that of
// one run.
#include <doctest/doctest.h>

#include <string>

#include "checker/decide.h"
#include "model/mimw/mimw.h"
#include "sim/orchestration_run.h"

using namespace turnstile;

namespace {

Report checked(const std::string& text) {
  const Result<MimwProgram> program = parse_mimw(text, "t.mimw");
  REQUIRE(program);
  const Result<Orchestration> made = unroll(*program, "ok");
  REQUIRE(made);
  return decide(sim::run_orchestration(*made, {}), {}, &*made).report;
}

std::string first_rule(const Report& report) {
  return report.diagnostics.empty() ? std::string() : report.diagnostics.front().rule;
}

}  // namespace

TEST_CASE("TC5: two warps allocate different numbers of columns in no order") {
  const Report unordered =
      checked("agent A\n  tmem_alloc 256\n  tmem_free 256\nagent B\n  tmem_alloc 128\n  tmem_free 128\n");
  CHECK(unordered.verdict == Verdict::finding);
  CHECK(first_rule(unordered) == "TC5");
  const Report ordered = checked(
      "mbar done:1\nagent A\n  tmem_alloc 256\n  tmem_free 256\n  arrive done\n"
      "agent B\n  wait done, 0\n  tmem_alloc 128\n  tmem_free 128\n");
  CHECK(ordered.verdict == Verdict::clean);
  const Report equal =
      checked("agent A\n  tmem_alloc 128\n  tmem_free 128\nagent B\n  tmem_alloc 128\n  tmem_free 128\n");
  CHECK(equal.verdict == Verdict::clean);
}

TEST_CASE("TC6: a warp frees what another one has not necessarily allocated yet") {
  const Report unordered = checked("agent A\n  tmem_alloc 128\nagent B\n  tmem_free 128\n");
  CHECK(unordered.verdict == Verdict::finding);
  CHECK(first_rule(unordered) == "TC6");
  const Report ordered = checked(
      "mbar done:1\nagent A\n  tmem_alloc 128\n  arrive done\nagent B\n  wait done, 0\n  tmem_free 128\n");
  CHECK(ordered.verdict == Verdict::clean);
}

TEST_CASE("TC6: which of two equal allocations is freed may depend on the order") {
  const Report r = checked(
      "agent A\n  tmem_alloc 128\nagent B\n  tmem_alloc 128\nagent C\n  tmem_free 128\nagent D\n  tmem_free "
      "128\n");
  CHECK(r.verdict != Verdict::clean);
}

// Column numbers of a text begin again at 0: two live allocations may carry the same one.
TEST_CASE("TC6: who frees what it has allocated does not free what another warp has") {
  const Report r = checked(
      "mbar done:1\nagent A\n  tmem_alloc 256\n  tmem_alloc 256\n  tmem_free 256\n  arrive done\n"
      "  tmem_free 256\nagent B\n  wait done, 0\n  tmem_alloc 256\n  tmem_free 256\n");
  CHECK(first_rule(r) != "TC6");
}
