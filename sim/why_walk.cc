// SPDX-License-Identifier: Apache-2.0
// From the bytes of an element backwards: who wrote them last, and from what. Registers: the last step of
// the same warp that names the register and has the lane. Memory: the last write that covers the byte.
#include "sim/why_walk.h"

#include <algorithm>
#include <utility>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

constexpr uint64_t most_scanned = 400'000'000;  ///< entries of the log, in all

/// What a register holds that no instruction has written.
std::string unwritten_register(const Program& p, uint32_t reg) {
  for (const auto& [special, name] : p.specials)
    if (special == reg) return name;
  const auto is = [&](const auto& entry) { return entry.first == reg; };
  if (std::any_of(p.constants.begin(), p.constants.end(), is)) return "a constant";
  if (std::any_of(p.shared_addresses.begin(), p.shared_addresses.end(), is)) return "an address";
  return "a register that was never written";
}

/// Operations on two numbers side by side, each by itself.
bool by_halves(const Decoded& d) {
  const PureOp& op = d.pure;
  return op.config.lanes == 2 && d.dst.size() == 1 && d.negated == 0 && op.result_bits >= 32 &&
         d.text->root() != "cvt" &&
         std::all_of(op.input_bits.begin(), op.input_bits.begin() + op.inputs,
                     [&](auto bits) { return bits == op.result_bits; });
}

}  // namespace

WhyWalk::WhyWalk(const Program& program, const ExecutionLog& log, Why& out)
    : program_(program), log_(log), out_(out) {
  for (uint32_t i = 0; i < log.steps.size(); ++i) {
    const LoggedStep& s = log.steps[i];
    if (s.warp >= LoggedStep::matrix) continue;
    steps_of_[{s.cta, s.warp}].push_back(i);
    if (program.code[s.code].run == exec_wgmma) wgmmas_[{s.cta, s.warp}].push_back(i);
  }
}

void WhyWalk::run(uint32_t buffer, uint64_t offset, uint32_t bytes) {
  WhyNode root;
  root.kind = WhyNode::Kind::transfer;
  root.step = none;
  root.memory = buffer;
  root.address = offset;
  root.out.resize(bytes);
  out_.nodes.push_back(std::move(root));
  want({0, 0, bytes, none, true, buffer, offset, 0, 0, 0});
  while (!pending_.empty()) {
    const Wanted w = pending_.front();
    pending_.pop_front();
    if (scanned_ > most_scanned) {
      out_.truncated = true;
      return;
    }
    if (w.memory)
      follow_memory(w);
    else
      follow(w);
  }
}

WhyNode WhyWalk::at_step(WhyNode::Kind kind, uint32_t step, uint8_t lane) const {
  const LoggedStep& s = log_.steps[step];
  WhyNode n;
  n.kind = kind;
  n.step = step;
  n.code = s.code;
  n.cta = s.cta;
  n.warp = s.warp;
  n.lane = lane;
  return n;
}

template <typename Fill>
uint32_t WhyWalk::node(const Key& key, Fill fill) {
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  if (out_.nodes.size() >= most_why_nodes) {
    out_.truncated = true;
    return none;
  }
  const auto number = static_cast<uint32_t>(out_.nodes.size());
  known_.emplace(key, number);
  out_.nodes.emplace_back();
  WhyNode n = fill(number);
  out_.nodes[number] = std::move(n);
  return number;
}

void WhyWalk::connect(const Wanted& w, uint32_t offset, uint32_t bytes, uint32_t node, uint32_t from) {
  if (node != none) out_.nodes[w.consumer].inputs.push_back({node, w.at + offset, from, bytes});
}

void WhyWalk::leaf(const Wanted& w, uint32_t offset, uint32_t bytes, std::string text, uint32_t memory,
                   uint64_t address) {
  if (out_.nodes.size() >= most_why_nodes) {
    out_.truncated = true;
    return;
  }
  WhyNode n;
  n.text = std::move(text);
  n.memory = memory;
  n.address = address;
  n.cta = w.cta;
  n.out.resize(bytes);
  out_.nodes.push_back(std::move(n));
  connect(w, offset, bytes, static_cast<uint32_t>(out_.nodes.size() - 1), 0);
}

