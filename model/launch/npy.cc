// SPDX-License-Identifier: Apache-2.0
#include "model/launch/npy.h"

#include <fmt/format.h>

#include <optional>

#include "model/files.h"
#include "model/must.h"

// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//   "\x93NUMPY", major, minor, header length (2 bytes in version 1, 4 in version 2), header, data
// The header is a Python dict: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }

namespace turnstile {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kLongestHeader = 1 << 16;
constexpr size_t kMostArrayDimensions = 32;  // numpy's own limit

/// Reads just the dict that numpy writes; anything else is an error.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Result<NpyArray> run() {
    NpyArray array;
    bool has_type = false, has_order = false, has_shape = false;
    if (!accept('{')) return failed("'{' was expected");
    while (!accept('}')) {
      const std::optional<std::string_view> key = quoted();
      if (!key || !accept(':')) return failed("a quoted key and ':' were expected");
      if (*key == "descr" && !has_type) {
        has_type = true;
        const Result<void> done = type(array);
        if (!done) return tl::unexpected<Error>(done.error());
      } else if (*key == "fortran_order" && !has_order) {
        has_order = true;
        if (accept_word("True"))
          return failed("the array is in Fortran order; save numpy.ascontiguousarray(x)");
        if (!accept_word("False")) return failed("True or False was expected");
      } else if (*key == "shape" && !has_shape) {
        has_shape = true;
        if (!shape(array.shape))
          return failed("a shape such as (3, 4) of at most 32 dimensions was expected");
      } else {
        return failed(fmt::format("the key '{}' is unknown or comes twice", key->substr(0, 32)));
      }
      if (!accept(',') && (skip_blanks(), at_ < text_.size() && text_[at_] != '}'))
        return failed("',' or '}' was expected");
    }
    skip_blanks();
    if (at_ != text_.size()) return failed("nothing was expected after '}'");
    if (!has_type || !has_order || !has_shape) return failed("descr, fortran_order and shape are needed");
    return array;
  }

 private:
  Result<void> type(NpyArray& array) {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '[')
      return failed("records are not read; save one plain array a file");
    const std::optional<std::string_view> descr = quoted();
    if (!descr || descr->size() != 3) return failed("a type such as '<f4' was expected");
    const char order = (*descr)[0], kind = (*descr)[1], size = (*descr)[2];
    if (order == '>')
      return failed(fmt::format("'{}' is big endian; save x.astype('<{}{}')", *descr, kind, size));
    const bool size_known = size == '1' || size == '2' || size == '4' || size == '8';
    const bool kind_known = kind == 'i' || kind == 'u' || kind == 'V' || (kind == 'f' && size != '1');
    if ((order != '<' && order != '|' && order != '=') || !size_known || !kind_known)
      return failed(
          fmt::format("the type '{}' is not read; f2 f4 f8, i1 to i8, u1 to u8 and V1 to V8 are", *descr));
    array.kind = kind;
    array.item_bytes = static_cast<uint32_t>(size - '0');
    return {};
  }

  bool shape(std::vector<uint64_t>& dimensions) {
    if (!accept('(')) return false;
    while (!accept(')')) {
      const std::optional<uint64_t> value = number();
      if (!value || dimensions.size() == kMostArrayDimensions) return false;
      dimensions.push_back(*value);
      if (!accept(',') && (skip_blanks(), at_ == text_.size() || text_[at_] != ')')) return false;
    }
    return true;
  }

  std::optional<uint64_t> number() {
    skip_blanks();
    const size_t begin = at_;
    uint64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (at_ - begin == 18) return std::nullopt;  // no array is that long
      value = value * 10 + static_cast<uint64_t>(text_[at_] - '0');
    }
    return at_ == begin ? std::nullopt : std::optional(value);
  }

  std::optional<std::string_view> quoted() {
    skip_blanks();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }

  bool accept(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool accept_word(std::string_view word) {
    skip_blanks();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  tl::unexpected<Error> failed(const std::string& what) const {
    return fail(path_, 0, 0, fmt::format("npy header, byte {}: {}", at_, what));
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
};

bool is_float16_or_wider(ElementType type) {
  return type == ElementType::f16 || type == ElementType::f32 || type == ElementType::tf32 ||
         type == ElementType::f64;
}
bool is_signed(ElementType type) {
  return type == ElementType::s8 || type == ElementType::s16 || type == ElementType::s32 ||
         type == ElementType::s64;
}

}  // namespace

uint64_t NpyArray::count() const {
  uint64_t count = 1;
  for (const uint64_t dimension : shape) count *= dimension;
  return count;
}

Result<NpyArray> parse_npy(std::string_view bytes, const std::string& path) {
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  if (bytes.substr(0, kMagic.size()) != kMagic)
    return fail(path, 0, 0, "not a .npy file: it does not begin with \\x93NUMPY");
  if (bytes.size() < 12) return fail(path, 0, 0, "the .npy file ends inside its header");
  const size_t version = byte(6);
  if (version != 1 && version != 2)
    return fail(path, 0, 0, fmt::format("version {} of the .npy format; 1 and 2 are read", version));
  const size_t prefix = version == 1 ? 10 : 12;
  size_t header_bytes = byte(8) | byte(9) << 8;
  if (version == 2) header_bytes |= byte(10) << 16 | byte(11) << 24;
  if (header_bytes > kLongestHeader)
    return fail(
        path, 0, 0,
        fmt::format("the .npy header has {} bytes; at most {} are read", header_bytes, kLongestHeader));
  if (bytes.size() - prefix < header_bytes) return fail(path, 0, 0, "the .npy file ends inside its header");

  Result<NpyArray> array = HeaderParser(bytes.substr(prefix, header_bytes), path).run();
  if (!array) return array;
  uint64_t expected = array->item_bytes;
  for (const uint64_t dimension : array->shape)
    if (__builtin_mul_overflow(expected, dimension, &expected))
      return fail(path, 0, 0, "the shape in the .npy header is too large");
  const std::string_view data = bytes.substr(prefix + header_bytes);
  if (data.size() != expected)
    return fail(
        path, 0, 0,
        fmt::format("the .npy header announces {} bytes of data, but {} follow", expected, data.size()));
  array->data = data;
  return array;
}

Result<NpyArray> read_npy(const std::string& path, uint64_t limit) {
  const Result<std::string> bytes = read_file(path, limit);
  if (!bytes) return tl::unexpected<Error>(bytes.error());
  return parse_npy(*bytes, path);
}

bool npy_holds(const NpyArray& array, ElementType type) {
  if (array.item_bytes != element_bytes(type)) return false;
  if (array.kind == 'V' || array.kind == 'u') return !is_signed(type);
  if (array.kind == 'f') return is_float16_or_wider(type);
  return is_signed(type) || type == ElementType::b8 || type == ElementType::b16 || type == ElementType::b32 ||
         type == ElementType::b64;
}

std::string npy_bytes(ElementType type, std::span<const uint64_t> shape, std::span<const std::byte> data) {
  const size_t width = element_bytes(type);
  uint64_t count = 1;
  std::string dimensions;
  for (const uint64_t dimension : shape) {
    count *= dimension;
    dimensions += fmt::format("{}, ", dimension);
  }
  must(data.size() == count * width, "an array's data has the size of its shape");
  if (shape.size() > 1) dimensions.resize(dimensions.size() - 2);
  const char kind = is_float16_or_wider(type) ? 'f' : is_signed(type) ? 'i' : 'u';
  std::string header = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   width == 1 ? '|' : '<', kind, width, dimensions);
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');  // the data begins at a multiple of 64
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\1', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
  return bytes;
}

Result<void> write_npy(const std::string& path, ElementType type, std::span<const uint64_t> shape,
                       std::span<const std::byte> data) {
  return write_file_atomically(path, npy_bytes(type, shape, data));
}

}  // namespace turnstile
