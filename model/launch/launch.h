// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/launch/generate.h"
#include "model/result.h"

namespace turnstile {

/// A launch: everything that a PTX file does not say (ptx.md section 9). Made from a TOML launch file plus
/// settings of its variables; all expressions are evaluated, all names resolved, all legality rules of tensor
/// maps checked.

using Dim3 = std::array<uint32_t, 3>;

enum class BufferRole : uint8_t { in, out, in_out };

/// An element of a buffer that holds the address of a place in a buffer (a table of pointers).
struct BufferAddress {
  uint64_t element = 0;  ///< of the buffer that holds it, counted with the gaps of its row pitch
  uint32_t buffer = 0;   ///< index into Launch::buffers
  uint64_t offset = 0;   ///< bytes
};

struct Buffer {
  std::string name;
  ElementType type = ElementType::b8;
  std::vector<uint64_t> shape;  ///< elements, outermost first
  uint64_t row_pitch = 0;       ///< elements between rows (innermost dimension); >= shape.back()
  uint64_t bytes = 0;  ///< allocation: product of outer dimensions times row_pitch times element size
  BufferRole role = BufferRole::in;
  std::optional<uint32_t> batch_axis;  ///< dimension whose index is the row of the batch (design.md 5)
  bool previous_kernel =
      false;  ///< the kernel before in the stream uses it, perhaps still when this one runs (PD1)
  bool control_data = false;  ///< values may reach control flow or addresses: the checker uses them as given
  // Contents: generated, or read from a .npy file.
  Family fill = Family::zeros;
  uint64_t seed = 0;
  uint64_t stream = 0;
  std::string values_path;  ///< .npy; overrides fill when not empty
  /// Written over the contents once it is known where the buffers lie (initial_contents does not know).
  std::vector<BufferAddress> addresses;

  uint64_t rows() const;  ///< product of all dimensions but the innermost
  uint64_t columns() const { return shape.empty() ? 1 : shape.back(); }
};

enum class Interleave : uint8_t { none, b16, b32 };
enum class Swizzle : uint8_t { none, b32, b64, b128 };
enum class OutOfBoundsFill : uint8_t { zero, nan };

/// Arguments of cuTensorMapEncodeTiled (semantics.md 6.3); dimension 0 is innermost.
struct TensorMap {
  std::string name;
  uint32_t buffer = 0;  ///< index into Launch::buffers
  uint64_t offset = 0;  ///< bytes from the start of the buffer
  ElementType type = ElementType::bf16;
  std::vector<uint64_t> dims;     ///< elements
  std::vector<uint64_t> strides;  ///< bytes, rank-1 of them
  std::vector<uint32_t> box;      ///< elements
  std::vector<uint32_t> element_strides;
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  OutOfBoundsFill fill = OutOfBoundsFill::zero;
  uint32_t l2_promotion_bytes = 0;  ///< 0, 64, 128, 256: a hint, no meaning for results

  uint64_t box_bytes() const;  ///< bytes that one load delivers: always the full box (MB31)
};

struct BufferParameter {
  uint32_t buffer = 0;
  uint64_t offset = 0;  ///< bytes
};
struct TensorMapParameter {
  uint32_t map = 0;
};
struct ScalarParameter {
  std::string type;   ///< "u32", "s32", "u64", "f32", ...
  uint64_t bits = 0;  ///< the value's bits, zero-extended
  uint32_t bytes = 4;
};
using Parameter = std::variant<BufferParameter, TensorMapParameter, ScalarParameter>;

/// A name for a range of dynamic shared memory, for reports only.
struct SharedName {
  std::string name;
  uint64_t offset = 0;  ///< bytes from the start of dynamic shared memory
  uint64_t bytes = 0;   ///< of one stage
  uint32_t stages = 1;
};

/// A contested rule, decided in a file (`[policies]`), as it stands there.
struct PolicySetting {
  std::string name, value;
  unsigned line = 0, column = 0;
};

struct Launch {
  std::string path;         ///< the launch file as given, for reports
  std::string case_name;    ///< empty if no case was chosen
  std::string kernel_path;  ///< PTX, relative to the working directory or absolute
  std::string source_path;  ///< may be empty
  std::string entry;
  std::map<std::string, int64_t> vars;
  Dim3 grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint64_t dynamic_shared_bytes = 0;
  std::optional<uint32_t> registers_per_thread;  ///< at entry (RG10)
  /// How many clusters launch control hands over to one that asks (CL1), one number for each run of the
  /// checker; empty: every number that is possible.
  std::vector<uint32_t> clusters_to_cancel;
  std::vector<Buffer> buffers;
  std::vector<TensorMap> tensor_maps;
  std::vector<Parameter> params;
  std::vector<SharedName> shared_names;
  std::map<uint32_t, std::string> warp_roles;  ///< warp index in the CTA -> role, for reports
  std::vector<PolicySetting> policies;         ///< for the checker, which knows the names

  uint64_t cta_count() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }
  uint32_t threads() const { return block[0] * block[1] * block[2]; }
};

/// What the user may change on the command line: `--case NAME`, `--set M=77`, `--fill wide`.
struct LaunchOverrides {
  std::string case_name;
  std::map<std::string, int64_t> vars;
  std::optional<Family> fill;
  std::string kernel_path;  ///< run this PTX instead (mutants)
};

/// Reads a launch file and checks it (BS4-BS13, sizes, names). Unknown keys are errors that name the nearest
/// known key.
Result<Launch> read_launch(const std::string& path, const LaunchOverrides& overrides);

/// Same, from text; `path` is used for messages and to resolve relative file names.
Result<Launch> parse_launch(const std::string& text, const std::string& path,
                            const LaunchOverrides& overrides);

/// The variables of a launch under the overrides, without reading what is computed from them.
Result<std::map<std::string, int64_t>> launch_variables(const std::string& path,
                                                        const LaunchOverrides& overrides);

/// Names of the [[cases]] in a launch file, in order.
Result<std::vector<std::string>> list_cases(const std::string& path);

/// The contents of a buffer before the launch: generated, or read from its .npy file; `out` buffers are zero.
Result<std::vector<std::byte>> initial_contents(const Buffer& buffer);

/// First violated rule of semantics.md 6.3 that can be seen in the arguments (BS4-BS12), as text "BS8: stride
/// ..."; empty if legal.
std::string tensor_map_violation(const TensorMap& map, uint64_t buffer_bytes);

}  // namespace turnstile