void WhyWalk::stop(const Wanted& w, uint32_t step, std::string text) {
  const uint32_t n = node({step, w.lane, w.where, w.address, w.bytes}, [&](uint32_t) {
    WhyNode made = at_step(WhyNode::Kind::stop, step, w.lane);
    made.text = std::move(text);
    made.out.resize(w.bytes);
    return made;
  });
  connect(w, 0, w.bytes, n, 0);
}

const std::vector<uint32_t>& WhyWalk::writers_of(uint16_t cta, uint16_t warp, uint32_t reg) {
  const auto [known, fresh] = writers_.try_emplace({cta, warp, reg});
  if (!fresh) return known->second;
  const std::vector<uint32_t>& all = steps_of_[{cta, warp}];
  scanned_ += all.size();
  for (const uint32_t step : all) {
    const std::vector<uint32_t>& dst = program_.code[log_.steps[step].code].dst;
    if (std::find(dst.begin(), dst.end(), reg) != dst.end()) known->second.push_back(step);
  }
  return known->second;
}

uint32_t WhyWalk::writer(const Wanted& w) {
  const std::vector<uint32_t>& all = writers_of(w.cta, w.warp, w.where);
  auto at = std::lower_bound(all.begin(), all.end(), w.before);
  while (at != all.begin()) {
    --at;
    ++scanned_;
    if ((log_.steps[*at].lanes >> w.lane & 1) != 0) return *at;
  }
  return none;
}

// Moves of whole or packed registers are looked through: they are no steps of their own.
void WhyWalk::follow(Wanted w) {
  while (true) {
    const uint32_t step = writer(w);
    if (step == none) return leaf(w, 0, w.bytes, unwritten_register(program_, w.where));
    const Decoded& d = program_.code[log_.steps[step].code];
    const auto result = static_cast<uint32_t>(std::find(d.dst.begin(), d.dst.end(), w.where) - d.dst.begin());
    if (d.run == exec_move || (d.run == exec_move_wide && result == 0)) {
      w.where = d.src[0];
      w.before = step;
      continue;
    }
    if (d.run == exec_unpack) {
      w.address += uint64_t{d.bytes} * result;
      w.where = d.src[0];
      w.before = step;
      continue;
    }
    if (d.run == exec_pack) {
      const uint32_t each = d.dst_bits[0] / 8u / static_cast<uint32_t>(d.src.size());
      for (uint32_t done = 0; done < w.bytes;) {
        const auto at = static_cast<uint32_t>(w.address + done);
        if (each == 0 || at / each >= d.src.size()) return;
        const uint32_t bytes = std::min(w.bytes - done, each - at % each);
        Wanted part = w;
        part.at += done;
        part.bytes = bytes;
        part.where = d.src[at / each];
        part.address = at % each;
        part.before = step;
        want(part);
        done += bytes;
      }
      return;
    }
    if (d.run == exec_pure || d.run == exec_pack_pair || d.run == exec_select)
      return computed(w, step, d, result);
    if (d.run == exec_load) return loaded(w, step, d, result);
    if (d.run == exec_load_matrix && !d.opaque) return loaded_rows(w, step, d, result);
    if (d.run == exec_mma && !d.opaque && (d.variant & 8) == 0 && !d.sparse)
      return multiplied(w, step, d, result);
    if (d.run == exec_wgmma && !d.opaque) return multiplied_by_group(w, step, d, result);
    if (d.run == exec_shuffle && result == 0) {
      const auto found = log_.lane_targets.find(step);
      if (found == log_.lane_targets.end()) return stop(w, step, "a shuffle");
      const uint32_t n = node({step, w.lane, 0, w.address, w.bytes}, [&](uint32_t number) {
        WhyNode made = at_step(WhyNode::Kind::shuffle, step, w.lane);
        made.out.resize(w.bytes);
        Wanted source = w;
        source.consumer = number;
        source.at = 0;
        source.before = step;
        source.where = d.src[0];
        source.lane = static_cast<uint8_t>(found->second.delta[w.lane]);
        want(source);
        return made;
      });
      return connect(w, 0, w.bytes, n, 0);
    }
    if (d.run == exec_move_matrix) {
      // Byte b of a lane is byte `from` of another: a transposition of 8x8 elements of 16 bits.
      for (uint32_t i = 0; i < w.bytes; ++i) {
        const auto b = static_cast<uint32_t>(w.address + i);
        const uint32_t row = w.lane % 4u * 2 + b / 2, byte = w.lane / 4u * 2 + b % 2;
        Wanted one = w;
        one.at += i;
        one.bytes = 1;
        one.where = d.src[0];
        one.lane = static_cast<uint8_t>(4 * row + byte / 4);
        one.address = byte % 4;
        one.before = step;
        want(one);
      }
      return;
    }
    return stop(w, step, "not followed further");
  }
}

