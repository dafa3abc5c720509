// SPDX-License-Identifier: Apache-2.0
#include "sim/operand_shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/forms_async.h"
#include "sim/forms_cluster.h"
#include "sim/forms_matrix.h"
#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

using ptx::Operand;
using ptx::OperandKind;

/// The operands that a semantic function takes, in order, one letter each. A letter may be followed by `?`:
/// that operand and those after it may be absent. A vector of one element counts as the element.
///
///   d  register that is written            D  the same, or the sink `_`
///   f  predicate that is written, or `_`    v  vector (or one) of D        w  vector (or one) of d
///   2  two results r|p of D and f          1  one result of D, or two as in 2
///   s  value: register, immediate, special register, address of a variable; no predicate
///   S  vector (or one) of s                p  predicate register or immediate, may be negated
///   x  like s, but may be a predicate      i  immediate
///   a  address [base+offset]               t  tensor address [base, {coordinates}]
///   l  label                               *  anything, any number: a hint without effect
struct Row {
  Handler run;
  std::string_view shape;
};

constexpr Row rows[] = {
    {exec_move, "dx"},
    {exec_move_wide, "vS"},
    {exec_pack, "dS"},
    {exec_unpack, "vs"},
    {exec_select, "dssp"},
    {exec_to_window, "ds"},
    {exec_from_window, "ds"},
    {exec_nothing, "*"},
    {exec_branch, "l"},
    {exec_branch_indexed, "sl"},
    {exec_exit, ""},
    {exec_trap, ""},
    {exec_call, "*"},
    {exec_mbarrier_init, "as"},
    {exec_mbarrier_inval, "a"},
    {exec_mbarrier_arrive, "?"},
    {exec_mbarrier_expect, "as"},
    {exec_mbarrier_complete, "as"},
    {exec_mbarrier_pending, "Ds"},
    {exec_mbarrier_wait, "fass?"},  // a suspend time hint at the end (PG23)
    {exec_named_barrier, "ss?"},
    {exec_fence, ""},
    {exec_setmaxnreg, "i"},
    {exec_elect, "2s"},
    {exec_shuffle, "1ssss"},
    {exec_vote, "?"},  // by mode, see below
    {exec_warp_sync, "s"},
    {exec_redux, "Dss"},
    {exec_match, "1ss"},
    {exec_active_mask, "d"},
    {exec_tensor_copy, "?"},
    {exec_plain_copy, "?"},
    {exec_bulk_commit, ""},
    {exec_bulk_wait, "i"},
    {exec_wgmma_fence, ""},
    {exec_wgmma_commit, ""},
    {exec_wgmma_wait, "i"},
};

/// Sources of arithmetic that are written: the carry flag is not.
size_t operand_inputs(const Decoded& d) { return d.pure.inputs - (d.pure.reads_carry ? 1u : 0u); }

/// The shape of an instruction; nothing if no row has its function, which is then refused.
std::optional<std::string> shape_of(const Decoded& d) {
  if (d.run == exec_pure || d.run == exec_pack_pair) {
    std::string shape(d.dst.size() > 1 ? "r" : "D");  // r: two results of the arithmetic table
    for (size_t i = 0; i < operand_inputs(d); ++i) shape += d.pure.input_bits[i] == 1 ? 'p' : 's';
    return shape;
  }
  const std::vector<std::string>& m = d.text->modifiers;
  const bool has_policy = std::find(m.begin(), m.end(), "L2::cache_hint") != m.end();
  const std::string policy = has_policy ? "s" : "";  // a cache policy, at the end
  if (d.run == exec_load) return "va" + policy;
  if (d.run == exec_store) return "aS" + policy;
  if (d.text->root() == "call") return "*";
  if (d.run == exec_named_barrier && d.variant == barrier_reduce)
    return std::string(d.shape[0] == barrier_count ? "D" : "f") +
           (d.text->operands.size() == 4 ? "ssp" : "sp");
  if (d.run == exec_vote) return d.variant == 3 ? "Dps" : "fps";
  if (d.run == exec_mbarrier_arrive)
    return (d.variant & (arrive_expects | arrive_no_complete)) != 0 ? "Das" : "Das?";
  if (d.run == exec_tensor_copy) return (d.variant == 0 ? (d.shape[1] != 0 ? "atas" : "ata") : "ta") + policy;
  if (d.run == exec_plain_copy) {
    if (d.variant == 0) return (d.shape[1] != 0 ? "aasas" : "aasa") + policy;
    return "aas" + policy + (d.byte_mask ? "s" : "");
  }
  if (d.run == exec_multimem) return d.variant == 0 ? "wa" : "aS";
  if (auto shape = matrix_operand_shape(d)) return shape;
  for (const Row& r : rows)
    if (r.run == d.run) return std::string(r.shape);
  if (auto shape = cluster_operand_shape(d)) return shape;
  return async_operand_shape(d);
}

