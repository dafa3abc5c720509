// SPDX-License-Identifier: Apache-2.0
#include "sim/poll_path.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

class Walk {
 public:
  Walk(const Program& program, uint32_t index, bool answer, bool by_value)
      : program_(program), index_(index), answer_(answer) {
    for (auto [reg, value] : program.constants) known_[reg] = value;
    for (auto [reg, offset] : program.shared_addresses) known_[reg] = offset;
    const uint32_t result = program.code[index].dst[0];
    if (by_value)
      values_.insert(result);
    else
      known_[result] = answer ? 1 : 0;
  }

  Path run() {
    constexpr int longest = 64;
    uint32_t at = index_ + 1;
    for (int count = 0; count < longest; ++count) {
      path_.ended_at = at;
      if (at == index_) {
        path_.returns = true;
        break;
      }
      if (at >= program_.code.size()) break;
      const Decoded& d = program_.code[at];
      PollStep step{at, true, Decoded::none, false};
      if (d.guard != Decoded::none) {
        const auto guard = known_.find(d.guard);
        if (guard == known_.end()) break;
        step.active = ((guard->second ^ (d.guard_negated ? 1 : 0)) & 1) != 0;
      }
      ++at;
      if (step.active && d.run == exec_branch) {
        at = d.target;
      } else if (step.active && d.run != exec_nothing) {
        if (d.run != exec_pure && d.run != exec_select && d.run != exec_move) break;
        if (d.dst.size() != 1 || d.dst[0] == Decoded::none || d.src.size() > 6) break;
        step.written = d.dst[0];
        execute(d, step);
      }
      path_.steps.push_back(step);
    }
    return std::move(path_);
  }

 private:
  void execute(const Decoded& d, PollStep& step) {
    const bool has_value =
        std::any_of(d.src.begin(), d.src.end(), [&](uint32_t r) { return values_.contains(r); });
    if (has_value) return use_value(d, step);
    uint64_t inputs[6] = {};
    for (size_t i = 0; i < d.src.size(); ++i) {
      const auto v = known_.find(d.src[i]);
      if (v == known_.end()) {
        step.carried = true;
        return forget(d.dst[0]);
      }
      inputs[i] = v->second ^ ((d.negated >> i) & 1);
    }
    uint64_t result = inputs[0];
    if (d.run == exec_select) result = (inputs[2] & 1) != 0 ? inputs[0] : inputs[1];
    if (d.run == exec_pure && d.pure.run == nullptr) {
      step.carried = true;
      return forget(d.dst[0]);
    }
    if (d.run == exec_pure) {
      for (size_t i = 0; i < d.pure.inputs; ++i) inputs[i] &= width_mask(d.pure.input_bits[i]);
      result = d.pure.run(d.pure.config, inputs);
    }
    set(d.dst[0], result & width_mask(d.dst_bits[0]));
  }

  /// The polled value is moved on as it is, or compared; anything else makes a value that nobody knows.
  void use_value(const Decoded& d, PollStep& step) {
    const Decoded& poll = program_.code[index_];
    if (d.run == exec_move && d.dst_bits[0] >= 8u * poll.bytes) {
      known_.erase(d.dst[0]);
      values_.insert(d.dst[0]);
      step.carried = true;
      return;
    }
    const bool compares = d.run == exec_pure && d.text->root() == "setp" && d.src.size() == 2 &&
                          d.pure.config.bool_op == BoolOp::none && !d.pure.is_float &&
                          d.pure.input_bits[0] == 8u * poll.bytes &&
                          values_.contains(d.src[0]) != values_.contains(d.src[1]);
    if (!compares || path_.comparison) {
      path_.second_comparison = path_.second_comparison || (compares && path_.comparison->at != d.index);
      step.carried = true;
      return forget(d.dst[0]);
    }
    const bool swapped = values_.contains(d.src[1]);
    PolledComparison c;
    c.at = d.index;
    c.bound = d.src[swapped ? 0 : 1];
    c.compare = swapped ? mirrored(d.pure.config.compare) : d.pure.config.compare;
    c.is_signed = d.pure.config.is_signed;
    path_.comparison = c;
    set(d.dst[0], answer_ ? 1 : 0);
  }

  static Comparison mirrored(Comparison c) {
    switch (c) {
      case Comparison::lt:
        return Comparison::gt;
      case Comparison::le:
        return Comparison::ge;
      case Comparison::gt:
        return Comparison::lt;
      case Comparison::ge:
        return Comparison::le;
      default:
        return c;
    }
  }
  void set(uint32_t reg, uint64_t value) {
    values_.erase(reg);
    known_[reg] = value;
  }
  void forget(uint32_t reg) {
    values_.erase(reg);
    known_.erase(reg);
  }

  const Program& program_;
  uint32_t index_;
  bool answer_;
  Path path_;
  std::unordered_map<uint32_t, uint64_t> known_;
  std::unordered_set<uint32_t> values_;  ///< registers that hold the polled value
};

bool reads(const Decoded& d, uint32_t reg) {
  return d.guard == reg || std::find(d.src.begin(), d.src.end(), reg) != d.src.end() ||
         (d.is_wgmma && std::find(d.dst.begin(), d.dst.end(), reg) != d.dst.end());
}

}  // namespace

bool read_elsewhere(const Program& program, uint32_t reg, uint32_t index, const Path& path) {
  return std::any_of(program.code.begin(), program.code.end(), [&](const Decoded& d) {
    return reads(d, reg) && d.index != index &&
           std::none_of(path.steps.begin(), path.steps.end(),
                        [&](const PollStep& s) { return s.at == d.index; });
  });
}

Path path_after(const Program& program, uint32_t index, bool answer, bool by_value) {
  return Walk(program, index, answer, by_value).run();
}

bool leaves_nothing_behind(const Program& program, uint32_t index, const Path& failure, const Path& success,
                           const std::vector<uint32_t>& operands) {
  const size_t shorter = std::min(failure.steps.size(), success.steps.size());
  size_t shared = 0;
  while (shared < shorter && failure.steps[shared] == success.steps[shared]) ++shared;
  for (size_t i = 0; i < failure.steps.size(); ++i) {
    const PollStep& step = failure.steps[i];
    if (step.written == Decoded::none) continue;
    if (std::find(operands.begin(), operands.end(), step.written) != operands.end()) return false;
    if (i < shared && !step.carried) continue;
    if (read_elsewhere(program, step.written, index, failure)) return false;
  }
  return true;
}

}  // namespace turnstile::sim
