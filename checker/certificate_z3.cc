// SPDX-License-Identifier: Apache-2.0
//
// Every synchronisation event has an integer time. Edges: program order; issue -> landing; completion ->
// waits that observed it. The time of a completion *is* that of its last contribution, so that "all
// contributions are past" needs no rule of its own (the slow path of algorithms.md 5.2 must agree with that
// by proof, not by construction). One query: some condition fails.
#include "checker/certificate_z3.h"

#include <string>

#include "checker/trace_defect.h"
#include "model/protocol/mbarrier.h"
#include "model/protocol/named_barrier.h"

#ifdef TURNSTILE_HAVE_Z3
#include <z3++.h>

#include <map>
#include <optional>
#include <vector>
#endif

namespace turnstile {

#ifdef TURNSTILE_HAVE_Z3

namespace {

class Certificate {
 public:
  Certificate(const Trace& trace, const CertificateLimits& limits)
      : trace_(trace),
        solver_(context_),
        violations_(context_),
        latest_(trace.agents.size()),
        machines_(trace.barriers.size()),
        open_(machines_.size()),
        completions_(machines_.size()),
        issues_(trace.ops.size()) {
    z3::params p(context_);
    p.set("timeout", limits.timeout_ms);
    solver_.set(p);
  }

  Result<bool> run() {
    for (const Event& e : trace_.events) step(e);
    if (!covered_)
      return fail("the independent certificate does not describe every kind of event of this trace");
    for (const Blocked& b : trace_.blocked)
      if (b.on == Blocked::On::mbarrier && !completions_[b.object].empty())
        must_precede(completions_[b.object].back(), successor(b.agent.v));  // D1 of a blocked wait
    if (violations_.empty()) return true;
    solver_.add(z3::mk_or(violations_));
    switch (solver_.check()) {
      case z3::unsat:
        return true;
      case z3::sat:
        return false;
      case z3::unknown:
        break;
    }
    return fail("Z3 did not decide the certificate in time");
  }

 private:
  struct Phase {
    std::vector<z3::expr> contributions;
    std::vector<z3::expr> waits;  ///< that passed while it was open
  };

  z3::expr fresh() { return context_.int_const(("t" + std::to_string(variables_++)).c_str()); }

  /// A new time on a strand, after everything that the strand did.
  z3::expr successor(uint32_t strand) {
    z3::expr t = fresh();
    if (latest_[strand]) solver_.add(t > *latest_[strand]);
    latest_[strand] = t;
    return t;
  }

  void must_precede(const z3::expr& a, const z3::expr& b) { violations_.push_back(a >= b); }

  z3::expr completion_of(const std::vector<z3::expr>& contributions) {
    z3::expr t = fresh();
    z3::expr_vector equal(context_);
    for (const z3::expr& c : contributions) {
      solver_.add(t >= c);
      equal.push_back(t == c);
    }
    solver_.add(z3::mk_or(equal));
    return t;
  }

  void contribute(uint32_t b, const z3::expr& t) {
    if (!completions_[b].empty()) must_precede(completions_[b].back(), t);  // D3
    open_[b].contributions.push_back(t);
  }

  void settle(uint32_t b, Mbarrier::Outcome outcome) {
    if (outcome != Mbarrier::Outcome::completed) return;
    completions_[b].push_back(completion_of(open_[b].contributions));
    for (const z3::expr& w : open_[b].waits) must_precede(w, completions_[b].back());  // D2
    open_[b] = {};
  }

  void wait(const Event& e) {
    std::vector<z3::expr>& done = completions_[e.object];
    const z3::expr start = successor(e.agent.v);
    if (done.size() > 1) must_precede(done[done.size() - 2], start);  // D1
    const z3::expr passed = successor(e.agent.v);
    if (!done.empty()) solver_.add(passed > done.back());
    open_[e.object].waits.push_back(passed);
  }

  void named(const Event& e) {
    Named& n = named_[e.object];
    const z3::expr t = successor(e.agent.v);
    if (!n.completions.empty()) must_precede(n.completions.back(), t);  // EXT1
    n.contributions.push_back(t);
    if (n.machine.contribute(e.count, static_cast<uint32_t>(e.bytes)) != NamedBarrier::Outcome::completed)
      return;
    n.completions.push_back(completion_of(n.contributions));
    n.contributions.clear();
  }

  void land(const AsyncOp& op, uint32_t index) {
    if (op.kind != AsyncOp::Kind::bulk_load || op.bytes == 0) return;
    const z3::expr t = fresh();
    for (const z3::expr& issue : issues_[index]) solver_.add(t > issue);
    contribute(op.barrier, t);
    settle(op.barrier, machines_[op.barrier].complete_tx(op.bytes));
  }