void WhyWalk::computed(const Wanted& w, uint32_t step, const Decoded& d, uint32_t result) {
  const uint32_t result_bytes = std::max(1u, (d.dst_bits[result] + 7u) / 8u);
  const bool pair = d.run == exec_pack_pair;
  const bool halves = d.run == exec_pure && by_halves(d);
  const uint32_t half_bytes = result_bytes / 2;
  // What reaches over both halves asks for each.
  if ((pair || halves) && half_bytes != 0 &&
      w.address / half_bytes != (w.address + w.bytes - 1) / half_bytes) {
    Wanted low = w, high = w;
    low.bytes = static_cast<uint32_t>(half_bytes - w.address);
    high.at += low.bytes;
    high.bytes -= low.bytes;
    high.address = half_bytes;
    computed(low, step, d, result);
    return computed(high, step, d, result);
  }
  const uint8_t half = pair || halves ? static_cast<uint8_t>(w.address / half_bytes) : uint8_t{0xff};
  const bool selects = d.run == exec_select;
  const uint32_t n = node({step, w.lane, result, half, 0}, [&](uint32_t number) {
    WhyNode made = at_step(selects ? WhyNode::Kind::select : WhyNode::Kind::compute, step, w.lane);
    made.result = static_cast<uint8_t>(result);
    made.half = half;
    made.out.resize(half == 0xff ? result_bytes : half_bytes);
    const size_t inputs = selects ? 3 : d.pure.inputs;
    made.in.resize(8 * inputs);
    for (size_t i = 0; i < inputs; ++i) {
      // The first source of a pair is its high half. Predicates are taken as they were.
      if (pair && i != (half == 1 ? 0u : 1u) && i < 2) continue;
      const unsigned bits = selects ? (i == 2 ? 1u : d.dst_bits[0]) : d.pure.input_bits[i];
      if (bits == 1) continue;
      Wanted source = w;
      source.consumer = number;
      source.at = static_cast<uint32_t>(8 * i);
      source.bytes = (bits + 7) / 8;
      source.address = 0;
      if (halves) {
        source.at += half * half_bytes;
        source.address = half * half_bytes;
        source.bytes = half_bytes;
      }
      source.where = d.src[i];
      source.before = step;
      want(source);
    }
    return made;
  });
  const auto from = static_cast<uint32_t>(half == 0xff ? w.address : w.address % half_bytes);
  const uint32_t there = n == none ? 0 : static_cast<uint32_t>(out_.nodes[n].out.size());
  if (from < there) connect(w, 0, std::min(w.bytes, there - from), n, from);
}

