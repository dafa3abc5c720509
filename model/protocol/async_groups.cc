// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/async_groups.h"

#include <algorithm>

namespace turnstile {

QueueOrder queue_order(const QueueInfo& queue) {
  if (queue.in_order) return QueueOrder::strict;
  switch (queue.kind) {
    case QueueInfo::Kind::bulk:
    case QueueInfo::Kind::tensor_load:
    case QueueInfo::Kind::tensor_store:
    case QueueInfo::Kind::lds_read:
      return QueueOrder::free;
    case QueueInfo::Kind::wgmma:
    case QueueInfo::Kind::cp_async:
      return QueueOrder::complete_by_group;
    case QueueInfo::Kind::tensor:
      return QueueOrder::pipelined;
  }
  return QueueOrder::free;
}

void AsyncGroups::issue(uint32_t op, uint32_t queue, uint64_t group, bool ordered) {
  const auto at =
      std::upper_bound(operations_.begin(), operations_.end(), op, [&](uint32_t number, const Operation& o) {
        if (o.queue != queue) return queue < o.queue;
        return !ordered && number < o.op;
      });
  operations_.insert(at, {op, queue, group, 0});
}

AsyncGroups::Operation* AsyncGroups::find(uint32_t op) {
  for (Operation& o : operations_)
    if (o.op == op) return &o;
  return nullptr;
}

const AsyncGroups::Operation* AsyncGroups::find(uint32_t op) const {
  for (const Operation& o : operations_)
    if (o.op == op) return &o;
  return nullptr;
}

void AsyncGroups::remove(uint32_t op) {
  std::erase_if(operations_, [&](const Operation& o) { return o.op == op; });
}

std::span<const AsyncGroups::Operation> AsyncGroups::before(uint32_t op) const {
  const Operation* end = find(op);
  if (end == nullptr) return {};
  const Operation* begin = end;
  while (begin != operations_.data() && (begin - 1)->queue == end->queue) --begin;
  return {begin, end};
}

}  // namespace turnstile
