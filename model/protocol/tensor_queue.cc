// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/tensor_queue.h"

namespace turnstile {

bool tensor_pipelined(const TensorOperation& first, const TensorOperation& second) {
  using Kind = AsyncOp::Kind;
  const auto in_pipe = [](Kind k) {
    return k == Kind::tensor_mma || k == Kind::tensor_copy || k == Kind::tensor_commit;
  };
  if (!in_pipe(first.kind) || !in_pipe(second.kind)) return false;  // ld and st have waits of their own
  if (first.kind == Kind::tensor_commit && second.kind == Kind::tensor_commit)
    return first.arrives_in != TensorOperation::nowhere && first.arrives_in == second.arrives_in;
  if (second.kind == Kind::tensor_commit) return true;
  if (first.kind == Kind::tensor_copy) return second.kind == Kind::tensor_mma;
  return first.kind == Kind::tensor_mma && second.kind == Kind::tensor_mma && first.accumulates &&
         second.accumulates && first.accumulator == second.accumulator;
}

}  // namespace turnstile