void WhyWalk::loaded(const Wanted& w, uint32_t step, const Decoded& d, uint32_t result) {
  if (w.address >= d.bytes) return;  // zeros, or copies of a sign, which are taken as they were
  const uint32_t bytes = std::min(w.bytes, static_cast<uint32_t>(d.bytes - w.address));
  const auto found = log_.lane_targets.find(step);
  if (found == log_.lane_targets.end() || found->second.memory == LoggedLanes::nowhere) {
    const bool parameter = d.space == AddressSpace::param;
    if (parameter) return leaf(w, 0, bytes, "a parameter of the kernel");
    return stop(w, step, "what local memory holds is not followed");
  }
  const LoggedLanes& targets = found->second;
  const uint64_t address = targets.base + targets.delta[w.lane] + uint64_t{d.bytes} * result + w.address;
  const uint32_t n = node({step, w.lane, result, w.address, bytes}, [&](uint32_t number) {
    WhyNode made = at_step(WhyNode::Kind::load, step, w.lane);
    made.memory = targets.memory;
    made.address = address;
    made.out.resize(bytes);
    Wanted source = w;
    source.consumer = number;
    source.at = 0;
    source.bytes = bytes;
    source.before = step;
    source.memory = true;
    source.where = targets.memory;
    source.address = address;
    want(source);
    return made;
  });
  connect(w, 0, bytes, n, 0);
}

// Register m of a lane holds, of row 8m + lane/4, the bytes from 4*(lane%4) on; transposed, two elements of
// the column.
void WhyWalk::loaded_rows(const Wanted& w, uint32_t step, const Decoded& d, uint32_t result) {
  const auto found = log_.lane_targets.find(step);
  if (found == log_.lane_targets.end() || found->second.memory == LoggedLanes::nowhere)
    return stop(w, step, "not followed further");
  const LoggedLanes& rows = found->second;
  const uint32_t n = node({step, w.lane, result, w.address, w.bytes}, [&](uint32_t number) {
    WhyNode made = at_step(WhyNode::Kind::load, step, w.lane);
    made.memory = rows.memory;
    made.out.resize(w.bytes);
    for (uint32_t i = 0; i < w.bytes; ++i) {
      const auto b = static_cast<uint32_t>(w.address + i);
      const bool transposed = d.variant == 1;
      const uint32_t row = transposed ? w.lane % 4u * 2 + b / 2 : w.lane / 4u;
      const uint32_t byte = transposed ? w.lane / 4u * 2 + b % 2 : w.lane % 4u * 4 + b;
      Wanted source = w;
      source.consumer = number;
      source.at = i;
      source.bytes = 1;
      source.before = step;
      source.memory = true;
      source.where = rows.memory;
      source.address = rows.base + rows.delta[8 * result + row] + byte;
      if (i == 0) made.address = source.address;
      // Neighbours go together.
      if (i != 0 && pending_.back().consumer == number &&
          pending_.back().address + pending_.back().bytes == source.address)
        ++pending_.back().bytes;
      else
        want(source);
    }
    return made;
  });
  connect(w, 0, w.bytes, n, 0);
}

// PTX ISA 9.7.14.5, as sim/exec_matrix_sync.cc has it: register i of lane 4g+t holds, of A, the bytes from
// 16*(i/down) + 4t on of row g + 8*(i%down) and, of B, those from 16i + 4t on of column g.
void WhyWalk::multiplied(const Wanted& w, uint32_t step, const Decoded& d, uint32_t result) {
  const uint32_t rows = d.shape[0] == d.shape[1] ? 8 : 16, word = d.bytes == 8 ? 8 : 4;
  const uint32_t row_bytes = d.shape[1] * 4 * word, down = rows / 8;
  const uint32_t of_register = d.shape[2] * warp_size == rows * 8 ? 1 : 2;
  const uint32_t bytes = of_register == 2 ? 2 : word;
  if (w.address / bytes != (w.address + w.bytes - 1) / bytes) {
    for (uint32_t i = 0; i < w.bytes; i += bytes) {
      Wanted one = w;
      one.at += i;
      one.address += i;
      one.bytes = std::min(bytes, w.bytes - i);
      multiplied(one, step, d, result);
    }
    return;
  }
  const auto j = static_cast<uint32_t>(result * of_register + w.address / bytes);
  const uint32_t n = node({step, w.lane, j, 0, 0}, [&](uint32_t number) {
    WhyNode made = at_step(WhyNode::Kind::matrix, step, w.lane);
    made.result = static_cast<uint8_t>(result);
    made.row = w.lane / 4u + 8 * (j / 2);
    made.column = w.lane % 4u * 2 + j % 2;
    made.accumulates = true;
    made.out.resize(bytes);
    made.in.resize(8 + 2 * size_t{row_bytes});
    const auto ask = [&](uint32_t reg, uint32_t lane, uint32_t at, uint32_t size, uint64_t first) {
      Wanted source = w;
      source.consumer = number;
      source.at = at;
      source.bytes = size;
      source.before = step;
      source.where = reg;
      source.address = first;
      source.lane = static_cast<uint8_t>(lane);
      want(source);
    };
    ask(d.src[d.shape[0] + d.shape[1] + result], w.lane, 0, bytes, j % of_register * bytes);
    for (uint32_t i = made.row / 8; i < d.shape[0]; i += down)
      for (uint32_t t = 0; t < 4; ++t)
        ask(d.src[i], made.row % 8 * 4 + t, 8 + (i / down * 4 + t) * word, word, 0);
    for (uint32_t i = 0; i < d.shape[1]; ++i)
      for (uint32_t t = 0; t < 4; ++t)
        ask(d.src[d.shape[0] + i], made.column * 4 + t, 8 + row_bytes + (i * 4 + t) * word, word, 0);
    return made;
  });
  connect(w, 0, w.bytes, n, static_cast<uint32_t>(w.address % bytes));
}

