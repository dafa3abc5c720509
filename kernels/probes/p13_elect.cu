// SPDX-License-Identifier: Apache-2.0

// P13: which lane elect.sync elects, for many masks (Q11).

#include <bit>

#include "ptx.cuh"

namespace probes {
namespace {

enum class Manner : int { together, spread };  // spread: each lane comes at its own time, the highest first

struct Election {
  uint32_t leader;    ///< as the lowest lane of the mask was told
  uint32_t elected;   ///< lanes whose predicate was true
  uint32_t disagree;  ///< lanes that were told another leader
};

__global__ void elect(const uint32_t* masks, Election* results, int count, Manner manner) {
  __shared__ uint32_t told[32], won[32];
  const uint32_t lane = threadIdx.x;
  for (int i = 0; i < count; ++i) {
    const uint32_t mask = masks[i];
    told[lane] = won[lane] = 0;
    __syncwarp();
    if ((mask >> lane & 1) != 0) {
      if (manner == Manner::spread) {
        const long long start = clock64();
        while (clock64() - start < (31 - lane) * 40) {
        }
      }
      uint32_t leader, mine;
      asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }"
                   : "=r"(leader), "=r"(mine)
                   : "r"(mask)
                   : "memory");
      told[lane] = leader;
      won[lane] = mine;
    }
    __syncwarp();
    if (lane == 0) {
      Election e{told[__ffs(static_cast<int>(mask)) - 1], 0, 0};
      for (uint32_t l = 0; l < 32; ++l) {
        if ((mask >> l & 1) == 0) continue;
        e.elected |= won[l] << l;
        e.disagree += told[l] != e.leader;
      }
      results[i] = e;
    }
    __syncwarp();
  }
}

/// Single lanes, prefixes, suffixes, pairs, alternations, and `extra` drawn from a fixed generator.
std::vector<uint32_t> some_masks(int extra) {
  std::vector<uint32_t> masks = {0x55555555, 0xAAAAAAAA, 0x33333333, 0xCCCCCCCC, 0x0F0F0F0F, 0xF0F0F0F0};
  for (uint32_t i = 0; i < 32; ++i) {
    masks.push_back(1u << i);
    masks.push_back(~0u >> i);
    masks.push_back(~0u << i);
    for (uint32_t j = i + 1; j < 32; ++j) masks.push_back(1u << i | 1u << j);
  }
  uint64_t state = 1;
  for (int i = 0; i < extra; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto mask = static_cast<uint32_t>(state >> 32);
    if (mask != 0) masks.push_back(mask);
  }
  return masks;
}

void elections(Bench& b, const Variant& v) {
  const std::vector<uint32_t> masks = some_masks(v.parameter == 0 ? 20000 : 2000);
  const uint32_t* uploaded = b.upload(masks);
  Election* results = b.device_array<Election>(masks.size());
  b.run(elect, Shape{1, 32}, uploaded, results, static_cast<int>(masks.size()),
        static_cast<Manner>(v.parameter));
  const std::vector<Election> got = b.download(results, masks.size());
  if (!b.ended()) return;
  uint64_t lowest = 0, highest = 0, one = 0, disagree = 0;
  std::string others = "[";
  for (size_t i = 0; i < masks.size(); ++i) {
    const auto low = static_cast<uint32_t>(std::countr_zero(masks[i]));
    const auto high = static_cast<uint32_t>(31 - std::countl_zero(masks[i]));
    lowest += got[i].leader == low;
    highest += got[i].leader == high;
    one += got[i].elected == 1u << got[i].leader;
    disagree += got[i].disagree;
    if (got[i].leader != low && others.size() < 600)
      others += std::string(others.size() > 1 ? "," : "") + "[" + std::to_string(masks[i]) + "," +
                std::to_string(got[i].leader) + "]";
  }
  b.number("masks", masks.size());
  b.number("leader_is_lowest", lowest);
  b.number("leader_is_highest", highest);
  b.number("exactly_the_leader_elected", one);
  b.number("lanes_told_another", disagree);
  b.json("mask_and_leader_if_not_lowest", others + "]");
}

constexpr Variant variants[] = {
    {"together", false, "the lanes of the mask come together", elections, 0},
    {"spread", false, "each lane comes at its own time, the highest first", elections, 1},
};

}  // namespace

const Probe p13{"P13", variants};

}  // namespace probes
