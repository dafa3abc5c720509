// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cta.h"

namespace turnstile::sim {

// Semantic functions, one family a file (exec_*.cc); the table in forms.cc binds them to mnemonics. Each
// executes one instruction for the lanes given (guard already applied) and records what it did.

// exec_data.cc
Step exec_pure(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_pack_pair(Cta&, Warp&, const Decoded&,
                    LaneMask);  // cvt of two sources into the halves of one register
Step exec_move(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_pack(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_unpack(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_select(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_to_window(Cta&, Warp&, const Decoded&, LaneMask);    // cvta
Step exec_from_window(Cta&, Warp&, const Decoded&, LaneMask);  // cvta.to
Step exec_nothing(Cta&, Warp&, const Decoded&, LaneMask);      // hints

// exec_control.cc
Step exec_branch(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_branch_indexed(Cta&, Warp&, const Decoded&, LaneMask);  // brx.idx
Step exec_exit(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_trap(Cta&, Warp&, const Decoded&, LaneMask);

// exec_memory.cc
Step exec_load(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_store(Cta&, Warp&, const Decoded&, LaneMask);

// exec_barrier.cc
Step exec_mbarrier_init(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_mbarrier_inval(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_mbarrier_arrive(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_mbarrier_expect(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_mbarrier_wait(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_named_barrier(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_fence(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_setmaxnreg(Cta&, Warp&, const Decoded&, LaneMask);

// exec_collective.cc
Step exec_elect(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_shuffle(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_vote(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_warp_sync(Cta&, Warp&, const Decoded&, LaneMask);

// exec_bulk.cc
Step exec_tensor_copy(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_plain_copy(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_bulk_commit(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_bulk_wait(Cta&, Warp&, const Decoded&, LaneMask);

// exec_wgmma.cc
Step exec_wgmma(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_wgmma_fence(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_wgmma_commit(Cta&, Warp&, const Decoded&, LaneMask);
Step exec_wgmma_wait(Cta&, Warp&, const Decoded&, LaneMask);

}  // namespace turnstile::sim
