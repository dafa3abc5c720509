// SPDX-License-Identifier: Apache-2.0
// One change at a time: the altered step is computed anew, then all that depends on it. What was found for an
// instruction is then tried on the whole launch, which tells a cause from a coincidence.
#include "golden/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "golden/compare.h"
#include "sim/alu/float_ops.h"
#include "sim/numerics/scalar.h"
#include "sim/numerics/tensor_core.h"

namespace turnstile::golden {

namespace {

using sim::PureConfig;
using sim::Why;
using sim::WhyInput;
using sim::WhyNode;

constexpr uint64_t most_visits = 60'000'000;  ///< steps computed anew, in all
constexpr size_t most_found = 6;
constexpr size_t most_simulations = 4;
constexpr double most_seconds = 60;  ///< of simulations

using Bytes = std::vector<uint8_t>;
/// The altered result of a node; nothing: this node is not altered.
using Change = std::function<std::optional<Bytes>(uint32_t node, const Bytes& in)>;

/// Computes the element anew.
class Replay {
 public:
  Replay(const Why& why, const sim::Program& program)
      : why_(why), program_(program), changed_(why.nodes.size()), position_(why.nodes.size()) {
    for (uint32_t p = 0; p < why.order.size(); ++p) position_[why.order[p]] = p;
  }
  uint64_t visits() const { return visits_; }

  /// The element if nodes change so, of which `first` is the earliest.
  Bytes run(uint32_t first, const Change& change) {
    touched_.clear();
    Bytes result = why_.nodes[0].out;
    for (uint32_t p = position_[first]; p < why_.order.size(); ++p) {
      const uint32_t i = why_.order[p];
      const WhyNode& n = why_.nodes[i];
      ++visits_;
      bool dirty = false;
      for (const WhyInput& input : n.inputs) dirty = dirty || !changed_[input.node].empty();
      std::optional<Bytes> altered;
      if (dirty) {
        Bytes in = n.in;
        for (const WhyInput& input : n.inputs)
          if (const Bytes& from = changed_[input.node]; !from.empty())
            std::copy_n(from.begin() + input.from, input.bytes, in.begin() + input.at);
        altered = change(i, in);
        if (!altered) altered = i == 0 ? in : sim::evaluate(n, program_.code[n.code], in);
      } else {
        altered = change(i, n.in);
      }
      if (!altered || *altered == n.out) continue;
      if (i == 0) result = *altered;
      changed_[i] = std::move(*altered);
      touched_.push_back(i);
    }
    for (const uint32_t i : touched_) changed_[i].clear();
    return result;
  }
  uint32_t earliest(const std::vector<uint32_t>& nodes) const {
    return *std::min_element(nodes.begin(), nodes.end(),
                             [&](uint32_t a, uint32_t b) { return position_[a] < position_[b]; });
  }

