// SPDX-License-Identifier: Apache-2.0
#include "model/ptx/initialiser.h"

#include <fmt/format.h>

#include <bit>
#include <optional>

#include "model/ptx/expression.h"
#include "model/ptx/limits.h"

namespace turnstile::ptx {
namespace {

// The bits that the constant has in a variable of this type; nothing if it does not fit.
std::optional<uint64_t> bits_in(std::string_view type, uint64_t bytes, const Constant& c) {
  using Kind = Constant::Kind;
  const bool is_float = type.front() == 'f';
  if (c.kind == Kind::integer && !(is_float && bytes >= 4)) {
    if (bytes >= 8) return c.bits;
    const auto value = static_cast<int64_t>(c.bits);
    const int64_t end = int64_t{1} << (bytes * 8);
    const bool fits = c.is_negative() ? value >= -(end / 2) : c.bits < static_cast<uint64_t>(end);
    if (!fits) return std::nullopt;
    return c.bits & static_cast<uint64_t>(end - 1);
  }
  if (c.kind == Kind::integer) {
    const double value =
        c.is_negative() ? static_cast<double>(static_cast<int64_t>(c.bits)) : static_cast<double>(c.bits);
    if (bytes == 8) return std::bit_cast<uint64_t>(value);
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
  if (c.kind == Kind::float32) {
    if (bytes == 4) return c.bits;
    if (type != "f64") return std::nullopt;
    return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(c.bits))));
  }
  if (bytes == 8) return c.bits;
  if (type != "f32") return std::nullopt;
  return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(c.bits)));
}

class Lists {
 public:
  Lists(Cursor& cursor, const InitialiserShape& shape, std::vector<std::byte>& out)
      : cursor_(cursor), shape_(shape), out_(out) {}

  bool parse() {
    const Position where = cursor_.token().position;
    uint64_t bytes = shape_.element_bytes;
    strides_.assign(shape_.extents.size(), 0);
    for (std::size_t i = shape_.extents.size(); i-- > 0;) {
      strides_[i] = bytes;
      bytes *= shape_.extents[i];  // no overflow: the caller holds the product below limits::variable_bytes
    }
    if (bytes > limits::initialised_bytes ||
        (!strides_.empty() && strides_.front() > limits::initialised_bytes))
      return too_large(where);
    out_.assign(bytes, std::byte{0});
    return shape_.extents.empty() ? value(0) : list(0, 0);
  }

 private:
  bool too_large(Position where) {
    return cursor_.fail(
        where, fmt::format("an initialised variable of more than {} bytes", limits::initialised_bytes));
  }

  // Recursion is bounded by limits::array_dimensions + 1.
  bool list(std::size_t level, uint64_t base) {
    if (!cursor_.expect('{', "at the start of this list of initial values")) return false;
    const bool is_open = shape_.extents[level] == 0;
    uint64_t count = 0;
    while (!cursor_.at('}')) {
      if (count > 0 && !cursor_.expect(',', "or '}' in a list of initial values")) return false;
      const Position where = cursor_.token().position;
      if (!is_open && count == shape_.extents[level])
        return cursor_.fail(where, fmt::format("more than {} initial values", shape_.extents[level]));
      const uint64_t at = base + count * strides_[level];
      if (is_open) {
        if (at + strides_[level] > limits::initialised_bytes) return too_large(where);
        out_.resize(at + strides_[level]);
      }
      if (!(level + 1 == shape_.extents.size() ? value(at) : list(level + 1, at))) return false;
      ++count;
    }
    cursor_.advance();
    return !cursor_.failed();
  }

  bool value(uint64_t at) {
    const Token first = cursor_.token();
    if (first.kind == TokenKind::identifier && first.text != "WARP_SZ")
      return cursor_.fail(
          first.position,
          fmt::format("the initial value of {} is an address, which is not supported", quoted(shape_.name)));
    if (!begins_constant(first)) return cursor_.expected("an initial value");
    Constant c;
    if (!parse_constant(cursor_, c)) return false;
    const std::optional<uint64_t> bits = bits_in(shape_.type, shape_.element_bytes, c);
    if (!bits)
      return cursor_.fail(first.position,
                          fmt::format("this initial value does not fit into a .{}", shape_.type));
    for (uint64_t i = 0; i < shape_.element_bytes; ++i)
      out_[at + i] = static_cast<std::byte>(i < 8 ? (*bits >> (8 * i)) & 0xff : 0);
    return true;
  }

  Cursor& cursor_;
  const InitialiserShape& shape_;
  std::vector<std::byte>& out_;
  std::vector<uint64_t> strides_;
};

}  // namespace

bool parse_initialiser(Cursor& cursor, const InitialiserShape& shape, std::vector<std::byte>& out) {
  return Lists(cursor, shape, out).parse();
}

}  // namespace turnstile::ptx
