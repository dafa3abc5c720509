// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace turnstile::mimw {

/// What an agent can do (orchestration_bugs.md 2.2, and the operations of semantics.md that it leaves out).
enum class Operation : uint8_t {
  wait,
  arrive,
  arrive_tx,
  expect_tx,
  arrive_drop,
  tma_load,
  tma_store,
  bulk_commit,
  bulk_wait_read,
  bulk_wait,
  remote_store,
  clc_query,
  wgmma,
  wg_commit,
  wg_wait,
  mma,
  mma_commit,
  tmem_copy,
  tmem_ld,
  tmem_wait_ld,
  tmem_st,
  tmem_wait_st,
  read,
  write,
  atomic,
  fence,
  wgmma_fence,
  tc_fence_before,
  tc_fence_after,
  proxy_fence,
  tensormap_fence,
  bar_sync,
  bar_arrive,
  cluster_sync,
  cluster_arrive,
  cluster_wait,
  mbar_init,
  mbar_inval,
  init_fence,
  inc,
  inc_relaxed,
  set,
  spin_ge,
  spin_eq,
  acquire,
  release,
  enter,
  tmem_alloc,
  tmem_free,
  tmem_relinquish,
  pair_alloc,
  pair_free,
  pdl_launch,
  pdl_wait,
  lds_read,
  wait_lds,
  async_copy,
  copy_commit,
  copy_wait,
  wait_async,
  nop,
  exit,
};

struct OperationInfo {
  /// What the operands are, for the parser and for messages.
  enum class Operand : uint8_t { object, barrier, variable, pool };
  static constexpr uint8_t many = 255;

  Operation operation = Operation::nop;
  std::string_view name;
  std::string_view usage;  ///< "wait BARRIER, PARITY"
  Operand operand = Operand::object;
  uint8_t least_targets = 0, most_targets = 0;
  std::string_view arrow = {};  ///< "->" or "=>": results follow, as many barriers as targets with "->"
  uint8_t least_values = 0, most_values = 0;
  bool takes_descriptor = false;
};

/// In the order of the enumeration.
std::span<const OperationInfo> operations();
const OperationInfo& info(Operation operation);
/// Null if there is none of this name.
const OperationInfo* find_operation(std::string_view name);

}  // namespace turnstile::mimw
