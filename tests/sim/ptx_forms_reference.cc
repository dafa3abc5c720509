// SPDX-License-Identifier: Apache-2.0
// The arithmetic forms of tests/ptx_forms once more, by other means than the simulator's: integers of 128
// bits, floats as host doubles that are rounded once (innocuous: 53 bits are more than twice those of f32 and
// two).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/sim/ptx_forms.h"

namespace turnstile::test {

namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

struct Mnemonic {
  std::string root;
  std::vector<std::string> words;

  explicit Mnemonic(const std::string& form) {
    size_t at = 0;
    for (size_t dot = form.find('.'); dot != std::string::npos; dot = form.find('.', at)) {
      words.push_back(form.substr(at, dot - at));
      at = dot + 1;
    }
    words.push_back(form.substr(at));
    root = words.front();
    words.erase(words.begin());
  }
  bool has(const char* word) const { return std::find(words.begin(), words.end(), word) != words.end(); }
  /// The first or the last type.
  std::string type(bool last) const {
    std::string found;
    for (const std::string& w : words) {
      const bool numbered =
          w.size() >= 2 && std::strchr("busfe", w[0]) != nullptr && w[1] >= '0' && w[1] <= '9';
      const bool is_type = numbered || w == "pred" || w.rfind("bf16", 0) == 0 || w == "ue8m0x2";
      if (is_type && (last || found.empty())) found = w;
    }
    return found;
  }
};

unsigned bits_of(const std::string& type) {
  if (type == "pred") return 1;
  return static_cast<unsigned>(std::stoul(type.substr(type.find_first_of("0123456789"))));
}

uint64_t mask_of(unsigned bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

Wide integer(uint64_t word, const std::string& type) {
  const unsigned bits = bits_of(type);
  word &= mask_of(bits);
  if (type[0] == 's' && (word >> (bits - 1) & 1) != 0) return Wide{word} - (Wide{1} << bits);
  return Wide{word};
}

/// A float format as IEEE 754 has it, but for e4m3, which has no infinities and one NaN, and e2m1, which has
/// neither.
struct Format {
  unsigned bits, exponent, fraction;
  bool infinities = true;
};
Format format_of(const std::string& type) {
  if (type.rfind("bf16", 0) == 0) return {16, 8, 7};
  if (type.rfind("f16", 0) == 0) return {16, 5, 10};
  if (type.rfind("f32", 0) == 0) return {32, 8, 23};
  if (type == "e4m3x2") return {8, 4, 3, false};
  if (type == "e5m2x2") return {8, 5, 2};
  if (type == "e2m1x2") return {4, 2, 1, false};
  return {64, 11, 52};
}

double decoded(uint64_t word, const Format& f) {
  const auto exponent = static_cast<int>(word >> f.fraction & mask_of(f.exponent));
  const uint64_t fraction = word & mask_of(f.fraction);
  const double sign = (word >> (f.bits - 1) & 1) != 0 ? -1.0 : 1.0;
  const int bias = (1 << (f.exponent - 1)) - 1, point = static_cast<int>(f.fraction);
  const bool top = exponent == static_cast<int>(mask_of(f.exponent));
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (top && f.infinities) return fraction != 0 ? nan : sign * std::numeric_limits<double>::infinity();
  if (top && f.bits == 8 && fraction == mask_of(f.fraction)) return nan;
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(fraction), 1 - bias - point);
  const uint64_t significand = fraction | uint64_t{1} << f.fraction;
  return sign * std::ldexp(static_cast<double>(significand), exponent - bias - point);
}

/// To nearest even; `finite`: overflow gives the largest number.
uint64_t encoded(double value, const Format& f, bool finite = false) {
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (f.bits - 1) : 0;
  const int bias = (1 << (f.exponent - 1)) - 1, point = static_cast<int>(f.fraction);
  const uint64_t infinity = mask_of(f.exponent) << f.fraction;
  const uint64_t largest = f.infinities ? infinity - 1 : f.bits == 8 ? 0x7e : mask_of(f.bits - 1);
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | (finite ? largest : infinity);
  int exponent = 0;
  (void)std::frexp(magnitude, &exponent);  // in [2^(exponent-1), 2^exponent)
  const int least = 1 - bias - point;      // of the least subnormal
  const int unit = std::max(exponent - 1 - point, least);
  const double steps = std::nearbyint(std::ldexp(magnitude, -unit));  // the host rounds to nearest even
  const double rounded = std::ldexp(steps, unit);
  if (rounded > decoded(largest, f)) return sign | (finite ? largest : infinity);
  if (rounded == 0) return sign;
  (void)std::frexp(rounded, &exponent);
  if (exponent - 1 < 1 - bias) return sign | static_cast<uint64_t>(std::ldexp(rounded, -least));
  const auto significand = static_cast<uint64_t>(std::ldexp(rounded, point + 1 - exponent));
  return sign | static_cast<uint64_t>(exponent - 1 + bias) << f.fraction |
         (significand & mask_of(f.fraction));
}

uint64_t nan_of(const Format& f) {
  if (f.bits == 64) return 0x7ff8000000000000;
  return mask_of(f.bits - 1);
}

double flushed(double value, bool flush) {
  return flush && value != 0 && std::fabs(value) < std::ldexp(1.0, -126) ? std::copysign(0.0, value) : value;
}

FormResult exact(uint64_t bits) { return {FormResult::Kind::exact, bits}; }
FormResult near(double value) { return {FormResult::Kind::close, 0, value}; }
FormResult some_nan() { return {FormResult::Kind::nan}; }
FormResult not_modelled() { return {FormResult::Kind::unknown}; }

bool holds(const Mnemonic& m, int order, bool unordered) {
  if (m.has("nan")) return unordered;
  if (unordered)
    return m.has("equ") || m.has("neu") || m.has("ltu") || m.has("leu") || m.has("gtu") || m.has("geu");
  if (m.has("eq") || m.has("equ")) return order == 0;
  if (m.has("ne") || m.has("neu")) return order != 0;
  if (m.has("lt") || m.has("ltu")) return order < 0;
  if (m.has("le") || m.has("leu")) return order <= 0;
  if (m.has("gt") || m.has("gtu")) return order > 0;
  return order >= 0;
}

uint64_t permuted(uint64_t a, uint64_t b, uint64_t selector) {
  uint64_t out = 0;
  const uint64_t bytes = (a & 0xffffffff) | b << 32;
  for (unsigned i = 0; i < 4; ++i) {
    const uint64_t nibble = selector >> (4 * i) & 15;
    uint64_t byte = bytes >> (8 * (nibble & 7)) & 0xff;
    if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    out |= byte << (8 * i);
  }
  return out;
}

uint64_t bit_field(const Mnemonic& m, const std::vector<uint64_t>& in) {
  const auto at = static_cast<unsigned>(in[in.size() - 2] & 0xff);
  const auto count = static_cast<unsigned>(in.back() & 0xff);
  uint64_t out = 0;
  if (m.root == "bfi") {
    out = in[1];
    for (unsigned i = 0; i < count && at + i < 32; ++i)
      out = (out & ~(uint64_t{1} << (at + i))) | (in[0] >> i & 1) << (at + i);
    return out;
  }
  const uint64_t sign = !m.has("s32") || count == 0 ? 0 : in[0] >> std::min(at + count - 1, 31u) & 1;
  for (unsigned i = 0; i < 32; ++i) out |= (i < count && at + i < 32 ? in[0] >> (at + i) & 1 : sign) << i;
  return out;
}

FormResult cut(Wide value, unsigned bits) { return exact(static_cast<uint64_t>(value) & mask_of(bits)); }

/// mul and mad. Two factors of 64 bits fill 128, so that sums are made without a sign: they do not overflow.
FormResult products(const Mnemonic& m, const std::vector<uint64_t>& in) {
  const std::string type = m.type(false);
  const unsigned bits = bits_of(type);
  const UnsignedWide product =
      static_cast<UnsignedWide>(integer(in[0], type)) * static_cast<UnsignedWide>(integer(in[1], type));
  const UnsignedWide summand = m.root == "mad" ? in[2] : 0;
  if (m.has("wide")) return cut(static_cast<Wide>(product + summand), 2 * bits);
  if (!m.has("hi")) return cut(static_cast<Wide>(product + summand), bits);
  return cut(type[0] == 's' ? static_cast<Wide>(product) >> bits : static_cast<Wide>(product >> bits), bits);
}

/// Carry chains. The flag of a difference says that it is not negative (H200).
FormResult carries(const Mnemonic& m, const std::vector<uint64_t>& in) {
  const std::string type = m.type(false);
  const unsigned bits = bits_of(type);
  const bool carries_in = m.root.back() == 'c', subtracts = m.root.rfind("sub", 0) == 0;
  const bool multiplies = m.root.rfind("mad", 0) == 0;
  Wide first = Wide{in[0]}, second = Wide{in[1]};
  if (multiplies) {
    const UnsignedWide product =
        static_cast<UnsignedWide>(integer(in[0], type)) * static_cast<UnsignedWide>(integer(in[1], type));
    first = static_cast<Wide>((m.has("hi") ? product >> bits : product) & mask_of(bits));
    second = Wide{in[2]};
  }
  if (carries_in) second += subtracts ? 1 - Wide{in.back()} : Wide{in.back()};
  const Wide result = subtracts ? first - second : first + second;
  const bool carry = subtracts ? result >= 0 : result > Wide{mask_of(bits)};
  const uint64_t word = static_cast<uint64_t>(result) & mask_of(bits);
  return exact(m.has("cc") && carry ? word ^ form_carry : word);
}

FormResult integers(const Mnemonic& m, const std::vector<uint64_t>& in) {
  const std::string type = m.type(false);
  if (m.root == "mov") return exact(in[0]);
  if (m.root == "selp") return exact(in[2] != 0 ? in[0] : in[1]);
  if (m.has("cc") || m.root == "addc" || m.root == "subc" || m.root == "madc") return carries(m, in);
  const unsigned bits = bits_of(type);
  const Wide a = integer(in[0], type), b = in.size() > 1 ? integer(in[1], type) : 0;
  if (m.root == "add") return cut(a + b, bits);
  if (m.root == "sub") return cut(a - b, bits);
  if (m.root == "neg") return cut(-a, bits);
  if (m.root == "min") return cut(a < b ? a : b, bits);
  if (m.root == "max") return cut(a > b ? a : b, bits);
  if (m.root == "and") return cut(a & b, bits);
  if (m.root == "or") return cut(a | b, bits);
  if (m.root == "xor") return cut(a ^ b, bits);
  if (m.root == "not") return cut(~a, bits);
  if (m.root == "div") return cut(a / b, bits);
  if (m.root == "rem") return cut(a % b, bits);
  if (m.root == "mul" || m.root == "mad") return products(m, in);
  const auto shift = static_cast<unsigned>(in.size() > 1 ? std::min<uint64_t>(in[1] & 0xffffffff, bits) : 0);
  if (m.root == "shl") return cut(static_cast<Wide>(static_cast<UnsignedWide>(a) << shift), bits);
  if (m.root == "shr") return cut(a >> shift, bits);
  if (m.root == "popc") return exact(static_cast<uint64_t>(std::popcount(in[0])));
  if (m.root == "clz") return exact(static_cast<uint64_t>(std::countl_zero(static_cast<uint32_t>(in[0]))));
  if (m.root == "brev") {
    uint64_t out = 0;
    for (unsigned i = 0; i < bits; ++i) out |= (in[0] >> i & 1) << (bits - 1 - i);
    return exact(out);
  }
  if (m.root == "prmt") return exact(permuted(in[0], in[1], in[2]));
  if (m.root == "bfe" || m.root == "bfi") return exact(bit_field(m, in));
  return not_modelled();
}

double extreme(double a, double b, bool least) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  if (a != 0 || b != 0) return least == (a < b) ? a : b;
  const bool negative = least ? std::signbit(a) || std::signbit(b) : std::signbit(a) && std::signbit(b);
  return negative ? -0.0 : 0.0;
}

