// SPDX-License-Identifier: Apache-2.0

// CTAs that talk to each other through global memory inside one launch: the run executes them one after the
// other, so a reader may see what a writer left. Such a launch must never be called clean.

#include "checker/check.h"
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// CTA 0 executes `writer`, CTA 1 `reader`; the verdict over both traces and what is between them.
Report verdict(const std::string& writer, const std::string& reader,
               sim::Domain domain = sim::Domain::control) {
  Setup s;
  s.ctas = 2;
  s.domain = domain;
  s.body = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra WRITER;\n" + reader +
           "\nret;\nWRITER:\n" + writer + "\nret;";
  const Ran r = run(s);
  Report total;
  std::vector<GlobalAccessSummary> summaries;
  for (const Trace& t : r.result.traces) {
    merge_into(total, check(t));
    summaries.push_back(summarize_global(t));
  }
  merge_into(total, check_between(summaries));
  conclude(total);
  return total;
}

}  // namespace

TEST_CASE("one CTA reads what another writes: a race, whatever the order of the run") {
  const Report r = verdict("mul.wide.u32 %rd3, %r0, 4; add.s64 %rd3, %rd3, %rd0; st.global.u32 [%rd3], 5;",
                           "mul.wide.u32 %rd3, %r0, 4; add.s64 %rd3, %rd3, %rd0; ld.global.u32 %r2, [%rd3];");
  CHECK(r.verdict == Verdict::finding);
  REQUIRE(!r.diagnostics.empty());
  CHECK(r.diagnostics[0].finding_class == FindingClass::race);
}

TEST_CASE("a flag that one CTA sets and another polls is not clean") {
  const Report r = verdict("st.global.u32 [%rd0], 1;",
                           "POLL: ld.global.u32 %r2, [%rd0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra POLL;");
  CHECK(r.verdict != Verdict::clean);
}

TEST_CASE("a flag in a module-scope variable is not clean either") {
  Setup s;
  s.ctas = 2;
  s.domain = sim::Domain::control;
  s.module_text = ".global .align 4 .u32 flag = 0;";
  s.body =
      "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra WRITER;\n"
      "POLL: ld.global.u32 %r2, [flag]; setp.eq.u32 %p2, %r2, 0; @%p2 bra POLL; ret;\n"
      "WRITER: st.global.u32 [flag], 1; ret;";
  const Ran r = run(s);
  REQUIRE(r.finished());  // CTA 0 ran first, so the poll of CTA 1 saw its store
  const std::vector<GlobalAccessSummary> both = {summarize_global(r.trace(0)), summarize_global(r.trace(1))};
  Report report = check_between(both);
  conclude(report);
  CHECK(report.verdict == Verdict::finding);
}

TEST_CASE("CTAs that write their own parts are no race") {
  const std::string own = "st.global.u32 [%rd1], 5;";
  const Report r = verdict(own, own);
  CHECK(r.diagnostics.empty());
}

TEST_CASE("CTAs side by side give the traces of CTAs one after the other") {
  Setup s;
  s.ctas = 7;
  s.threads = 64;
  s.domain = sim::Domain::control;
  s.body =
      "mov.u32 %r1, %ctaid.x; setp.gt.u32 %p1, %r1, 3; @%p1 bra DONE; st.global.u32 [%rd1], 1; bar.sync 0;\n"
      "DONE: ret;";
  const Ran all = run(s);
  const Launch launch = launch_of(s);
  const auto program = program_of(s, launch);
  REQUIRE(program);
  for (uint32_t cta = 0; cta < 7; ++cta) {
    sim::RunOptions options;
    options.ctas = {cta};
    const auto one = sim::run_launch(**program, launch, options);
    REQUIRE(one);
    const Trace &a = all.trace(cta), &b = one->traces.at(0);
    CHECK(a.first_cta[0] == cta);
    REQUIRE(a.events.size() == b.events.size());
    for (size_t i = 0; i < a.events.size(); ++i) CHECK((a.events[i].kind == b.events[i].kind));
  }
}
