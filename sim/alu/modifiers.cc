// SPDX-License-Identifier: Apache-2.0
#include "sim/alu/modifiers.h"

#include <algorithm>

namespace turnstile::sim {

namespace {

using enum TypeKind;

constexpr TypeSpec kTypes[] = {
    {"pred", bits, 1, 1, 1},
    {"b16", bits, 16, 1, 16},
    {"b32", bits, 32, 1, 32},
    {"b64", bits, 64, 1, 64},
    {"u8", unsigned_integer, 8, 1, 8},
    {"u16", unsigned_integer, 16, 1, 16},
    {"u32", unsigned_integer, 32, 1, 32},
    {"u64", unsigned_integer, 64, 1, 64},
    {"u16x2", unsigned_integer, 16, 2, 32},
    {"s8", signed_integer, 8, 1, 8},
    {"s16", signed_integer, 16, 1, 16},
    {"s32", signed_integer, 32, 1, 32},
    {"s64", signed_integer, 64, 1, 64},
    {"s16x2", signed_integer, 16, 2, 32},
    {"f16", floating, 16, 1, 16, ElementType::f16},
    {"f16x2", floating, 16, 2, 32, ElementType::f16},
    {"bf16", floating, 16, 1, 16, ElementType::bf16},
    {"bf16x2", floating, 16, 2, 32, ElementType::bf16},
    {"tf32", floating, 32, 1, 32, ElementType::tf32},
    {"f32", floating, 32, 1, 32, ElementType::f32},
    {"f32x2", floating, 32, 2, 64, ElementType::f32},
    {"f64", floating, 64, 1, 64, ElementType::f64},
    {"e4m3x2", floating, 8, 2, 16, ElementType::e4m3},
    {"e5m2x2", floating, 8, 2, 16, ElementType::e5m2},
    {"e2m1x2", minifloat, 4, 2, 8, ElementType::f32, MinifloatType::e2m1},
    {"e2m3x2", minifloat, 6, 2, 16, ElementType::f32, MinifloatType::e2m3},
    {"e3m2x2", minifloat, 6, 2, 16, ElementType::f32, MinifloatType::e3m2},
    {"ue8m0x2", scale, 8, 2, 16},
};

struct Keyword {
  std::string_view word;
  void (*apply)(PureConfig&);
};

constexpr Keyword kKeywords[] = {
    {"rn", [](PureConfig& c) { c.rounding = Rounding::nearest_even; }},
    {"rna", [](PureConfig& c) { c.rounding = Rounding::nearest_away; }},
    {"rz", [](PureConfig& c) { c.rounding = Rounding::toward_zero; }},
    {"rm", [](PureConfig& c) { c.rounding = Rounding::down; }},
    {"rp", [](PureConfig& c) { c.rounding = Rounding::up; }},
    {"rni", [](PureConfig& c) { c.rounding = Rounding::nearest_even; }},
    {"rzi", [](PureConfig& c) { c.rounding = Rounding::toward_zero; }},
    {"rmi", [](PureConfig& c) { c.rounding = Rounding::down; }},
    {"rpi", [](PureConfig& c) { c.rounding = Rounding::up; }},
    {"ftz", [](PureConfig& c) { c.ftz = true; }},
    {"sat", [](PureConfig& c) { c.saturate = true; }},
    {"satfinite", [](PureConfig& c) { c.satfinite = true; }},
    {"relu", [](PureConfig& c) { c.relu = true; }},
    {"NaN", [](PureConfig& c) { c.nan = true; }},
    {"abs", [](PureConfig& c) { c.absolute = true; }},
    {"xorsign", [](PureConfig& c) { c.xorsign = true; }},
    {"wrap", [](PureConfig& c) { c.wrap = true; }},
    {"shiftamt", [](PureConfig& c) { c.shiftamt = true; }},
    {"eq", [](PureConfig& c) { c.compare = Comparison::eq; }},
    {"ne", [](PureConfig& c) { c.compare = Comparison::ne; }},
    {"lt", [](PureConfig& c) { c.compare = Comparison::lt; }},
    {"le", [](PureConfig& c) { c.compare = Comparison::le; }},
    {"gt", [](PureConfig& c) { c.compare = Comparison::gt; }},
    {"ge", [](PureConfig& c) { c.compare = Comparison::ge; }},
    {"lo", [](PureConfig& c) { c.compare = Comparison::lt; }},
    {"ls", [](PureConfig& c) { c.compare = Comparison::le; }},
    {"hi", [](PureConfig& c) { c.compare = Comparison::gt; }},
    {"hs", [](PureConfig& c) { c.compare = Comparison::ge; }},
    {"equ", [](PureConfig& c) { c.compare = Comparison::equ; }},
    {"neu", [](PureConfig& c) { c.compare = Comparison::neu; }},
    {"ltu", [](PureConfig& c) { c.compare = Comparison::ltu; }},
    {"leu", [](PureConfig& c) { c.compare = Comparison::leu; }},
    {"gtu", [](PureConfig& c) { c.compare = Comparison::gtu; }},
    {"geu", [](PureConfig& c) { c.compare = Comparison::geu; }},
    {"num", [](PureConfig& c) { c.compare = Comparison::num; }},
    {"nan", [](PureConfig& c) { c.compare = Comparison::nan; }},
    {"and", [](PureConfig& c) { c.bool_op = BoolOp::logical_and; }},
    {"or", [](PureConfig& c) { c.bool_op = BoolOp::logical_or; }},
    {"xor", [](PureConfig& c) { c.bool_op = BoolOp::logical_xor; }},
    {"f4e", [](PureConfig& c) { c.permute = PermuteMode::f4e; }},
    {"b4e", [](PureConfig& c) { c.permute = PermuteMode::b4e; }},
    {"rc8", [](PureConfig& c) { c.permute = PermuteMode::rc8; }},
    {"ecl", [](PureConfig& c) { c.permute = PermuteMode::ecl; }},
    {"ecr", [](PureConfig& c) { c.permute = PermuteMode::ecr; }},
    {"rc16", [](PureConfig& c) { c.permute = PermuteMode::rc16; }},
    {"finite", [](PureConfig& c) { c.test = NumberTest::finite; }},
    {"infinite", [](PureConfig& c) { c.test = NumberTest::infinite; }},
    {"number", [](PureConfig& c) { c.test = NumberTest::number; }},
    {"notanumber", [](PureConfig& c) { c.test = NumberTest::notanumber; }},
    {"normal", [](PureConfig& c) { c.test = NumberTest::normal; }},
    {"subnormal", [](PureConfig& c) { c.test = NumberTest::subnormal; }},
};

void apply_types(Modifiers& modifiers) {
  PureConfig& config = modifiers.config;
  if (modifiers.types.empty()) return;
  const TypeSpec& result = *modifiers.types.front();
  const TypeSpec& source = *modifiers.types.back();
  config.bits = result.bits;
  config.lanes = result.lanes;
  config.is_signed = result.kind == signed_integer;
  config.result_is_float = result.kind == floating;
  config.type = result.element;
  config.source_bits = source.bits;
  config.source_signed = source.kind == signed_integer;
  config.source_type = source.element;
  config.host_f32 = result.kind == floating && result.element == ElementType::f32 &&
                    config.rounding == Rounding::nearest_even && !config.saturate;
  config.minifloat = result.kind == minifloat ? result.minifloat : source.minifloat;
}

}  // namespace

const TypeSpec* find_type(std::string_view name) {
  for (const TypeSpec& type : kTypes)
    if (type.name == name) return &type;
  return nullptr;
}

bool Modifiers::has(std::string_view word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string Modifiers::type_text() const {
  std::string text;
  for (const TypeSpec* type : types) {
    if (!text.empty()) text += '.';
    text += type->name;
  }
  return text;
}

Modifiers decode_modifiers(const ptx::Instruction& instruction) {
  Modifiers modifiers;
  for (size_t i = 1; i < instruction.modifiers.size(); ++i) {
    const std::string_view word = instruction.modifiers[i];
    if (const TypeSpec* type = find_type(word)) {
      modifiers.types.push_back(type);
      continue;
    }
    modifiers.words.push_back(word);
    for (const Keyword& keyword : kKeywords)
      if (keyword.word == word) keyword.apply(modifiers.config);
  }
  apply_types(modifiers);
  return modifiers;
}

}  // namespace turnstile::sim
