// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/ptx/program.h"

namespace turnstile::ptx {

enum class NameKind : uint8_t {
  reg,            ///< `index` is a register of the entry
  reg_range,      ///< `%r<24>`: the name is the prefix, registers index .. index+count-1
  symbol,         ///< `index` is a parameter or a variable of the body, in Entry::symbols
  module_symbol,  ///< `index` counts the variables of the module: those lie behind the parameters in
                  ///< Entry::symbols
  function,       ///< a device function or an entry; no index
};

/// What a name means in some scope.
struct Binding {
  std::string_view name;  ///< points into the PTX text
  NameKind kind = NameKind::function;
  uint32_t index = 0;
  uint32_t count = 0;
  Position position;
};

/// Names of registers, symbols and functions in nested scopes: inner ones shadow outer ones and die with
/// their scope (PG1).
///
/// One hash table for all scopes holds the innermost binding of each name; each binding remembers the one
/// that it hides, and closing a scope puts those back (the usual compiler symbol table). Looking a name up
/// costs one to a few probes, however deep the scopes and however large the register ranges are. The text
/// must outlive this object.
class Names {
 public:
  void open() { scopes_.push_back(static_cast<uint32_t>(bindings_.size())); }
  void close();
  uint32_t depth() const { return static_cast<uint32_t>(scopes_.size()); }

  /// Declares a name in the innermost scope. If that scope has it already, nothing changes and the older
  /// binding is returned.
  std::optional<Binding> declare(const Binding& binding);

  /// The innermost meaning of a name. A register of a range comes back as kind `reg` with its own index.
  std::optional<Binding> find(std::string_view name) const;

  /// "; did you mean '%r1'?", "; declared at line 7 are %r0 to %r23" or nothing. Slow: for errors only.
  std::string suggestion(std::string_view name) const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Entry {
    Binding binding;
    uint32_t hidden = kNone;  // binding of the same name that this one hides
    uint32_t depth = 0;
  };
  struct Found {
    const Entry* entry = nullptr;
    uint32_t offset = 0;  // in a range
  };
  using Map = std::unordered_map<std::string_view, uint32_t>;

  Map& map_of(NameKind kind) { return kind == NameKind::reg_range ? ranges_ : singles_; }
  Found in_ranges(std::string_view name) const;
  Found find_entry(std::string_view name) const;

  std::vector<Entry> bindings_;
  std::vector<uint32_t> scopes_;  // first binding of each open scope
  Map singles_;
  Map ranges_;  // keyed by prefix
  uint32_t digit_prefixes_ =
      0;  // live ranges whose prefix ends in a digit: then %t12 may be %t1<..> or %t<..>
};

/// A use of a label, to be patched when its scope is complete.
struct LabelUse {
  enum class In : uint8_t { operand, target_list, indirect_branch };
  In in = In::operand;
  uint32_t owner = 0;  ///< instruction, or list of branch targets
  uint32_t slot = 0;   ///< operand of the instruction, or element of the list
  std::string_view name;
  Position position;
};

struct Label {
  std::string_view name;
  uint32_t instruction = 0;         ///< the next one; may equal their number (PG3)
  std::optional<uint32_t> targets;  ///< list of branch targets that this label names (PT7)
  Position position;
};

struct ResolvedLabel {
  LabelUse use;
  Label label;
};

/// Labels in nested scopes. A use means the label of that name in the innermost enclosing scope that defines
/// it, wherever in that scope it stands, so uses are resolved when a scope closes; what is left moves to the
/// scope around it (PG2). Cost: each use moves out at most `limits::scope_nesting` times.
class Labels {
 public:
  void open();
  /// Closes the innermost scope and appends its resolved uses.
  void close(std::vector<ResolvedLabel>& resolved);
  uint32_t depth() const { return static_cast<uint32_t>(scopes_.size()); }

  /// The older label if the innermost scope has this name already.
  std::optional<Label> define(const Label& label);
  /// Says that the label defined last names a list of branch targets.
  void last_names_targets(uint32_t list) { labels_.back().label.targets = list; }
  void use(const LabelUse& u) { uses_.push_back(u); }

  /// After the outermost scope is closed: the first use that met no label.
  const LabelUse* unresolved() const { return uses_.empty() ? nullptr : &uses_.front(); }
  /// Where a label of that name stands in a scope that the use cannot see, or the closest name: for errors.
  std::string suggestion(std::string_view name) const;
  void clear();

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Entry {
    Label label;
    uint32_t hidden = kNone;
    uint32_t depth = 0;
  };
  struct Scope {
    uint32_t first_label;
    uint32_t first_use;
  };

  std::vector<Entry> labels_;
  std::vector<Scope> scopes_;
  std::vector<LabelUse> uses_;                              // not resolved yet, by scope
  std::vector<std::pair<std::string_view, uint32_t>> all_;  // name and line of every label of the entry
  std::unordered_map<std::string_view, uint32_t> innermost_;
};

/// Number of single-character edits between two names, or more than `limit` if it exceeds that.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

}  // namespace turnstile::ptx
