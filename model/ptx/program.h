// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace turnstile::ptx {

/// A parsed PTX file. Names are resolved (registers, symbols, parameters, labels in nested scopes: ptx.md
/// PG1-PG3), instructions are not interpreted: the meaning of a mnemonic belongs to sim/. All indices are
/// into the vectors of the same Module or Entry.

struct Position {
  uint32_t line = 0;  ///< 1-based line of the .ptx file
  uint32_t column = 0;
};

/// One `.loc`, with the place it was inlined at, if any (PG29). Empty file name: the file index was not
/// declared.
struct SourceLocation {
  uint32_t file = 0;  ///< index into Module::files
  uint32_t line = 0;
  uint32_t column = 0;
  std::optional<uint32_t> inlined_at;  ///< index into Module::locations
};

enum class StateSpace : uint8_t { reg, param, shared, global, constant, local };

struct RegisterId {
  uint32_t v = 0;
  friend bool operator==(RegisterId, RegisterId) = default;
};

struct Register {
  std::string name;  ///< as declared, with `%` if it has one
  std::string type;  ///< "b32", "pred", "f32", ... without the dot
  uint8_t bits = 0;  ///< 1 for predicates, else 8, 16, 32, 64, 128
};

/// A variable of some state space. Parameters of an entry are symbols of space `param`.
struct Symbol {
  std::string name;
  StateSpace space = StateSpace::global;
  std::string type;        ///< element type without the dot; "b8" for blocks
  uint32_t alignment = 1;  ///< bytes
  uint64_t bytes = 0;      ///< whole variable; 0 for `.extern .shared name[]` (dynamic shared memory)
  bool is_extern = false;
  std::vector<std::byte> initial;  ///< empty, or `bytes` long; addresses of other symbols are not supported
                                   ///< (reported by the parser)
  uint64_t offset = 0;             ///< param space only: byte offset in the parameter block
  Position position;
};

enum class OperandKind : uint8_t {
  reg,        ///< `reg`
  immediate,  ///< `immediate`: two's complement; for 0f literals the 32-bit word, for 0d and decimal floats
              ///< the 64-bit word with `is_float64`
  special,    ///< `name`: "%tid.x", "%laneid", "WARP_SZ", ... as written. Of `call`: the callee (see
              ///< Instruction::operands)
  symbol,     ///< address of `symbol` + `offset` used as a value (PG13)
  label,    ///< `label`: index into Entry::instructions (may equal their number: PG3). Of brx.idx: where its
            ///< list stands
  sink,     ///< `_`
  vector,   ///< `{a, b, ...}`: `elements`
  paired,   ///< `a|b`: `elements` has two
  address,  ///< `[base+offset]`: `elements[0]` is reg, symbol or immediate; tensor form: `elements[1]` is a
            ///< vector of coordinates
};

struct Operand {
  OperandKind kind = OperandKind::sink;
  bool negated = false;  ///< `!p` or `-x` on a register
  bool is_float64 = false;
  RegisterId reg;
  uint32_t symbol = 0;  ///< index into Entry::symbols
  uint32_t label = 0;
  uint64_t immediate = 0;
  int64_t offset = 0;  ///< bytes
  std::string name;    ///< special registers; labels and callees as written
  std::vector<Operand> elements;
};

struct Guard {
  RegisterId predicate;
  bool negated = false;
};

struct Instruction {
  std::string mnemonic;  ///< "mbarrier.try_wait.parity.shared::cta.b64": text as written, for reports
  std::vector<std::string> modifiers;  ///< components of the mnemonic; [0] is the root ("mbarrier"), `::`
                                       ///< stays inside one component
  std::optional<Guard> guard;
  /// As written. `call` always has three: vector of results (may be empty), callee (`special`), vector of
  /// arguments (may be empty).
  std::vector<Operand> operands;
  std::vector<uint32_t> branch_targets;  ///< brx.idx only: instruction indices
  Position position;
  std::optional<uint32_t> location;  ///< index into Module::locations

  std::string_view root() const { return modifiers.front(); }
};

/// Performance directives; nothing is implied by an absent one (PL2, PL10).
struct Directives {
  std::optional<std::array<uint32_t, 3>> max_threads;       ///< .maxntid
  std::optional<std::array<uint32_t, 3>> required_threads;  ///< .reqntid
  std::optional<std::array<uint32_t, 3>> required_cluster;  ///< .reqnctapercluster
  std::optional<uint32_t> max_registers;                    ///< .maxnreg
  std::optional<uint32_t> min_ctas_per_sm;                  ///< .minnctapersm
  std::optional<uint32_t> max_cluster_rank;  ///< .maxclusterrank: CTAs per cluster that a launch may ask for
  bool explicit_cluster = false;
};

struct Entry {
  std::string name;
  Directives directives;
  std::vector<Register> registers;
  std::vector<Symbol> symbols;  ///< parameters first (in order), then module-scope variables, then variables
                                ///< declared in the body (.shared there is CTA-wide: PS7)
  uint32_t parameter_count = 0;
  std::vector<Instruction> instructions;
  Position position;
};

struct Module {
  std::string path;                ///< as given, for reports
  std::string version;             ///< "9.0"
  std::string target;              ///< "sm_90a"
  std::vector<std::string> files;  ///< from .file; index is the number used by .loc (gaps are empty)
  std::vector<SourceLocation> locations;
  std::vector<Entry> entries;

  const Entry* find(std::string_view name) const {
    for (const Entry& e : entries)
      if (e.name == name) return &e;
    return nullptr;
  }
};

}  // namespace turnstile::ptx
