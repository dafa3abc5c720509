// SPDX-License-Identifier: Apache-2.0
#include "golden/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "golden/matrix.h"
#include "sim/numerics/tensor_core.h"

namespace turnstile::golden {

namespace {

using sim::Why;
using sim::WhyInput;
using sim::WhyNode;

ElementType bits_type(size_t bytes) {
  return bytes == 1   ? ElementType::b8
         : bytes == 2 ? ElementType::b16
         : bytes <= 4 ? ElementType::b32
                      : ElementType::b64;
}

PathValue value_as(ElementType type, uint64_t bits) {
  const ElementType plain = bits_type(element_bytes(type));
  return {bits_text(type, bits), type == plain ? std::string() : value_text(type, bits), 0, {}};
}

const char* rounding_words(Rounding r) {
  switch (r) {
    case Rounding::nearest_even:
      return "to nearest even";
    case Rounding::nearest_away:
      return "to nearest, ties away";
    case Rounding::toward_zero:
      return "toward zero";
    case Rounding::up:
      return "up";
    case Rounding::down:
      return "down";
  }
  return "";
}

bool rounds(const sim::Decoded& d) {
  static constexpr std::string_view roots[] = {"add", "sub", "mul",  "fma", "mad",
                                               "div", "rcp", "sqrt", "cvt"};
  const std::string_view root = d.text->root();
  return d.pure.run != nullptr && (d.pure.is_float || root == "cvt") &&
         std::find(std::begin(roots), std::end(roots), root) != std::end(roots);
}

std::string place_of(const Place& p) {
  return fmt::format("{}:{}", p.ptx_file.substr(p.ptx_file.rfind('/') + 1), p.ptx_line);
}

/// Steps that only hand on are no steps of the path, but for memory and other lanes.
bool shown(const WhyNode& n) { return n.kind != WhyNode::Kind::leaf && n.step != 0xffffffff; }

const WhyInput* accumulator_input(const WhyNode& n) {
  for (const WhyInput& i : n.inputs)
    if (i.at < 8) return &i;
  return nullptr;
}

class PathBuilder {
 public:
  PathBuilder(const Why& why, const sim::Program& program, const Launch& launch)
      : why_(why),
        program_(program),
        launch_(launch),
        number_(why.nodes.size()),
        hidden_(why.nodes.size()),
        chained_(why.nodes.size()) {}

  Path build(uint64_t most) {
    find_chains();
    hide_operand_copies();
    // The latest first; a chain stands where its last operation is.
    std::vector<uint32_t> nodes;
    for (auto it = why_.order.rbegin(); it != why_.order.rend(); ++it)
      if (shown(why_.nodes[*it]) && chained_[*it] == 0 && hidden_[*it] == 0) nodes.push_back(*it);
    uint32_t number = 0;
    for (const uint32_t i : nodes) number_[i] = ++number;
    Path path;
    for (const uint32_t i : nodes) {
      if (path.steps.size() >= most) {
        ++path.more;
        continue;
      }
      path.steps.push_back(step_of(i));
    }
    return path;
  }

 private:
  void find_chains() {
    for (auto it = why_.order.rbegin(); it != why_.order.rend(); ++it) {
      const WhyNode& n = why_.nodes[*it];
      if (n.kind != WhyNode::Kind::matrix) continue;
      std::vector<uint32_t>& chain = chains_[chained_[*it] == 0 ? *it : heads_[*it]];
      chain.push_back(*it);
      const WhyInput* c = accumulator_input(n);
      if (c == nullptr || why_.nodes[c->node].kind != WhyNode::Kind::matrix) continue;
      if (program_.code[why_.nodes[c->node].code].text->mnemonic != program_.code[n.code].text->mnemonic)
        continue;
      if (chained_[c->node] != 0) continue;
      chained_[c->node] = 1;
      heads_[c->node] = chained_[*it] == 0 ? *it : heads_[*it];
    }
  }