 private:
  const Why& why_;
  const sim::Program& program_;
  std::vector<Bytes> changed_;
  std::vector<uint32_t> position_, touched_;
  uint64_t visits_ = 0;
};

uint64_t separate_fma(const PureConfig& config, const uint64_t* in) {
  PureConfig product = config;
  product.saturate = false;
  product.relu = false;
  const uint64_t sum[2] = {sim::lane::mul_float(product, in), in[2]};
  return sim::lane::add_float(config, sum);
}

/// Another way of doing what an instruction does.
struct Alteration {
  std::string words;  ///< "rounded toward zero (.rz)"
  sim::Decoded altered;
};

void add_roundings(const sim::Decoded& d, std::vector<Alteration>& out) {
  static constexpr std::pair<Rounding, const char*> modes[] = {
      {Rounding::nearest_even, "rounded to nearest even (.rn)"},
      {Rounding::toward_zero, "rounded toward zero (.rz)"},
      {Rounding::down, "rounded down (.rm)"},
      {Rounding::up, "rounded up (.rp)"},
      {Rounding::nearest_away, "rounded to nearest, ties away from zero (.rna)"}};
  const bool cvt = d.text->root() == "cvt";
  for (const auto& [mode, words] : modes) {
    if (mode == d.pure.config.rounding || (mode == Rounding::nearest_away && !cvt)) continue;
    Alteration a{words, d};
    a.altered.pure.config.rounding = mode;
    a.altered.pure.config.host_f32 = false;
    out.push_back(std::move(a));
  }
}

std::vector<Alteration> alterations_of(const sim::Decoded& d) {
  namespace lane = sim::lane;
  std::vector<Alteration> out;
  const sim::PureOp& op = d.pure;
  if (op.run == nullptr) return out;
  const auto instead = [&](sim::LaneFunction run, std::string words) {
    Alteration a{std::move(words), d};
    a.altered.pure.run = run;
    a.altered.pure.config.host_f32 = false;
    out.push_back(std::move(a));
  };
  static constexpr std::string_view rounding_roots[] = {"add", "sub", "mul",  "fma",
                                                        "div", "rcp", "sqrt", "cvt"};
  const std::string_view root = d.text->root();
  const bool rounds =
      (op.is_float || root == "cvt") &&
      std::find(std::begin(rounding_roots), std::end(rounding_roots), root) != std::end(rounding_roots);
  if (rounds) add_roundings(d, out);
  if (op.is_float) {
    Alteration a{
        op.config.ftz ? "did not flush subnormals (without .ftz)" : "flushed subnormals to zero (.ftz)", d};
    a.altered.pure.config.ftz = !op.config.ftz;
    a.altered.pure.config.host_f32 = false;
    out.push_back(std::move(a));
  }
  if (root == "fma" && op.config.lanes == 1)
    instead(separate_fma, "were a separate mul and add, each rounded");
  if (op.run == lane::div_float) instead(lane::div_full_range, "were div.full");
  if (op.run == lane::div_float || op.run == lane::div_full_range)
    instead(lane::div_approximate, "were div.approx");
  if (op.run == lane::div_full_range || op.run == lane::div_approximate)
    instead(lane::div_float, "were div.rn");
  if (op.run == lane::rcp_float) instead(lane::rcp_approximate, "were rcp.approx");
  if (op.run == lane::rcp_approximate) instead(lane::rcp_float, "were rcp.rn");
  if (op.run == lane::sqrt_float) instead(lane::sqrt_approximate, "were sqrt.approx");
  if (op.run == lane::sqrt_approximate) instead(lane::sqrt_float, "were sqrt.rn");
  return out;
}

/// Rows of the table of tensor cores that differ in one parameter; they live in `rows`.
std::vector<Alteration> matrix_alterations(const sim::Decoded& d, std::deque<TensorCoreRow>& rows) {
  std::vector<Alteration> out;
  if (d.arithmetic.model != MatrixModel::fused) return out;
  const TensorCoreRow& row = *d.arithmetic.row;
  const auto with = [&](TensorCoreRow other, std::string words) {
    rows.push_back(other);
    Alteration a{std::move(words), d};
    a.altered.arithmetic.row = &rows.back();
    out.push_back(std::move(a));
  };
  for (const unsigned group : {4u, 8u, 16u, 32u}) {
    if (group == row.group) continue;
    TensorCoreRow other = row;
    other.group = group;
    with(other, fmt::format("added {} products at a time instead of {}", group, row.group));
  }
  for (int bits = row.fraction_bits - 2; bits <= row.fraction_bits + 2; ++bits) {
    if (bits == row.fraction_bits || bits < 1) continue;
    TensorCoreRow other = row;
    other.fraction_bits = bits;
    with(other, fmt::format("cut to {} bits below E instead of {}", bits, row.fraction_bits));
  }
  for (const auto& [rho, words] :
       {std::pair{TensorCoreRounding::rz_f32, "cut the sum of a group to f32"},
        {TensorCoreRounding::rz_e8m13, "cut the sum of a group to 13 fraction bits"}}) {
    if (rho == row.rho || row.accumulator != ElementType::f32) continue;
    TensorCoreRow other = row;
    other.rho = rho;
    with(other, words);
  }
  return out;
}

/// What was found, before it is put into words for the reader.
struct Hit {
  Cause cause;
  std::vector<std::pair<uint32_t, sim::Decoded>> patch;  ///< of the program; empty: of this step alone
};

class CauseSearch {
 public:
  CauseSearch(const Why& why, const sim::Program& program, const Path& path, uint64_t got)
      : why_(why), program_(program), replay_(why, program), got_(got), number_(why.nodes.size()) {
    for (const PathStep& s : path.steps) number_[s.node] = s.number;
    for (auto it = why.order.rbegin(); it != why.order.rend(); ++it) {
      const WhyNode& n = why.nodes[*it];
      if (n.kind == WhyNode::Kind::compute || n.kind == WhyNode::Kind::matrix)
        by_code_[n.code].push_back(*it);
    }
  }

