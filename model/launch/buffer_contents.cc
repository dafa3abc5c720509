// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <new>

#include "model/launch/launch.h"
#include "model/launch/npy.h"

namespace turnstile {
namespace {

constexpr uint64_t kMostBytes = (uint64_t{64} << 30) + (1 << 17);  // the largest buffer and a header

Result<std::vector<std::byte>> contents(const Buffer& buffer) {
  std::vector<std::byte> bytes(buffer.bytes);
  if (buffer.role == BufferRole::out) return bytes;
  const uint64_t rows = buffer.rows(), columns = buffer.columns();
  if (buffer.values_path.empty()) {
    generate(buffer.fill, buffer.type, buffer.seed, buffer.stream, rows, columns, buffer.row_pitch, bytes);
    return bytes;
  }
  const Result<NpyArray> array = read_npy(buffer.values_path, kMostBytes);
  if (!array) return tl::unexpected<Error>(array.error());
  if (!npy_holds(*array, buffer.type))
    return fail(buffer.values_path, 0, 0,
                fmt::format("the array holds {}{}, which cannot be the {} of buffer '{}'", array->kind,
                            array->item_bytes, element_name(buffer.type), buffer.name));
  if (array->shape != buffer.shape)
    return fail(buffer.values_path, 0, 0,
                fmt::format("the array has the shape ({}), but buffer '{}' has ({})",
                            fmt::join(array->shape, ", "), buffer.name, fmt::join(buffer.shape, ", ")));
  // The generator first, for what stands between the columns and the row pitch.
  const size_t width = element_bytes(buffer.type);
  generate(Family::zeros, buffer.type, 0, 0, rows, columns, buffer.row_pitch, bytes);
  for (uint64_t row = 0; row < rows; ++row)
    std::memcpy(bytes.data() + row * buffer.row_pitch * width, array->data.data() + row * columns * width,
                columns * width);
  return bytes;
}

}  // namespace

uint64_t Buffer::rows() const {
  uint64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

Result<std::vector<std::byte>> initial_contents(const Buffer& buffer) {
  try {
    return contents(buffer);
  } catch (const std::bad_alloc&) {  // a launch file may ask for 64 GiB
    return fail(
        fmt::format("there is not enough memory for buffer '{}' of {} bytes", buffer.name, buffer.bytes));
  }
}

}  // namespace turnstile