  /// What only brings operands of matrix operations from a buffer is told with their chain.
  void hide_operand_copies() {
    std::vector<uint8_t> wanted(why_.nodes.size());  // by something else
    for (auto it = why_.order.rbegin(); it != why_.order.rend(); ++it) {
      const WhyNode& n = why_.nodes[*it];
      const bool brings = n.kind == WhyNode::Kind::load || n.kind == WhyNode::Kind::transfer;
      hidden_[*it] = brings && *it != 0 && wanted[*it] == 0 ? 1 : 0;
      for (const WhyInput& i : n.inputs)
        if (hidden_[*it] == 0 && !(n.kind == WhyNode::Kind::matrix && i.at >= 8)) wanted[i.node] = 1;
    }
  }

  /// The type of source `i` of a node, or of its result.
  ElementType type_of(const WhyNode& n, const sim::Decoded& d, int source) const {
    const sim::PureOp& op = d.pure;
    const bool is_cvt = d.text->root() == "cvt";
    const size_t width = source < 0 ? op.result_bits : op.input_bits[static_cast<size_t>(source)];
    const size_t bytes =
        n.half != 0xff && width > 16 && !(is_cvt && source >= 0) ? width / 16 : (width + 7) / 8;
    if (n.kind != WhyNode::Kind::compute || op.run == nullptr) return bits_type(bytes);
    const auto fits = [&](ElementType t) { return element_bytes(t) == bytes && rounds_or_float(d); };
    const ElementType first = is_cvt && source >= 0 ? op.config.source_type : op.config.type;
    const ElementType second = is_cvt && source >= 0 ? op.config.type : op.config.source_type;
    if (fits(first) && is_float_type(d, source)) return first;
    if (fits(second) && is_float_type(d, source) && !is_cvt) return second;
    return bits_type(bytes);
  }
  static bool rounds_or_float(const sim::Decoded& d) { return d.pure.is_float || d.text->root() == "cvt"; }
  static bool is_float_type(const sim::Decoded& d, int source) {
    if (d.text->root() != "cvt") return d.pure.is_float;
    // cvt: the first type of the mnemonic is that of the result, the last that of the sources.
    const auto& words = d.text->modifiers;
    const auto is_type = [](const std::string& m) {
      return m.ends_with("8") || m.ends_with("16") || m.ends_with("32") || m.ends_with("64") ||
             m.ends_with("x2") || m.starts_with("e");
    };
    const auto first = std::find_if(words.begin(), words.end(), is_type);
    const auto last = std::find_if(words.rbegin(), words.rend(), is_type);
    if (first == words.end()) return false;
    const std::string& type = source < 0 ? *first : *last;
    return !type.starts_with("u") && !type.starts_with("s");
  }

  /// Where some bytes of a node's inputs come from.
  void trace_origin(const WhyNode& n, size_t at, size_t bytes, PathValue& value) const {
    for (const WhyInput& i : n.inputs) {
      if (i.at + i.bytes <= at || i.at >= at + bytes) continue;
      const WhyNode& from = why_.nodes[i.node];
      if (number_[i.node] != 0)
        value.step = value.step == 0 ? number_[i.node] : std::min(value.step, number_[i.node]);
      else if (value.from.empty())
        value.from = leaf_text(from, i.from);
    }
    if (value.step == 0 && value.from.empty()) value.from = "as it was";
  }

  std::string leaf_text(const WhyNode& leaf, uint64_t from) const {
    if (!leaf.text.empty() || leaf.memory >= why_.memories.size()) return leaf.text;
    return golden::element_name(launch_, why_.memories[leaf.memory].number, leaf.address + from);
  }

  std::string memory_text(const WhyNode& n) const {
    if (n.memory >= why_.memories.size()) return {};
    const sim::WhyMemory& m = why_.memories[n.memory];
    if (!m.shared) return golden::element_name(launch_, m.number, n.address);
    return fmt::format("shared+0x{:x}{}", n.address,
                       m.number == n.cta ? "" : fmt::format(" of CTA {}", cta_text(m.number)));
  }

  std::string cta_text(uint32_t cta) const {
    if (cta >= why_.ctas.size()) return "?";
    return fmt::format("({}, {}, {})", why_.ctas[cta][0], why_.ctas[cta][1], why_.ctas[cta][2]);
  }