void WhyWalk::multiplied_by_group(const Wanted& w, uint32_t issue, const Decoded& d, uint32_t result) {
  const std::vector<uint32_t>& issued = wgmmas_[{w.cta, w.warp}];
  const auto ordinal =
      static_cast<size_t>(std::lower_bound(issued.begin(), issued.end(), issue) - issued.begin());
  const auto group = log_.matrices_of.find({w.cta, w.warp / 4u});
  if (group == log_.matrices_of.end() || ordinal >= group->second.size())
    return stop(w, issue, "a wgmma that has not run");
  const LoggedMatrix& m = log_.matrices[group->second[ordinal]];
  const uint32_t columns = d.shape[1];
  const auto of_register = static_cast<uint32_t>(columns / 2 / d.dst.size());
  const uint32_t bytes = 4 / of_register;
  if (w.address / bytes != (w.address + w.bytes - 1) / bytes) {
    Wanted low = w, high = w;
    low.bytes = high.bytes = bytes;
    high.at += bytes;
    high.address += bytes;
    multiplied_by_group(low, issue, d, result);
    return multiplied_by_group(high, issue, d, result);
  }
  const auto j = static_cast<uint32_t>(result * of_register + w.address / bytes);
  const ResultPlace place = result_place(w.warp % 4u, w.lane, j);
  const uint32_t n = node({m.step, w.lane, j, w.warp, 0}, [&](uint32_t number) {
    WhyNode made = at_step(WhyNode::Kind::matrix, issue, w.lane);
    made.step = m.step;
    made.result = static_cast<uint8_t>(result);
    made.row = place.row;
    made.column = place.column;
    made.accumulates = m.accumulates;
    made.out.resize(bytes);
    made.in.resize(8 + 2 * wgmma_k_bytes);
    Wanted source = w;
    source.consumer = number;
    source.before = issue;
    if (m.accumulates) {
      source.at = 0;
      source.bytes = bytes;
      source.address = j % of_register * bytes;
      want(source);
    }
    for (uint32_t i = place.row % 16 / 8; d.variant == 1 && i < 4; i += 2)
      for (uint32_t t = 0; t < 4; ++t) {
        source.at = 8 + 4 * t + 16 * (i / 2);
        source.bytes = 4;
        source.address = 0;
        source.where = d.src[i];
        source.lane = static_cast<uint8_t>(place.row % 8 * 4 + t);
        want(source);
      }
    source.memory = true;
    source.where = static_cast<uint32_t>(log_.memories.size() - log_.positions.size()) + w.cta;
    source.before = m.step;
    const auto operand = [&](uint64_t descriptor, bool mn_major, uint32_t row, uint32_t at) {
      const OperandView view = decode_descriptor(descriptor);
      const uint32_t piece = mn_major ? 2 : 16;
      for (uint32_t i = 0; i < wgmma_k_bytes / piece; ++i) {
        source.at = at + i * piece;
        source.bytes = piece;
        source.address = mn_major ? mn_major_address(view, row, i) : view.chunk_address(row, i);
        want(source);
      }
    };
    if (d.variant != 1) operand(m.a, (d.mn_major & 1) != 0, place.row, 8);
    operand(m.b, (d.mn_major & 2) != 0, place.column, 8 + wgmma_k_bytes);
    return made;
  });
  connect(w, 0, w.bytes, n, static_cast<uint32_t>(w.address % bytes));
}

