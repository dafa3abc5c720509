// SPDX-License-Identifier: Apache-2.0
// Asynchronous operations: an issue in the strand; accesses and completion in the operation.
#include "fmt/format.h"
#include "model/mimw/agent_run.h"

namespace turnstile::mimw {

bool AgentRun::async_access(uint32_t op, const Ref& ref, uint8_t flags, const Statement& s) {
  const std::optional<uint32_t> f = footprint(ref);
  const std::optional<uint64_t> g = f ? generation(ref) : std::nullopt;
  if (!g) return false;
  Event e = event(EventKind::async_access, s);
  e.agent = strand_.id;
  e.object = op;
  e.flags = flags;
  e.footprint = *f;
  e.generation = *g;
  return builder_->emit_operation(op, e, s.at);
}

bool AgentRun::complete(uint32_t op, const Statement& s) {
  Event e = event(EventKind::async_complete, s);
  e.agent = strand_.id;
  e.object = op;
  return builder_->emit_operation(op, e, s.at);
}

bool AgentRun::issue(uint32_t op, const Statement& s) {
  Event e = event(EventKind::async_issue, s);
  e.object = op;
  return emit(e, s);
}

bool AgentRun::copy_to_barrier(const Statement& s, AsyncOp::Kind kind) {
  constexpr int64_t most_bytes = (int64_t{1} << 20) - 1;  // MB3
  const std::optional<int64_t> bytes = number(s, 0, 0, 0, most_bytes, "the bytes");
  if (!bytes) return false;
  // A multicast copy is one operation for each destination (MB30).
  for (size_t i = 0; i < s.targets.size(); ++i) {
    const std::optional<uint32_t> b = barrier(s.results[i]);
    if (!b) return false;
    AsyncOp op;
    op.kind = kind;
    op.issuer = strand_.id;
    op.place = builder_->place(s, text_->place_file_);
    op.barrier = *b;
    op.bytes = static_cast<uint64_t>(*bytes);
    const uint32_t index = builder_->add_operation(op);
    if (!issue(index, s)) return false;
    if (s.descriptor && !async_access(index, *s.descriptor, Event::tensormap, s)) return false;
    if (!async_access(index, s.targets[i], Event::write, s) || !complete(index, s)) return false;
  }
  return true;
}

bool AgentRun::queued(const Statement& s, AsyncOp::Kind kind, QueueInfo::Kind queue) {
  Strand::Queue& q = builder_->queue(strand_, queue);
  // Each tcgen05.ld, tcgen05.st and LDS read is a group of its own (TC17-TC21, AM9).
  const bool each = queue == QueueInfo::Kind::tensor_load || queue == QueueInfo::Kind::tensor_store ||
                    queue == QueueInfo::Kind::lds_read;
  const bool writes = kind == AsyncOp::Kind::tensor_store || kind == AsyncOp::Kind::cp_async;
  ++q.issued;
  AsyncOp op;
  op.kind = kind;
  op.issuer = strand_.id;
  op.place = builder_->place(s, text_->place_file_);
  op.queue = q.index;
  if (each) q.committed = q.issued;
  op.group = each ? q.issued : q.committed + 1;
  const uint32_t index = builder_->add_operation(op);
  if (!issue(index, s)) return false;
  if (s.descriptor && !async_access(index, *s.descriptor, Event::tensormap, s)) return false;
  for (const Ref& ref : s.targets)
    if (!async_access(index, ref, writes ? Event::write : 0, s)) return false;
  for (const Ref& ref : s.results)
    if (!async_access(index, ref, Event::write, s)) return false;
  return complete(index, s);
}

bool AgentRun::commit_tensor(const Statement& s) {
  Strand::Queue& q = builder_->queue(strand_, QueueInfo::Kind::tensor);
  // A multicast commit is one operation for each barrier, like a multicast copy (TC24).
  for (const Ref& ref : s.targets) {
    const std::optional<uint32_t> b = barrier(ref);
    if (!b) return false;
    ++q.issued;
    AsyncOp op;
    op.kind = AsyncOp::Kind::tensor_commit;
    op.issuer = strand_.id;
    op.place = builder_->place(s, text_->place_file_);
    op.barrier = *b;
    op.queue = q.index;
    op.group = q.committed + 1;
    const uint32_t index = builder_->add_operation(op);
    if (!issue(index, s) || !complete(index, s)) return false;
  }
  return true;
}

bool AgentRun::commit_group(const Statement& s, QueueInfo::Kind queue) {
  Strand::Queue& q = builder_->queue(strand_, queue);
  q.issued_at_commit = q.issued;
  Event e = event(EventKind::group_commit, s);
  e.object = q.index;
  e.generation = ++q.committed;
  return emit(e, s);
}

bool AgentRun::wait_groups(const Statement& s, QueueInfo::Kind queue, uint8_t flags) {
  constexpr int64_t most_groups = 0xffff;
  const std::optional<int64_t> pending = number(s, 0, 0, 0, most_groups, "the number of groups");
  if (!pending) return false;
  const Strand::Queue& q = builder_->queue(strand_, queue);
  const auto n = static_cast<uint64_t>(*pending);
  Event e = event(EventKind::group_wait, s);
  e.object = q.index;
  e.flags = flags;
  e.generation = q.committed > n ? q.committed - n : 0;
  return emit(e, s);
}

bool AgentRun::wait_issued(const Statement& s, QueueInfo::Kind queue) {
  // The counter form covers copies that no commit has closed (AM18): close their group first.
  const Strand::Queue& q = builder_->queue(strand_, queue);
  if (queue == QueueInfo::Kind::cp_async && q.issued != q.issued_at_commit && !commit_group(s, queue))
    return false;
  Event e = event(EventKind::group_wait, s);
  e.object = q.index;
  e.generation = q.committed;
  return emit(e, s);
}

}  // namespace turnstile::mimw
