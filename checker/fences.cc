// SPDX-License-Identifier: Apache-2.0
#include "checker/fences.h"

#include <algorithm>

namespace turnstile::checker {

namespace {
constexpr Scope kFenceScopes[] = {Scope::cta, Scope::cluster, Scope::gpu, Scope::sys};
}  // namespace

Fences::Fences(RunState& run, bool used)
    : run_(run), used_(used), kept_(run.lanes, run.views, 0), lanes_(run.trace.agents.size(), ~uint32_t{0}) {}

void Fences::fence(const Event& e) {
  if (!used_) return;
  const bool acquires = (e.flags & (Event::fence_acquire | Event::fence_sequential)) != 0;
  const bool releases = (e.flags & (Event::fence_release | Event::fence_sequential)) != 0;
  for (const Scope scope : kFenceScopes) {
    if (scope > e.scope || !acquires) break;
    if (const Part* seen = whole(pending_, e.agent.v, scope); seen != nullptr)
      run_.observe(run_.strands.all(e.agent.v), kept_.all(seen->slot), true);
    forget(pending_, e.agent.v, scope);
  }
  for (const Scope scope : kFenceScopes) {
    if (scope > e.scope || !releases) break;
    const Part& published = fresh_part(heads_, e.agent.v, scope);
    std::copy_n(run_.strands.all(e.agent.v), kept_.stride(), kept_.all(published.slot));
  }
  run_.tick(e.agent.v);
}

void Fences::fork(uint32_t parent, uint32_t child, uint32_t lanes) {
  if (!used_) return;
  lanes_[parent] &= ~lanes;
  lanes_[child] = lanes;
  for (Table* table : {&heads_, &pending_})
    for (const Scope scope : kFenceScopes) {
      forget(*table, child, scope);  // of who had the number before
      const auto of_parent = table->find({parent, scope});
      if (of_parent == table->end()) continue;
      Parts theirs;
      for (Part& p : of_parent->second) {
        if ((p.lanes & lanes) == 0) continue;
        theirs.push_back({p.lanes & lanes, kept_.take(), true});
        std::copy_n(kept_.all(p.slot), kept_.stride(), kept_.all(theirs.back().slot));
        p.lanes &= ~lanes;
      }
      std::erase_if(of_parent->second, [&](const Part& p) {
        if (p.lanes == 0) kept_.give_back(p.slot);
        return p.lanes == 0;
      });
      if (!theirs.empty()) (*table)[{child, scope}] = std::move(theirs);
    }
}

void Fences::absorb(uint32_t strand, uint32_t other) {
  if (!used_) return;
  lanes_[strand] |= lanes_[other];
  for (Table* table : {&heads_, &pending_})
    for (const Scope scope : kFenceScopes) {
      const auto theirs = table->find({other, scope});
      if (theirs == table->end()) continue;
      Parts& mine = (*table)[{strand, scope}];
      for (Part p : theirs->second) {
        p.inherited = true;
        mine.push_back(p);
      }
      table->erase(theirs);
    }
}

Fences::Part* Fences::whole(Table& table, uint32_t strand, Scope scope) {
  const auto found = table.find({strand, scope});
  if (found == table.end() || found->second.empty()) return nullptr;
  Parts& parts = found->second;
  uint32_t covered = 0;
  for (const Part& p : parts) covered |= p.lanes;
  if ((lanes_[strand] & ~covered) != 0) return nullptr;
  uint32_t* least = kept_.all(parts[0].slot);
  for (size_t i = 1; i < parts.size(); ++i) {
    const uint32_t* too = kept_.all(parts[i].slot);
    for (size_t n = 0; n < kept_.stride(); ++n) least[n] = std::min(least[n], too[n]);
    kept_.give_back(parts[i].slot);
    parts[0].inherited = true;
  }
  parts.resize(1);
  parts[0].lanes = covered;
  return &parts[0];
}

Fences::Part& Fences::fresh_part(Table& table, uint32_t strand, Scope scope) {
  forget(table, strand, scope);
  Parts& parts = table[{strand, scope}];
  parts.push_back({lanes_[strand], kept_.take(), false});
  return parts[0];
}

void Fences::forget(Table& table, uint32_t strand, Scope scope) {
  const auto found = table.find({strand, scope});
  if (found == table.end()) return;
  for (const Part& p : found->second) kept_.give_back(p.slot);
  table.erase(found);
}

const uint32_t* Fences::head(uint32_t strand, Scope scope) {
  const Part* fenced = whole(heads_, strand, scope);
  return fenced == nullptr ? nullptr : kept_.all(fenced->slot);
}

bool Fences::fresh(uint32_t strand, Scope scope) {
  const Part* fenced = whole(heads_, strand, scope);
  if (fenced == nullptr || fenced->inherited) return false;
  return kept_.all(fenced->slot)[strand] + 1 == run_.here(strand).value;
}

uint32_t* Fences::pending(uint32_t strand, Scope scope) {
  if (!used_) return nullptr;
  Part* part = whole(pending_, strand, scope);
  if (part == nullptr) {
    part = &fresh_part(pending_, strand, scope);
    std::fill_n(kept_.all(part->slot), kept_.stride(), 0u);
  }
  return kept_.all(part->slot);
}

}  // namespace turnstile::checker