  PathStep step_of(uint32_t index) const {
    const WhyNode& n = why_.nodes[index];
    const sim::Decoded& d = program_.code[n.code];
    PathStep step;
    step.number = number_[index];
    step.node = index;
    step.instruction = d.text->mnemonic;
    const Place& place = program_.places[n.code];
    step.ptx_place = place_of(place);
    if (!place.file.empty())
      step.source = fmt::format("{}:{}", place.file.substr(place.file.rfind('/') + 1), place.line);
    step.thread = n.warp < 0xfffe ? fmt::format("CTA {} warp {} lane {}", cta_text(n.cta), n.warp, n.lane)
                                  : fmt::format("CTA {}", cta_text(n.cta));
    step.where = memory_text(n);
    if (!n.text.empty()) step.where += (step.where.empty() ? "" : "; ") + n.text;
    const ElementType type =
        n.kind == WhyNode::Kind::matrix
            ? d.arithmetic.model == MatrixModel::integer ? ElementType::s32 : accumulator_type(d, n)
            : type_of(n, d, -1);
    const bool typed = n.kind == WhyNode::Kind::compute || n.kind == WhyNode::Kind::matrix;
    step.result = typed ? value_as(type, word_of(n.out, 0, element_bytes(type))) : raw(n.out);
    if (n.kind == WhyNode::Kind::matrix) {
      step.chain = chain_of(index, type);
      return step;
    }
    if (n.kind == WhyNode::Kind::compute && rounds(d)) {
      step.rounding =
          d.pure.run == nullptr ? "" : std::string("rounds ") + rounding_words(d.pure.config.rounding);
      if (d.pure.config.ftz) step.rounding += ", subnormals are flushed";
    }
    if (n.kind == WhyNode::Kind::compute || n.kind == WhyNode::Kind::select) {
      for (size_t s = 0; 8 * s < n.in.size(); ++s) {
        const bool selects = n.kind == WhyNode::Kind::select;
        const bool used =
            std::any_of(n.inputs.begin(), n.inputs.end(), [&](const WhyInput& i) { return i.at / 8 == s; });
        const bool predicate = (selects ? (s == 2 ? 1 : 32) : d.pure.input_bits[s]) == 1;
        if (!used && !predicate) continue;
        const ElementType t = selects ? bits_type(n.out.size()) : type_of(n, d, static_cast<int>(s));
        const size_t shift = n.half == 1 && !selects && d.pure.input_bits[s] == d.pure.result_bits &&
                                     d.pure.config.lanes == 2 && d.text->root() != "cvt"
                                 ? n.out.size()
                                 : 0;
        PathValue v = predicate ? PathValue{fmt::format("{}", n.in[8 * s] & 1), "predicate", 0, {}}
                                : value_as(t, word_of(n.in, 8 * s + shift, element_bytes(t)));
        if (!predicate) trace_origin(n, 8 * s + shift, element_bytes(t), v);
        step.operands.push_back(std::move(v));
      }
      return step;
    }
    PathValue from = raw(n.in);
    trace_origin(n, 0, n.in.size(), from);
    from.bits.clear();                               // the same as the result
    if (from.from == step.where) from.from.clear();  // what was loaded
    if (n.kind != WhyNode::Kind::stop && (from.step != 0 || !from.from.empty()))
      step.operands.push_back(std::move(from));
    return step;
  }

  static PathValue raw(const std::vector<uint8_t>& bytes) {
    std::string text = "0x";
    for (auto it = bytes.rbegin(); it != bytes.rend(); ++it) text += fmt::format("{:02x}", *it);
    return {text, {}, 0, {}};
  }

  static ElementType accumulator_type(const sim::Decoded& d, const WhyNode& n) {
    if (n.out.size() == 8) return ElementType::f64;
    return n.out.size() == 2                            ? ElementType::f16
           : d.arithmetic.model == MatrixModel::integer ? ElementType::s32
                                                        : ElementType::f32;
  }

