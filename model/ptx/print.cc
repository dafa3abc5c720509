// SPDX-License-Identifier: Apache-2.0
#include "model/ptx/print.h"

#include <fmt/format.h>

#include "model/must.h"

namespace turnstile::ptx {
namespace {

std::string list(const Entry& entry, const Operand& o, bool is_float, char open, char close) {
  std::string out(1, open);
  for (std::size_t i = 0; i < o.elements.size(); ++i) {
    if (i > 0) out += ", ";
    out += to_text(entry, o.elements[i], is_float);
  }
  return out + close;
}

std::string with_offset(std::string base, int64_t offset) {
  return offset == 0 ? base : fmt::format("{}+{}", base, offset);
}

std::string immediate(const Operand& o, bool is_float) {
  if (o.is_float64) return fmt::format("0d{:016X}", o.immediate);
  if (is_float && o.immediate >> 32 == 0) return fmt::format("0f{:08X}", o.immediate);
  const auto value = static_cast<int64_t>(o.immediate);
  constexpr int64_t readable = int64_t{1} << 31;
  if (value > -readable && value < readable) return fmt::format("{}", value);
  return fmt::format("0x{:X}", o.immediate);
}

const std::string& register_name(const Entry& entry, RegisterId id) {
  must(id.v < entry.registers.size(), "the register belongs to this entry");
  return entry.registers[id.v].name;
}

std::string call_text(const Entry& entry, const Instruction& i) {
  must(i.operands.size() == 3, "a call has results, callee and arguments");
  std::string out(1, ' ');
  if (!i.operands[0].elements.empty())
    out += fmt::format("{}, ", list(entry, i.operands[0], false, '(', ')'));
  out += i.operands[1].name;
  if (!i.operands[2].elements.empty())
    out += fmt::format(", {}", list(entry, i.operands[2], false, '(', ')'));
  return out;
}

}  // namespace

std::string to_text(const Entry& entry, const Operand& o, bool is_float) {
  // A predicate reads as "not p", any other register as "minus x".
  const bool is_predicate = o.kind == OperandKind::reg && o.negated && o.reg.v < entry.registers.size() &&
                            entry.registers[o.reg.v].bits == 1;
  switch (o.kind) {
    case OperandKind::reg: {
      std::string sign;
      if (o.negated) sign += is_predicate ? '!' : '-';
      return sign += register_name(entry, o.reg);
    }
    case OperandKind::immediate:
      return immediate(o, is_float);
    case OperandKind::special:
    case OperandKind::label:
      return o.name;
    case OperandKind::symbol:
      must(o.symbol < entry.symbols.size(), "the symbol belongs to this entry");
      return with_offset(entry.symbols[o.symbol].name, o.offset);
    case OperandKind::sink:
      return "_";
    case OperandKind::vector:
      return list(entry, o, is_float, '{', '}');
    case OperandKind::paired:
      must(o.elements.size() == 2, "a pair has two elements");
      return fmt::format("{}|{}", to_text(entry, o.elements[0]), to_text(entry, o.elements[1]));
    case OperandKind::address: {
      must(!o.elements.empty(), "an address has a base");
      const std::string base = with_offset(to_text(entry, o.elements[0]), o.offset);
      return o.elements.size() == 1 ? fmt::format("[{}]", base)
                                    : fmt::format("[{}, {}]", base, to_text(entry, o.elements[1]));
    }
  }
  return {};
}

std::string to_text(const Entry& entry, const Instruction& i) {
  std::string out;
  if (i.guard)
    out = fmt::format("@{}{} ", i.guard->negated ? "!" : "", register_name(entry, i.guard->predicate));
  out += i.mnemonic;
  if (i.root() == "call") return fmt::format("{}{};", out, call_text(entry, i));
  // Only the type that is written last is sure to be that of the immediates: not of wgmma (....f32.bf16.bf16)
  // or cvt.f32.s32.
  const bool is_float = i.modifiers.back() == "f32";
  for (std::size_t k = 0; k < i.operands.size(); ++k) {
    out += k == 0 ? " " : ", ";
    out += to_text(entry, i.operands[k], is_float);
  }
  out += ';';
  return out;
}

}  // namespace turnstile::ptx
