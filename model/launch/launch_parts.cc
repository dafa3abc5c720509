// SPDX-License-Identifier: Apache-2.0
#include "model/launch/launch_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <limits>

#include "model/launch/nearest_name.h"

namespace turnstile {
namespace {

// What the GPU runner takes (golden/gpu_runner/plan.md).
constexpr size_t kMostBuffers = 256, kMostMaps = 64, kMostParameters = 256;
constexpr uint64_t kMostBufferBytes = uint64_t{64} << 30;
constexpr int64_t kMostElements = int64_t{1} << 36;
constexpr size_t kMostDimensions = 8;
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

constexpr std::string_view kTypeNames[] = {"b8",   "u8",  "s8",   "e4m3", "e5m2", "b16", "u16",
                                           "s16",  "f16", "bf16", "b32",  "u32",  "s32", "f32",
                                           "tf32", "b64", "u64",  "s64",  "f64"};
constexpr std::string_view kFillNames[] = {"zeros", "ones", "iota", "normal", "wide", "special"};
constexpr std::string_view kRoleNames[] = {"in", "out", "in_out"};
constexpr std::string_view kInterleaveNames[] = {"none", "16B", "32B"};
constexpr std::string_view kSwizzleNames[] = {"none", "32B", "64B", "128B"};
constexpr std::string_view kPromotionNames[] = {"none", "64B", "128B", "256B"};
constexpr std::string_view kOutOfBoundsNames[] = {"zero", "nan"};

/// Index of the named thing; an error that suggests a name, and 0, if there is none.
template <typename Item>
uint32_t index_of(FieldReader& reader, const TableView& table, std::string_view key,
                  const std::vector<Item>& items, std::string_view kinds) {
  const std::string name = reader.text(table, key);
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return i;
    names.push_back(items[i].name);
  }
  if (const TomlValue* value = table.find(key); value != nullptr)
    reader.report(value->at, fmt::format("'{}' in {} is \"{}\", which is not one of the {}{}", key,
                                         table.where, name, kinds, suggestion(name, names, kinds)));
  return 0;
}

template <typename Item>
void refuse_duplicate(FieldReader& reader, const TableView& table, const std::vector<Item>& items,
                      const std::string& name) {
  for (const Item& item : items)
    if (item.name == name)
      reader.report(table.table->at, fmt::format("the name of {} is already taken", table.where));
}

void refuse_too_many(FieldReader& reader, std::span<const TomlValue> tables, std::string_view kind,
                     size_t most) {
  if (tables.size() > most)
    reader.report(tables[most].at,
                  fmt::format("there are {} {}; at most {} are possible", tables.size(), kind, most));
}

std::vector<uint64_t> as_unsigned(const std::vector<int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}
std::vector<uint32_t> as_unsigned32(const std::vector<int64_t>& numbers) {
  std::vector<uint32_t> result;
  for (const int64_t number : numbers) result.push_back(static_cast<uint32_t>(number));
  return result;
}

/// Shape, pitch and size in bytes.
void read_extent(FieldReader& reader, const TableView& table, Buffer& buffer) {
  buffer.shape = as_unsigned(reader.numbers(table, "shape", {1, kMostElements}, 1, kMostDimensions));
  const int64_t columns = static_cast<int64_t>(buffer.shape.back());
  buffer.row_pitch =
      static_cast<uint64_t>(reader.number_or(table, "row_pitch", {columns, kMostElements}, columns));
  uint64_t bytes = buffer.row_pitch * element_bytes(buffer.type);  // 2^36 elements of 8 bytes at most
  for (size_t i = 0; i + 1 < buffer.shape.size() && bytes <= kMostBufferBytes; ++i)
    if (__builtin_mul_overflow(bytes, buffer.shape[i], &bytes)) bytes = std::numeric_limits<uint64_t>::max();
  if (bytes > kMostBufferBytes) {
    reader.report(table.table->at,
                  fmt::format("{} is larger than 64 GiB, the most that is possible", table.where));
    bytes = 0;
  }
  buffer.bytes = bytes;
}

void read_contents(FieldReader& reader, const TableView& table, std::optional<Family> fill,
                   const std::string& launch_path, size_t index, Buffer& buffer) {
  const bool fixed = reader.flag_or(table, "fixed_fill", false);
  buffer.seed = static_cast<uint64_t>(reader.number_or(table, "seed", {0, kLargest}, 0));
  // Two buffers must not be equal by default.
  buffer.stream =
      static_cast<uint64_t>(reader.number_or(table, "stream", {0, kLargest}, static_cast<int64_t>(index)));
  if (table.has("fill") && table.has("values")) {
    reader.report(table.find("values")->at,
                  fmt::format("{} has both 'fill' and 'values'; keep one", table.where));
  } else if (buffer.role == BufferRole::out) {
    for (const std::string_view key : {"fill", "values"})
      if (const TomlValue* value = table.find(key); value != nullptr)
        reader.report(
            value->at,
            fmt::format("{} has the role \"out\", so it starts as zeros; drop '{}' or make it \"in_out\"",
                        table.where, key));
  } else if (table.has("values")) {
    buffer.values_path = path_beside(launch_path, reader.text(table, "values"));
  } else if (table.has("fill")) {
    buffer.fill = static_cast<Family>(reader.choice_or(table, "fill", kFillNames, 0));
    if (fill && !fixed) buffer.fill = *fill;
  } else {
    reader.report(
        table.table->at,
        fmt::format("{} lacks 'fill' (zeros, ones, iota, normal, wide or special) or 'values' (a .npy file)",
                    table.where));
  }
}

/// The elements of a table of pointers.
void read_addresses(FieldReader& reader, const TomlValue& item, const std::vector<Buffer>& buffers,
                    Buffer& buffer) {
  const TableView table{&item, fmt::format("[[buffers]] '{}'", buffer.name)};
  if (!table.has("addresses")) return;
  const TomlPosition at = table.find("addresses")->at;
  if (element_bytes(buffer.type) != 8)
    reader.report(at, fmt::format("'addresses' in {} needs a dtype of 8 bytes, not {}", table.where,
                                  element_name(buffer.type)));
  if (!buffer.control_data || buffer.role == BufferRole::out)
    reader.report(at, fmt::format("'addresses' in {} needs 'control_data = true' and contents", table.where));
  const uint64_t elements = buffer.bytes / 8;
  for (const TomlValue& one : reader.tables(table, "addresses")) {
    if (reader.failed()) return;
    const TableView entry{
        &one, fmt::format("'addresses' of {}, number {}", table.where, buffer.addresses.size() + 1)};
    reader.check_keys(entry, {"element", "buffer", "offset"});
    BufferAddress address;
    address.element =
        static_cast<uint64_t>(reader.number(entry, "element", {0, static_cast<int64_t>(elements) - 1}));
    address.buffer = index_of(reader, entry, "buffer", buffers, "buffers");
    if (reader.failed()) return;
    const int64_t most = static_cast<int64_t>(buffers[address.buffer].bytes);
    address.offset = static_cast<uint64_t>(reader.number_or(entry, "offset", {0, most}, 0));
    buffer.addresses.push_back(address);
  }
}

void check_map_shape(FieldReader& reader, const TableView& table, const TensorMap& map) {
  const size_t rank = map.dims.size();
  const auto need = [&](std::string_view key, size_t count, size_t needed) {
    if (count != needed)
      reader.report(table.find(key)->at,
                    fmt::format("'{}' in {} has {} numbers; rank {} (the number of dims) needs {}", key,
                                table.where, count, rank, needed));
  };
  if (reader.failed()) return;
  if (table.has("strides")) {
    need("strides", map.strides.size(), rank - 1);
  } else if (rank > 1) {
    reader.report(table.table->at,
                  fmt::format("{} lacks the key 'strides': bytes, one less than dims", table.where));
  }
  need("box", map.box.size(), rank);
  if (table.has("element_strides")) need("element_strides", map.element_strides.size(), rank);
}

constexpr std::string_view kScalarTypes[] = {"u8",  "s8",  "u16", "s16", "u32",
                                             "s32", "u64", "s64", "f32", "f64"};

ScalarParameter read_scalar(FieldReader& reader, const TableView& table, std::string_view type) {
  uint32_t bits = 0;
  for (const char c : type.substr(1)) bits = bits * 10 + static_cast<uint32_t>(c - '0');
  ScalarParameter scalar{std::string(type), 0, bits / 8};
  if (type[0] == 'u') {
    const int64_t most = bits == 64 ? kLargest : (int64_t{1} << bits) - 1;
    scalar.bits = static_cast<uint64_t>(reader.number(table, type, {0, most}));
  } else if (type[0] == 's') {
    const int64_t most = bits == 64 ? kLargest : (int64_t{1} << (bits - 1)) - 1;
    const uint64_t kept = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    scalar.bits = static_cast<uint64_t>(reader.number(table, type, {-most - 1, most})) & kept;
  } else {
    const TomlValue& value = *table.find(type);
    const double number =
        value.kind == TomlValue::Kind::real
            ? value.real
            : static_cast<double>(reader.number(table, type, {-(int64_t{1} << 53), int64_t{1} << 53}));
    if (type == "f64") {
      scalar.bits = std::bit_cast<uint64_t>(number);
      return scalar;
    }
    // A finite number that f32 cannot hold has no value here; inf and nan are taken as written.
    if (std::isfinite(number) && std::fabs(number) > static_cast<double>(std::numeric_limits<float>::max())) {
      reader.report(value.at, fmt::format("'f32' in {} is {}, beyond the range of f32", table.where, number));
      return scalar;
    }
    scalar.bits = std::bit_cast<uint32_t>(static_cast<float>(number));
  }
  return scalar;
}

}  // namespace