  std::vector<Hit> run() {
    for (const auto& [code, nodes] : by_code_) {
      const sim::Decoded& d = program_.code[code];
      const bool matrix = why_.nodes[nodes.front()].kind == WhyNode::Kind::matrix;
      alterations_[code] = matrix ? matrix_alterations(d, rows_) : alterations_of(d);
    }
    try_kinds();
    try_instructions();
    try_fusions();
    try_chains();
    try_steps();
    return std::move(hits_);
  }
  uint64_t tried() const { return tried_; }
  bool all_tried() const { return all_tried_; }

 private:
  bool gives(const std::vector<uint32_t>& nodes, const Change& change) {
    if (replay_.visits() > most_visits) {
      all_tried_ = false;
      return false;
    }
    ++tried_;
    const Bytes result = replay_.run(replay_.earliest(nodes), change);
    return word_of(result, 0, result.size()) == got_;
  }

  Change altering(const std::set<uint32_t>& codes, size_t which, bool by_words,
                  const std::string& words) const {
    return [this, codes, which, by_words, words](uint32_t i, const Bytes& in) -> std::optional<Bytes> {
      const WhyNode& n = why_.nodes[i];
      if (n.kind != WhyNode::Kind::compute && n.kind != WhyNode::Kind::matrix) return std::nullopt;
      if (!codes.contains(n.code)) return std::nullopt;
      const std::vector<Alteration>& all = alterations_.at(n.code);
      if (!by_words) return sim::evaluate(n, all[which].altered, in);
      for (const Alteration& a : all)
        if (a.words == words) return sim::evaluate(n, a.altered, in);
      return std::nullopt;
    };
  }

  std::string place(uint32_t code) const {
    const Place& p = program_.places[code];
    return fmt::format("{}:{}", p.ptx_file.substr(p.ptx_file.rfind('/') + 1), p.ptx_line);
  }

  uint32_t nearest_number(const std::vector<uint32_t>& nodes) const {
    uint32_t number = 0;
    for (const uint32_t i : nodes)
      if (number_[i] != 0 && (number == 0 || number_[i] < number)) number = number_[i];
    return number;
  }

  /// Every instruction of a mnemonic, if there are several.
  void try_kinds() {
    std::map<std::string, std::vector<uint32_t>> kinds;
    for (const auto& [code, nodes] : by_code_) kinds[program_.code[code].text->mnemonic].push_back(code);
    for (const auto& [mnemonic, codes] : kinds) {
      uint64_t in_program = 0;
      for (const sim::Decoded& d : program_.code) in_program += d.text->mnemonic == mnemonic ? 1 : 0;
      if (in_program < 2) continue;
      std::vector<uint32_t> nodes;
      for (const uint32_t code : codes)
        nodes.insert(nodes.end(), by_code_[code].begin(), by_code_[code].end());
      for (const Alteration& a : alterations_[codes.front()]) {
        if (!gives(nodes, altering({codes.begin(), codes.end()}, 0, true, a.words))) continue;
        Hit hit{{fmt::format("every {} {}", mnemonic, a.words), nearest_number(nodes), true, {}}, {}};
        for (uint32_t i = 0; i < program_.code.size(); ++i) {
          if (program_.code[i].text->mnemonic != mnemonic) continue;
          const bool matrix = program_.code[i].arithmetic.model != MatrixModel::none;
          for (Alteration& other :
               matrix ? matrix_alterations(program_.code[i], rows_) : alterations_of(program_.code[i]))
            if (other.words == a.words) hit.patch.emplace_back(i, std::move(other.altered));
        }
        hits_.push_back(std::move(hit));
      }
    }
  }

