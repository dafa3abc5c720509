// SPDX-License-Identifier: Apache-2.0
#include "checker/policies.h"

#include "checker/decide.h"
#include "checker/directed.h"
#include "tests/checker/expect.h"
#include "tests/checker/orchestration_sketch.h"
#include "tests/checker/role_program.h"

using namespace turnstile;
using namespace turnstile::test;

TEST_CASE("contested rules are set by name, and a wrong name or value is answered with what there is") {
  Policies p;
  CHECK(set_policy(p, "remote_scope", "strict").empty());
  CHECK(p.remote_scope == Policies::Scope::strict);
  CHECK(set_policy(p, "remote_scope", "practice").empty());
  CHECK(p.remote_scope == Policies::Scope::practice);
  CHECK(set_policy(p, "read_fence", "lint").empty());
  CHECK(p.read_fence == Severity::lint);
  CHECK(set_policy(p, "tensor_fence", "error").empty());
  CHECK(p.tensor_fence == Severity::error);
  CHECK(set_policy(p, "async_across_ctas", "error").empty());
  CHECK(p.async_across_ctas == Severity::error);
  CHECK(set_policy(p, "init_fence", "error").empty());
  CHECK(p.init_fence == Severity::error);
  CHECK(set_policy(p, "exit_in_flight", "error").empty());
  CHECK(p.exit_in_flight == Severity::error);
  CHECK(set_policy(p, "unseen_phase", "lint").empty());
  CHECK(p.unseen_phase == Severity::lint);
  CHECK(set_policy(p, "commit_order", "free").empty());
  CHECK_FALSE(p.commits_in_order);
  CHECK(set_policy(p, "commit_order", "issue").empty());
  CHECK(p.commits_in_order);
  CHECK(set_policy(p, "read_fence", "error").empty());
  CHECK(p.read_fence == Severity::error);
  CHECK(set_policy(p, "read_fence", "strict") == "policy read_fence: 'strict' is none of error, lint");
  CHECK(set_policy(p, "remote_scope", "error").find("practice, strict") != std::string::npos);
  CHECK(set_policy(p, "scope", "strict").find("remote_scope, read_fence") != std::string::npos);
}

TEST_CASE("the first value of each policy is what holds without a word") {
  for (const PolicyName& name : policy_names()) {
    CAPTURE(std::string(name.name));
    Policies p = strict_policies();
    CHECK(set_policy(p, name.name, name.values.substr(0, name.values.find(", "))).empty());
    const Policies defaults;
    if (name.name == "remote_scope") CHECK(p.remote_scope == defaults.remote_scope);
    if (name.name == "read_fence") CHECK(p.read_fence == defaults.read_fence);
    if (name.name == "tensor_fence") CHECK(p.tensor_fence == defaults.tensor_fence);
    if (name.name == "async_across_ctas") CHECK(p.async_across_ctas == defaults.async_across_ctas);
    if (name.name == "register_meeting") CHECK(p.register_meeting == defaults.register_meeting);
    if (name.name == "init_fence") CHECK(p.init_fence == defaults.init_fence);
    if (name.name == "exit_in_flight") CHECK(p.exit_in_flight == defaults.exit_in_flight);
    if (name.name == "unseen_phase") CHECK(p.unseen_phase == defaults.unseen_phase);
    if (name.name == "commit_address") CHECK(p.commit_address == defaults.commit_address);
    if (name.name == "commit_order") CHECK(p.commits_in_order == defaults.commits_in_order);
  }
}

TEST_CASE("strict: every contested rule is an error") {
  const Policies p = strict_policies();
  CHECK(p.remote_scope == Policies::Scope::strict);
  for (const Severity s : {p.read_fence, p.tensor_fence, p.async_across_ctas, p.init_fence,
                           p.register_meeting, p.exit_in_flight, p.unseen_phase, p.commit_address})
    CHECK(s == Severity::error);
  CHECK_FALSE(p.commits_in_order);
  CHECK(policy_names().size() == 10);
}

TEST_CASE(
    "P14, exit_in_flight: a store that still reads when its thread ends is advice, or an error if asked") {
  CheckOptions error;
  error.policies.exit_in_flight = Severity::error;
  for (const int waited : {0, 1, 2}) {  // nothing, .read, all
    RoleProgram p;
    p.role("W");
    const uint32_t q = p.queue(QueueInfo::Kind::bulk, {0});
    p.roles[0].at(3).store(0, 0, q).at(4).commit(q);
    if (waited > 0) p.roles[0].at(5).group_wait(q, 0, waited == 1);
    const Trace trace = execute(p, 0);
    expect_clean(trace);
    CHECK(check(trace).diagnostics.size() == (waited == 2 ? 0 : 1));
    CHECK(check(trace, error).verdict == (waited == 0 ? Verdict::finding : Verdict::clean));
    if (waited == 0) CHECK(has_fact(expect_rule(trace, "BK6", 3), "probe P14"));
  }
}

// PX2 with a search: what the policy must not change, and what it must. The programs are those of the search
// suite, whose loads have no fence; the fence is put behind each.
TEST_CASE("PX2, PX8: a program that a search clears stays clean if its loads are fenced, and not without") {
  size_t cleared = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    Random random(seed);
    const Orchestration program = lower(random_sketch(random));
    const Trace run = checker::steer(program, {}, {}).trace;
    DecideOptions lint, error;
    lint.check.policies.read_fence = Severity::lint;
    const Report loose = decide(run, lint, &program).report;
    if (loose.verdict != Verdict::clean || loose.guarantee.find("search") == std::string::npos) continue;
    CAPTURE(seed);
    Orchestration fenced = program;
    for (Orchestration::Strand& s : fenced.strands)
      for (size_t i = 0; i < s.events.size(); ++i) {
        if (s.events[i].kind != EventKind::access || s.events[i].has(Event::write)) continue;
        Event fence = s.events[i];
        fence.kind = EventKind::fence_proxy_async;
        fence.flags = Event::shared_space;
        fence.generation = 0;
        s.events.insert(s.events.begin() + static_cast<std::ptrdiff_t>(++i), fence);
      }
    const Report kept = decide(checker::steer(fenced, {}, {}).trace, error, &fenced).report;
    INFO(text_of(kept));
    CHECK(kept.verdict == Verdict::clean);
    ++cleared;
    const bool overwrites = std::any_of(loose.diagnostics.begin(), loose.diagnostics.end(),
                                        [](const Diagnostic& d) { return d.rule == "PX2"; });
    const Report broken = decide(run, error, &program).report;
    if (overwrites) CHECK(broken.verdict == Verdict::finding);
    refused += overwrites;
  }
  CHECK(cleared > 100);
  CHECK(refused >= 10);
}
