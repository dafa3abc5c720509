// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "checker/run_state.h"

namespace turnstile::checker {

/// Generic memory fences beside operations that do not synchronise by themselves: relaxed ones, and those
/// whose scope is too small (M7, M8). A release fence is what later ones publish; an acquire fence takes in
/// what earlier ones have seen. A fence works for everything that its scope contains (M3; GM3: one of .cta
/// tells another CTA nothing).
class Fences {
 public:
  /// `used`: something asks for them; else nothing is kept.
  Fences(RunState& run, bool used);

  void fence(const Event& e);

  /// What the last release fence of at least this scope publishes; null: there was none.
  const uint32_t* head(uint32_t strand, Scope scope) const;
  /// Did nothing else of the strand synchronise since that fence? Then only its own accesses can follow it.
  bool fresh(uint32_t strand, Scope scope) const;
  /// Where to join what an acquire fence of at least this scope takes in; null: fences are not used.
  uint32_t* pending(uint32_t strand, Scope scope);

 private:
  RunState& run_;
  bool used_ = false;
  KnowledgeTable kept_;
  std::map<std::pair<uint32_t, Scope>, uint32_t> heads_, pending_;  ///< slots by strand and scope
};

}  // namespace turnstile::checker
