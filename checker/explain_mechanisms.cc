// SPDX-License-Identifier: Apache-2.0
//
// Clusters, lifetime of CTAs, flags, pools, tensor memory and dependent launches in words.
#include <algorithm>
#include <map>
#include <tuple>

#include "checker/explain.h"

namespace turnstile::checker {

namespace {

using MisuseKind = Misuse::Kind;

std::string cta_name(uint64_t cta) { return "CTA " + std::to_string(cta); }

/// What the other CTA is reached with.
std::string reach(const Story& story, const Misuse& m) {
  const Event& e = story.event(m.event);
  const bool named = m.object < story.trace.barriers.size();
  if (e.kind == EventKind::mbarrier_arrive && named) return "an arrival on " + story.names.barrier(m.object);
  if (e.kind == EventKind::mbarrier_expect_tx && named)
    return "an expect_tx on " + story.names.barrier(m.object);
  if (e.kind != EventKind::async_issue) return "an access to its shared memory";
  const AsyncOp& op = story.trace.ops[e.object];
  if (op.kind == AsyncOp::Kind::tensor_commit) return "the arrival of a tcgen05.commit";
  return !named ? "an asynchronous access to its shared memory"
                : "a copy that completes on " + story.names.barrier(m.object);
}

void tell_cluster(const Story& story, const Misuse& m, Diagnostic& d) {
  const std::string who = story.who(m.event);
  d.finding_class = FindingClass::barrier_protocol;
  d.subject = "cluster barrier";
  if (m.other != no_event) d.sides.push_back(story.at(m.other, "its arrival before"));
  if (m.kind == MisuseKind::cluster_twice) {
    d.rule = "C1";
    d.message = who + " arrives twice at the cluster barrier in one generation";
    d.help = "barrier.cluster.wait between two arrivals";
  } else if (m.kind == MisuseKind::cluster_no_wait) {
    d.rule = "Q15";
    d.severity = Severity::lint;
    d.message = who + " arrives again at the cluster barrier without having waited";
    d.facts = {"the documents do not say what happens; the arrival can be counted in the generation before"};
    d.help = "barrier.cluster.wait between two arrivals";
  } else {
    d.rule = "C2";
    d.finding_class = FindingClass::hang;
    d.message = who + " waits at the cluster barrier without having arrived";
    d.help = "barrier.cluster.arrive before each wait";
  }
}

void tell_remote(const Story& story, const Misuse& m, Diagnostic& d) {
  const std::string who = story.who(m.event), barrier = story.names.barrier(m.object);
  const bool strict = story.options.policies.remote_scope == Policies::Scope::strict;
  d.subject = barrier;
  if (m.kind == MisuseKind::remote_wait) {
    d.rule = "MB8";
    d.finding_class = FindingClass::barrier_protocol;
    d.message = who + " waits on " + barrier + ", which is a barrier of another CTA";
    d.help = "put the barrier into the CTA that waits, and arrive on it from the other one";
  } else if (m.kind == MisuseKind::unfenced_init) {
    d.rule = "MB11";
    d.finding_class = FindingClass::proxy_fence;
    d.severity = story.options.policies.init_fence;
    d.message =
        who + " uses " + barrier + " of another CTA, whose initialisation no fence.mbarrier_init publishes";
    d.facts.push_back(
        "contested: the fence restricts a release to initialisations, for a barrier that is .relaxed; one "
        "with "
        ".release and .acquire, which stands here, publishes all generic accesses, the initialisation too "
        "(M7, "
        "C3, MB12); documents show the fence beside both");
    d.sides.push_back(story.at(m.other, story.who(m.other) + " initialises it here"));
    d.help = "fence.mbarrier_init.release.cluster after the mbarrier.init, before the cluster barrier";
  } else {
    const bool wait = m.kind == MisuseKind::narrow_wait;
    d.rule = strict ? "HB1" : "Q2";
    d.finding_class = FindingClass::race;
    d.severity = strict ? Severity::error : Severity::lint;
    d.message = wait ? who + " waits on " + barrier + " with scope .cta for arrivals of another CTA"
                     : who + " arrives on " + barrier + " of another CTA with scope .cta";
    d.facts = {
        strict
            ? "by the letter of PTX it orders nothing between the CTAs (M3, M9)"
            : "contested: by the letter of PTX it orders nothing between the CTAs (M3, M9); it is taken to "
              "order what is complete before it, as on an H200: asynchronous operations that were waited "
              "for, reads before a proxy fence (probe P16)"};
    d.help = wait ? "mbarrier.try_wait.acquire.cluster" : "mbarrier.arrive.release.cluster.shared::cluster";
  }
}

void tell_unseen(const Story& story, const Misuse& m, Diagnostic& d) {
  const std::string barrier = story.names.barrier(m.object), phase = std::to_string(m.amount);
  d.rule = "S1";
  d.severity = story.options.policies.unseen_phase;
  d.finding_class = FindingClass::barrier_protocol;
  d.subject = barrier;
  d.message = story.who(m.event) + " arrives on " + barrier + " in phase " + std::to_string(m.amount + 1) +
              " before anybody has waited for phase " + phase;
  if (m.other != no_event) d.sides.push_back(story.at(m.other, "phase " + phase + " completes here"));
  d.facts = {"PTX: a wait must have returned true for a phase before an arrive-on of the phase after it"};
  d.help = "wait for each phase before arriving in the next, or use a barrier that somebody waits for";
}

void tell_lifetime(const Story& story, const Misuse& m, Diagnostic& d) {
  const std::string who = story.who(m.event), cta = cta_name(m.amount), what = reach(story, m);
  d.finding_class = FindingClass::lifetime;
  d.subject = m.object < story.trace.barriers.size() ? story.names.barrier(m.object)
                                                     : story.names.object_of(story.event(m.event));
  if (m.kind == MisuseKind::target_not_started) {
    d.rule = "D1";
    d.message = who + " reaches into " + cta + " before anything says that it has started";
    d.facts = {"nothing that " + who + " has seen comes from " + cta};
    d.help = "a cluster barrier (arrive and wait) before the first access to another CTA";
    return;
  }
  const Event& e = story.event(m.event);
  const bool arrival = e.kind == EventKind::mbarrier_arrive || e.kind == EventKind::mbarrier_expect_tx;
  const bool tensor = e.kind == EventKind::async_issue &&
                      story.trace.ops[e.object].kind >= AsyncOp::Kind::tensor_mma &&
                      story.trace.ops[e.object].kind <= AsyncOp::Kind::tensor_commit;
  d.rule = arrival ? "D3" : "D2";
  d.message = what + " can come when " + cta + " has ended";
  d.label = who + " issues it";
  if (tensor) d.facts.push_back("tcgen05 needs a peer that has not ended (TC12)");
  d.sides.push_back(story.at(m.other, story.who(m.other) + " is the last of " + cta + " to end in this run"));
  d.facts.push_back("no strand of " + cta + " ends after it in every schedule");
  d.witness = {"all of " + cta + " has ended", what + " arrives there (" + story.line(m.event) + ")"};
  d.help = "a cluster barrier before " + cta + " ends, or let it wait for this first";
}

void tell_signal(const Story& story, const Misuse& m, Diagnostic& d) {
  const std::string& name = story.trace.signals[m.object].name;
  d.finding_class = FindingClass::race;
  d.rule = "GM3";
  d.subject = name;
  d.message =
      story.who(m.event) + " uses " + name + " with a scope that does not contain the others who use it";
  d.facts = {"it orders nothing for strands outside its scope (M3, M9)"};
  d.help = "scope .gpu between CTAs of a grid, .cluster between CTAs of a cluster";
}

void tell_pool(const Story& story, const Misuse& m, Diagnostic& d) {
  const std::string who = story.who(m.event);
  const Event& e = story.event(m.event);
  d.finding_class = FindingClass::resource;
  d.subject = "tensor memory";
  const auto side = [&](std::string text) {
    if (m.other != no_event) d.sides.push_back(story.at(m.other, std::move(text)));
  };
  switch (m.kind) {
    case MisuseKind::pool_leak:
      d.rule = "TC6";
      d.subject = story.trace.pools[m.object].name;
      d.message = std::to_string(m.amount) + " units of " + d.subject + " are not given back at the end";
      d.label = who + " takes them";
      d.help = "release on every path what was acquired";
      return;
    case MisuseKind::tensor_leak:
      d.rule = "TC6";
      d.message = std::to_string(m.amount) + " columns of tensor memory are not freed at the end";
      d.label = who + " allocates them";
      d.help = "tcgen05.dealloc before the CTA ends: the next kernel on the SM may hang";
      return;
    case MisuseKind::tensor_not_allocated:
      d.rule = "TC6";
      d.message = who + " frees columns of tensor memory that " +
                  (m.other == no_event ? "are not allocated" : "may not be allocated yet");
      if (m.other != no_event) side("nothing orders this allocation before it");
      d.help = "free exactly what was allocated, once";
      return;
    case MisuseKind::tensor_bad_count:
      d.rule = "TC4";
      d.message =
          who + " asks for " + std::to_string(e.count) + " columns: a power of two from 32 to 512 it must be";
      d.help = "round the columns up to a power of two";
      return;
    case MisuseKind::tensor_increasing:
      d.rule = "TC5";
      d.message = who + " allocates " + std::to_string(e.count) + " columns after an allocation of " +
                  std::to_string(m.amount) + ": the counts of a CTA should not increase";
      if (m.other != no_event) side("nothing orders this allocation after it");
      d.help = "allocate the largest first";
      return;
    case MisuseKind::tensor_relinquished:
      d.rule = "TC7";
      d.message = who + " can allocate tensor memory after the permit was given up";
      side("the permit is given up here");
      d.help = "tcgen05.relinquish_alloc_permit after the last allocation of the CTA, ordered by a barrier";
      return;
    case MisuseKind::tensor_mixed_groups:
      d.rule = "TC8";
      d.message = who + " uses another cta_group than the tcgen05 instructions before";
      d.help = "one cta_group for all tcgen05 instructions of a kernel";
      return;
    case MisuseKind::tensor_other_warp:
      d.rule = "TC11";
      d.severity = Severity::lint;
      d.message = "two warps allocate tensor memory";
      side("the other allocation");
      d.help = "CUTLASS asks for one warp that does all of it; the hardware does not";
      return;
    case MisuseKind::peer_not_started:
      d.rule = "TC9";
      d.finding_class = FindingClass::lifetime;
      d.message = who + " allocates for a pair of CTAs before anything says that the peer has started";
      d.help = "a cluster barrier before tcgen05.alloc.cta_group::2";
      return;
    case MisuseKind::peer_frees_before:
      d.rule = "TC9";
      d.finding_class = FindingClass::hang;
      d.message =
          who +
          " frees tensor memory of a pair of CTAs only when the peer has gone on behind its own dealloc";
      d.facts = {"tcgen05.dealloc.cta_group::2 may wait for that of the peer: then neither goes on"};
      side("the peer frees here, and goes on");
      d.help = "synchronise the pair before both deallocs, and not between them";
      return;
    default:
      d.rule = "TC10";
      d.finding_class = FindingClass::lifetime;
      d.message =
          who + " frees tensor memory of a pair of CTAs before the peer's allocation is known to be done";
      side("the allocation of the peer");
      d.help = "a cluster barrier between the allocation and the first dealloc";
      return;
  }
}

void tell_dependents(const Story& story, const Misuse& m, Diagnostic& d) {
  const std::string buffer = story.names.holder(Space::global, m.object, 0);
  const Event& e = story.event(m.event);
  const std::vector<uint32_t>& shared = story.trace.previous_kernel;
  const bool is_shared = std::binary_search(shared.begin(), shared.end(), m.object);
  d.finding_class = FindingClass::race;
  d.severity = is_shared ? Severity::error : Severity::lint;
  d.rule = "PD5";
  d.subject = buffer;
  d.message = story.who(m.event) + (e.has(Event::write) ? " writes " : " reads ") + buffer +
              " before griddepcontrol.wait";
  if (m.other != no_event)
    d.sides.push_back(story.at(m.other, "the wait"));
  else
    d.facts.emplace_back("this kernel never waits for the one before it (PD3)");
  d.facts.emplace_back(is_shared             ? "the kernel before uses it, and may not have ended"
                       : e.has(Event::write) ? "the kernel before may still read or write it"
                                             : "others of this kernel read it only after the wait");
  d.help = "griddepcontrol.wait in every role that touches what the kernel before uses";
}

void tell_inval(const Story& story, const Misuse& m, Diagnostic& d) {
  const std::string who = story.who(m.event), issuer = story.who(m.other),
                    barrier = story.names.barrier(m.object);
  const bool commit = story.trace.ops[story.event(m.other).object].kind == AsyncOp::Kind::tensor_commit;
  const std::string what = commit ? "the arrival of a tcgen05.commit" : "an asynchronous arrival";
  d.rule = "MB10";
  d.finding_class = FindingClass::barrier_protocol;
  d.subject = barrier;
  d.message = who + " invalidates " + barrier + " while " + what + " can be on its way there";
  d.sides.push_back(story.at(m.other, issuer + " issues it here"));
  d.facts = {"nothing that " + who + " has seen tells that it has come",
             "an arrival on an invalidated barrier is undefined: it changes what lies there by then"};
  d.witness = {issuer + " issues it", who + " invalidates " + barrier, what + " comes"};
  d.help = "wait for the phase that this arrival completes before mbarrier.inval, or invalidate nothing";
}

Diagnostic tell(const Story& story, const Misuse& m) {
  Diagnostic d;
  const Event& e = story.event(m.event);
  d.where = story.names.position(e.place);
  switch (m.kind) {
    case MisuseKind::cluster_twice:
    case MisuseKind::cluster_no_wait:
    case MisuseKind::cluster_no_arrive:
      tell_cluster(story, m, d);
      break;
    case MisuseKind::narrow_arrive:
    case MisuseKind::narrow_wait:
    case MisuseKind::remote_wait:
    case MisuseKind::unfenced_init:
      tell_remote(story, m, d);
      break;
    case MisuseKind::phase_unseen:
      tell_unseen(story, m, d);
      break;
    case MisuseKind::inval_in_flight:
      tell_inval(story, m, d);
      break;
    case MisuseKind::target_not_started:
    case MisuseKind::target_exited:
      tell_lifetime(story, m, d);
      break;
    case MisuseKind::narrow_signal:
      tell_signal(story, m, d);
      break;
    case MisuseKind::pool_leak:
    case MisuseKind::tensor_bad_count:
    case MisuseKind::tensor_increasing:
    case MisuseKind::tensor_relinquished:
    case MisuseKind::tensor_mixed_groups:
    case MisuseKind::tensor_not_allocated:
    case MisuseKind::tensor_leak:
    case MisuseKind::tensor_other_warp:
    case MisuseKind::peer_not_started:
    case MisuseKind::peer_not_allocated:
    case MisuseKind::peer_frees_before:
      tell_pool(story, m, d);
      break;
    case MisuseKind::registers_unmet:
      d.rule = "RG1";
      d.finding_class = FindingClass::resource;
      d.severity = story.options.policies.register_meeting;
      d.subject = "registers";
      d.message = story.who(m.event) + " executes setmaxnreg again before the warps of its group have met";
      d.facts = {
          "PTX asks for a meeting between two; an H200 serves each warp for itself (probe P17), and Triton "
          "relies on it"};
      d.help = "a barrier of the four warps between two setmaxnreg";
      break;
    case MisuseKind::access_before_wait:
      tell_dependents(story, m, d);
      break;
  }
  if (d.label.empty()) d.label = d.subject;
  return d;
}

Rank rank_of(const Misuse& m, const Diagnostic& d) {
  if (d.severity == Severity::lint) return Rank::advice;
  if (d.finding_class == FindingClass::lifetime) return Rank::lifetime;
  if (d.finding_class == FindingClass::resource) return Rank::resource;
  if (m.kind == MisuseKind::remote_wait) return Rank::illegal;
  if (m.kind == MisuseKind::unfenced_init) return Rank::initialisation;
  return m.kind == MisuseKind::phase_unseen || m.kind == MisuseKind::narrow_arrive ||
                 m.kind == MisuseKind::narrow_wait || m.kind == MisuseKind::narrow_signal
             ? Rank::data
             : Rank::refused;
}

}  // namespace

void explain_mechanisms(const Story& story, std::vector<Ranked>& out) {
  std::map<std::tuple<MisuseKind, uint32_t, uint32_t>, size_t> known;
  for (const Misuse& m : story.seen.misuses) {
    Diagnostic d = tell(story, m);
    const uint32_t place = story.event(m.event).place;
    const bool fault_says_it =
        std::any_of(story.trace.faults.begin(), story.trace.faults.end(),
                    [&](const Fault& f) { return f.rule == d.rule && f.place == place; });
    if (fault_says_it) continue;
    const uint32_t other = m.other == no_event ? 0 : story.event(m.other).place;
    const auto [at, fresh] = known.try_emplace({m.kind, place, other}, out.size());
    if (!fresh) {
      ++out[at->second].diagnostic.occurrences;
      continue;
    }
    const Rank rank = rank_of(m, d);
    out.push_back({rank, m.event, std::move(d)});
  }
}

}  // namespace turnstile::checker