std::string_view name_of(char letter) {
  switch (letter) {
    case 'd':
      return "a register";
    case 'D':
    case '1':
      return "a register or _";
    case 'f':
      return "a predicate register or _";
    case 'v':
    case 'w':
      return "a register or a vector of registers";
    case '2':
    case 'r':
      return "two results a|b";
    case 's':
      return "a value that is no predicate";
    case 'x':
      return "a value";
    case 'S':
      return "a value or a vector of values";
    case 'p':
      return "a predicate register";
    case 'i':
      return "an immediate";
    case 'a':
      return "an address in brackets";
    case 't':
      return "a tensor map and coordinates in brackets";
    default:
      return "a label";
  }
}

/// Kinds only; widths are looked at where the decoder knows what they should be.
class Matcher {
 public:
  explicit Matcher(const ptx::Entry& entry) : entry_(entry) {}

  bool fits(char letter, const Operand& o) const {
    switch (letter) {
      case 'd':
        return is_register(single(o)) && !single(o).negated;
      case 'D':
        return single(o).kind == OperandKind::sink || fits('d', o);
      case 'f':
        return single(o).kind == OperandKind::sink || (fits('d', o) && bits(single(o)) == 1);
      case 'v':
        return all_of(o, 'D');
      case 'w':
        return all_of(o, 'd');
      case '2':
        return is_pair(o) && fits('D', o.elements[0]) && fits('f', o.elements[1]);
      case '1':
        return fits('D', o) || fits('2', o);
      case 'r':
        return is_pair(o) && fits('D', o.elements[0]) && fits('D', o.elements[1]);
      case 's':
        return is_value(single(o)) && bits(single(o)) != 1;
      case 'x':
        return is_value(single(o));
      case 'S':
        return all_of(o, 's');
      case 'p':
        return single(o).kind == OperandKind::immediate || (is_register(single(o)) && bits(single(o)) == 1);
      case 'i':
        return single(o).kind == OperandKind::immediate;
      case 'a':
        return o.kind == OperandKind::address && o.elements.size() == 1 && is_base(o.elements[0]);
      case 't':
        return o.kind == OperandKind::address && o.elements.size() == 2 && is_base(o.elements[0]) &&
               all_of(o.elements[1], 's');
      default:
        return o.kind == OperandKind::label;
    }
  }

  /// Width of a register in bits; 0 for everything else.
  unsigned bits(const Operand& o) const { return is_register(o) ? entry_.registers[o.reg.v].bits : 0; }

  static const Operand& single(const Operand& o) {
    return o.kind == OperandKind::vector && o.elements.size() == 1 ? o.elements[0] : o;
  }

 private:
  bool is_register(const Operand& o) const {
    return o.kind == OperandKind::reg && o.reg.v < entry_.registers.size();
  }
  bool is_value(const Operand& o) const {
    return !o.negated && (is_register(o) || o.kind == OperandKind::immediate ||
                          o.kind == OperandKind::special || o.kind == OperandKind::symbol);
  }
  /// A base address: a register of address width, a variable, or a number.
  bool is_base(const Operand& o) const {
    return is_value(o) && o.kind != OperandKind::special &&
           (!is_register(o) || bits(o) == 32 || bits(o) == 64);
  }
  static bool is_pair(const Operand& o) { return o.kind == OperandKind::paired && o.elements.size() == 2; }
  bool all_of(const Operand& o, char letter) const {
    if (o.kind != OperandKind::vector) return fits(letter, o);
    return !o.elements.empty() && std::all_of(o.elements.begin(), o.elements.end(), [&](const Operand& e) {
      return e.kind != OperandKind::vector && fits(letter, e);
    });
  }