void read_buffers(FieldReader& reader, const TableView& root, std::optional<Family> fill, Launch& launch) {
  const std::span<const TomlValue> tables = reader.tables(root, "buffers");
  refuse_too_many(reader, tables, "buffers", kMostBuffers);
  uint64_t total = 0;
  for (const TomlValue& item : tables) {
    if (reader.failed()) return;
    TableView table{&item, "[[buffers]]"};
    Buffer buffer;
    buffer.name = reader.name(table, "name");
    table.where = fmt::format("[[buffers]] '{}'", buffer.name);
    reader.check_keys(table,
                      {"name", "dtype", "shape", "row_pitch", "role", "fill", "values", "fixed_fill", "seed",
                       "stream", "batch_axis", "control_data", "previous_kernel", "addresses"});
    refuse_duplicate(reader, table, launch.buffers, buffer.name);
    reader.text(table, "dtype");
    buffer.type = static_cast<ElementType>(reader.choice_or(table, "dtype", kTypeNames, 0));
    reader.text(table, "role");
    buffer.role = static_cast<BufferRole>(reader.choice_or(table, "role", kRoleNames, 0));
    read_extent(reader, table, buffer);
    read_contents(reader, table, fill, launch.path, launch.buffers.size(), buffer);
    if (table.has("batch_axis"))
      buffer.batch_axis = static_cast<uint32_t>(
          reader.number(table, "batch_axis", {0, static_cast<int64_t>(buffer.shape.size()) - 1}));
    buffer.control_data = reader.flag_or(table, "control_data", false);
    buffer.previous_kernel = reader.flag_or(table, "previous_kernel", false);
    total += buffer.bytes;  // 256 times 64 GiB at most
    if (total > kMostBufferBytes)
      reader.report(item.at, "the buffers up to here are larger than 64 GiB, the most that is possible");
    launch.buffers.push_back(std::move(buffer));
  }
  // A table may point to buffers that stand after it.
  for (size_t i = 0; i < launch.buffers.size() && !reader.failed(); ++i)
    read_addresses(reader, tables[i], launch.buffers, launch.buffers[i]);
}

