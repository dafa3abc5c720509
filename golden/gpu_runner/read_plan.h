// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "golden/gpu_runner/error.h"
#include "model/launch/generate.h"

namespace turnstile {

/// A plan as plan.md defines it: names resolved to indices, limits checked, files not yet read.
struct Plan {
  enum class Fill : uint8_t { zero, poison, file, generate };
  struct Buffer {
    std::string name;
    uint64_t bytes = 0;
    Fill fill = Fill::zero;
    std::filesystem::path file;
    Family family = Family::zeros;
    ElementType type = ElementType::b8;
    uint64_t seed = 0, stream = 0, rows = 0, columns = 0, pitch = 0;  ///< pitch in elements
  };
  struct TensorMap {
    std::string name;
    size_t buffer = 0;
    uint64_t offset = 0;  ///< bytes
    uint32_t type = 0;    ///< CUtensorMapDataType
    std::vector<uint64_t> dims, strides;
    std::vector<uint32_t> box, element_strides;
    uint32_t interleave = 0, swizzle = 0, l2_promotion = 0, fill = 0;  ///< the driver's enumerations
  };
  struct Parameter {
    enum class Kind : uint8_t { buffer, tensor_map, u32, u64 };
    Kind kind = Kind::u32;
    size_t index = 0;    ///< of the buffer or tensor map
    uint64_t value = 0;  ///< the number, or the offset into the buffer; f32 is kept as its bits
  };
  struct Output {
    size_t buffer = 0;
    std::string file;
  };

  std::filesystem::path module;
  std::string entry;
  std::array<uint32_t, 3> grid{0, 0, 0}, block{0, 0, 0}, cluster{1, 1, 1};
  uint32_t dynamic_shared = 0;
  uint32_t repeat = 1;
  std::vector<Buffer> buffers;
  std::vector<TensorMap> tensor_maps;
  std::vector<Parameter> parameters;
  std::vector<Output> outputs;
};

/// Errors name the plan and the line.
RunnerResult<Plan> parse_plan(std::string_view text, const std::filesystem::path& path);
RunnerResult<Plan> read_plan(const std::filesystem::path& path);

/// The whole file, refused when it is longer than `limit`.
RunnerResult<std::string> read_file(const std::filesystem::path& path, uint64_t limit);

}  // namespace turnstile
