// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/trace.h"

namespace turnstile::cli {

using TraceClass = std::array<uint64_t, 2>;

/// Two traces of one class get the same report from check(), up to the names of CTAs: the same agents did the
/// same in the same order, and their accesses to global memory overlap in the same way, wherever the memory
/// lies. Global memory that a trace only reads does not count: no two of its accesses conflict. A 128-bit
/// hash; equal by chance with probability 2^-128. Cost: linear in events, n log n in ranges of written global
/// memory.
TraceClass trace_class(const Trace& trace);

/// The allocations of global memory that a trace writes, sorted.
std::vector<uint32_t> written_allocations(const Trace& trace);

/// The part of trace_class() that is about footprints: equal if their accesses to shared memory are the same,
/// and those to the written allocations overlap in the same way.
TraceClass overlap_class(std::span<const Footprint> footprints, std::span<const ByteRange> ranges,
                         std::span<const uint32_t> written);

/// Equal if, besides, the same bytes of global memory meet: wherever two ranges share bytes, they lie at the
/// same distance from each other. Whoever loads equal bytes in one then does so in the other.
TraceClass alignment_class(std::span<const Footprint> footprints, std::span<const ByteRange> ranges);

}  // namespace turnstile::cli