  void try_instructions() {
    for (const auto& [code, nodes] : by_code_)
      for (size_t which = 0; which < alterations_[code].size(); ++which) {
        const Alteration& a = alterations_[code][which];
        if (!gives(nodes, altering({code}, which, false, {}))) continue;
        hits_.push_back(
            {{fmt::format("{} at {} {}", program_.code[code].text->mnemonic, place(code), a.words),
              nearest_number(nodes),
              true,
              {}},
             {{code, a.altered}}});
      }
  }

  /// One execution of an instruction that has several.
  void try_steps() {
    for (auto it = why_.order.rbegin(); it != why_.order.rend(); ++it) {
      const WhyNode& n = why_.nodes[*it];
      if (n.kind != WhyNode::Kind::compute || by_code_[n.code].size() < 2) continue;
      const std::vector<Alteration>& all = alterations_[n.code];
      for (size_t which = 0; which < all.size(); ++which) {
        if (sim::evaluate(n, all[which].altered, n.in) == n.out) continue;
        const uint32_t node = *it;
        const Change change = [&](uint32_t i, const Bytes& in) -> std::optional<Bytes> {
          if (i != node) return std::nullopt;
          return sim::evaluate(n, all[which].altered, in);
        };
        if (!gives({node}, change)) continue;
        hits_.push_back({{fmt::format("step {} alone ({} at {}) {}", number_[node],
                                      program_.code[n.code].text->mnemonic, place(n.code), all[which].words),
                          number_[node],
                          false,
                          {}},
                         {}});
      }
    }
  }

  /// mul and add that a compiler may make one fma: all that the same two instructions did.
  void try_fusions() {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<std::array<uint32_t, 3>>> pairs;  // add, mul, source
    for (const uint32_t i : why_.order) {
      const WhyNode& n = why_.nodes[i];
      const sim::Decoded& d = program_.code[n.code];
      const std::string_view root = d.text->root();
      if (n.kind != WhyNode::Kind::compute || (root != "add" && root != "sub") || !d.pure.is_float ||
          d.pure.config.lanes != 1)
        continue;
      for (const WhyInput& input : n.inputs) {
        const WhyNode& from = why_.nodes[input.node];
        const sim::Decoded& product = program_.code[from.code];
        if (from.kind != WhyNode::Kind::compute || product.text->root() != "mul" || !product.pure.is_float ||
            product.pure.config.lanes != 1 || product.pure.config.type != d.pure.config.type ||
            input.from != 0)
          continue;
        pairs[{n.code, from.code}].push_back({i, input.node, input.at / 8});
      }
    }
    for (const auto& [codes, found] : pairs) {
      std::map<uint32_t, std::array<uint32_t, 3>> of_node;
      std::vector<uint32_t> nodes;
      for (const auto& f : found) {
        of_node.emplace(f[0], f);
        nodes.push_back(f[0]);
      }
      const Change change = [&](uint32_t i, const Bytes& in) -> std::optional<Bytes> {
        const auto at = of_node.find(i);
        if (at == of_node.end()) return std::nullopt;
        return fused(i, at->second[1], at->second[2], in);
      };
      if (!gives(nodes, change)) continue;
      hits_.push_back(
          {{fmt::format("{} at {} and {} at {} were one fma", program_.code[codes.second].text->mnemonic,
                        place(codes.second), program_.code[codes.first].text->mnemonic, place(codes.first)),
            nearest_number(nodes),
            false,
            {}},
           {}});
    }
  }

  Bytes fused(uint32_t sum, uint32_t product, uint32_t source, const Bytes& in) const {
    const WhyNode& n = why_.nodes[sum];
    const WhyNode& p = why_.nodes[product];
    const sim::Decoded& d = program_.code[n.code];
    PureConfig config = d.pure.config;
    config.host_f32 = false;
    const size_t width = d.pure.input_bits[0] / 8u;
    const uint64_t sign = uint64_t{1} << (d.pure.input_bits[0] - 1);
    uint64_t operands[3] = {word_of(p.in, 0, width), word_of(p.in, 8, width),
                            word_of(in, source == 0 ? 8 : 0, width)};
    if (d.text->root() == "sub") operands[source == 0 ? 2 : 0] ^= sign;
    const uint64_t result = sim::lane::fma_float(config, operands);
    Bytes out(n.out.size());
    for (size_t i = 0; i < out.size() && i < 8; ++i) out[i] = static_cast<uint8_t>(result >> (8 * i));
    return out;
  }

