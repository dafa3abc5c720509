// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/trace.h"

namespace turnstile::checker {

/// Does an arrival or a wait of scope .cta take part in a barrier between two CTAs (HB1)? Sees all events, in
/// any order; their objects have to be there.
class NarrowScopes {
 public:
  explicit NarrowScopes(const Trace& tables)
      : tables_(tables), remote_(tables.barriers.size()), narrow_(tables.barriers.size()) {
    const auto elsewhere = [&](const auto& x) { return x.cta != tables.agents.front().cta; };
    several_ctas_ =
        !tables.agents.empty() && (std::any_of(tables.agents.begin(), tables.agents.end(), elsewhere) ||
                                   std::any_of(tables.barriers.begin(), tables.barriers.end(), elsewhere));
  }

  void see(const Event& e) {
    if (!several_ctas_) return;
    const bool arrives = e.kind == EventKind::mbarrier_arrive;
    if (!arrives && e.kind != EventKind::mbarrier_wait) return;
    const bool far = tables_.agents[e.agent.v].cta != tables_.barriers[e.object].cta;
    if (arrives && far) remote_[e.object] = 1;
    const bool synchronises = e.has(arrives ? Event::release : Event::acquire);
    if (synchronises && e.scope == Scope::cta && far == arrives) narrow_[e.object] = 1;
  }

  bool found() const {
    for (size_t b = 0; b < remote_.size(); ++b)
      if (remote_[b] != 0 && narrow_[b] != 0) return true;
    return false;
  }

 private:
  const Trace& tables_;
  bool several_ctas_ = false;
  std::vector<uint8_t> remote_, narrow_;  ///< by barrier
};

}  // namespace turnstile::checker
