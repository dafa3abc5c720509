// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/result.h"

namespace turnstile::golden {

/// Outputs of tensor cores as recorded by others (tests/sim/data/tensor_core_captures/README.md), compared
/// with the matrix models. One family is one file: a GPU, an instruction, types.
struct CaptureFamily {
  std::string file;         ///< name in the folder
  std::string gpu;          ///< "H200"
  std::string instruction;  ///< "wgmma", "mma.sync", "wmma"
  std::string types;        ///< "e4m3 -> f32"
  std::string model;        ///< row of the table, "I16"; "E1-E4" for FP8 by f16 arithmetic
  uint64_t vectors = 0;
  uint64_t mismatches = 0;         ///< of the reference, or of any of the vector implementations
  uint64_t first_mismatch = 0;     ///< `row` of the file
  uint32_t expected = 0, got = 0;  ///< there
};

/// Reads the manifest of a folder and the files that it lists, and computes every vector. An error names file
/// and line.
Result<std::vector<CaptureFamily>> compare_captures(const std::string& folder);

}  // namespace turnstile::golden