void read_tensor_maps(FieldReader& reader, const TableView& root, Launch& launch) {
  const std::span<const TomlValue> tables = reader.tables(root, "tensor_maps");
  refuse_too_many(reader, tables, "tensor maps", kMostMaps);
  for (const TomlValue& item : tables) {
    if (reader.failed()) return;
    TableView table{&item, "[[tensor_maps]]"};
    TensorMap map;
    map.name = reader.name(table, "name");
    table.where = fmt::format("[[tensor_maps]] '{}'", map.name);
    reader.check_keys(table, {"name", "buffer", "offset", "dtype", "dims", "strides", "box",
                              "element_strides", "interleave", "swizzle", "l2_promotion", "oob_fill"});
    refuse_duplicate(reader, table, launch.tensor_maps, map.name);
    map.buffer = index_of(reader, table, "buffer", launch.buffers, "buffers");
    if (reader.failed()) return;  // the buffer's type and size are needed below
    const Buffer& buffer = launch.buffers[map.buffer];
    map.offset = static_cast<uint64_t>(reader.number_or(table, "offset", {0, kLargest}, 0));
    map.type = static_cast<ElementType>(
        reader.choice_or(table, "dtype", kTypeNames, static_cast<size_t>(buffer.type)));
    // The rules have the exact limits (BS5 to BS11); here only what the types can hold.
    map.dims = as_unsigned(reader.numbers(table, "dims", {0, kLargest}, 1, kMostDimensions));
    if (table.has("strides"))
      map.strides = as_unsigned(reader.numbers(table, "strides", {0, kLargest}, 0, kMostDimensions));
    map.box = as_unsigned32(reader.numbers(table, "box", {0, 0xFFFFFFFF}, 1, kMostDimensions));
    map.element_strides.assign(map.dims.size(), 1);
    if (table.has("element_strides"))
      map.element_strides =
          as_unsigned32(reader.numbers(table, "element_strides", {0, 0xFFFFFFFF}, 1, kMostDimensions));
    map.interleave = static_cast<Interleave>(reader.choice_or(table, "interleave", kInterleaveNames, 0));
    map.swizzle = static_cast<Swizzle>(reader.choice_or(table, "swizzle", kSwizzleNames, 0));
    const size_t promotion = reader.choice_or(table, "l2_promotion", kPromotionNames, 0);
    map.l2_promotion_bytes = promotion == 0 ? 0 : 32u << promotion;
    map.fill = static_cast<OutOfBoundsFill>(reader.choice_or(table, "oob_fill", kOutOfBoundsNames, 0));
    check_map_shape(reader, table, map);
    if (reader.failed()) return;
    if (const std::string violation = tensor_map_violation(map, buffer.bytes); !violation.empty())
      reader.report(item.at, fmt::format("tensor map '{}' of buffer '{}' is not legal: {}", map.name,
                                         buffer.name, violation));
    launch.tensor_maps.push_back(std::move(map));
  }
}