  /// Chains of matrix operations: parts of k left out, the other order, one product after the other.
  void try_chains() {
    std::vector<uint8_t> inner(why_.nodes.size());
    for (const uint32_t i : why_.order)
      for (const WhyInput& input : why_.nodes[i].inputs)
        if (why_.nodes[i].kind == WhyNode::Kind::matrix && input.at < 8 &&
            why_.nodes[input.node].kind == WhyNode::Kind::matrix)
          inner[input.node] = 1;
    for (const uint32_t head : why_.order) {
      if (why_.nodes[head].kind != WhyNode::Kind::matrix || inner[head] != 0) continue;
      std::vector<uint32_t> chain{head};
      while (true) {
        const WhyNode& n = why_.nodes[chain.back()];
        const auto c =
            std::find_if(n.inputs.begin(), n.inputs.end(), [](const WhyInput& x) { return x.at < 8; });
        if (c == n.inputs.end() || why_.nodes[c->node].kind != WhyNode::Kind::matrix) break;
        chain.push_back(c->node);
      }
      std::reverse(chain.begin(), chain.end());
      try_chain(chain);
    }
  }

  uint64_t k_of(uint32_t node) const {
    const WhyNode& n = why_.nodes[node];
    return (n.in.size() - 8) / 2 * 8 / program_.code[n.code].arithmetic.operand_bits;
  }

  void try_chain(const std::vector<uint32_t>& chain) {
    const uint32_t number = number_[chain.back()];
    const auto found = [&](std::string words) {
      hits_.push_back({{fmt::format("step {} {}", number, words), number, false, {}}, {}});
    };
    const uint64_t k = k_of(chain.front());
    // Runs of operations: of any length in short chains, of powers of two where one begins in longer ones.
    for (size_t first = 0; first < chain.size(); ++first)
      for (size_t count = 1; first + count <= chain.size() && count < chain.size(); ++count) {
        const bool power = (count & (count - 1)) == 0 && first % count == 0;
        if (chain.size() > 24 && !power) continue;
        const std::set<uint32_t> left_out(chain.begin() + static_cast<ptrdiff_t>(first),
                                          chain.begin() + static_cast<ptrdiff_t>(first + count));
        const Change change = [&](uint32_t i, const Bytes& in) -> std::optional<Bytes> {
          if (!left_out.contains(i)) return std::nullopt;
          const WhyNode& n = why_.nodes[i];
          if (!n.accumulates) return Bytes(n.out.size());
          return Bytes(in.begin(), in.begin() + static_cast<ptrdiff_t>(n.out.size()));
        };
        if (gives({chain[first]}, change))
          found(fmt::format("had nothing from k {} to {} (zeros, or left out)", first * k,
                            (first + count) * k - 1));
      }
    const auto in_order = [&](const std::vector<uint32_t>& order, const auto& one) {
      const WhyNode& start = why_.nodes[chain.front()];
      Bytes sum(start.in.begin(), start.in.begin() + 8);
      if (!start.accumulates) std::fill(sum.begin(), sum.end(), uint8_t{0});
      for (const uint32_t i : order) {
        WhyNode n = why_.nodes[i];
        n.accumulates = true;
        std::copy_n(sum.begin(), n.out.size(), n.in.begin());
        Bytes result = one(n);
        std::copy(result.begin(), result.end(), sum.begin());
      }
      sum.resize(why_.nodes[chain.back()].out.size());
      const Change change = [&](uint32_t i, const Bytes&) -> std::optional<Bytes> {
        if (i != chain.back()) return std::nullopt;
        return sum;
      };
      return gives({chain.back()}, change);
    };
    if (chain.size() > 1 && in_order({chain.rbegin(), chain.rend()}, [&](const WhyNode& n) {
          return sim::evaluate(n, program_.code[n.code], n.in);
        }))
      found("took its k from the last operation to the first");
    const sim::Decoded& d = program_.code[why_.nodes[chain.back()].code];
    if (d.arithmetic.model != MatrixModel::fused || d.arithmetic.accumulator != ElementType::f32) return;
    const auto one_by_one = [&](const WhyNode& n) {
      const size_t row_bytes = (n.in.size() - 8) / 2, width = d.arithmetic.operand_bits / 8u;
      auto sum = static_cast<uint32_t>(word_of(n.in, 0, 4));
      for (size_t at = 0; at < row_bytes; at += width) {
        const auto wide = [&](const FormatShape& shape, size_t where, bool negated) {
          const turnstile::Decoded x = decode(shape, word_of(n.in, where, width));
          if (x.kind == NumberClass::nan) return uint32_t{0x7fffffff};
          if (x.kind == NumberClass::infinite)
            return static_cast<uint32_t>(infinity_word(shape_of(ElementType::f32), x.negative != negated));
          const auto word = static_cast<uint32_t>(
              round_to_format(exact_value(shape, x), shape_of(ElementType::f32), Rounding::nearest_even));
          return word ^ (negated ? 0x80000000u : 0u);
        };
        const bool wgmma = d.is_wgmma;
        sum = f32_fma(wide(d.arithmetic.a, 8 + at, wgmma && (d.negated & 1) != 0),
                      wide(d.arithmetic.b, 8 + row_bytes + at, wgmma && (d.negated & 2) != 0), sum);
      }
      Bytes out(4);
      for (size_t i = 0; i < 4; ++i) out[i] = static_cast<uint8_t>(sum >> (8 * i));
      return out;
    };
    if (in_order(chain, one_by_one)) found("added its products one after the other with fma.rn.f32");
  }

