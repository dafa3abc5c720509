// SPDX-License-Identifier: Apache-2.0
#include "golden/captures.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "sim/numerics/fp8_emulation.h"
#include "sim/numerics/tensor_core.h"

namespace turnstile::golden {

namespace {

constexpr size_t most_bytes = size_t{256} << 20;  // of one file
constexpr size_t most_products = 1024;            // of one vector
constexpr std::string_view manifest_head =
    "file,gpu,sm,instruction,in_type,acc_type,k,rows,model,L,F,rho,e_zero,c_rule,source_dir";

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = line.find(separator);
    parts.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return parts;
    line.remove_prefix(end + 1);
  }
}

std::optional<uint32_t> number(std::string_view text, int base) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::vector<uint32_t>> words(std::string_view text) {
  std::vector<uint32_t> out;
  for (const std::string_view part : split(text, ' ')) {
    const auto word = number(part, 16);
    if (!word || out.size() == most_products) return std::nullopt;
    out.push_back(*word);
  }
  return out;
}

/// Lines of a text file, without line ends.
Result<std::vector<std::string>> lines_of(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) return fail(path, 0, 0, "cannot be read: " + error.message());
  if (bytes > most_bytes) return fail(path, 0, 0, "is larger than 256 MiB");
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  if (!in.eof()) return fail(path, 0, 0, "cannot be read");
  return lines;
}

std::optional<TensorCoreUnit> unit_of(std::string_view sm, std::string_view instruction) {
  if (instruction == "wgmma")
    return sm == "sm_90" ? std::optional(TensorCoreUnit::hopper_wgmma) : std::nullopt;
  if (instruction != "wmma" && instruction != "mma.sync") return std::nullopt;
  struct Entry {
    std::string_view sm;
    TensorCoreUnit unit;
  };
  static constexpr Entry units[] = {
      {"sm_70", TensorCoreUnit::volta_mma},      {"sm_75", TensorCoreUnit::turing_mma},
      {"sm_80", TensorCoreUnit::ampere_mma},     {"sm_86", TensorCoreUnit::ampere_mma},
      {"sm_89", TensorCoreUnit::ada_mma},        {"sm_90", TensorCoreUnit::hopper_mma},
      {"sm_100", TensorCoreUnit::blackwell_mma}, {"sm_120", TensorCoreUnit::rtx_blackwell_mma}};
  for (const Entry& e : units)
    if (e.sm == sm) return e.unit;
  return std::nullopt;
}

/// The arithmetic of one file.
struct Arithmetic {
  const TensorCoreRow* row = nullptr;  ///< null: FP8 by f16 arithmetic
  ElementType type{}, accumulator{};
  size_t k = 0;
};

/// All implementations that run here; the reference first.
std::vector<uint32_t> results(const Arithmetic& how, const std::vector<uint32_t>& a,
                              const std::vector<uint32_t>& b, uint32_t c) {
  if (how.row == nullptr) return {fp8_as_f16_dot_add(how.type, how.type, how.accumulator, a, b, c)};
  std::vector<uint32_t> out = {fused_dot_add(*how.row, a, b, c)};
  const size_t bytes = operand_bytes(how.type);
  const auto packed = [&](const std::vector<uint32_t>& from) {
    std::vector<uint8_t> to(from.size() * bytes);
    for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<uint8_t>(from[i / bytes] >> (8 * (i % bytes)));
    return to;
  };
  const std::vector<uint8_t> left = packed(a), right = packed(b);
  for (const TilePath path : {TilePath::portable, TilePath::avx2, TilePath::avx512}) {
    if (!tile_path_available(*how.row, path)) continue;
    uint32_t d = c;
    multiply_accumulate(*how.row, 1, 1, a.size(), left.data(), left.size(), right.data(), right.size(), &d, 1,
                        path);
    out.push_back(d);
  }
  return out;
}

