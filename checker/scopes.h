// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/trace.h"

namespace turnstile::checker {

/// Does an arrival or a wait of scope .cta take part in a barrier between two CTAs (HB1)? Sees all events, in
/// any order; their objects have to be there.
class NarrowScopes {
 public:
  explicit NarrowScopes(const Trace& tables)
      : tables_(tables), remote_(tables.barriers.size()), narrow_(tables.barriers.size()) {}

  void see(const Event& e) {
    const bool arrives = e.kind == EventKind::mbarrier_arrive;
    if (!arrives && e.kind != EventKind::mbarrier_wait) return;
    const bool far = tables_.agents[e.agent.v].cta != tables_.barriers[e.object].cta;
    if (arrives && far) remote_[e.object] = true;
    const bool synchronises = e.has(arrives ? Event::release : Event::acquire);
    if (synchronises && e.scope == Scope::cta && far == arrives) narrow_[e.object] = true;
  }

  bool found() const {
    for (size_t b = 0; b < remote_.size(); ++b)
      if (remote_[b] && narrow_[b]) return true;
    return false;
  }

 private:
  const Trace& tables_;
  std::vector<bool> remote_, narrow_;  ///< by barrier
};

}  // namespace turnstile::checker
