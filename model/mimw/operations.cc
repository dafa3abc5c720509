// SPDX-License-Identifier: Apache-2.0
#include "model/mimw/operations.h"

#include "model/must.h"

namespace turnstile::mimw {
namespace {

using Op = Operation;
using Kind = OperationInfo::Operand;
constexpr uint8_t many = OperationInfo::many;

// clang-format off
constexpr OperationInfo kOperations[] = {
    // operation, name, usage, operands, targets, arrow, values, descriptor
    {Op::wait, "wait", "wait BARRIER, PARITY", Kind::barrier, 1, 1, "", 1, 1},
    {Op::arrive, "arrive", "arrive BARRIER [, COUNT]", Kind::barrier, 1, 1, "", 0, 1},
    {Op::arrive_tx, "arrive_tx", "arrive_tx BARRIER, BYTES", Kind::barrier, 1, 1, "", 1, 1},
    {Op::expect_tx, "expect_tx", "expect_tx BARRIER, BYTES", Kind::barrier, 1, 1, "", 1, 1},
    {Op::arrive_drop, "arrive_drop", "arrive_drop BARRIER [, COUNT]", Kind::barrier, 1, 1, "", 0, 1},
    {Op::tma_load, "tma_load", "tma_load BUFFER, .. -> BARRIER, .., BYTES [using DESCRIPTOR]", Kind::object, 1, many, "->", 1, 1, true},
    {Op::tma_store, "tma_store", "tma_store BUFFER", Kind::object, 1, many, "", 0, 0, true},
    {Op::bulk_commit, "bulk_commit", "bulk_commit", Kind::object, 0, 0, "", 0, 0},
    {Op::bulk_wait_read, "bulk_wait_read", "bulk_wait_read GROUPS", Kind::object, 0, 0, "", 1, 1},
    {Op::bulk_wait, "bulk_wait", "bulk_wait GROUPS", Kind::object, 0, 0, "", 1, 1},
    {Op::remote_store, "remote_store", "remote_store OBJECT, .. -> BARRIER, .., BYTES", Kind::object, 1, many, "->", 1, 1},
    {Op::clc_query, "clc_query", "clc_query RESPONSE, .. -> BARRIER, .., BYTES", Kind::object, 1, many, "->", 1, 1},
    {Op::wgmma, "wgmma", "wgmma BUFFER, ..", Kind::object, 1, many, "", 0, 0},
    {Op::wg_commit, "wg_commit", "wg_commit", Kind::object, 0, 0, "", 0, 0},
    {Op::wg_wait, "wg_wait", "wg_wait GROUPS", Kind::object, 0, 0, "", 1, 1},
    {Op::mma, "mma", "mma OPERAND, .. => RESULT, ..", Kind::object, 1, many, "=>", 0, 0},
    {Op::mma_commit, "mma_commit", "mma_commit BARRIER, ..", Kind::barrier, 1, many, "", 0, 0},
    {Op::tmem_copy, "tmem_copy", "tmem_copy BUFFER => TMEM", Kind::object, 1, many, "=>", 0, 0},
    {Op::tmem_ld, "tmem_ld", "tmem_ld TMEM, ..", Kind::object, 1, many, "", 0, 0},
    {Op::tmem_wait_ld, "tmem_wait_ld", "tmem_wait_ld", Kind::object, 0, 0, "", 0, 0},
    {Op::tmem_st, "tmem_st", "tmem_st TMEM, ..", Kind::object, 1, many, "", 0, 0},
    {Op::tmem_wait_st, "tmem_wait_st", "tmem_wait_st", Kind::object, 0, 0, "", 0, 0},
    {Op::read, "read", "read OBJECT, ..", Kind::object, 1, many, "", 0, 0},
    {Op::write, "write", "write OBJECT, ..", Kind::object, 1, many, "", 0, 0},
    {Op::atomic, "atomic", "atomic OBJECT, ..", Kind::object, 1, many, "", 0, 0},
    {Op::fence, "fence", "fence", Kind::object, 0, 0, "", 0, 0},
    {Op::wgmma_fence, "wgmma_fence", "wgmma_fence", Kind::object, 0, 0, "", 0, 0},
    {Op::tc_fence_before, "tc_fence_before", "tc_fence_before", Kind::object, 0, 0, "", 0, 0},
    {Op::tc_fence_after, "tc_fence_after", "tc_fence_after", Kind::object, 0, 0, "", 0, 0},
    {Op::proxy_fence, "proxy_fence", "proxy_fence", Kind::object, 0, 0, "", 0, 0},
    {Op::tensormap_fence, "tensormap_fence", "tensormap_fence", Kind::object, 0, 0, "", 0, 0},
    {Op::bar_sync, "bar_sync", "bar_sync ID, THREADS", Kind::object, 0, 0, "", 2, 2},
    {Op::bar_arrive, "bar_arrive", "bar_arrive ID, THREADS", Kind::object, 0, 0, "", 2, 2},
    {Op::cluster_sync, "cluster_sync", "cluster_sync", Kind::object, 0, 0, "", 0, 0},
    {Op::cluster_arrive, "cluster_arrive", "cluster_arrive", Kind::object, 0, 0, "", 0, 0},
    {Op::cluster_wait, "cluster_wait", "cluster_wait", Kind::object, 0, 0, "", 0, 0},
    {Op::mbar_init, "mbar_init", "mbar_init BARRIER, SLOT", Kind::barrier, 2, 2, "", 0, 0},
    {Op::mbar_inval, "mbar_inval", "mbar_inval BARRIER", Kind::barrier, 1, 1, "", 0, 0},
    {Op::init_fence, "init_fence", "init_fence", Kind::object, 0, 0, "", 0, 0},
    {Op::inc, "inc", "inc VAR [, ADDEND]", Kind::variable, 1, 1, "", 0, 1},
    {Op::inc_relaxed, "inc_relaxed", "inc_relaxed VAR [, ADDEND]", Kind::variable, 1, 1, "", 0, 1},
    {Op::set, "set", "set VAR, VALUE", Kind::variable, 1, 1, "", 1, 1},
    {Op::spin_ge, "spin_ge", "spin_ge VAR, VALUE", Kind::variable, 1, 1, "", 1, 1},
    {Op::spin_eq, "spin_eq", "spin_eq VAR, VALUE", Kind::variable, 1, 1, "", 1, 1},
    {Op::acquire, "acquire", "acquire POOL, UNITS", Kind::pool, 1, 1, "", 1, 1},
    {Op::release, "release", "release POOL, UNITS", Kind::pool, 1, 1, "", 1, 1},
    {Op::enter, "enter", "enter", Kind::object, 0, 0, "", 0, 0},
    {Op::tmem_alloc, "tmem_alloc", "tmem_alloc COLUMNS", Kind::object, 0, 0, "", 1, 1},
    {Op::tmem_free, "tmem_free", "tmem_free COLUMNS", Kind::object, 0, 0, "", 1, 1},
    {Op::tmem_relinquish, "tmem_relinquish", "tmem_relinquish", Kind::object, 0, 0, "", 0, 0},
    {Op::pair_alloc, "pair_alloc", "pair_alloc [COLUMNS]", Kind::object, 0, 0, "", 0, 1},
    {Op::pair_free, "pair_free", "pair_free [COLUMNS]", Kind::object, 0, 0, "", 0, 1},
    {Op::pdl_launch, "pdl_launch", "pdl_launch", Kind::object, 0, 0, "", 0, 0},
    {Op::pdl_wait, "pdl_wait", "pdl_wait", Kind::object, 0, 0, "", 0, 0},
    {Op::lds_read, "lds_read", "lds_read OBJECT, ..", Kind::object, 1, many, "", 0, 0},
    {Op::wait_lds, "wait_lds", "wait_lds", Kind::object, 0, 0, "", 0, 0},
    {Op::async_copy, "async_copy", "async_copy OBJECT, ..", Kind::object, 1, many, "", 0, 0},
    {Op::copy_commit, "copy_commit", "copy_commit", Kind::object, 0, 0, "", 0, 0},
    {Op::copy_wait, "copy_wait", "copy_wait GROUPS", Kind::object, 0, 0, "", 1, 1},
    {Op::wait_async, "wait_async", "wait_async", Kind::object, 0, 0, "", 0, 0},
    {Op::nop, "nop", "nop", Kind::object, 0, 0, "", 0, 0},
    {Op::exit, "exit", "exit", Kind::object, 0, 0, "", 0, 0},
};
// clang-format on

}  // namespace

std::span<const OperationInfo> operations() { return kOperations; }

const OperationInfo& info(Operation operation) {
  const OperationInfo& found = kOperations[static_cast<size_t>(operation)];
  must(found.operation == operation, "the table of operations follows the enumeration");
  return found;
}

const OperationInfo* find_operation(std::string_view name) {
  for (const OperationInfo& o : kOperations)
    if (o.name == name) return &o;
  return nullptr;
}

}  // namespace turnstile::mimw
