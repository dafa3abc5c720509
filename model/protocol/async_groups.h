// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/trace.h"

namespace turnstile {

/// How the operations of one queue are ordered among themselves.
enum class QueueOrder : uint8_t {
  free,               ///< bulk copies (BK1: also inside one group), tcgen05.ld and st, LDS reads (AM10)
  complete_by_group,  ///< cp.async (CA8), wgmma (WG3): groups complete in the order of commit
  pipelined,          ///< tcgen05.mma, cp, commit of one thread (TC15, TC16)
  strict,  ///< each begins after the one before is done (QueueInfo::in_order: AM11, AM15, trap T21)
};

QueueOrder queue_order(const QueueInfo& queue);

/// Operations in flight, and the groups that they belong to. A group is a number of its queue; a wait names
/// the newest group that must be done, and whether reading the source is enough (BK3).
///
/// Groups belong to whoever owns the queue: one thread for bulk copies and cp.async (BK2, CA3), one warp
/// group for wgmma (WG3), one wave and counter class on AMD (AM9 to AM17). So a wait by anybody else names
/// another queue and waits for nothing. An empty group is done at once (CA2). Whether operations that no
/// commit has closed are waited for is decided by the group that the wait names: never on NVIDIA, always on
/// AMD (AM18).
class AsyncGroups {
 public:
  struct Operation {
    uint32_t op = 0;     ///< index into Trace::ops
    uint32_t queue = 0;  ///< AsyncOp::none: it is in no queue
    uint64_t group = 0;
    uint32_t phase = 0;  ///< issue events executed, then landing events executed
  };

  /// Issued: `ordered` queues keep the order of issue, others are kept by number of the operation, so that
  /// equal sets are equal.
  void issue(uint32_t op, uint32_t queue, uint64_t group, bool ordered);

  /// The operation in flight, or null.
  Operation* find(uint32_t op);
  const Operation* find(uint32_t op) const;
  void remove(uint32_t op);

  std::span<const Operation> all() const { return operations_; }
  /// Those of the same queue that were issued before `op`.
  std::span<const Operation> before(uint32_t op) const;

  /// Puts a state back that was read from all(), one operation after the other.
  void clear() { operations_.clear(); }
  void restore(const Operation& operation) { operations_.push_back(operation); }

 private:
  std::vector<Operation> operations_;  ///< by queue; inside a queue by issue or by number
};

}  // namespace turnstile