void WhyWalk::follow_memory(const Wanted& w) {
  const std::vector<LoggedWrite>& all = log_.writes[w.where];
  std::vector<std::pair<uint64_t, uint64_t>> open{{w.address, w.address + w.bytes}};
  auto at = std::lower_bound(all.begin(), all.end(), w.before,
                             [](const LoggedWrite& x, uint32_t step) { return x.step < step; });
  while (at != all.begin() && !open.empty() && scanned_ <= most_scanned) {
    --at;
    ++scanned_;
    const uint64_t first = at->address, last = at->address + at->bytes;
    for (size_t i = 0; i < open.size();) {
      const auto [begin, end] = open[i];
      if (last <= begin || first >= end) {
        ++i;
        continue;
      }
      open.erase(open.begin() + static_cast<ptrdiff_t>(i));
      if (begin < first) open.emplace_back(begin, first);
      if (end > last) open.emplace_back(last, end);
      written_by(w, *at, std::max(begin, first), std::min(end, last));
    }
  }
  for (const auto& [begin, end] : open) {
    const auto offset = static_cast<uint32_t>(begin - w.address), bytes = static_cast<uint32_t>(end - begin);
    if (log_.memories[w.where].shared)
      leaf(w, offset, bytes, "shared memory that was never written");
    else
      leaf(w, offset, bytes, {}, w.where, begin);
  }
}

void WhyWalk::written_by(const Wanted& w, const LoggedWrite& write, uint64_t begin, uint64_t end) {
  const LoggedStep& s = log_.steps[write.step];
  if (s.warp == LoggedStep::landing) return landed(w, write, begin, end);
  const Decoded& d = program_.code[s.code];
  if (d.run == exec_store) return stored(w, s, write, begin, end);
  if (d.run == exec_store_matrix && !d.opaque) return stored_rows(w, s, write, begin, end);
  Wanted part = w;
  part.at += static_cast<uint32_t>(begin - w.address);
  part.bytes = static_cast<uint32_t>(end - begin);
  part.address = begin;
  stop(part, write.step, "combines what is in memory; not followed further");
}

void WhyWalk::landed(const Wanted& w, const LoggedWrite& write, uint64_t begin, uint64_t end) {
  const Decoded& d = program_.code[log_.steps[write.step].code];
  Wanted part = w;
  part.at += static_cast<uint32_t>(begin - w.address);
  part.bytes = static_cast<uint32_t>(end - begin);
  part.address = begin;
  if (d.reduction.kind != Reduction::Kind::none)
    return stop(part, write.step, "combines what is in memory; not followed further");
  const auto by_step = [](const LoggedRead& r, uint32_t step) { return r.step < step; };
  const auto first = std::lower_bound(log_.reads.begin(), log_.reads.end(), write.step, by_step);
  const uint32_t n = node({write.step, 0, w.where, begin, part.bytes}, [&](uint32_t number) {
    WhyNode made = at_step(WhyNode::Kind::transfer, write.step, 0);
    made.memory = w.where;
    made.address = begin;
    made.out.resize(part.bytes);
    uint64_t at = write.from + (begin - write.address);
    const uint64_t stop_at = at + part.bytes, start = at;
    uint64_t moved = 0;
    for (auto r = first; r != log_.reads.end() && r->step == write.step; ++r) {
      ++scanned_;
      if (r->run != write.run) continue;
      const uint64_t from = std::max<uint64_t>(at, r->at), to = std::min<uint64_t>(stop_at, r->at + r->bytes);
      if (from >= to) continue;
      moved += to - from;
      Wanted source = part;
      source.consumer = number;
      source.at = static_cast<uint32_t>(from - start);
      source.bytes = static_cast<uint32_t>(to - from);
      source.before = write.step;
      source.where = r->memory;
      source.address = r->address + (from - r->at);
      want(source);
    }
    if (moved < part.bytes)
      made.text = d.run == exec_store_async ? "what another CTA wrote" : "a fill: out of bounds";
    return made;
  });
  connect(part, 0, part.bytes, n, 0);
}