  PathChain chain_of(uint32_t head, ElementType type) const {
    std::vector<uint32_t> nodes = chains_.at(head);
    std::reverse(nodes.begin(), nodes.end());
    const sim::Decoded& d = program_.code[why_.nodes[head].code];
    PathChain chain;
    chain.operations = nodes.size();
    chain.row = why_.nodes[head].row;
    chain.column = why_.nodes[head].column;
    const bool fused = d.arithmetic.model == MatrixModel::fused;
    if (fused) {
      chain.group = d.arithmetic.row->group;
      chain.fraction_bits = d.arithmetic.row->fraction_bits;
      chain.conversion = d.arithmetic.row->rho == TensorCoreRounding::rne_f16 ? "rounded to nearest even f16"
                         : d.arithmetic.row->rho == TensorCoreRounding::rz_e8m13 ? "cut to 13 fraction bits"
                                                                                 : "cut to f32 (toward zero)";
    } else {
      chain.arithmetic = d.arithmetic.model == MatrixModel::f64_chain ? "a chain of fma.rn.f64, k ascending"
                         : d.arithmetic.model == MatrixModel::fp8_as_f16
                             ? "FP8 as f16, two products at a time"
                             : "exact integer sum";
    }
    for (const uint32_t i : nodes) {
      const WhyNode& n = why_.nodes[i];
      const size_t row_bytes = (n.in.size() - 8) / 2;
      if (i == nodes.front()) {
        chain.a_from = through_memory(n, 8);
        chain.b_from = through_memory(n, 8 + static_cast<uint32_t>(row_bytes));
      }
      add_groups(n, type, chain);
    }
    if (!chain.groups.empty()) {
      const WhyNode& first = why_.nodes[nodes.front()];
      PathValue& before = chain.groups.front().before;
      if (!first.accumulates)
        before.from = "nothing: the first operation starts from zero";
      else
        trace_origin(first, 0, first.out.size(), before);
    }
    return chain;
  }

  /// Follows an operand through copies and loads to the buffer that it comes from.
  std::string through_memory(const WhyNode& n, uint32_t at) const {
    const WhyNode* now = &n;
    std::string by;
    for (int hops = 0; hops < 64; ++hops) {
      const WhyInput* best = nullptr;
      for (const WhyInput& i : now->inputs)
        if (i.at <= at && at < i.at + i.bytes) best = &i;
      if (best == nullptr) return (now->text.empty() ? "as it was" : now->text) + by;
      const WhyNode& from = why_.nodes[best->node];
      const uint32_t inside = best->from + (at - best->at);
      if (from.kind == WhyNode::Kind::leaf) return leaf_text(from, inside) + by;
      if (from.kind == WhyNode::Kind::compute || from.kind == WhyNode::Kind::select ||
          from.kind == WhyNode::Kind::matrix || from.kind == WhyNode::Kind::stop)
        return fmt::format("step {}{}", number_[best->node], by);
      if (from.kind == WhyNode::Kind::transfer || from.kind == WhyNode::Kind::load)
        by += fmt::format(" by {} at {}", program_.code[from.code].text->root(),
                          place_of(program_.places[from.code]));
      now = &from;
      at = inside;
    }
    return "further back";
  }