/// One element of a float operation, in doubles.
FormResult floats(const Mnemonic& m, const std::vector<double>& in, const Format& result) {
  const bool flush = m.has("ftz");
  const double a = flushed(in[0], flush), b = in.size() > 1 ? flushed(in[1], flush) : 0,
               c = in.size() > 2 ? flushed(in[2], flush) : 0;
  double value = 0;
  if (m.root == "sqrt") value = std::sqrt(a);
  if (m.root == "tanh" && !std::isnan(a))  // PTX ISA: 2^-11
    return {FormResult::Kind::close, 0, std::tanh(a), 0x1p-11};
  if (m.root == "tanh") value = a;
  if (m.root == "add") value = a + b;
  if (m.root == "sub") value = a - b;
  if (m.root == "mul") value = a * b;
  if (m.root == "div") value = a / b;
  if (m.root == "rcp") value = 1 / a;
  if (m.root == "fma")
    value =
        static_cast<double>(std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
  if (m.root == "ex2") value = std::exp2(a);
  if (m.root == "lg2") value = std::log2(a);
  if (m.root == "rsqrt") value = 1 / std::sqrt(a);
  if (m.root == "min" || m.root == "max") value = extreme(a, b, m.root == "min");
  if (std::isnan(value)) return result.bits == 64 ? some_nan() : exact(nan_of(result));
  if (m.has("approx") || m.has("full")) return near(value);
  return exact(encoded(flushed(decoded(encoded(value, result), result), flush), result));
}

/// Powers of two, upwards; their codes are exponents.
uint64_t scales(const std::vector<uint64_t>& in) {
  uint64_t out = 0;
  for (unsigned half = 0; half < 2; ++half) {
    const double x = decoded(in[1 - half], {32, 8, 23});
    uint64_t code = std::isnan(x) ? 0xff : 0;
    while (code < 0xfe && std::ldexp(1.0, static_cast<int>(code) - 127) < std::fabs(x)) ++code;
    out |= code << (8 * half);
  }
  return out;
}
uint64_t of_scales(uint64_t word) {
  uint64_t out = 0;
  for (unsigned half = 0; half < 2; ++half) {
    const auto code = static_cast<int>(word >> (8 * half) & 0xff);
    const uint64_t value = code == 0xff ? 0x7fff : encoded(std::ldexp(1.0, code - 127), {16, 8, 7});
    out |= value << (16 * half);
  }
  return out;
}

bool is_float_type(const std::string& type) {
  return type[0] == 'f' || type[0] == 'e' || type.rfind("bf", 0) == 0;
}

FormResult conversions(const Mnemonic& m, const std::vector<uint64_t>& in) {
  const std::string to = m.type(false), from = m.type(true);
  if (to == "ue8m0x2") return exact(scales(in));
  if (from == "ue8m0x2") return exact(of_scales(in[0]));
  const bool to_float = is_float_type(to), from_float = is_float_type(from);
  if (!to_float && !from_float) {
    const Wide value = integer(static_cast<uint64_t>(integer(in[0], from)), to);
    return cut(value, std::max(16u, bits_of(to)));  // s8 lies in a register of 16 bits
  }
  if (!to_float) {  // rzi.u32
    double x = flushed(decoded(in[0], format_of(from)), m.has("ftz"));
    if (std::isnan(x)) return exact(0);
    x = std::min(std::max(std::trunc(x), 0.0), 4294967295.0);
    return exact(static_cast<uint64_t>(x));
  }
  const Format f = format_of(to);
  if (!from_float) {
    const auto whole = static_cast<long double>(integer(in[0], from));  // 64 bits hold every integer
    if (f.bits == 32) return exact(std::bit_cast<uint32_t>(static_cast<float>(whole)));
    return exact(encoded(static_cast<double>(whole), f));
  }
  const Format s = format_of(from);
  // Widening a NaN keeps some of its bits or none: left to the GPU.
  if ((f.bits == 64 || from == "bf16") && std::isnan(decoded(in[0], s))) return some_nan();
  const bool pairs = to.find("x2") != std::string::npos, one_source = pairs && in.size() == 1;
  uint64_t out = 0;
  for (unsigned half = 0; half < (pairs ? 2u : 1u); ++half) {
    const uint64_t word = one_source ? in[0] >> (s.bits * half) & mask_of(s.bits) : in[pairs ? 1 - half : 0];
    const double x = decoded(word, s);
    // An H200 keeps the sign of a NaN of f64 and what fits of its payload.
    const uint64_t nan = from == "f64"
                             ? (word >> 63) << (f.bits - 1) | mask_of(f.exponent + 1) << (f.fraction - 1) |
                                   (word & mask_of(52)) >> (52 - f.fraction)
                             : nan_of(f);
    const uint64_t code = std::isnan(x) ? nan : encoded(x, f, m.has("satfinite"));
    out |= code << (f.bits * half);
  }
  return exact(out);
}

}  // namespace

