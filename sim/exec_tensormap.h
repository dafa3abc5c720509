// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/cta.h"

namespace turnstile::sim {

/// A tensor map that the kernel put into a buffer.
struct MadeMap {
  std::shared_ptr<const TensorMap> map;  ///< null: `problem` says why it cannot be followed
  uint32_t footprint = 0;                ///< of its 128 bytes
  std::string problem;
  std::string violation;  ///< first rule of BS4 to BS12 that it breaks; empty: legal
};

/// The map at a generic address in a buffer; nothing if the address is elsewhere.
std::optional<MadeMap> map_made_at(Cta& cta, uint64_t address);

/// Ordinary stores went over these bytes: what maps they held is no longer known.
void forget_maps(Machine& machine, uint32_t buffer, uint64_t begin, uint64_t end);

}  // namespace turnstile::sim