  void add_groups(const WhyNode& n, ElementType type, PathChain& chain) const {
    const sim::Decoded& d = program_.code[n.code];
    const size_t row_bytes = (n.in.size() - 8) / 2;
    const uint64_t k = row_bytes * 8 / d.arithmetic.operand_bits;
    const uint64_t before = n.accumulates ? word_of(n.in, 0, n.out.size()) : 0;
    if (d.arithmetic.model != MatrixModel::fused) {
      PathGroup g;
      g.first_k = chain.k;
      g.last_k = chain.k + k - 1;
      g.before = value_as(type, before);
      g.after = value_as(type, word_of(n.out, 0, n.out.size()));
      chain.groups.push_back(std::move(g));
      chain.k += k;
      return;
    }
    const TensorCoreRow& row = *d.arithmetic.row;
    const size_t width = d.arithmetic.operand_bits / 8u;
    auto sum = static_cast<uint32_t>(before);
    for (uint64_t first = 0; first < k; first += row.group) {
      const uint64_t count = std::min<uint64_t>(row.group, k - first);
      PathGroup g;
      g.first_k = chain.k + first;
      g.last_k = g.first_k + count - 1;
      g.before = value_as(type, sum);
      const turnstile::Decoded c = decode(shape_of(row.accumulator), sum);
      bool special = c.kind == NumberClass::infinite || c.kind == NumberClass::nan;
      int exponent = row.e_zero;
      g.largest = "nothing but zeros";
      if (c.kind == NumberClass::finite && c.exponent >= exponent) {
        exponent = c.exponent;
        g.largest = "the accumulator";
      }
      std::vector<uint32_t> as, bs;
      for (uint64_t i = 0; i < count; ++i) {
        const size_t at = 8 + (first + i) * width;
        const bool negate_a = d.is_wgmma && (d.negated & 1) != 0,
                   negate_b = d.is_wgmma && (d.negated & 2) != 0;
        const uint32_t sign = uint32_t{1} << (8 * width - 1);
        const auto a = static_cast<uint32_t>(word_of(n.in, at, width)) ^ (negate_a ? sign : 0);
        const auto b = static_cast<uint32_t>(word_of(n.in, at + row_bytes, width)) ^ (negate_b ? sign : 0);
        as.push_back(a);
        bs.push_back(b);
        const turnstile::Decoded x = decode(d.arithmetic.a, a), y = decode(d.arithmetic.b, b);
        special = special || x.kind == NumberClass::infinite || x.kind == NumberClass::nan ||
                  y.kind == NumberClass::infinite || y.kind == NumberClass::nan;
        if (x.kind != NumberClass::finite || y.kind != NumberClass::finite ||
            x.exponent + y.exponent <= exponent)
          continue;
        exponent = x.exponent + y.exponent;
        g.largest = fmt::format("k {}: {} ({}) * {} ({})", chain.k + first + i, bits_text(row.a, a),
                                value_text(row.a, a), bits_text(row.b, b), value_text(row.b, b));
      }
      if (special)
        g.largest = "Inf or NaN among them";
      else
        g.exponent = exponent;
      sum = fused_dot_add(row, d.arithmetic.a, d.arithmetic.b, as, bs, sum);
      g.after = value_as(type, sum);
      chain.groups.push_back(std::move(g));
    }
    chain.k += k;
  }

  const Why& why_;
  const sim::Program& program_;
  const Launch& launch_;
  std::vector<uint32_t> number_;  ///< of the step, by node
  std::vector<uint8_t> hidden_;
  std::vector<uint8_t> chained_;  ///< belongs to the chain of a later node
  std::map<uint32_t, uint32_t> heads_;
  std::map<uint32_t, std::vector<uint32_t>> chains_;  ///< by head, the latest first
};

}  // namespace

uint64_t word_of(const std::vector<uint8_t>& bytes, size_t at, size_t count) {
  uint64_t word = 0;
  for (size_t i = 0; i < count && i < 8 && at + i < bytes.size(); ++i)
    word |= uint64_t{bytes[at + i]} << (8 * i);
  return word;
}

std::string element_name(const Launch& launch, uint32_t buffer, uint64_t offset) {
  if (buffer >= launch.buffers.size()) return fmt::format("a variable of the module, byte {}", offset);
  const Buffer& b = launch.buffers[buffer];
  const uint64_t element = offset / element_bytes(b.type), pitch = std::max<uint64_t>(b.row_pitch, 1);
  if (element % pitch >= b.columns()) return fmt::format("{} byte {}, between rows", b.name, offset);
  if (b.shape.size() <= 1) return fmt::format("{}[{}]", b.name, element);
  return fmt::format("{}[{}, {}]", b.name, element / pitch, element % pitch);
}

Path path_of(const Why& why, const sim::Program& program, const Launch& launch, uint64_t most) {
  return PathBuilder(why, program, launch).build(most);
}

}  // namespace turnstile::golden