void WhyWalk::stored(const Wanted& w, const LoggedStep& s, const LoggedWrite& write, uint64_t begin,
                     uint64_t end) {
  const Decoded& d = program_.code[s.code];
  const auto found = log_.lane_targets.find(write.step);
  if (found == log_.lane_targets.end() || found->second.memory == LoggedLanes::nowhere) return;
  // Lanes write in order: of those that wrote here, this write is the last one that is left (follow_memory
  // comes from behind), and the highest lane with this address.
  uint32_t lane = none;
  for (uint32_t l = 0; l < warp_size; ++l)
    if ((s.lanes >> l & 1) != 0 && found->second.base + found->second.delta[l] == write.address) lane = l;
  if (lane == none) return;
  for (uint64_t at = begin; at < end;) {
    const auto element = static_cast<uint32_t>((at - write.address) / d.bytes);
    const uint64_t inside = (at - write.address) % d.bytes;
    const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(end - at, d.bytes - inside));
    const uint32_t n =
        node({write.step, static_cast<uint8_t>(lane), element, inside, bytes}, [&](uint32_t number) {
          WhyNode made = at_step(WhyNode::Kind::store, write.step, static_cast<uint8_t>(lane));
          made.memory = w.where;
          made.address = at;
          made.out.resize(bytes);
          want({number, 0, bytes, write.step, false, d.src[1 + element], inside, s.cta, s.warp,
                static_cast<uint8_t>(lane)});
          return made;
        });
    connect(w, static_cast<uint32_t>(at - w.address), bytes, n, 0);
    at += bytes;
  }
}

void WhyWalk::stored_rows(const Wanted& w, const LoggedStep& s, const LoggedWrite& write, uint64_t begin,
                          uint64_t end) {
  const Decoded& d = program_.code[s.code];
  const auto found = log_.lane_targets.find(write.step);
  if (found == log_.lane_targets.end() || found->second.memory == LoggedLanes::nowhere) return;
  uint32_t row = none;
  for (uint32_t r = 0; r < 8 * d.shape[0]; ++r)
    if (found->second.base + found->second.delta[r] == write.address) row = r;
  if (row == none) return;
  for (uint64_t at = begin; at < end; ++at) {
    const auto byte = static_cast<uint32_t>(at - write.address);
    const bool transposed = d.variant == 1;
    const uint32_t r = row % 8;
    const uint32_t lane = transposed ? byte / 2 * 4 + r / 2 : r * 4 + byte / 4;
    const uint32_t b = transposed ? r % 2 * 2 + byte % 2 : byte % 4;
    const uint32_t reg = d.src[1 + row / 8];
    // Neighbours of one register go together.
    uint32_t bytes = 1;
    while (!transposed && at + bytes < end && b + bytes < 4) ++bytes;
    while (transposed && at + bytes < end && b % 2 + bytes < 2) ++bytes;
    const uint32_t n = node({write.step, static_cast<uint8_t>(lane), reg, b, bytes}, [&](uint32_t number) {
      WhyNode made = at_step(WhyNode::Kind::store, write.step, static_cast<uint8_t>(lane));
      made.memory = w.where;
      made.address = at;
      made.out.resize(bytes);
      want({number, 0, bytes, write.step, false, reg, b, s.cta, s.warp, static_cast<uint8_t>(lane)});
      return made;
    });
    connect(w, static_cast<uint32_t>(at - w.address), bytes, n, 0);
    at += bytes - 1;
  }
}

}  // namespace turnstile::sim
