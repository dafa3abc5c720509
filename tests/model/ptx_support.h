// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "model/ptx/parser.h"

namespace turnstile::ptx {

inline const std::string kHeader = ".version 9.0\n.target sm_90a\n.address_size 64\n";

/// Registers that most bodies in these tests use; on one line, so that the body begins at line 6.
inline const std::string kRegisters =
    ".reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<64>; .reg .b64 %rd<16>; .reg .f32 %f<16>; .reg .b128 "
    "%rq<2>;";

inline std::string kernel(std::string_view body) {
  return kHeader + ".visible .entry k(.param .u64 a, .param .u32 n)\n{ " + kRegisters + "\n" +
         std::string(body) + "\n}\n";
}

inline Module parsed(std::string_view text) {
  Result<Module> module = parse(text, "t.ptx");
  if (!module) FAIL(module.error().text());
  return *module;
}

/// The only entry of a kernel with this body.
inline Entry entry_of(std::string_view body) {
  Module module = parsed(kernel(body));
  REQUIRE(module.entries.size() == 1);
  return std::move(module.entries.front());
}

/// The error text, or "" if the text was accepted.
inline std::string error_of(std::string_view text) {
  const Result<Module> module = parse(text, "t.ptx");
  return module ? std::string() : module.error().text();
}

inline const std::string& name_of(const Entry& e, const Operand& o) {
  REQUIRE(o.kind == OperandKind::reg);
  return e.registers.at(o.reg.v).name;
}

inline const Symbol& symbol_named(const Entry& e, std::string_view name) {
  for (const Symbol& s : e.symbols)
    if (s.name == name) return s;
  FAIL("no symbol " << name);
  return e.symbols.front();
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace turnstile::ptx
