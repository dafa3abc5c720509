// SPDX-License-Identifier: Apache-2.0
// Mnemonics of matrix instructions that registers take part in: ldmatrix, stmatrix, movmatrix, mma.sync,
// wgmma (ptx.md 7.4 and 7.6).
#include "sim/forms_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "sim/form_reading.h"
#include "sim/handlers.h"
#include "sim/numerics/matrix_product.h"

namespace turnstile::sim {

namespace {

struct MatrixType {
  std::string_view name;
  unsigned bits;  ///< of an element in its register or in memory
};

constexpr MatrixType matrix_types[] = {
    {"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"f32", 32}, {"f64", 64}, {"e4m3", 8}, {"e5m2", 8}, {"e3m2", 8},
    {"e2m3", 8}, {"e2m1", 8},  {"s8", 8},    {"u8", 8},   {"s4", 4},   {"u4", 4},   {"b1", 1},   {"s32", 32}};

/// 0: no type of a matrix.
unsigned bits_of(std::string_view name) {
  for (const MatrixType& t : matrix_types)
    if (t.name == name) return t.bits;
  return 0;
}

bool matrix_shape_of(std::string_view text, uint32_t (&shape)[3]) {
  int end = 0;
  const std::string copy(text);
  return std::sscanf(copy.c_str(), "m%un%uk%u%n", &shape[0], &shape[1], &shape[2], &end) == 3 &&
         static_cast<size_t>(end) == copy.size();
}

size_t element_count(const ptx::Operand& o) {
  return o.kind == ptx::OperandKind::vector ? o.elements.size() : 1;
}

/// Shapes of ldmatrix and stmatrix (PTX ISA 9.7.14.5). `halves`: registers of a lane, and groups of 8 rows of
/// 16 bytes in memory, for each matrix.
struct RowShape {
  std::string_view shape, types;  ///< types: as they are written, joined
  bool must_transpose, may_transpose;
  bool loads, stores;
  uint32_t halves;
};
constexpr RowShape row_shapes[] = {{"m8n8", "b16", false, true, true, true, 1},
                                   {"m16n16", "b8", true, true, true, false, 2},
                                   {"m16n16", "b8x16.b6x16_p32", true, true, true, false, 2},
                                   {"m16n16", "b8x16.b4x16_p64", true, true, true, false, 2},
                                   {"m8n16", "b8x16.b6x16_p32", false, false, true, false, 1},
                                   {"m8n16", "b8x16.b4x16_p64", false, false, true, false, 1},
                                   {"m16n8", "b8", true, true, false, true, 1}};

const RowShape* row_shape_of(const ptx::Instruction& i) {
  for (const RowShape& r : row_shapes) {
    const size_t dot = r.types.find('.');
    const std::string_view last = dot == r.types.npos ? r.types : r.types.substr(dot + 1);
    if (has(i, r.shape) && i.modifiers.back() == last &&
        (dot == r.types.npos || has(i, r.types.substr(0, dot))))
      return &r;
  }
  return nullptr;
}

/// .sync.aligned.SHAPE.xN{.trans}{.shared{::cta}}.TYPES, in any order. shape[0]: groups of 8 rows; variant 1:
/// transposed, matrix_rows_only: of all lanes together only is it known what they touch, and no values.
Reading read_matrices(const ptx::Instruction& i, Decoded& d, size_t registers, bool stores) {
  const RowShape* shape = row_shape_of(i);
  if (shape == nullptr || !(stores ? shape->stores : shape->loads)) return "this shape";
  d.shape[0] = (has(i, "x4") ? 4 : has(i, "x2") ? 2 : 1) * shape->halves;
  d.opaque = shape->shape != "m8n8";
  d.variant = d.opaque ? matrix_rows_only : has(i, "trans") ? 1 : 0;
  d.bytes = 16;  // of a row, which one lane names
  d.space = has(i, "shared") || has(i, "shared::cta") ? AddressSpace::shared : AddressSpace::generic;
  const bool transposed = has(i, "trans");
  if (!has(i, "sync") || !has(i, "aligned") ||
      !only(i, {"sync", "aligned", shape->shape, "x1", "x2", "x4", "trans", "shared", "shared::cta", "b8x16",
                i.modifiers.back()}) ||
      has(i, "x1") + has(i, "x2") + has(i, "x4") != 1 || d.shape[0] > 4 ||
      (transposed ? !shape->may_transpose : shape->must_transpose))
    return "its modifiers";
  return registers == d.shape[0] ? fine : Reading(fmt::format("{} registers", registers));
}

/// Registers of one lane that hold a matrix of rows x columns; 0 if they do not come out even.
uint32_t fragment_registers(uint32_t rows, uint32_t columns, unsigned bits) {
  const uint32_t all = rows * columns * bits, unit = bits == 64 ? 64 * 32 : 32 * 32;
  return all % unit == 0 ? all / unit : 0;
}

}  // namespace

Reading read_load_matrix(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_load_matrix;
  return read_matrices(i, d, d.dst.size(), false);
}

Reading read_store_matrix(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_store_matrix;
  return read_matrices(i, d, d.src.empty() ? 0 : d.src.size() - 1, true);
}

Reading read_move_matrix(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_move_matrix;
  return only(i, {"sync", "aligned", "m8n8", "trans", "b16"}) && i.modifiers.size() == 6
             ? fine
             : Reading("its modifiers");
}

// shape: registers of A, of B, of D. element_bits of A; variant 8: scaled, and 1, 2 or 4 for the scales of a
// row. Sparse: half of A is stored;
// metadata and its selector stand behind C.
Reading read_mma(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_mma;
  std::vector<std::string_view> types;
  uint32_t shape[3] = {0, 0, 0};
  for (size_t m = 1; m < i.modifiers.size(); ++m) {
    const std::string_view x = i.modifiers[m];
    if (bits_of(x) != 0) {
      types.push_back(x);
    } else if (x[0] == 'm' && matrix_shape_of(x, shape)) {
      continue;
    } else if (x != "sync" && x != "aligned" && x != "row" && x != "col" && x != "satfinite" && x != "and" &&
               x != "xor" && x != "popc" && x != "sp" && x != "sp::ordered_metadata" && x != "block_scale" &&
               x != "ue8m0" && x != "ue4m3" && x.rfind("kind::", 0) != 0 && x.rfind("scale_vec::", 0) != 0) {
      return fmt::format("modifier '.{}'", x);
    }
  }
  if (types.size() != 4 || shape[0] == 0 || !has(i, "sync") || !has(i, "aligned") || !has(i, "row") ||
      !has(i, "col"))
    return "its modifiers";
  const bool packed = has(i, "kind::mxf4") || has(i, "kind::mxf4nvf4"), scaled = has(i, "block_scale");
  const unsigned a_bits = packed ? 4 : bits_of(types[1]), b_bits = packed ? 4 : bits_of(types[2]);
  d.sparse = has(i, "sp") || has(i, "sp::ordered_metadata");
  d.shape[0] = fragment_registers(shape[0], d.sparse ? shape[2] / 2 : shape[2], a_bits);
  d.shape[1] = fragment_registers(shape[1], shape[2], b_bits);
  d.shape[2] = fragment_registers(shape[0], shape[1], bits_of(types[0]));
  if (d.shape[0] == 0 || d.shape[1] == 0 || d.shape[2] == 0 || types[0] != types[3] || a_bits != b_bits)
    return "this shape with these types";
  if (i.operands.size() != (scaled ? 8u : 4u) + (d.sparse ? 2u : 0u) ||
      element_count(i.operands[0]) != d.shape[2] || element_count(i.operands[1]) != d.shape[0] ||
      element_count(i.operands[2]) != d.shape[1] || element_count(i.operands[3]) != d.shape[2])
    return "this number of registers";
  d.bytes = bits_of(types[0]) == 64 ? 8 : 4;
  d.element_bits = static_cast<uint8_t>(a_bits);
  d.variant = static_cast<uint8_t>(!scaled ? 0 : 8 + (has(i, "scale_vec::4X") ? 4 : packed ? 2 : 1));
  return fine;
}

namespace {

/// A format of 8 bits or fewer, by its name.
std::optional<FormatShape> narrow_format(std::string_view name) {
  if (name == "e2m1") return e2m1_shape;
  if (name == "e2m3") return e2m3_shape;
  if (name == "e3m2") return e3m2_shape;
  if (name == "e4m3") return shape_of(ElementType::e4m3);
  if (name == "e5m2") return shape_of(ElementType::e5m2);
  return std::nullopt;
}

/// The kinds of sm_120 (PTX ISA 9.7.14.5): FP8, FP6 and FP4 in bytes, with scales or without, and packed FP4.
MatrixArithmetic arithmetic_of_kind(const ptx::Instruction& i, std::string_view a_name,
                                    std::string_view b_name, ElementType accumulator) {
  const auto a = narrow_format(a_name), b = narrow_format(b_name);
  if (!a || !b) return {};
  if (has(i, "kind::f8f6f4")) return narrow_mma_arithmetic(*a, *b, accumulator);
  const FormatShape& scale = has(i, "ue4m3") ? ue4m3_shape : ue8m0_shape;
  if (accumulator != ElementType::f32) return {};
  if (has(i, "kind::mxf8f6f4")) return scaled_mma_arithmetic(TensorKind::mxf8f6f4, *a, *b, scale);
  if (has(i, "kind::mxf4")) return scaled_mma_arithmetic(TensorKind::mxf4, *a, *b, scale);
  if (has(i, "kind::mxf4nvf4")) return scaled_mma_arithmetic(TensorKind::mxf4nvf4, *a, *b, scale);
  return {};
}

/// Integers and bits; nothing for floats.
std::optional<MatrixArithmetic> exact_arithmetic(std::string_view a, std::string_view b, bool saturates,
                                                 bool exclusive_or) {
  if (a == "b1") return bit_arithmetic(exclusive_or);
  const auto whole = [](std::string_view t) { return t == "s8" || t == "u8" || t == "s4" || t == "u4"; };
  if (!whole(a) || !whole(b)) return std::nullopt;
  return integer_arithmetic(bits_of(a), a[0] == 's', b[0] == 's', saturates);
}

/// Nothing: a GPU older than its tensor cores, or newer than those that the sources know.
std::optional<MatrixGeneration> generation_of(std::string_view target) {
  unsigned number = 0;
  const std::string copy(target);
  if (std::sscanf(copy.c_str(), "sm_%u", &number) != 1) return std::nullopt;
  if (number == 70 || number == 72) return MatrixGeneration::volta;
  if (number == 75) return MatrixGeneration::turing;
  if (number == 89) return MatrixGeneration::ada;
  if (number >= 80 && number < 89) return MatrixGeneration::ampere;
  if (number == 90) return MatrixGeneration::hopper;
  if (number >= 100 && number < 120) return MatrixGeneration::blackwell;
  if (number == 120 || number == 121) return MatrixGeneration::rtx_blackwell;
  return std::nullopt;
}

}  // namespace

void bind_mma_arithmetic(Decoded& d, std::string_view target) {
  d.opaque = true;
  if (d.sparse) return;
  std::vector<std::string_view> types;
  for (const std::string& m : d.text->modifiers)
    if (bits_of(m) != 0) types.push_back(m);
  const auto exact = exact_arithmetic(types[1], types[2], has(*d.text, "satfinite"), has(*d.text, "xor"));
  const auto generation = generation_of(target);
  const auto a = element_from_name(types[1]), b = element_from_name(types[2]),
             accumulator = element_from_name(types[0]);
  const bool of_kind = std::any_of(d.text->modifiers.begin(), d.text->modifiers.end(),
                                   [](const std::string& m) { return m.rfind("kind::", 0) == 0; });
  if (exact && types[0] == "s32")
    d.arithmetic = *exact;
  else if (of_kind && accumulator && generation == MatrixGeneration::rtx_blackwell)
    d.arithmetic = arithmetic_of_kind(*d.text, types[1], types[2], *accumulator);
  else if (of_kind)
    return;
  else if (!has(*d.text, "satfinite") && generation && a && b && accumulator)
    d.arithmetic = mma_arithmetic(*generation, *a, *b, *accumulator);
  d.opaque = !d.arithmetic.predicted();
}

namespace {

/// The types of a wgmma and what follows from them.
struct WgmmaTypes {
  std::string_view result, a, b;
  unsigned bits = 0;
  bool integer = false;

