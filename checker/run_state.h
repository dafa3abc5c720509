// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker/check.h"
#include "checker/clocks.h"
#include "checker/observations.h"
#include "model/trace.h"

namespace turnstile::checker {

/// Ends with complete_tx of its bytes on a barrier (MB14).
inline bool delivers_bytes(const AsyncOp& op) {
  return op.kind == AsyncOp::Kind::bulk_load || op.kind == AsyncOp::Kind::remote_store ||
         op.kind == AsyncOp::Kind::clc_query;
}

/// Ends with one arrival on a barrier: tcgen05.commit (TC24), cp.async.mbarrier.arrive (HB2).
inline bool arrives_when_done(const AsyncOp& op) {
  return op.kind == AsyncOp::Kind::tensor_commit ||
         (op.kind == AsyncOp::Kind::cp_async && op.barrier != AsyncOp::none);
}

/// cp.async.mbarrier.arrive without .noinc: raises the pending count when it is issued.
inline bool raises_pending(const AsyncOp& op) {
  return op.kind == AsyncOp::Kind::cp_async && op.barrier != AsyncOp::none && op.bytes != 0;
}

/// A warp of the cluster: warps are numbered in their CTA.
inline uint32_t warp_key(const AgentInfo& agent) { return uint32_t{agent.cta} << 16 | agent.warp; }

/// What the parts of the single run share: the trace, what every strand knows so far, and what was seen.
struct RunState {
  RunState(const Trace& t, const Policies& p, const Lanes& l, const Views& v, Observations& s)
      : trace(t), policies(p), lanes(l), views(v), strands(l, v, t.agents.size()), seen(s) {}

  const Trace& trace;
  const Policies& policies;
  Lanes lanes;
  Views views;
  KnowledgeTable strands;
  Observations& seen;
  size_t now = 0;  ///< event under way

  bool several_ctas() const { return trace.cluster_ctas > 1 || trace.clusters > 1; }
  uint16_t cta(AgentId agent) const { return trace.agents[agent.v].cta; }

  /// The present of a strand. Only synchronisation moves it on, so that the accesses in between share one
  /// epoch.
  Epoch here(uint32_t strand) const { return {strand, strands.row(strand, Views::causal)[strand]}; }

  /// After everything that others can learn from or that a condition names: exactly one such event has each
  /// epoch.
  void tick(uint32_t strand) {
    ++strands.row(strand, Views::causal)[strand];
    ++strands.row(strand, Views::order)[strand];
  }

  /// What somebody knows flows into a point where strands synchronise: all of it with a release, else only
  /// that it happened (HB5). Published tensor accesses need execution order only (TC23, HB5).
  void publish(uint32_t* point, const uint32_t* knowledge, bool releases) const {
    const size_t width = lanes.width;
    join(point, knowledge, releases ? width * views.travelling : width);
    if (views.tensor != Views::none)
      join(point + width * views.tensor_in, knowledge + width * views.tensor_out, width);
  }
  /// The other way.
  void observe(uint32_t* knowledge, const uint32_t* point, bool acquires) const {
    const size_t width = lanes.width;
    join(knowledge, point, acquires ? width * views.travelling : width);
    if (views.tensor != Views::none)
      join(knowledge + width * views.tensor_in, point + width * views.tensor_in, width);
  }

  void misuse(Misuse::Kind kind, size_t event, uint32_t object = 0, size_t other = no_event,
              uint64_t amount = 0) {
    seen.misuses.push_back({kind, event, other, object, amount});
  }
  void uncovered(std::string reason, uint32_t place) {
    seen.uncovered.push_back({std::move(reason), place, true});
  }
};

}  // namespace turnstile::checker
