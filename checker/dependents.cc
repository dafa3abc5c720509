// SPDX-License-Identifier: Apache-2.0
#include "checker/dependents.h"

#include <algorithm>

namespace turnstile::checker {

void Dependents::wait(const Event& e) {
  waits_.push_back(run_.here(e.agent.v));
  if (first_wait_ == no_event) first_wait_ = run_.now;
  run_.tick(e.agent.v);
}

void Dependents::access(const Event& e, const uint32_t* order) {
  const uint32_t buffer = run_.trace.footprints[e.footprint].allocation;
  const bool writes = e.has(Event::write) || (e.kind == EventKind::access && e.has(Event::atomic));
  const bool after = std::any_of(waits_.begin(), waits_.end(), [&](Epoch w) { return knows(order, w); });
  if (after) {
    if (!writes) read_after_.insert(buffer);
  } else if (known_.insert({buffer, e.place}).second) {
    early_[buffer].push_back({run_.now, writes});
  }
}

void Dependents::finish() {
  const std::vector<uint32_t>& shared = run_.trace.previous_kernel;
  if (first_wait_ == no_event && shared.empty()) return;
  for (const auto& [buffer, accesses] : early_)
    for (const Early& a : accesses)
      if (std::binary_search(shared.begin(), shared.end(), buffer) ||
          (first_wait_ != no_event && (a.writes || read_after_.contains(buffer))))
        run_.misuse(Misuse::Kind::access_before_wait, a.event, buffer, first_wait_);
}

}  // namespace turnstile::checker