  const ptx::Entry& entry_;
};

std::string kind_problem(std::string_view shape, const Decoded& d, const Matcher& match) {
  if (shape == "*") return {};
  const std::vector<Operand>& operands = d.text->operands;
  size_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == '?') continue;
    const bool optional = i + 1 < shape.size() && shape[i + 1] == '?';
    if (at == operands.size()) {
      if (optional) return {};
      return fmt::format("has {} operands; operand {}, {}, is missing", operands.size(), at + 1,
                         name_of(shape[i]));
    }
    if (!match.fits(shape[i], operands[at]))
      return fmt::format("does not take this operand {}: it must be {}", at + 1, name_of(shape[i]));
    ++at;
  }
  if (at < operands.size()) return fmt::format("has {} operands; it takes {}", operands.size(), at);
  return {};
}

/// A register operand and the width that the instruction reads or writes there.
class Widths {
 public:
  Widths(const Decoded& d, const Matcher& match) : d_(d), match_(match) {}

  /// At least `bits` wide (wider registers are extended or cut, as in cvt and ld); predicates only as such.
  void at_least(const Operand& o, unsigned bits) {
    const unsigned width = match_.bits(Matcher::single(o));
    if (width != 0 && (width < bits || (width == 1) != (bits == 1))) fail(width, bits);
  }
  void exactly(const Operand& o, unsigned bits) {
    const unsigned width = match_.bits(Matcher::single(o));
    if (width != 0 && width != bits) fail(width, bits);
  }
  template <typename Check>
  void each(const Operand& o, Check check) {
    if (o.kind != OperandKind::vector && o.kind != OperandKind::paired) return check(o);
    for (const Operand& e : o.elements) check(e);
  }
  const Operand& operand(size_t i) const { return d_.text->operands[i]; }
  std::string problem;

 private:
  void fail(unsigned width, unsigned bits) {
    if (problem.empty())
      problem =
          fmt::format("uses a register of {} {} where it needs {}", width, width == 1 ? "bit" : "bits", bits);
  }
  const Decoded& d_;
  const Matcher& match_;
};