  bool is_8bit_float(std::string_view t) const { return t == "e4m3" || t == "e5m2"; }
  bool legal() const {
    if (a == "f16" || a == "bf16") return a == b && (result == "f32" || (result == "f16" && a == "f16"));
    if (a == "tf32") return b == "tf32" && result == "f32";
    if (is_8bit_float(a)) return is_8bit_float(b) && (result == "f16" || result == "f32");
    if (a == "s8" || a == "u8") return (b == "s8" || b == "u8") && result == "s32";
    return a == "b1" && b == "b1" && result == "s32";
  }
};

/// scale-a, scale-b and, of 16-bit types, trans-a (A in shared memory only) and trans-b; integers have none.
Reading read_wgmma_immediates(const ptx::Instruction& i, const WgmmaTypes& types, Decoded& d, size_t first,
                              uint32_t scale_negated) {
  std::vector<int64_t> immediates;
  for (size_t o = first; o < i.operands.size(); ++o) {
    if (i.operands[o].kind != ptx::OperandKind::immediate)
      return "a scale or transpose operand that is not an immediate";
    immediates.push_back(static_cast<int64_t>(i.operands[o].immediate));
  }
  const size_t transposes = types.bits != 16 ? 0 : d.variant == 1 ? 1 : 2;
  if (immediates.size() != (types.integer ? 0 : 2 + transposes)) return "its operands";
  d.negated = scale_negated << 8;
  if (types.integer) return fine;
  for (size_t s = 0; s < 2; ++s) {
    if (immediates[s] != 1 && immediates[s] != -1) return "a scale other than 1 or -1";
    d.negated |= (immediates[s] == -1 ? 1u : 0u) << s;
  }
  for (size_t t = 0; t < transposes; ++t) {
    const int64_t value = immediates[2 + t];
    if (value != 0 && value != 1) return "a transpose operand other than 0 or 1";
    const bool of_b = t + 1 == transposes;
    if (value == 1) d.mn_major = static_cast<uint8_t>(d.mn_major | (of_b ? 2 : 1));
  }
  return fine;
}

}  // namespace

Reading read_wgmma(const ptx::Instruction& i, Decoded& d) {
  const std::string_view verb =
      i.modifiers.size() > 1 ? std::string_view(i.modifiers[1]) : std::string_view();
  if (verb == "fence") d.run = exec_wgmma_fence;
  if (verb == "commit_group") d.run = exec_wgmma_commit;
  if (verb == "wait_group") d.run = exec_wgmma_wait;
  if (d.run != nullptr) return only(i, {verb, "sync", "aligned"}) ? fine : Reading("its modifiers");
  if (verb != "mma_async") return "its modifiers";
  const bool sparse = has(i, "sp"), saturates = has(i, "satfinite");
  std::vector<std::string_view> rest;  // shape, types of D, A and B, what a product of bits is
  for (size_t m = 2; m < i.modifiers.size(); ++m)
    if (const std::string& x = i.modifiers[m]; x != "sp" && x != "sync" && x != "aligned" && x != "satfinite")
      rest.push_back(x);
  if (rest.size() < 4) return "its modifiers";
  d.run = exec_wgmma;
  WgmmaTypes types{rest[1], rest[2], rest[3]};
  types.bits = bits_of(types.a);
  types.integer = types.result == "s32";
  if (!types.legal()) return fmt::format("types .{}.{}.{}", types.result, types.a, types.b);
  const bool popc = types.a == "b1";
  if (rest.size() != (popc ? 6 : 4) || (popc && (rest[4] != "and" || rest[5] != "popc" || sparse)) ||
      (saturates && (!types.integer || popc)) || !has(i, "sync") || !has(i, "aligned") ||
      i.modifiers.size() != rest.size() + 4 + (sparse ? 1 : 0) + (saturates ? 1 : 0))
    return "its modifiers";
  if (!matrix_shape_of(rest[0], d.shape) || d.shape[0] != 64 || d.shape[1] % 8 != 0 || d.shape[1] > 256 ||
      d.shape[1] == 0 || d.shape[2] * types.bits != 8 * (sparse ? 2 : 1) * wgmma_k_bytes ||
      (types.integer && d.shape[1] > 32 && d.shape[1] % 16 != 0))
    return "this shape";
  const bool halves = types.result == "f16";
  if (d.dst.size() != d.shape[1] / (halves ? 4 : 2)) return "this number of accumulators";
  d.variant = i.operands.size() > 1 && i.operands[1].kind == ptx::OperandKind::vector ? 1 : 0;
  // d, a, b {, sparse metadata, its selector}, scale-d, immediates
  const size_t sparse_operands = sparse ? 2 : 0;
  const size_t scale_at = (d.variant == 1 ? 5 : 2) + sparse_operands, first = 4 + sparse_operands;
  if (d.src.size() < scale_at + 1 || i.operands.size() < first) return "its operands";
  if (sparse && (i.operands[4].kind != ptx::OperandKind::immediate || i.operands[4].immediate > 3))
    return "a sparsity selector other than 0 to 3";
  if (d.variant == 1 && i.operands[1].elements.size() != 4) return "A in other than four registers";
  if (const Reading why = read_wgmma_immediates(i, types, d, first, (d.negated >> scale_at) & 1)) return why;
  d.src.resize(scale_at + 1);
  if (sparse) {  // the metadata is the last source, behind those that dense forms have
    const uint32_t metadata = d.src[scale_at - 2];
    d.src.erase(d.src.end() - 3, d.src.end() - 1);
    d.src.push_back(metadata);
  }
  d.sparse = sparse;
  d.element_bits = static_cast<uint8_t>(types.bits);
  if (const auto exact = exact_arithmetic(types.a, types.b, saturates, false); exact && !sparse)
    d.arithmetic = *exact;
  else if (!sparse)
    d.arithmetic = wgmma_arithmetic(*element_from_name(types.a), *element_from_name(types.b),
                                    *element_from_name(types.result));
  d.opaque = !d.arithmetic.predicted();
  return fine;
}

std::optional<std::string> matrix_operand_shape(const Decoded& d) {
  if (d.run == exec_load_matrix) return "wa";
  if (d.run == exec_store_matrix) return "aS";
  if (d.run == exec_move_matrix) return "ds";
  if (d.run == exec_mma)
    return std::string("wSSS") + (d.sparse ? "si" : "") + ((d.variant & 8) != 0 ? "SSSS" : "");
  if (d.run != exec_wgmma) return std::nullopt;
  const size_t immediates = d.text->operands.size() - (d.sparse ? 6 : 4);
  return std::string(d.variant == 1 ? "wSs" : "wss") + (d.sparse ? "sip" : "p") +
         std::string(immediates, 'i');
}

}  // namespace turnstile::sim
