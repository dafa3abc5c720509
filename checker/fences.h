// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "checker/run_state.h"

namespace turnstile::checker {

/// Generic memory fences beside operations that do not synchronise by themselves: relaxed ones, and those
/// whose scope is too small (M7, M8). A release fence is what later ones publish; an acquire fence takes in
/// what earlier ones have seen. A fence works for everything that its scope contains (M3; GM3: one of .cta
/// tells another CTA nothing).
///
/// A pattern of fence and operation is one of a thread (M7): what a fence does for a strand, it does for the
/// lanes that executed it, whatever strand they belong to later, and for no others.
class Fences {
 public:
  /// `used`: something asks for them; else nothing is kept.
  Fences(RunState& run, bool used);

  void fence(const Event& e);
  /// `lanes` of `parent` are `child` from now on; none: a strand that only polls (Event::fork).
  void fork(uint32_t parent, uint32_t child, uint32_t lanes);
  /// The lanes of `other` belong to `strand` from now on.
  void absorb(uint32_t strand, uint32_t other);

  /// What the last release fences of at least this scope publish, for all lanes of the strand; null: some
  /// lane has executed none.
  const uint32_t* head(uint32_t strand, Scope scope);
  /// Did nothing else of the strand synchronise since that fence? Then only its own accesses can follow it.
  bool fresh(uint32_t strand, Scope scope);
  /// Where to join what an acquire fence of at least this scope takes in; null: fences are not used.
  uint32_t* pending(uint32_t strand, Scope scope);

 private:
  /// What some lanes of a strand have of fences.
  struct Part {
    uint32_t lanes = 0;
    uint32_t slot = 0;       ///< in kept_
    bool inherited = false;  ///< from a strand that the lanes belonged to
  };
  using Parts = std::vector<Part>;
  using Table = std::map<std::pair<uint32_t, Scope>, Parts>;

  /// One part for all lanes of the strand, with what all of them have; null: some lane has nothing.
  Part* whole(Table& table, uint32_t strand, Scope scope);
  Part& fresh_part(Table& table, uint32_t strand, Scope scope);
  void forget(Table& table, uint32_t strand, Scope scope);

  RunState& run_;
  bool used_ = false;
  KnowledgeTable kept_;
  std::vector<uint32_t> lanes_;  ///< of each strand
  Table heads_, pending_;
};

}  // namespace turnstile::checker