std::string width_problem(const Decoded& d, const Matcher& match) {
  Widths w(d, match);
  if (d.run == exec_pure || d.run == exec_pack_pair) {
    if (d.dst.size() > 1) {
      if (d.pure.run_second == nullptr) return "has no second result";
      w.at_least(w.operand(0).elements[0], d.pure.result_bits);
      w.at_least(w.operand(0).elements[1], d.pure.second_bits);
    } else {
      w.at_least(w.operand(0), d.pure.result_bits);
    }
    for (size_t i = 0; i < operand_inputs(d); ++i) w.at_least(w.operand(1 + i), d.pure.input_bits[i]);
  } else if (d.run == exec_load || d.run == exec_store) {
    const size_t data = d.run == exec_load ? 0 : 1;
    const size_t count = d.run == exec_load ? d.dst.size() : d.src.size() - 1;
    if (count != d.vector) return fmt::format("moves {} elements, {} registers are given", d.vector, count);
    const bool wide = d.text->modifiers.back() == "b128";
    w.each(w.operand(data),
           [&](const Operand& o) { wide ? w.exactly(o, 128) : w.at_least(o, 8u * d.bytes); });
  } else if (d.run == exec_move || d.run == exec_select) {
    const bool predicate = d.text->modifiers.back() == "pred";
    for (size_t i = 0; i < (d.run == exec_move ? 2u : 3u); ++i)
      predicate ? w.exactly(w.operand(i), 1) : w.exactly(w.operand(i), 8u * d.bytes);
  } else if (d.run == exec_move_wide) {
    const size_t whole = d.dst.size() == 1 ? 0 : 1;
    w.exactly(w.operand(whole), 128);
    w.each(w.operand(1 - whole), [&](const Operand& o) { w.exactly(o, 64); });
  } else if (d.run == exec_is_canceled || d.run == exec_first_ctaid) {
    w.each(w.operand(0), [&](const Operand& o) { w.exactly(o, d.run == exec_is_canceled ? 1 : 32); });
    w.exactly(w.operand(1), 128);
  } else if (d.run == exec_pack || d.run == exec_unpack) {
    const size_t whole = d.run == exec_pack ? 0 : 1;
    w.exactly(w.operand(whole), 8u * d.bytes * d.vector);
    w.each(w.operand(1 - whole), [&](const Operand& o) { w.exactly(o, 8u * d.bytes); });
  } else if (d.run == exec_to_window || d.run == exec_from_window) {
    w.at_least(w.operand(0), 32);
    w.at_least(w.operand(1), 32);
  } else if (d.run == exec_elect) {
    w.exactly(w.operand(0).elements[0], 32);
  } else if (d.run == exec_shuffle) {
    w.exactly(w.operand(0).kind == OperandKind::paired ? w.operand(0).elements[0] : w.operand(0), 32);
    w.exactly(w.operand(1), 32);
  } else if (d.run == exec_match) {
    const bool paired = w.operand(0).kind == OperandKind::paired;
    if (paired && d.variant == 0) return "has one result, the mask";
    w.exactly(paired ? w.operand(0).elements[0] : w.operand(0), 32);
    w.exactly(w.operand(1), 8u * d.bytes);
  } else if (d.run == exec_active_mask) {
    w.exactly(w.operand(0), 32);
  } else if (d.run == exec_named_barrier && d.variant == barrier_reduce && d.shape[0] == barrier_count) {
    w.exactly(w.operand(0), 32);
  } else if (d.run == exec_vote && d.variant == 3) {
    w.exactly(w.operand(0), 32);
  } else if (d.run == exec_mbarrier_arrive) {
    w.exactly(w.operand(0), 64);
  } else if (d.run == exec_mbarrier_pending) {
    w.exactly(w.operand(0), 32);
    w.exactly(w.operand(1), 64);
  } else if (d.run == exec_mbarrier_wait && d.variant == 1) {
    w.exactly(w.operand(2), 64);
  } else if (d.run == exec_load_matrix || d.run == exec_store_matrix) {
    w.each(w.operand(d.run == exec_load_matrix ? 0 : 1), [&](const Operand& o) { w.exactly(o, 32); });
  } else if (d.run == exec_move_matrix || d.run == exec_redux) {
    w.exactly(w.operand(0), 32);
    w.exactly(w.operand(1), 32);
  } else if (d.run == exec_mma) {
    for (size_t i = 0; i < 4; ++i)
      w.each(w.operand(i), [&](const Operand& o) { w.exactly(o, 8u * d.bytes); });
    if (d.sparse) w.exactly(w.operand(4), 32);
  } else if (d.run == exec_wgmma) {
    w.each(w.operand(0), [&](const Operand& o) { w.exactly(o, 32); });
    if (d.variant == 1)
      w.each(w.operand(1), [&](const Operand& o) { w.exactly(o, 32); });
    else
      w.exactly(w.operand(1), 64);
    w.exactly(w.operand(2), 64);
    if (d.sparse) w.exactly(w.operand(3), 32);
  }
  return w.problem;
}

}  // namespace

std::string operand_problem(const Decoded& d, const ptx::Entry& entry) {
  const Matcher match(entry);
  const std::optional<std::string> shape = shape_of(d);
  if (!shape) return "has no row in the table of operands";
  if (std::string why = kind_problem(*shape, d, match); !why.empty()) return why;
  if (std::string why = cluster_width_problem(d, entry); !why.empty()) return why;
  return width_problem(d, match);
}

}  // namespace turnstile::sim
