// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "golden/matrix.h"
#include "golden/path.h"

namespace turnstile::golden {

/// A change of the arithmetic with which the simulator has the bits of the other side, found by computing.
struct Cause {
  std::string text;         ///< "step 3 (fma.rn.f32, k.ptx:40) rounded toward zero (.rz)"
  uint32_t step = 0;        ///< of the path, nearest to the element; 0: of none that is shown
  bool everywhere = false;  ///< in every execution of the instruction, not of this step alone
  /// The whole launch simulated with that change, against the other side: how many elements of the buffer
  /// differ. Empty: this change cannot be simulated (it is one of this step alone), or there was no time.
  std::optional<uint64_t> differing_after;
};

struct Causes {
  std::vector<Cause> found;  ///< the best first
  uint64_t more = 0;         ///< that give these bits too, and are left out
  uint64_t refuted = 0;   ///< give these bits too, but simulated with them as many elements differ, or more
  uint64_t tried = 0;     ///< changes that were computed
  bool all_tried = true;  ///< false: a limit was hit
};

/// Which changes of one step, or of one instruction or kind of instruction in all of its executions, make the
/// element `got`. With `other`, the whole of the buffer on the other side, of which `differing` elements
/// differ, the best are simulated. Changes: rounding, flushing of subnormals, fused and separate multiply and
/// add, the approximations of div, rcp and sqrt; of tensor cores the length of a group, the bits below E, the
/// conversion, the order of k, parts of k left out.
Causes find_causes(const sim::Why& why, sim::Program& program, const Launch& launch, const Path& path,
                   uint32_t buffer, uint64_t got, const MatrixView* other, uint64_t differing);

}  // namespace turnstile::golden
