// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "model/mimw/elaborate.h"

namespace turnstile::mimw {

/// Executes the text of one agent: loops and branches are decided, each operation becomes events.
class AgentRun {
 public:
  /// `me`: position in the list of its block.
  AgentRun(Elaboration& text, Strand strand, uint32_t me);

  bool run(const Statement& agent);

 private:
  // Control flow (agent_run.cc).
  bool block(const std::vector<Statement>& statements);
  bool statement(const Statement& s);
  bool let(const Statement& s);
  bool loop(const Statement& s);
  bool own_name(const std::string& name, Position at);

  // Operands (operands.cc).
  std::optional<uint16_t> cta_of(const Ref& ref);
  const Resource* resource(const Ref& ref, Resource::Kind kind);
  std::optional<uint32_t> barrier(const Ref& ref);
  std::optional<uint32_t> variable(const Ref& ref);
  std::optional<uint32_t> pool(const Ref& ref);
  std::optional<uint32_t> object(const Ref& ref);
  std::optional<uint32_t> footprint(const Ref& ref);
  std::optional<uint64_t> generation(const Ref& ref);
  std::optional<int64_t> number(const Statement& s, size_t which, int64_t otherwise, int64_t least,
                                int64_t most, std::string_view what);
  bool unknown_resource(const Ref& ref, Resource::Kind kind);

  // Operations (operations_*.cc). Each appends the events of one statement.
  bool operation(const Statement& s);
  bool wait(const Statement& s);
  bool arrive(const Statement& s);
  bool init(const Statement& s);
  bool place_barrier(const Statement& s, uint32_t barrier);
  bool named_barrier(const Statement& s);
  bool cluster(const Statement& s);
  bool signal(const Statement& s);
  bool use_pool(const Statement& s);
  bool access(const Statement& s);
  bool tensor_memory(const Statement& s);
  bool fence_tensormap(const Statement& s);
  bool copy_to_barrier(const Statement& s, AsyncOp::Kind kind);
  bool queued(const Statement& s, AsyncOp::Kind kind, QueueInfo::Kind queue);
  bool commit_tensor(const Statement& s);
  bool commit_group(const Statement& s, QueueInfo::Kind queue);
  bool wait_groups(const Statement& s, QueueInfo::Kind queue, uint8_t flags);
  bool wait_issued(const Statement& s, QueueInfo::Kind queue);
  bool exit(uint32_t place, Position at);

  Event event(EventKind kind, const Statement& s) const;
  bool emit(const Event& e, const Statement& s) { return builder_->emit(strand_, e, s.at); }
  bool plain(EventKind kind, const Statement& s, uint8_t flags = 0);
  /// Adds the operation's accesses: reads, then writes; then its completion.
  bool async_access(uint32_t op, const Ref& ref, uint8_t flags, const Statement& s);
  bool issue(uint32_t op, const Statement& s);
  bool complete(uint32_t op, const Statement& s);

  Elaboration* text_;
  Builder* builder_;
  Problems* problems_;
  Strand strand_;
  Names scope_;
  bool ended_ = false;
  std::map<std::pair<const Ref*, uint16_t>, const Resource*> resources_;
  std::map<std::pair<const Ref*, uint16_t>, uint32_t> objects_;
};

}  // namespace turnstile::mimw