  const Why& why_;
  const sim::Program& program_;
  Replay replay_;
  uint64_t got_;
  std::vector<uint32_t> number_;
  std::map<uint32_t, std::vector<uint32_t>> by_code_;
  std::map<uint32_t, std::vector<Alteration>> alterations_;
  std::deque<TensorCoreRow> rows_;  // that alterations point to, also those in hits
  std::vector<Hit> hits_;
  uint64_t tried_ = 0;
  bool all_tried_ = true;
};

/// How many elements differ from the other side if the launch runs with the change.
std::optional<uint64_t> simulate_with(const Hit& hit, sim::Program& program, const Launch& launch,
                                      uint32_t buffer, const MatrixView& other) {
  std::vector<std::pair<uint32_t, sim::Decoded>> before;
  for (const auto& [code, altered] : hit.patch) {
    before.emplace_back(code, program.code[code]);
    program.code[code] = altered;
  }
  sim::RunOptions options;
  options.domain = sim::Domain::bits;
  Result<sim::RunResult> run = sim::run_launch(program, launch, options);
  for (auto& [code, original] : before) program.code[code] = std::move(original);
  if (!run) return std::nullopt;
  const Result<MatrixView> view = view_of(launch.buffers[buffer], run->buffers[buffer]);
  if (!view) return std::nullopt;
  const Result<Comparison> comparison = compare(*view, other);
  if (!comparison) return std::nullopt;
  return comparison->differing;
}

}  // namespace

Causes find_causes(const Why& why, sim::Program& program, const Launch& launch, const Path& path,
                   uint32_t buffer, uint64_t got, const MatrixView* other, uint64_t differing) {
  Causes out;
  if (!why.replayable) {
    out.all_tried = false;
    return out;
  }
  CauseSearch search(why, program, path, got);
  std::vector<Hit> hits = search.run();
  out.tried = search.tried();
  out.all_tried = search.all_tried();
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  size_t simulations = 0;
  for (Hit& hit : hits) {
    if (other == nullptr || hit.patch.empty() || simulations >= most_simulations || seconds() > most_seconds)
      continue;
    ++simulations;
    hit.cause.differing_after = simulate_with(hit, program, launch, buffer, *other);
  }
  out.refuted = std::erase_if(hits, [&](const Hit& h) {
    return h.cause.differing_after && *h.cause.differing_after >= differing && differing != 0;
  });
  std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    return a.cause.differing_after.value_or(~uint64_t{0}) < b.cause.differing_after.value_or(~uint64_t{0});
  });
  for (Hit& hit : hits) {
    if (out.found.size() < most_found)
      out.found.push_back(std::move(hit.cause));
    else
      ++out.more;
  }
  return out;
}

}  // namespace turnstile::golden
