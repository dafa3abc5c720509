// SPDX-License-Identifier: Apache-2.0
#include "sim/why.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "sim/execution_log.h"
#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/matrix.h"
#include "sim/numerics/matrix_product.h"
#include "sim/why_walk.h"

namespace turnstile::sim {

namespace {

uint64_t word_at(const std::vector<uint8_t>& bytes, size_t at, size_t count = 8) {
  uint64_t word = 0;
  for (size_t i = 0; i < count && at + i < bytes.size(); ++i) word |= uint64_t{bytes[at + i]} << (8 * i);
  return word;
}

void put_word(std::vector<uint8_t>& bytes, size_t at, uint64_t word, size_t count = 8) {
  for (size_t i = 0; i < count && at + i < bytes.size(); ++i)
    bytes[at + i] = static_cast<uint8_t>(word >> (8 * i));
}

uint64_t compute(const WhyNode& node, const Decoded& d, const std::vector<uint8_t>& in) {
  const PureOp& op = d.pure;
  uint64_t sources[6] = {};
  for (size_t i = 0; i < op.inputs; ++i)
    sources[i] = (word_at(in, 8 * i) & width_mask(op.input_bits[i])) ^ (d.negated >> i & 1);
  if (op.run == nullptr) return word_at(node.out, 0);
  if (node.result == 1 && op.run_second != nullptr) return op.run_second(op.config, sources);
  uint64_t value = op.run(op.config, sources);
  if (op.result_is_signed && d.dst_bits[0] > op.result_bits) {
    const uint64_t sign = uint64_t{1} << (op.result_bits - 1);
    value = ((value ^ sign) - sign) & width_mask(d.dst_bits[0]);
  }
  return value;
}

std::vector<uint8_t> multiply(const WhyNode& node, const Decoded& d, const std::vector<uint8_t>& in) {
  const size_t row_bytes = (in.size() - 8) / 2;
  std::vector<uint8_t> a(in.begin() + 8, in.begin() + 8 + static_cast<ptrdiff_t>(row_bytes));
  std::vector<uint8_t> b(in.begin() + 8 + static_cast<ptrdiff_t>(row_bytes), in.end());
  if (d.is_wgmma) {
    const size_t width = d.element_bits / 8u;
    for (size_t at = width - 1; (d.negated & 1) != 0 && at < a.size(); at += width) a[at] ^= 0x80;
    for (size_t at = width - 1; (d.negated & 2) != 0 && at < b.size(); at += width) b[at] ^= 0x80;
  }
  const size_t k = row_bytes * 8 / d.arithmetic.operand_bits;
  std::vector<uint8_t> out(node.out.size());
  const uint64_t c = node.accumulates ? word_at(in, 0, out.size()) : 0;
  if (d.arithmetic.model == MatrixModel::f64_chain) {
    uint64_t sum = c;
    multiply_matrices_f64(1, 1, k, a, b, {&sum, 1});
    put_word(out, 0, sum);
    return out;
  }
  auto sum = static_cast<uint32_t>(c);
  multiply_matrices(d.arithmetic, 1, 1, k, a, b, {&sum, 1});
  put_word(out, 0, sum);
  return out;
}

}  // namespace

std::vector<uint8_t> evaluate(const WhyNode& node, const Decoded& d, const std::vector<uint8_t>& in) {
  switch (node.kind) {
    case WhyNode::Kind::compute: {
      const uint64_t value = compute(node, d, in);
      std::vector<uint8_t> out(node.out.size());
      put_word(out, 0, node.half == 1 ? value >> (8 * out.size()) : value);
      return out;
    }
    case WhyNode::Kind::select: {
      const bool first = ((in[16] ^ (d.negated >> 2)) & 1) != 0;
      std::vector<uint8_t> out(node.out.size());
      put_word(out, 0, word_at(in, first ? 0 : 8));
      return out;
    }
    case WhyNode::Kind::matrix:
      return multiply(node, d, in);
    case WhyNode::Kind::leaf:
    case WhyNode::Kind::stop:
      return node.out;
    case WhyNode::Kind::load:
    case WhyNode::Kind::store:
    case WhyNode::Kind::transfer:
    case WhyNode::Kind::shuffle:
      return in;
  }
  return in;
}

namespace {

bool computes(const WhyNode& n) {
  return n.kind == WhyNode::Kind::compute || n.kind == WhyNode::Kind::select ||
         n.kind == WhyNode::Kind::matrix;
}

/// Fills the inputs of nodes while the launch runs once more.
class ValueReader {
 public:
  explicit ValueReader(Why& why) : why_(why) {
    for (uint32_t i = 1; i < why.nodes.size(); ++i) {
      const WhyNode& n = why.nodes[i];
      if (computes(n)) wanted_[n.step].push_back(i);
    }
  }
  void step(uint32_t number, const Warp& warp, const Decoded& d) {
    const auto found = wanted_.find(number);
    if (found == wanted_.end()) return;
    for (const uint32_t i : found->second) {
      WhyNode& n = why_.nodes[i];
      // A step that is tried and has to wait has the number of the one that comes in its place.
      if (n.code != d.index || n.warp != warp.index) continue;
      if (n.kind == WhyNode::Kind::matrix) {
        read_fragments(n, warp, d);
        continue;
      }
      for (size_t s = 0; 8 * s < n.in.size(); ++s) put_word(n.in, 8 * s, warp.regs.get(d.src[s], n.lane));
    }
  }
  void matrix(uint32_t number, const Cta& cta, const WarpGroupOp& op) {
    const auto found = wanted_.find(number);
    if (found == wanted_.end()) return;
    const Decoded& d = *op.text;
    for (const uint32_t i : found->second) {
      WhyNode& n = why_.nodes[i];
      const RegisterFile& regs = cta.warps[n.warp]->regs;
      const auto of_register = static_cast<uint32_t>(d.shape[1] / 2 / d.dst.size());
      const uint32_t j = n.column / 8 * 4 + (n.row % 16 / 8) * 2 + n.column % 2;
      put_word(n.in, 0, regs.get(d.dst[n.result], n.lane) >> (32 / of_register * (j % of_register)),
               n.out.size());
      const auto bytes_of = [&](uint64_t descriptor, bool mn_major, uint32_t row, size_t at) {
        const OperandView view = decode_descriptor(descriptor);
        for (uint32_t b = 0; b < wgmma_k_bytes; ++b) {
          const uint32_t address = mn_major ? mn_major_address(view, row, b / 2) + b % 2
                                            : view.chunk_address(row, b / 16) + b % 16;
          n.in[at + b] = address < cta.shared.size() ? *cta.shared.data(address) : uint8_t{0};
        }
      };
      if (d.variant == 1) {
        for (uint32_t b = 0; b < wgmma_k_bytes; ++b) {
          const uint32_t reg = d.src[n.row % 16 / 8 + 2 * (b / 16)], lane = n.row % 8 * 4 + b % 16 / 4;
          n.in[8 + b] = static_cast<uint8_t>(regs.get(reg, lane) >> (8 * (b % 4)));
        }
      } else {
        bytes_of(op.a, (d.mn_major & 1) != 0, n.row, 8);
      }
      bytes_of(op.b, (d.mn_major & 2) != 0, n.column, 8 + wgmma_k_bytes);
    }
  }

