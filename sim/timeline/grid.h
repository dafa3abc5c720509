// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/launch/launch.h"
#include "sim/program.h"
#include "sim/timeline/timeline.h"

namespace turnstile::sim {

/// How long a whole launch takes if all of its CTAs do as those of one timeline.
struct GridEstimate {
  uint32_t resident = 1;       ///< CTAs that fit on one SM
  uint64_t waves = 1;          ///< CTAs that an SM executes one after the other, `resident` at a time
  uint64_t cycles = 0;         ///< from the first CTA to the last
  double clock_mhz = 0;        ///< under this load
  double microseconds = 0;     ///< with the launch
  uint64_t memory_cycles = 0;  ///< that DRAM needs to bring and take every buffer once
  bool bound_by_memory = false;
};

/// CTAs of this launch that one SM of Hopper holds at a time, by shared memory, registers and threads.
uint32_t resident_ctas(const Program& program, const Launch& launch);

/// SMs that run such CTAs at the same time.
uint32_t active_sms(const Launch& launch, uint32_t machine_sms);

/// How many CTAs load the same bytes at a time: what all of them load, if each loads as much as those of this
/// trace, over what there is to load. At least 1.
double load_sharing(const Launch& launch, const Trace& trace, uint32_t machine_sms);

GridEstimate estimate_grid(const Launch& launch, uint32_t resident, const Timeline& timeline,
                           const LatencyModel& model, uint32_t machine_sms);

}  // namespace turnstile::sim
