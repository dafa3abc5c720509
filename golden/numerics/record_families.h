// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/result.h"

namespace turnstile::golden {

/// Forms of one operation in the records of an H200 (golden/records/numerics), compared with the models.
struct RecordFamily {
  std::string operation;   ///< "cvt", "wgmma f16 f16 f32"
  std::string operands;    ///< which: "all 2^32 words", "tuples", "tiles"
  uint64_t forms = 0;      ///< that a model predicts
  uint64_t results = 0;    ///< computed here: what is in the blocks and tiles that were compared
  uint64_t differing = 0;  ///< of these blocks and tiles: their checksum is another
  std::string first;       ///< "cvt.rn.f16.f32, block 7 of 2^22", of the first that differs
  std::vector<std::string> not_predicted;  ///< mnemonics that no model predicts, and why
};

/// How much of every record is computed.
enum class Extent : uint8_t {
  sample,  ///< of each form a block or some, of each matrix instruction the first tile of each family:
           ///< seconds
  whole,   ///< every block and every tile: 2^32 results of each of 160 forms, a minute or two each
};

struct RecordSelection {
  Extent extent = Extent::sample;
  std::string only;  ///< forms whose mnemonic begins so: "sqrt.approx", "wgmma"; empty: all
};

/// Reads sweeps.txt and matrix.txt of the folder and compares what is selected, on as many threads as the
/// machine has. `progress`, if there is one, gets the number of blocks and tiles that are done, from one
/// thread at a time. An error names file and line.
Result<std::vector<RecordFamily>> compare_records(
    const std::string& folder, const RecordSelection& selection,
    const std::function<void(uint64_t done, uint64_t all)>& progress = {});

}  // namespace turnstile::golden
