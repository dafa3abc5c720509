// SPDX-License-Identifier: Apache-2.0
#include "model/launch/generate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "model/launch/philox.h"

// How an element gets its value.
//
//   row words     = philox(counter (row, stream), key seed)              once a row: a key for the row, and
//   what kind of row it is element words = philox(counter (column, block), key row words 0, 1)  block 0: the
//   value; block 1: which special value, if any
//
// Everything after that is integer arithmetic. `normal` has no logarithm and no cosine, because libm differs
// between machines: it is the sum of twelve uniform bytes (Irwin-Hall: mean 1530, variance 65535) with one
// more uniform word below the binary point, divided by 256. That is an integer over 2^40, |z| < 6, whose
// variance is 0.99999; the types round it to nearest even.

namespace turnstile {
namespace {

using Words = std::array<uint32_t, 4>;

struct TypeName {
  ElementType type;
  std::string_view name;
  size_t bytes;
};
constexpr TypeName kTypes[] = {
    {ElementType::b8, "b8", 1},     {ElementType::u8, "u8", 1},     {ElementType::s8, "s8", 1},
    {ElementType::e4m3, "e4m3", 1}, {ElementType::e5m2, "e5m2", 1}, {ElementType::b16, "b16", 2},
    {ElementType::u16, "u16", 2},   {ElementType::s16, "s16", 2},   {ElementType::f16, "f16", 2},
    {ElementType::bf16, "bf16", 2}, {ElementType::b32, "b32", 4},   {ElementType::u32, "u32", 4},
    {ElementType::s32, "s32", 4},   {ElementType::f32, "f32", 4},   {ElementType::tf32, "tf32", 4},
    {ElementType::b64, "b64", 8},   {ElementType::u64, "u64", 8},   {ElementType::s64, "s64", 8},
    {ElementType::f64, "f64", 8},
};

struct FamilyName {
  Family family;
  std::string_view name;
};
constexpr FamilyName kFamilies[] = {
    {Family::zeros, "zeros"},   {Family::ones, "ones"}, {Family::iota, "iota"},
    {Family::normal, "normal"}, {Family::wide, "wide"}, {Family::special, "special"},
};

/// Generates the bit patterns of a binary floating-point format. Values are exact integers times a power of
/// two until they are rounded here.
struct FloatFormat {
  int exponent_bits;
  int significand_bits;  ///< stored ones, without the hidden bit
  bool has_infinity;     ///< e4m3 has none, and one NaN a sign: all ones
  int widest;  ///< `wide` has exponents -widest..widest, all normal, and products of two stay in the range of
               ///< f32
  int large_low,
      large_high;  ///< exponents of the large values of `special`; products of two are finite in f32

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int least_exponent() const { return 1 - bias(); }
  constexpr uint64_t hidden_bit() const { return uint64_t{1} << significand_bits; }
  constexpr uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << significand_bits; }
  constexpr uint64_t largest() const {
    return has_infinity ? infinity() - 1 : (uint64_t{1} << (exponent_bits + significand_bits)) - 2;
  }
  constexpr uint64_t sign(bool negative) const {
    return uint64_t{negative} << (exponent_bits + significand_bits);
  }