  void step(const Event& e) {
    switch (e.kind) {
      case EventKind::fork: {
        const z3::expr t = successor(e.agent.v);
        const z3::expr child = successor(e.object);
        solver_.add(child > t);
        return;
      }
      case EventKind::join: {  // both have reached this point
        const z3::expr a = successor(e.agent.v), b = successor(e.object);
        solver_.add(a == b);
        return;
      }
      case EventKind::mbarrier_init:
        machines_[e.object].init(e.count);
        return;
      case EventKind::mbarrier_inval:
        machines_[e.object].inval();
        return;
      case EventKind::mbarrier_arrive: {
        contribute(e.object, successor(e.agent.v));
        Mbarrier& m = machines_[e.object];
        return settle(e.object, e.has(Event::expects_bytes) && e.bytes > 0 ? m.arrive_expect_tx(e.bytes)
                                                                           : m.arrive(e.count));
      }
      case EventKind::mbarrier_expect_tx:
        if (e.bytes == 0) return;
        contribute(e.object, successor(e.agent.v));
        return settle(e.object, machines_[e.object].expect_tx(e.bytes));
      case EventKind::mbarrier_wait:
        return wait(e);
      case EventKind::named_barrier_arrive:
        return named(e);
      case EventKind::named_barrier_pass: {
        const Named& n = named_[e.object];
        const z3::expr t = successor(e.agent.v);
        if (e.generation >= 1 && e.generation <= n.completions.size())
          solver_.add(t > n.completions[e.generation - 1]);
        return;
      }
      case EventKind::async_issue:
        issues_[e.object].push_back(successor(e.agent.v));
        return;
      case EventKind::async_complete:
        return land(trace_.ops[e.object], e.object);
      case EventKind::group_wait: {
        const z3::expr t = successor(e.agent.v);
        for (size_t o = 0; o < issues_.size(); ++o)
          if (trace_.ops[o].kind != AsyncOp::Kind::bulk_load && trace_.ops[o].queue == e.object &&
              trace_.ops[o].group <= e.generation)
            for (const z3::expr& issue : issues_[o]) solver_.add(t > issue);
        return;
      }
      case EventKind::fence_proxy_async:
      case EventKind::fence:
      case EventKind::fence_mbarrier_init:
      case EventKind::access:
      case EventKind::async_access:
      case EventKind::group_commit:
      case EventKind::registers_release:
      case EventKind::registers_acquire:
      case EventKind::register_hazard:
      case EventKind::exit:
        return;
      case EventKind::cluster_arrive:
      case EventKind::cluster_wait:
      case EventKind::signal_add:
      case EventKind::signal_set:
      case EventKind::signal_wait:
      case EventKind::pool_acquire:
      case EventKind::pool_release:
      case EventKind::tensor_fence_before:
      case EventKind::tensor_fence_after:
      case EventKind::tensor_alloc:
      case EventKind::tensor_dealloc:
      case EventKind::tensor_relinquish:
      case EventKind::fence_tensormap:
      case EventKind::dependents_launch:
      case EventKind::dependency_wait:
        covered_ = false;
        return;
    }
  }

  struct Named {
    NamedBarrier machine;
    std::vector<z3::expr> contributions, completions;
  };

  const Trace& trace_;
  z3::context context_;
  z3::solver solver_;
  z3::expr_vector violations_;
  std::vector<std::optional<z3::expr>> latest_;
  std::vector<Mbarrier> machines_;
  bool covered_ = true;  ///< every event is of a kind that the constraints describe
  std::vector<Phase> open_;
  std::vector<std::vector<z3::expr>> completions_;
  std::map<uint32_t, Named> named_;
  std::vector<std::vector<z3::expr>> issues_;
  size_t variables_ = 0;
};

}  // namespace

bool certificate_available() { return true; }

Result<bool> confirm_certificate(const Trace& trace, const CertificateLimits& limits) {
  if (std::string defect = checker::trace_defect(trace); !defect.empty())
    return fail("this trace cannot be checked: " + defect);
  size_t events = 0;
  for (const Event& e : trace.events)
    events += e.kind != EventKind::access && e.kind != EventKind::async_access;
  if (events > limits.max_events)
    return fail("the certificate is confirmed for at most " + std::to_string(limits.max_events) +
                " synchronisation events, this trace has " + std::to_string(events));
  try {
    return Certificate(trace, limits).run();
  } catch (const z3::exception& e) {
    return fail(std::string("Z3: ") + e.msg());
  }
}

#else

bool certificate_available() { return false; }

Result<bool> confirm_certificate(const Trace&, const CertificateLimits&) {
  return fail("this turnstile was built without Z3, which confirms certificates");
}

#endif

}  // namespace turnstile