 private:
  static void read_fragments(WhyNode& n, const Warp& warp, const Decoded& d) {
    const uint32_t rows = d.shape[0] == d.shape[1] ? 8 : 16, word = d.bytes == 8 ? 8 : 4, down = rows / 8;
    const uint32_t row_bytes = d.shape[1] * 4 * word;
    const bool pairs = d.shape[2] * warp_size != rows * 8;
    const uint64_t c = warp.regs.get(d.src[d.shape[0] + d.shape[1] + n.result], n.lane);
    put_word(n.in, 0, pairs && n.column % 2 == 1 ? c >> 16 : c, n.out.size());
    for (uint32_t i = n.row / 8; i < d.shape[0]; i += down)
      for (uint32_t t = 0; t < 4; ++t)
        put_word(n.in, 8 + (i / down * 4 + t) * word, warp.regs.get(d.src[i], n.row % 8 * 4 + t), word);
    for (uint32_t i = 0; i < d.shape[1]; ++i)
      for (uint32_t t = 0; t < 4; ++t)
        put_word(n.in, 8 + row_bytes + (i * 4 + t) * word,
                 warp.regs.get(d.src[d.shape[0] + i], n.column * 4 + t), word);
  }

  Why& why_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> wanted_;
};

/// What only moves has no values of its own: they come from those who read them, the element first.
void hand_down(const Program& program, Why& why, const std::vector<uint8_t>& element) {
  why.nodes[0].out = element;
  std::vector<uint32_t> latest(why.order.rbegin(), why.order.rend());
  for (const uint32_t i : latest) {
    WhyNode& n = why.nodes[i];
    if (!computes(n)) n.in = n.out;
    if (computes(n)) n.out = evaluate(n, program.code[n.code], n.in);
    for (const WhyInput& input : n.inputs) {
      if (computes(why.nodes[input.node])) continue;
      std::vector<uint8_t>& to = why.nodes[input.node].out;
      for (uint32_t b = 0; b < input.bytes && input.from + b < to.size() && input.at + b < n.in.size(); ++b)
        to[input.from + b] = n.in[input.at + b];
    }
  }
}

/// The other way of a selection is no part of the path.
void drop_other_ways(const Program& program, Why& why) {
  for (WhyNode& n : why.nodes) {
    if (n.kind != WhyNode::Kind::select) continue;
    const bool first = ((n.in[16] ^ (program.code[n.code].negated >> 2)) & 1) != 0;
    std::erase_if(n.inputs, [&](const WhyInput& i) { return (i.at < 8) != first; });
  }
}

/// Nodes that depend on nothing else first; only those that the element depends on.
void put_in_order(Why& why) {
  std::vector<uint8_t> reached(why.nodes.size());
  std::vector<uint32_t> open{0};
  reached[0] = 1;
  while (!open.empty()) {
    const uint32_t i = open.back();
    open.pop_back();
    why.order.push_back(i);
    for (const WhyInput& input : why.nodes[i].inputs)
      if (reached[input.node] == 0) {
        reached[input.node] = 1;
        open.push_back(input.node);
      }
  }
  // What is read was written by an earlier step; leaves have step 0 and no inputs.
  std::sort(why.order.begin(), why.order.end(), [&](uint32_t a, uint32_t b) {
    const auto rank = [&](uint32_t i) {
      return std::tuple(why.nodes[i].kind != WhyNode::Kind::leaf, why.nodes[i].step, i);
    };
    return rank(a) < rank(b);
  });
}

bool gives_the_same(const Program& program, const Why& why) {
  return std::all_of(why.order.begin(), why.order.end(), [&](uint32_t i) {
    const WhyNode& n = why.nodes[i];
    if (i != 0 && !computes(n) && evaluate(n, program.code[n.code], n.in) != n.out) return false;
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](const WhyInput& input) {
      const std::vector<uint8_t>& from = why.nodes[input.node].out;
      return input.from + input.bytes <= from.size() && input.at + input.bytes <= n.in.size() &&
             std::equal(n.in.begin() + input.at, n.in.begin() + input.at + input.bytes,
                        from.begin() + input.from);
    });
  });
}

}  // namespace