FormResult form_reference(const FormCase& c, const std::vector<uint64_t>& in) {
  const Mnemonic m(c.form);
  const std::string type = m.type(false), last = m.type(true);
  const bool is_float = is_float_type(last);
  if (m.root == "cvt") return conversions(m, in);
  if (m.root == "setp") {
    if (!is_float) {
      const Wide a = integer(in[0], last), b = integer(in[1], last);
      return exact(holds(m, a < b ? -1 : a > b ? 1 : 0, false));
    }
    const double a = flushed(decoded(in[0], format_of(last)), m.has("ftz")),
                 b = flushed(decoded(in[1], format_of(last)), m.has("ftz"));
    return exact(holds(m, a < b ? -1 : a > b ? 1 : 0, std::isnan(a) || std::isnan(b)));
  }
  if (!is_float || m.root == "mov" || m.root == "selp") return integers(m, in);
  const Format result = format_of(type), source = format_of(last);
  const unsigned elements = type.find("x2") != std::string::npos ? 2 : 1;
  FormResult out;
  for (unsigned e = 0; e < elements; ++e) {
    std::vector<double> values;
    for (size_t i = 0; i < in.size(); ++i) {
      const Format& f = i == 2 ? result : source;  // fma.f32.f16 adds an f32
      values.push_back(decoded(in[i] >> (f.bits * e) & mask_of(f.bits), f));
    }
    if (m.root == "abs" || m.root == "neg") {
      if (std::isnan(values[0])) return some_nan();  // its bits are not specified
      const double x = flushed(values[0], m.has("ftz"));
      out.bits |= encoded(m.root == "abs" ? std::fabs(x) : -x, result) << (result.bits * e);
      continue;
    }
    const FormResult one = floats(m, values, result);
    if (one.kind != FormResult::Kind::exact) return one;
    out.bits |= one.bits << (result.bits * e);
  }
  return out;
}

}  // namespace turnstile::test
