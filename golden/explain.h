// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "golden/causes.h"
#include "golden/matrix.h"
#include "golden/path.h"

namespace turnstile::golden {

struct ElementQuestion {
  uint32_t buffer = 0;
  uint64_t row = 0, column = 0;       ///< as in MatrixView
  std::optional<uint64_t> got;        ///< bits of the other side: which change would give them?
  const MatrixView* other = nullptr;  ///< all of the buffer on the other side, if it is known
  uint64_t differing = 0;             ///< elements of the buffer that differ from `other`
  uint64_t most_steps = 4096;
};

/// Where the bits of one element come from.
struct Explanation {
  std::string buffer;
  ElementType type = ElementType::b8;
  uint64_t rows = 0, columns = 0;
  uint64_t row = 0, column = 0;
  uint64_t byte_offset = 0;
  uint64_t predicted = 0;
  std::optional<uint64_t> got;
  Path path;
  bool truncated = false;   ///< there was more than can be followed
  bool replayable = false;  ///< all steps computed anew give the same bits
  uint64_t replayed_ctas = 0;
  std::optional<Causes> causes;  ///< if `got` differs
};

Result<Explanation> explain_element(const Launch& launch, const ElementQuestion& question);

}  // namespace turnstile::golden