Result<Why> explain_bytes(const Program& program, const Launch& launch, uint32_t buffer, uint64_t offset,
                          uint32_t bytes) {
  RunOptions options;
  options.domain = Domain::bits;
  ExecutionLog writers(ExecutionLog::Mode::writers);
  writers.watched_buffer = buffer;
  writers.watched_begin = offset;
  writers.watched_end = offset + bytes;
  options.log = &writers;
  Result<RunResult> run = run_launch(program, launch, options);
  if (!run) return tl::unexpected(run.error());
  const std::vector<std::byte>& contents = run->buffers[buffer];
  if (offset + bytes > contents.size()) return fail(launch.path, 0, 0, "the buffer has no such element");
  std::vector<uint8_t> element(bytes);
  std::memcpy(element.data(), &contents[offset], bytes);

  // Only the machine that wrote it, unless machines read what others have written.
  if (writers.last_writer && !writers.machines_depend && run->traces.size() > 1) {
    const std::array<uint32_t, 3> at = {run->traces[*writers.last_writer].first_cta[0],
                                        run->traces[*writers.last_writer].first_cta[1],
                                        run->traces[*writers.last_writer].first_cta[2]};
    options.ctas = {at[0] + launch.grid[0] * (at[1] + launch.grid[1] * at[2])};
  }
  run->traces.clear();
  ExecutionLog log(ExecutionLog::Mode::steps);
  options.log = &log;
  if (const Result<RunResult> again = run_launch(program, launch, options); !again)
    return tl::unexpected(again.error());
  if (log.overflowed)
    return fail(launch.path, 0, 0,
                "the launch executes more than can be followed back; take a case with a shorter loop, or a "
                "smaller grid if its CTAs read what others write");
  Why why;
  WhyWalk(program, log, why).run(buffer, offset, bytes);
  why.ctas = log.positions;
  why.replayed_ctas = log.positions.size();
  for (const LoggedMemory& m : log.memories) why.memories.push_back({m.shared, m.number});

  ValueReader reader(why);
  ExecutionLog values(ExecutionLog::Mode::values);
  values.visit_step = [&](uint32_t step, Cta&, Warp& warp, const Decoded& d) { reader.step(step, warp, d); };
  values.visit_matrix = [&](uint32_t step, Cta& cta, const WarpGroupOp& op, uint32_t) {
    reader.matrix(step, cta, op);
  };
  options.log = &values;
  if (const Result<RunResult> again = run_launch(program, launch, options); !again)
    return tl::unexpected(again.error());
  drop_other_ways(program, why);
  put_in_order(why);
  hand_down(program, why, element);
  why.replayable = gives_the_same(program, why);
  return why;
}

}  // namespace turnstile::sim
