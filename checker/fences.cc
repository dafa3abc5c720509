// SPDX-License-Identifier: Apache-2.0
#include "checker/fences.h"

#include <algorithm>

namespace turnstile::checker {

namespace {
constexpr Scope kFenceScopes[] = {Scope::cta, Scope::cluster, Scope::gpu, Scope::sys};
}  // namespace

Fences::Fences(RunState& run, bool used) : run_(run), used_(used), kept_(run.lanes, run.views, 0) {}

void Fences::fence(const Event& e) {
  if (!used_) return;
  const bool acquires = (e.flags & (Event::fence_acquire | Event::fence_sequential)) != 0;
  const bool releases = (e.flags & (Event::fence_release | Event::fence_sequential)) != 0;
  for (const Scope scope : kFenceScopes) {
    const auto seen = scope <= e.scope && acquires ? pending_.find({e.agent.v, scope}) : pending_.end();
    if (seen == pending_.end()) continue;
    run_.observe(run_.strands.all(e.agent.v), kept_.all(seen->second), true);
    kept_.give_back(seen->second);
    pending_.erase(seen);
  }
  for (const Scope scope : kFenceScopes) {
    if (scope > e.scope || !releases) break;
    const auto [at, fresh] = heads_.try_emplace({e.agent.v, scope}, 0);
    if (fresh) at->second = kept_.take();
    std::copy_n(run_.strands.all(e.agent.v), kept_.stride(), kept_.all(at->second));
  }
  run_.tick(e.agent.v);
}

const uint32_t* Fences::head(uint32_t strand, Scope scope) const {
  const auto found = heads_.find({strand, scope});
  return found == heads_.end() ? nullptr : kept_.all(found->second);
}

bool Fences::fresh(uint32_t strand, Scope scope) const {
  const uint32_t* fenced = head(strand, scope);
  return fenced != nullptr && fenced[strand] + 1 == run_.here(strand).value;
}

uint32_t* Fences::pending(uint32_t strand, Scope scope) {
  if (!used_) return nullptr;
  const auto [at, fresh] = pending_.try_emplace({strand, scope}, 0);
  if (fresh) {
    at->second = kept_.take();
    std::fill_n(kept_.all(at->second), kept_.stride(), 0u);
  }
  return kept_.all(at->second);
}

}  // namespace turnstile::checker
