// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "sim/cta.h"

namespace turnstile::sim {

/// Where the access of one lane goes.
struct Target {
  enum class Where : uint8_t { shared, remote, global, local, param, nowhere } where = Where::nowhere;
  uint64_t offset = 0;
  uint32_t buffer = 0;  ///< global; remote: the CTA's number in the machine
};

/// Where each active lane's access goes.
struct LaneTargets {
  std::array<Target, warp_size> at;
  LaneMask visible = 0;  ///< lanes that touch shared or global memory
};

/// Where an address of the instruction's space lies, unchecked.
Target target_of(const Cta& cta, const Decoded& d, uint64_t address);

/// Resolves and checks the addresses of all lanes (operand 0) before any of them acts; a fault stops.
Step resolve_lanes(Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes, std::string_view verb,
                   LaneTargets& out);

/// Records what the lanes touch: for each strand one access of each shared memory and one of each buffer.
void record_access(Cta& cta, Warp& warp, const Decoded& d, const LaneTargets& targets, LaneMask lanes,
                   uint8_t flags);
/// What these lanes leave where they store (Event::bytes of an access): equal for two stores of equal values
/// to the same bytes, whoever of the lanes writes which of them. 0: some value is not known, or lanes of this
/// one store leave different values in one place.
uint64_t fingerprint(const Cta& cta, const Warp& warp, const Decoded& d, const LaneTargets& targets,
                     LaneMask lanes);

void read_target(const Cta& cta, const Warp& warp, const Target& t, unsigned lane, uint64_t bytes,
                 ByteRun& run);
void write_target(Cta& cta, Warp& warp, const Target& t, unsigned lane, uint64_t bytes, const ByteRun& run,
                  uint32_t place);
void forget_target(Cta& cta, Warp& warp, const Target& t, unsigned lane, uint64_t bytes);

std::string thread_name(const Warp& warp, unsigned lane);

}  // namespace turnstile::sim