void read_parameters(FieldReader& reader, const TableView& root, Launch& launch) {
  std::vector<std::string_view> kinds = {"tensor_map", "buffer"};
  kinds.insert(kinds.end(), std::begin(kScalarTypes), std::end(kScalarTypes));
  const std::span<const TomlValue> tables = reader.tables(root, "params");
  refuse_too_many(reader, tables, "parameters", kMostParameters);
  for (const TomlValue& item : tables) {
    if (reader.failed()) return;
    const TableView table{&item, fmt::format("[[params]] number {}", launch.params.size() + 1)};
    reader.check_keys(table, {"tensor_map", "buffer", "offset", "u8", "s8", "u16", "s16", "u32", "s32", "u64",
                              "s64", "f32", "f64"});
    std::string_view kind;
    size_t count = 0;
    for (const std::string_view candidate : kinds) {
      if (!table.has(candidate)) continue;
      kind = candidate;
      ++count;
    }
    if (count != 1)
      reader.report(item.at, fmt::format("{} has {} values; exactly one of {} was expected", table.where,
                                         count, fmt::join(kinds, ", ")));
    if (kind != "buffer" && table.has("offset"))
      reader.report(table.find("offset")->at,
                    fmt::format("'offset' in {} goes with 'buffer' only", table.where));
    if (reader.failed()) return;
    if (kind == "tensor_map") {
      launch.params.push_back(
          TensorMapParameter{index_of(reader, table, kind, launch.tensor_maps, "tensor maps")});
    } else if (kind == "buffer") {
      const uint32_t buffer = index_of(reader, table, kind, launch.buffers, "buffers");
      if (reader.failed()) return;
      const int64_t most = static_cast<int64_t>(launch.buffers[buffer].bytes);
      launch.params.push_back(
          BufferParameter{buffer, static_cast<uint64_t>(reader.number_or(table, "offset", {0, most}, 0))});
    } else {
      launch.params.push_back(read_scalar(reader, table, kind));
    }
  }
}

}  // namespace turnstile