  /// 2^exponent times 1.significand, the significand's top bits taken from `random`.
  constexpr uint64_t scaled(int exponent, uint64_t random) const {
    return (static_cast<uint64_t>(exponent + bias()) << significand_bits) |
           (random >> (64 - significand_bits));
  }
  /// A NaN with a random payload, quiet or signalling.
  constexpr uint64_t nan(uint64_t random) const {
    if (!has_infinity) return largest() + 1;
    const uint64_t payload = random >> (64 - significand_bits);
    return infinity() | (payload == 0 ? 1 : payload);
  }
  /// A subnormal; its leading bit is spread over the whole range.
  constexpr uint64_t subnormal(uint64_t random, uint32_t spread) const {
    const uint64_t value =
        (random >> (64 - significand_bits)) >> (spread % static_cast<uint32_t>(significand_bits));
    return value == 0 ? 1 : value;
  }
  /// magnitude / 2^point, rounded to nearest even; the largest finite value where that overflows.
  constexpr uint64_t rounded(uint64_t magnitude, int point) const {
    if (magnitude == 0) return 0;
    const int top = 63 - std::countl_zero(magnitude);
    const int exponent = top - point;
    const int below = std::max(0, least_exponent() - exponent);  // subnormal: fewer bits are kept
    const int drop = top - significand_bits + below;
    if (drop > 63) return 0;
    uint64_t kept = magnitude;
    if (drop <= 0) {
      kept <<= -drop;
    } else {
      kept >>= drop;
      const uint64_t rest = magnitude - (kept << drop);
      const uint64_t half = uint64_t{1} << (drop - 1);
      kept += uint64_t{rest + (kept & 1) > half};  // no branch: it would be mispredicted half the time
    }
    // The hidden bit adds one to the exponent field, and so does a carry out of the significand.
    if (below == 0) kept += static_cast<uint64_t>(exponent + bias() - 1) << significand_bits;
    return std::min(kept, largest());
  }
};

constexpr FloatFormat float_format(ElementType type) {
  if (type == ElementType::e4m3) return {4, 3, false, 6, 6, 7};
  if (type == ElementType::e5m2) return {5, 2, true, 14, 10, 15};
  if (type == ElementType::f16) return {5, 10, true, 14, 10, 15};
  if (type == ElementType::bf16) return {8, 7, true, 24, 32, 56};
  if (type == ElementType::tf32) return {8, 10, true, 24, 32, 56};  // kept in the top 19 bits of 32
  if (type == ElementType::f32) return {8, 23, true, 24, 32, 56};
  if (type == ElementType::f64) return {11, 52, true, 24, 32, 56};
  return {0, 0, false, 0, 0, 0};
}
constexpr bool is_float(ElementType type) { return float_format(type).exponent_bits != 0; }
constexpr bool is_signed_integer(ElementType type) {
  return type == ElementType::s8 || type == ElementType::s16 || type == ElementType::s32 ||
         type == ElementType::s64;
}
constexpr size_t bytes_of(ElementType type) { return kTypes[static_cast<size_t>(type)].bytes; }

constexpr uint64_t joined(uint32_t low, uint32_t high) { return low | (uint64_t{high} << 32); }

/// Irwin-Hall, in units of 2^-40.
constexpr int kPoint = 40;
constexpr int64_t normal_fixed(const Words& w) {
  constexpr uint64_t even = 0x00FF00FF00FF00FF;
  const uint64_t first = joined(w[0], w[1]);
  uint64_t lanes = (first & even) + ((first >> 8) & even) + (w[2] & even) + ((w[2] >> 8) & even);
  lanes += lanes >> 32;
  const uint64_t sum = (lanes & 0xFFFF) + ((lanes >> 16) & 0xFFFF);  // of twelve bytes
  // 1530.5 is the mean of the bytes' sum (12 * 127.5) and of the last word (0.5).
  return static_cast<int64_t>((sum << 32) | w[3]) - (int64_t{3061} << 31);
}

constexpr bool negative(const Words& w) { return (w[0] >> 31) != 0; }

/// What a row of the family `special` is made of. NaN and Inf would reach every output of a product that uses
/// the row, so only a quarter of the rows have them, at a rate of their own (1 in 32 to 1 in 1024), and often
/// of one kind only.
enum class RowKind : uint8_t { any_special, infinities, nans, largest, tiny, zeros, large, mixed };
constexpr RowKind row_kind(uint32_t word) {
  constexpr RowKind kinds[16] = {RowKind::any_special, RowKind::infinities, RowKind::nans,  RowKind::largest,
                                 RowKind::tiny,        RowKind::tiny,       RowKind::zeros, RowKind::zeros,
                                 RowKind::large,       RowKind::large,      RowKind::mixed, RowKind::mixed,
                                 RowKind::mixed,       RowKind::mixed,      RowKind::mixed, RowKind::mixed};
  return kinds[word >> 28];
}

template <ElementType Type>
uint64_t normal_value(const Words& w) {
  const int64_t z = normal_fixed(w);
  if constexpr (is_float(Type)) {
    constexpr FloatFormat format = float_format(Type);
    return format.sign(z < 0) | format.rounded(static_cast<uint64_t>(z < 0 ? -z : z), kPoint);
  } else {
    // Four standard deviations fill the type: clamp to [-4, 4), which is 43 bits, and keep the top ones.
    constexpr int bits = static_cast<int>(8 * bytes_of(Type));
    constexpr int64_t limit = int64_t{1} << (kPoint + 2);
    const int64_t clamped = std::clamp(z, -limit, limit - 1);
    const uint64_t value = bits == 64 ? static_cast<uint64_t>(clamped) << 21
                                      : static_cast<uint64_t>(clamped >> (43 - std::min(bits, 43)));
    return is_signed_integer(Type) ? value
                                   : value ^ (uint64_t{1} << (bits - 1));  // unsigned: the middle is the mean
  }
}

template <ElementType Type>
uint64_t wide_value(const Words& w) {
  if constexpr (is_float(Type)) {
    constexpr FloatFormat format = float_format(Type);
    constexpr uint32_t count = 2 * format.widest + 1;
    const int exponent = static_cast<int>(((w[0] & 0xFFFF) * count) >> 16) - format.widest;
    return format.sign(negative(w)) | format.scaled(exponent, joined(w[1], w[2]));
  } else {
    // Every length of number is as likely as any other.
    constexpr uint32_t bits = 8 * bytes_of(Type);
    constexpr uint32_t value_bits = is_signed_integer(Type) ? bits - 1 : bits;
    const uint64_t value = joined(w[1], w[2]) >> (64 - value_bits) >> (w[3] % value_bits);
    return is_signed_integer(Type) && negative(w) ? ~value : value;
  }
}

template <ElementType Type>
uint64_t special_value(const Words& row, const Words& w, const Words& choice) {
  const uint64_t random = joined(choice[2], choice[3]);
  const uint32_t pick = choice[0] & 63;  // the high bits of choice[0] decide whether, the low ones what
  if constexpr (is_float(Type)) {
    constexpr FloatFormat format = float_format(Type);
    const uint64_t sign = format.sign((choice[1] & 1) != 0);
    const uint64_t infinity = format.has_infinity ? format.infinity() : format.largest();
    const uint64_t subnormal = sign | format.subnormal(random, choice[1] >> 8);
    constexpr uint32_t large_count = format.large_high - format.large_low + 1;
    const uint64_t large =
        sign | format.scaled(format.large_low + static_cast<int>((choice[1] >> 8) % large_count), random);
    const bool rare = (choice[0] >> (27 - row[3] % 6)) == 0;  // 2^-5 to 2^-10, as the row has it
    const uint64_t normal = normal_value<Type>(w);
    switch (row_kind(row[2])) {
      case RowKind::any_special:
        if (!rare) return normal;
        if (pick % 3 == 0) return sign | infinity;
        return sign | (pick % 3 == 1 ? format.nan(random) : format.largest());
      case RowKind::infinities:  // of one sign in half of these rows
        return rare
                   ? ((row[3] & 0x100) != 0 ? sign | infinity : format.sign((row[3] & 0x200) != 0) | infinity)
                   : normal;
      case RowKind::nans:
        return rare ? sign | format.nan(random) : normal;
      case RowKind::largest:
        return rare ? sign | format.largest() : normal;
      case RowKind::tiny:
        if (pick < 2) return sign;
        return pick < 32 ? subnormal
                         : sign | format.scaled(format.least_exponent() + static_cast<int>(pick % 3), random);
      case RowKind::zeros:
        return pick == 0 ? normal : sign;
      case RowKind::large:
        return pick < 16 ? large : normal;
      case RowKind::mixed:
        if (pick == 0) return sign;
        if (pick == 1) return subnormal;
        return pick == 2 ? large : normal;
    }
    return normal;
  } else {
    constexpr uint64_t top = uint64_t{1} << (8 * bytes_of(Type) - 1);
    constexpr uint64_t edges[6] = {0, 1, top - 1, top, top + 1, ~uint64_t{0}};
    return pick < 6 ? edges[pick] : normal_value<Type>(w);
  }
}

/// What stands between the last column and the row pitch: a quiet NaN where there is one, else bytes 0xA5;
/// never zero.
template <ElementType Type>
constexpr uint64_t padding_value() {
  if constexpr (is_float(Type)) {
    constexpr FloatFormat format = float_format(Type);
    return format.infinity() | (format.hidden_bit() - 1);
  } else {
    return 0xA5A5A5A5A5A5A5A5;
  }
}

template <ElementType Type>
void store(std::byte* at, uint64_t value) {
  if constexpr (Type == ElementType::tf32) value <<= 13;
  std::memcpy(at, &value, bytes_of(Type));  // little endian hosts only, as every GPU host is
}
static_assert(std::endian::native == std::endian::little);

template <ElementType Type>
void fill_row(Family family, uint64_t seed, uint64_t stream, size_t row, size_t columns, std::byte* out) {
  constexpr size_t bytes = bytes_of(Type);
  const Words key = philox4x32_10({static_cast<uint32_t>(row), static_cast<uint32_t>(uint64_t{row} >> 32),
                                   static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                                  {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const auto words = [&key](size_t column, uint32_t block) {
    return philox4x32_10(
        {static_cast<uint32_t>(column), static_cast<uint32_t>(uint64_t{column} >> 32), block, 0},
        {key[0], key[1]});
  };
  switch (family) {
    case Family::zeros:
      std::memset(out, 0, columns * bytes);
      break;
    case Family::ones:
      for (size_t c = 0; c < columns; ++c) {
        if constexpr (is_float(Type)) {
          store<Type>(out + c * bytes, float_format(Type).rounded(1, 0));
        } else {
          store<Type>(out + c * bytes, 1);
        }
      }
      break;
    case Family::iota:
      for (size_t c = 0; c < columns; ++c) {
        const uint64_t index = uint64_t{row} * columns + c;
        if constexpr (is_float(Type)) {
          store<Type>(out + c * bytes, float_format(Type).rounded(index, 0));
        } else {
          store<Type>(out + c * bytes, index);
        }
      }
      break;
    case Family::normal:
      for (size_t c = 0; c < columns; ++c) store<Type>(out + c * bytes, normal_value<Type>(words(c, 0)));
      break;
    case Family::wide:
      for (size_t c = 0; c < columns; ++c) store<Type>(out + c * bytes, wide_value<Type>(words(c, 0)));
      break;
    case Family::special:
      for (size_t c = 0; c < columns; ++c)
        store<Type>(out + c * bytes, special_value<Type>(key, words(c, 0), words(c, 1)));
      break;
  }
}

template <ElementType Type>
void fill(Family family, uint64_t seed, uint64_t stream, size_t rows, size_t columns, size_t pitch,
          std::byte* out) {
  constexpr size_t bytes = bytes_of(Type);
  for (size_t row = 0; row < rows; ++row, out += pitch * bytes) {
    fill_row<Type>(family, seed, stream, row, columns, out);
    for (size_t c = columns; c < pitch; ++c) store<Type>(out + c * bytes, padding_value<Type>());
  }
}

}  // namespace

size_t element_bytes(ElementType type) { return bytes_of(type); }

std::string_view element_name(ElementType type) { return kTypes[static_cast<size_t>(type)].name; }

std::optional<ElementType> element_from_name(std::string_view name) {
  for (const TypeName& entry : kTypes)
    if (entry.name == name) return entry.type;
  return std::nullopt;
}

std::string_view family_name(Family family) { return kFamilies[static_cast<size_t>(family)].name; }

std::optional<Family> family_from_name(std::string_view name) {
  for (const FamilyName& entry : kFamilies)
    if (entry.name == name) return entry.family;
  return std::nullopt;
}

void generate(Family family, ElementType type, uint64_t seed, uint64_t stream, size_t rows, size_t columns,
              size_t row_pitch_elements, std::span<std::byte> out) {
  // Callers have checked this (launch files, plans); what does not fit is left alone rather than written past
  // the end.
  if (row_pitch_elements < columns || row_pitch_elements == 0) return;
  rows = std::min(rows, out.size() / element_bytes(type) / row_pitch_elements);
  const auto run = [&]<ElementType Type>() {
    fill<Type>(family, seed, stream, rows, columns, row_pitch_elements, out.data());
  };
  switch (type) {
    case ElementType::b8:
      return run.operator()<ElementType::b8>();
    case ElementType::u8:
      return run.operator()<ElementType::u8>();
    case ElementType::s8:
      return run.operator()<ElementType::s8>();
    case ElementType::e4m3:
      return run.operator()<ElementType::e4m3>();
    case ElementType::e5m2:
      return run.operator()<ElementType::e5m2>();
    case ElementType::b16:
      return run.operator()<ElementType::b16>();
    case ElementType::u16:
      return run.operator()<ElementType::u16>();
    case ElementType::s16:
      return run.operator()<ElementType::s16>();
    case ElementType::f16:
      return run.operator()<ElementType::f16>();
    case ElementType::bf16:
      return run.operator()<ElementType::bf16>();
    case ElementType::b32:
      return run.operator()<ElementType::b32>();
    case ElementType::u32:
      return run.operator()<ElementType::u32>();
    case ElementType::s32:
      return run.operator()<ElementType::s32>();
    case ElementType::f32:
      return run.operator()<ElementType::f32>();
    case ElementType::tf32:
      return run.operator()<ElementType::tf32>();
    case ElementType::b64:
      return run.operator()<ElementType::b64>();
    case ElementType::u64:
      return run.operator()<ElementType::u64>();
    case ElementType::s64:
      return run.operator()<ElementType::s64>();
    case ElementType::f64:
      return run.operator()<ElementType::f64>();
  }
}

}  // namespace turnstile
