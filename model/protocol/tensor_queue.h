// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/trace.h"

namespace turnstile {

/// What of a tcgen05 operation decides its order against others of the same thread.
struct TensorOperation {
  AsyncOp::Kind kind = AsyncOp::Kind::tensor_mma;
  bool accumulates = false;  ///< tensor_mma: `accumulator` is known
  uint32_t accumulator = 0;  ///< tensor_mma: equal numbers mean the same accumulator and shape
  static constexpr uint32_t nowhere = 0xffffffff;
  uint32_t arrives_in = nowhere;  ///< tensor_commit: the CTA of its barrier, if arrivals there come in order
};

/// Asynchronous tcgen05 operations of one thread are unordered except the pipelined pairs (TC15): mma after
/// mma on the same accumulator and shape, mma after cp or shift; and a commit after all of them (TC24: it
/// tracks the earlier uncompleted mma, cp, shift of its own thread, and nothing of others: TC25). Commits
/// arrive in one CTA in the order of issue: PTX does not say so, TLX-MMA-5 and the description of
/// ttng.tc_gen5_commit do (policy commit_order). What is not in that list needs a completion between (TC16).
/// The pairs shift after mma and cp.4x256b after shift are left out: a trace does not tell cp from shift, and
/// mma -> cp is not ordered; so more orders are explored than can happen, never fewer.
///
/// True: `second`, issued later by the same thread, takes effect after `first` has.
bool tensor_pipelined(const TensorOperation& first, const TensorOperation& second);

}  // namespace turnstile