Result<CaptureFamily> compare_file(const std::string& folder, CaptureFamily family, const Arithmetic& how) {
  const std::string path = folder + "/" + family.file;
  const auto lines = lines_of(path);
  if (!lines) return tl::unexpected(lines.error());
  if (lines->empty() || lines->front() != "row,a,b,c,d")
    return fail(path, 1, 0, "the first line is not 'row,a,b,c,d'");
  for (size_t i = 1; i < lines->size(); ++i) {
    const auto fields = split((*lines)[i], ',');
    const auto line = static_cast<unsigned>(i + 1);
    if (fields.size() != 5) return fail(path, line, 0, "a vector has five fields: row, a, b, c, d");
    const auto row = number(fields[0], 10);
    const auto a = words(fields[1]), b = words(fields[2]);
    const auto c = number(fields[3], 16), d = number(fields[4], 16);
    if (!row || !a || !b || !c || !d) return fail(path, line, 0, "is not made of hexadecimal words");
    if (a->size() != how.k || b->size() != how.k)
      return fail(path, line, 0, fmt::format("{} and {} operands, not {}", a->size(), b->size(), how.k));
    ++family.vectors;
    for (const uint32_t got : results(how, *a, *b, *c)) {
      if (got == *d) continue;
      if (family.mismatches++ == 0) {
        family.first_mismatch = *row;
        family.expected = *d;
        family.got = got;
      }
      break;
    }
  }
  return family;
}

}  // namespace

Result<std::vector<CaptureFamily>> compare_captures(const std::string& folder) {
  const std::string manifest = folder + "/manifest.csv";
  const auto lines = lines_of(manifest);
  if (!lines) return tl::unexpected(lines.error());
  if (lines->empty() || lines->front() != manifest_head)
    return fail(manifest, 1, 0, fmt::format("the first line is not '{}'", manifest_head));
  std::vector<CaptureFamily> families;
  for (size_t i = 1; i < lines->size(); ++i) {
    const auto f = split((*lines)[i], ',');
    const auto line = static_cast<unsigned>(i + 1);
    if (f.size() != 15) return fail(manifest, line, 0, "a family has 15 fields");
    if (f[0].find('/') != std::string_view::npos || f[0].find("..") != std::string_view::npos)
      return fail(manifest, line, 0, "the file is not in this folder");
    const auto type = element_from_name(f[4]), accumulator = element_from_name(f[5]);
    const auto unit = unit_of(f[2], f[3]);
    const auto k = number(f[6], 10);
    if (!type || !accumulator || !unit || !k)
      return fail(manifest, line, 0, fmt::format("no model of '{}' with '{}' on '{}'", f[3], f[4], f[2]));
    Arithmetic how{nullptr, *type, *accumulator, *k};
    const bool emulated = f[8] == "fp8_as_f16";
    const bool fp8 = *type == ElementType::e4m3 || *type == ElementType::e5m2;
    const bool half_or_float = *accumulator == ElementType::f16 || *accumulator == ElementType::f32;
    if (emulated && (!fp8 || !half_or_float || (*k != 16 && *k != 32)))
      return fail(manifest, line, 0, "the model fp8_as_f16 is one of FP8 and of 16 or 32 products");
    if (!emulated) how.row = find_tensor_core_row(*unit, *type, *type, *accumulator);
    if (!emulated && how.row == nullptr)
      return fail(manifest, line, 0, "no row of the table is of this instruction and these types");
    CaptureFamily family;
    family.file = f[0];
    family.gpu = f[1];
    family.instruction = f[3];
    family.types = fmt::format("{} -> {}", f[4], f[5]);
    family.model = emulated ? "E1-E4" : std::string(how.row->id);
    auto compared = compare_file(folder, std::move(family), how);
    if (!compared) return tl::unexpected(compared.error());
    families.push_back(std::move(*compared));
  }
  return families;
}

}  // namespace turnstile::golden
