// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/launch/launch.h"
#include "model/result.h"
#include "model/trace.h"
#include "sim/launch_run.h"

namespace turnstile::sim {

struct Decoded;

/// Bytes of a step that another step gave: `bytes` of its inputs from `at` on are those of the result of
/// node `node` from `from` on.
struct WhyInput {
  uint32_t node = 0;
  uint32_t at = 0;
  uint32_t from = 0;
  uint32_t bytes = 0;
};

/// One step on the way of a value: an instruction of one lane, a copy, one element of a matrix operation.
struct WhyNode {
  enum class Kind : uint8_t {
    leaf,      ///< nothing comes before it: `text`, or bytes of a buffer as they were before the launch
    load,      ///< memory to register
    store,     ///< register to memory
    transfer,  ///< memory to memory: bulk copies, cp.async
    shuffle,   ///< the value of another lane
    compute,   ///< registers to a register
    select,    ///< one of two registers
    matrix,    ///< one element of wgmma or mma.sync: what it was, plus a row of A times a column of B
    stop,      ///< not followed further; `text` says what it is
  } kind = Kind::leaf;
  uint32_t step = 0;  ///< of the log: what is earlier has a lower number
  uint32_t code = 0;  ///< index of the instruction; also its place
  uint16_t cta = 0, warp = 0;
  uint8_t lane = 0;
  uint8_t result = 0;   ///< which destination
  uint8_t half = 0xff;  ///< of an operation on two numbers side by side: which one; else 0xff
  uint32_t memory =
      0xffffffff;        ///< of loads, stores (where to), transfers (where to), leaves: in Why::memories
  uint64_t address = 0;  ///< there
  uint32_t row = 0, column = 0;  ///< matrix: of the tile
  bool accumulates = false;      ///< matrix: there is something before it
  std::string text;
  /// What it worked on. Compute and select: 8 bytes for each source. Matrix: 8 bytes of the accumulator, the
  /// row of A, the column of B. Of others the same as `out`.
  std::vector<uint8_t> in;
  std::vector<uint8_t> out;
  std::vector<WhyInput> inputs;
};

struct WhyMemory {
  bool shared = false;
  uint32_t number = 0;  ///< buffer or variable; of shared memory the CTA, in Why::ctas
};

/// Where the bytes of one element come from. Node 0 is the element itself; what a node depends on is in its
/// inputs. Addresses and predicates are taken as they were.
struct Why {
  std::vector<WhyNode> nodes;
  std::vector<uint32_t> order;  ///< of all nodes: each after those that it depends on
  std::vector<WhyMemory> memories;
  std::vector<std::array<uint32_t, 3>> ctas;  ///< positions in the grid
  bool truncated = false;  ///< there was more than `most_nodes`; the rest is taken as it was
  bool replayable =
      false;  ///< computing all nodes anew gives the same bits: what follows from a change is real
  uint64_t replayed_ctas = 0;  ///< that were executed to find all this
};

inline constexpr uint32_t most_why_nodes = 60'000;

/// Follows `bytes` bytes of a buffer at `offset`, as the launch leaves them, back to where they come from.
/// The launch is executed three times: all of it to find who wrote them last; then only the CTAs that matter,
/// to see what they did, and again for the values.
Result<Why> explain_bytes(const Program& program, const Launch& launch, uint32_t buffer, uint64_t offset,
                          uint32_t bytes);

/// The result of a node on these inputs, with its instruction as `d` says (that of the program, or another).
std::vector<uint8_t> evaluate(const WhyNode& node, const Decoded& d, const std::vector<uint8_t>& in);

}  // namespace turnstile::sim
