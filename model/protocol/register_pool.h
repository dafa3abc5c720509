// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/protocol/pool.h"

namespace turnstile {

/// setmaxnreg of one warp group (semantics.md section 8). The four warps execute it together (RG1): what they
/// give back reaches the pool of the CTA when the last of them has executed the dec; an inc is granted to all
/// four at once. Warps that ended do not take part. Registers are counted for all threads of a warp.
class RegisterGroup {
 public:
  /// Is n a legal operand (RG1)?
  static bool legal_count(uint32_t n) { return n >= 24 && n <= 256 && n % 8 == 0; }
  /// RG2: dec only downwards, inc only upwards; an equal count is allowed (Q18).
  static bool legal_release(uint64_t own, uint32_t wanted) { return wanted <= own; }
  static bool legal_acquire(uint64_t own, uint32_t wanted) { return wanted >= own; }

  /// setmaxnreg.dec by warp `warp` (0 to 3); `live`: mask of the warps that have not ended.
  void release(Pool& pool, uint32_t warp, uint64_t registers, uint32_t live);
  /// A warp ended: the others may have waited only for it.
  void settle(Pool& pool, uint32_t live);

  /// RG4: may a warp of the group pass its setmaxnreg.inc? `present`: mask of the warps that are at the
  /// instruction now, `need`: registers that all of them ask for.
  bool can_acquire(const Pool& pool, uint32_t warp, uint32_t present, uint32_t live, uint64_t need) const;
  /// `warp` passes it. The first one takes the registers of all.
  void acquire(Pool& pool, uint32_t warp, uint32_t present, uint64_t need);

  uint32_t released() const { return released_; }  ///< warps that gave back, waiting for the others
  uint64_t held_back() const { return held_back_; }
  uint32_t granted() const { return granted_; }  ///< warps that were granted and have not passed yet
  void restore(uint32_t released, uint64_t held_back, uint32_t granted);

 private:
  uint32_t released_ = 0;
  uint32_t granted_ = 0;
  uint64_t held_back_ = 0;
};

}  // namespace turnstile
