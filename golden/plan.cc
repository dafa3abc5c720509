// SPDX-License-Identifier: Apache-2.0
#include "golden/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <variant>

#include "model/files.h"

namespace turnstile::golden {
namespace {

/// A word of a plan: in quotes where the runner would otherwise take it apart.
std::string word(const std::string& text) {
  if (!text.empty() && text.find_first_of(" \t\r\"#") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// `path` as seen from `folder`; both are relative to the working directory unless absolute.
std::string seen_from(const std::string& folder, const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::absolute(path, error).lexically_normal();
  const std::filesystem::path from =
      std::filesystem::absolute(folder.empty() ? "." : folder, error).lexically_normal();
  const std::filesystem::path relative = target.lexically_relative(from);
  return error || relative.empty() ? path : relative.string();
}

/// The file name of a buffer without its ending: its own name where that is plain.
std::string stem(const Launch& launch, size_t buffer) {
  const std::string& name = launch.buffers[buffer].name;
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool usable = !name.empty() && name[0] != '_' && std::all_of(name.begin(), name.end(), plain);
  return usable ? name : fmt::format("_{}", buffer);
}

/// The encoder knows fewer types than we do: what has none of its own travels as bits of its width.
std::string_view map_type(ElementType type) {
  switch (type) {
    case ElementType::b8:
    case ElementType::u8:
    case ElementType::s8:
    case ElementType::e4m3:
    case ElementType::e5m2:
      return "u8";
    case ElementType::b16:
    case ElementType::u16:
    case ElementType::s16:
      return "u16";
    case ElementType::b32:
    case ElementType::u32:
      return "u32";
    case ElementType::b64:
    case ElementType::u64:
      return "u64";
    case ElementType::s32:
    case ElementType::s64:
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::f32:
    case ElementType::tf32:
    case ElementType::f64:
      return element_name(type);
  }
  return "u8";
}

constexpr std::string_view kInterleaves[] = {"none", "16B", "32B"};
constexpr std::string_view kSwizzles[] = {"none", "32B", "64B", "128B"};

std::string buffer_line(const Launch& launch, size_t index, bool poison) {
  const Buffer& buffer = launch.buffers[index];
  const std::string head = fmt::format("buffer {} {} ", word(buffer.name), buffer.bytes);
  if (buffer.role == BufferRole::out) return head + (poison ? "poison\n" : "zero\n");
  if (!buffer.values_path.empty())
    return head + fmt::format("file {}\n", word(input_file_name(launch, index)));
  return head + fmt::format("generate {} {} {} {} {} {} {}\n", family_name(buffer.fill),
                            element_name(buffer.type), buffer.seed, buffer.stream, buffer.rows(),
                            buffer.columns(), buffer.row_pitch);
}

std::string tensor_map_line(const Launch& launch, const TensorMap& map) {
  const std::string l2 = map.l2_promotion_bytes == 0 ? "none" : fmt::format("{}B", map.l2_promotion_bytes);
  return fmt::format("tensormap {} {} {} {} {} dims {} strides{}{} box {} element_strides {} {} {} {} {}\n",
                     word(map.name), word(launch.buffers[map.buffer].name), map.offset, map_type(map.type),
                     map.dims.size(), fmt::join(map.dims, " "), map.strides.empty() ? "" : " ",
                     fmt::join(map.strides, " "), fmt::join(map.box, " "),
                     fmt::join(map.element_strides, " "), kInterleaves[static_cast<size_t>(map.interleave)],
                     kSwizzles[static_cast<size_t>(map.swizzle)], l2,
                     map.fill == OutOfBoundsFill::nan ? "nan" : "zero");
}

std::string parameter_line(const Launch& launch, const Parameter& parameter) {
  if (const auto* buffer = std::get_if<BufferParameter>(&parameter))
    return fmt::format("param buffer {} {}\n", word(launch.buffers[buffer->buffer].name), buffer->offset);
  if (const auto* map = std::get_if<TensorMapParameter>(&parameter))
    return fmt::format("param tensormap {}\n", word(launch.tensor_maps[map->map].name));
  const ScalarParameter& scalar = std::get<ScalarParameter>(parameter);
  const std::string_view kind = scalar.type == "f32" ? "f32"
                                : scalar.bytes == 8  ? "u64"
                                                     : "u32";  // the runner passes bits
  return fmt::format("param {} {}\n", kind, scalar.bits);
}

}  // namespace

std::string plan_text(const Launch& launch, const PlanOptions& options) {
  std::string text = "turnstile-plan 1\n";
  text += fmt::format("ptx {}\n", word(seen_from(options.folder, launch.kernel_path)));
  text += fmt::format("entry {}\n", word(launch.entry));
  text += fmt::format("grid {}\n", fmt::join(launch.grid, " "));
  text += fmt::format("block {}\n", fmt::join(launch.block, " "));
  text += fmt::format("cluster {}\n", fmt::join(launch.cluster, " "));
  text += fmt::format("shared {}\n", launch.dynamic_shared_bytes);
  text += fmt::format("repeat {}\n", options.repeat);
  for (size_t i = 0; i < launch.buffers.size(); ++i) text += buffer_line(launch, i, options.poison_outputs);
  for (const TensorMap& map : launch.tensor_maps) text += tensor_map_line(launch, map);
  for (const Parameter& parameter : launch.params) text += parameter_line(launch, parameter);
  for (size_t i = 0; i < launch.buffers.size(); ++i)
    if (launch.buffers[i].role != BufferRole::in)
      text += fmt::format("output {} {}\n", word(launch.buffers[i].name), output_file_name(launch, i));
  return text;
}

std::string input_file_name(const Launch& launch, size_t buffer) {
  return stem(launch, buffer) + ".input.bin";
}

std::string output_file_name(const Launch& launch, size_t buffer) { return stem(launch, buffer) + ".bin"; }

Result<std::string> write_plan(const Launch& launch, const PlanOptions& options, const std::string& name) {
  const std::filesystem::path folder = options.folder;
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    if (launch.buffers[i].values_path.empty() || launch.buffers[i].role == BufferRole::out) continue;
    const Result<std::vector<std::byte>> contents = initial_contents(launch.buffers[i]);
    if (!contents) return tl::unexpected<Error>(contents.error());
    const Result<void> written =
        write_file_atomically((folder / input_file_name(launch, i)).string(), *contents);
    if (!written) return tl::unexpected<Error>(written.error());
  }
  const std::string path = (folder / name).string();
  const Result<void> written = write_file_atomically(path, plan_text(launch, options));
  if (!written) return tl::unexpected<Error>(written.error());
  return path;
}

}  // namespace turnstile::golden
