// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/register_pool.h"

namespace turnstile {

void RegisterGroup::release(Pool& pool, uint32_t warp, uint64_t registers, uint32_t live) {
  released_ |= 1u << warp;
  held_back_ += registers;
  settle(pool, live);
}

void RegisterGroup::settle(Pool& pool, uint32_t live) {
  if (released_ == 0 || (released_ & live) != live) return;
  pool.release(held_back_);  // RG7: only now can another group be served
  released_ = 0;
  held_back_ = 0;
}

bool RegisterGroup::can_acquire(const Pool& pool, uint32_t warp, uint32_t present, uint32_t live,
                                uint64_t need) const {
  if ((granted_ >> warp & 1) != 0) return true;
  return granted_ == 0 && (present & live) == live && pool.can_acquire(need);
}

void RegisterGroup::acquire(Pool& pool, uint32_t warp, uint32_t present, uint64_t need) {
  if ((granted_ >> warp & 1) == 0) {
    pool.acquire(need);
    granted_ = present;
  }
  granted_ &= ~(1u << warp);
}

void RegisterGroup::restore(uint32_t released, uint64_t held_back, uint32_t granted) {
  released_ = released;
  held_back_ = held_back;
  granted_ = granted;
}

}  // namespace turnstile
