// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "sim/cta.h"

namespace turnstile::sim {

// Semantic functions, one family a file (exec_*.cc); the table in forms.cc binds them to mnemonics. Each
// executes one instruction for the lanes given (guard already applied) and records what it did.

// exec_data.cc
Step exec_pure(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_pack_pair(Cta&, Warp&, const Decoded&,
                    LaneMask);  // cvt of two sources into the halves of one register
Step exec_move(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_move_wide(Cta&, Warp&, const Decoded&, LaneMask);  // two halves and a 128-bit register
Step exec_pack(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_unpack(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_select(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_to_window(Cta&, Warp&, const Decoded&, LaneMask);    // cvta
Step exec_from_window(Cta&, Warp&, const Decoded&, LaneMask);  // cvta.to
Step exec_nothing(Cta&, Warp&, const Decoded&, LaneMask);      // hints

/// Registers to registers of the same lane, whatever the state of the machine: one of the above that needs
/// no address map (exec_data.cc). What asks this adds what it knows besides.
bool computes_only(const Decoded& d);

// exec_control.cc
Step exec_branch(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_branch_indexed(Cta&, Warp&, const Decoded&, LaneMask);  // brx.idx
Step exec_exit(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_trap(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_call(Cta&, Warp&, const Decoded&, LaneMask);  // of vprintf

// exec_memory.cc
Step exec_load(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_store(Cta&, Warp&, const Decoded&, LaneMask);

// exec_mbarrier.cc
enum ArriveForm : uint8_t { arrive_expects = 1, arrive_drops = 2, arrive_no_complete = 4 };
Step exec_mbarrier_init(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_mbarrier_inval(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_mbarrier_arrive(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_mbarrier_complete(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_mbarrier_pending(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_mbarrier_expect(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_mbarrier_wait(Cta&, Warp&, const Decoded&, LaneMask);

// exec_barrier.cc
enum BarrierForm : uint8_t { barrier_sync, barrier_arrive, barrier_reduce };
enum BarrierReduction : uint8_t { barrier_count, barrier_all, barrier_any };
Step exec_named_barrier(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_fence(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_setmaxnreg(Cta&, Warp&, const Decoded&, LaneMask);

// exec_collective.cc
Step exec_elect(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_shuffle(Cta&, Warp&, const Decoded&, LaneMask);
/// The lane that this lane's shuffle reads, by the values of its operands.
unsigned shuffle_source_lane(const Warp& warp, const Decoded& d, unsigned lane);
Step exec_vote(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_match(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_active_mask(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_warp_sync(Cta&, Warp&, const Decoded&, LaneMask);
inline constexpr std::array<std::string_view, 6> reduction_names = {"add", "min", "max", "and", "or", "xor"};
enum ReduxForm : uint8_t { redux_add, redux_min, redux_max, redux_and, redux_or, redux_xor };
Step exec_redux(Cta&, Warp&, const Decoded&, LaneMask);

// exec_matrix_sync.cc
Step exec_load_matrix(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_store_matrix(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_move_matrix(Cta&, Warp&, const Decoded&, LaneMask);
/// Decoded::variant of ldmatrix and stmatrix whose fragments are given by figures that nobody has measured.
inline constexpr uint8_t matrix_rows_only = 2;
Step exec_mma(Cta&, Warp&, const Decoded&, LaneMask);

// exec_bulk.cc
Step exec_tensor_copy(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_plain_copy(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_bulk_commit(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_bulk_wait(Cta&, Warp&, const Decoded&, LaneMask);

// exec_atomic.cc
enum AtomicForm : uint8_t { atomic_reduce, atomic_exchange, atomic_compare_and_swap };
Step exec_atomic(Cta&, Warp&, const Decoded&, LaneMask);
/// Whether an atomic never changes the word, so that it only reads it.
bool leaves_word_alone(const Program& program, const Decoded& d);

// exec_multimem.cc
Step exec_multimem(Cta&, Warp&, const Decoded&, LaneMask);

// exec_cluster.cc
Step exec_mapa(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_getctarank(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_isspacep(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_cluster_arrive(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_cluster_wait(Cta&, Warp&, const Decoded&, LaneMask);

// exec_cp_async.cc
Step exec_cp_async(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_cp_async_commit(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_cp_async_wait(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_cp_async_arrive(Cta&, Warp&, const Decoded&, LaneMask);

// exec_remote.cc
Step exec_peer_copy(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_store_async(Cta&, Warp&, const Decoded&, LaneMask);

// exec_tensor_memory.cc, exec_tensor_mma.cc: tcgen05
enum TensorForm : uint8_t {
  tensor_a = 1,  // A in tensor memory
  tensor_scaled = 2,
  tensor_sparse = 4,
  tensor_stationary = 8,  // .ws
};
Step exec_tensor_alloc(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_tensor_dealloc(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_tensor_relinquish(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_tensor_access(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_tensor_wait(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_tensor_mma(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_tensor_copy_in(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_tensor_shift(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_tensor_commit(Cta&, Warp&, const Decoded&, LaneMask);

// exec_tensormap.cc
Step exec_tensormap_replace(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_tensormap_publish(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_tensormap_fence(Cta&, Warp&, const Decoded&, LaneMask);

// exec_launch_control.cc
Step exec_grid_dependency(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_try_cancel(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_is_canceled(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_first_ctaid(Cta&, Warp&, const Decoded&, LaneMask);

// exec_wgmma.cc
Step exec_wgmma(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_wgmma_fence(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_wgmma_commit(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_wgmma_wait(Cta&, Warp&, const Decoded&, LaneMask);

}  // namespace turnstile::sim
