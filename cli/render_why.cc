// SPDX-License-Identifier: Apache-2.0
#include "cli/render_why.h"

#include <fmt/format.h>

#include <algorithm>

namespace turnstile::cli {

namespace {

constexpr size_t shown_groups = 8;

std::string value_words(const golden::PathValue& v) {
  std::string out = v.bits;
  if (!v.value.empty()) out += fmt::format("{}({})", out.empty() ? "" : " ", v.value);
  if (v.step != 0)
    out += fmt::format("{}step {}", out.empty() ? "from " : " from ", v.step);
  else if (!v.from.empty())
    out += fmt::format("{}{}", out.empty() ? "from " : " from ", v.from);
  return out;
}

std::string group_line(const golden::PathChain& chain, size_t i) {
  const golden::PathGroup& g = chain.groups[i];
  std::string out =
      fmt::format("k group {} of {}: k {}..{}", i + 1, chain.groups.size(), g.first_k, g.last_k);
  if (chain.group != 0) {
    out += fmt::format(", L={} products", g.last_k - g.first_k + 1);
    if (g.exponent)
      out +=
          fmt::format(", E={} ({}), cut to 2^{}", *g.exponent, g.largest, *g.exponent - chain.fraction_bits);
    else
      out += fmt::format(", {}", g.largest);
  }
  return out + fmt::format("; accumulator before {} ({}), after {} ({})", g.before.bits, g.before.value,
                           g.after.bits, g.after.value);
}

std::string chain_text(const golden::PathStep& step) {
  const golden::PathChain& c = *step.chain;
  std::string out = wrapped(
      "        ", "          ",
      fmt::format("{}, k 0..{}: row {} and column {} of the tile; A from {}, B from {}; starts with {}",
                  counted(c.operations, "operation"), c.k - 1, c.row, c.column, c.a_from, c.b_from,
                  c.groups.empty() ? std::string("?") : value_words(c.groups.front().before)));
  out += wrapped(
      "        ", "          ",
      c.group == 0
          ? c.arithmetic
          : fmt::format("each k group: products and accumulator cut to F={} bits below E, the largest "
                        "exponent among them, added exactly, {}",
                        c.fraction_bits, c.conversion));
  for (size_t i = 0; i < c.groups.size(); ++i) {
    if (c.groups.size() > shown_groups && i >= shown_groups / 2 && i + shown_groups / 2 < c.groups.size()) {
      if (i == shown_groups / 2)
        out += fmt::format("          ... {} more k groups (--json has them all)\n",
                           c.groups.size() - shown_groups);
      continue;
    }
    out += wrapped("          ", "            ", group_line(c, i));
  }
  return out;
}

std::string step_text(const golden::PathStep& step, const std::string& last_thread) {
  std::string head = fmt::format("{} at {}", step.instruction, step.ptx_place);
  if (!step.source.empty()) head += fmt::format(" ({})", step.source);
  if (step.thread != last_thread) head += ", " + step.thread;
  std::string out = wrapped(fmt::format("  {:>4}  ", step.number), "          ", head);
  if (step.chain) {
    out += chain_text(step);
  } else {
    std::string operands;
    for (const golden::PathValue& v : step.operands)
      operands += (operands.empty() ? "" : ", ") + value_words(v);
    if (!step.where.empty()) operands = operands.empty() ? step.where : step.where + ", " + operands;
    if (!operands.empty()) out += wrapped("        ", "          ", operands);
  }
  std::string result = "= " + step.result.bits;
  if (!step.result.value.empty()) result += fmt::format(" ({})", step.result.value);
  if (!step.rounding.empty()) result += "   " + step.rounding;
  return out + wrapped("        ", "          ", result);
}

std::string interval(uint64_t first, uint64_t last, uint64_t step) {
  if (first == last) return fmt::format("{}", first);
  if (step <= 1) return fmt::format("{}..{}", first, last);
  return fmt::format("{}..{} (every {}th)", first, last, step);
}

std::string cause_text(const golden::Cause& cause, const golden::Explanation& e, const std::string& left) {
  std::string out =
      fmt::format("{}'s bits appear if {}{}", left, cause.text,
                  cause.everywhere && cause.step != 0 ? fmt::format(" (step {})", cause.step) : "");
  if (cause.differing_after)
    out += fmt::format("; simulated with that, {} of {} elements of {} differ",
                       grouped(*cause.differing_after), grouped(e.rows * e.columns), e.buffer);
  else
    out += "; computed for this element only";
  return out;
}

}  // namespace

std::string pattern_text(const golden::DifferencePattern& p) {
  std::string out;
  if (p.most_ulps) out = fmt::format("at most {} apart; ", counted(*p.most_ulps, "ulp"));
  out += fmt::format("{} {}, {} {}", p.first_row == p.last_row ? "row" : "rows",
                     interval(p.first_row, p.last_row, p.row_step), p.columns == 1 ? "column" : "columns",
                     interval(p.first_column, p.last_column, p.column_step));
  if (p.block_rows > 1 || p.block_columns > 1)
    out += fmt::format("; within one block of {} x {} at [{}, {}]", p.block_rows, p.block_columns,
                       p.first_row / p.block_rows * p.block_rows,
                       p.first_column / p.block_columns * p.block_columns);
  return out;
}

std::string render_why(const golden::Explanation& e, const std::string& left, const std::string& right,
                       uint64_t most_steps) {
  std::string first =
      fmt::format("{}[{}, {}] of {} [{}, {}], byte {}: {} {} ({})", e.buffer, e.row, e.column,
                  element_name(e.type), e.rows, e.columns, e.byte_offset, right,
                  golden::bits_text(e.type, e.predicted), golden::value_text(e.type, e.predicted));
  if (e.got) {
    first += fmt::format(", {} {} ({})", left, golden::bits_text(e.type, *e.got),
                         golden::value_text(e.type, *e.got));
    if (const auto ulps = golden::ulps_apart(e.type, e.predicted, *e.got))
      first += fmt::format(", {} apart", counted(*ulps, "ulp"));
  }
  std::string out = wrapped("  why   ", "        ", first);
  const uint64_t total = e.path.steps.size() + e.path.more;
  out += wrapped(
      "        ", "        ",
      fmt::format("{} from the element back to what the launch was given{}", counted(total, "step"),
                  e.replayable ? "; computed anew, they give these bits"
                               : "; not all of them can be computed anew, so no cause was looked for"));
  if (e.truncated)
    out += wrapped("        ", "        ", "there is more than can be followed: the rest is taken as it was");
  std::string thread;
  uint64_t shown = 0;
  for (const golden::PathStep& step : e.path.steps) {
    if (shown++ >= most_steps) break;
    out += step_text(step, thread);
    thread = step.thread;
  }
  if (total > most_steps)
    out += fmt::format("        ... {} more steps (--json has up to 4096)\n", grouped(total - most_steps));
  if (!e.causes) return out;
  const golden::Causes& c = *e.causes;
  for (const golden::Cause& cause : c.found)
    out += wrapped("  cause ", "        ", cause_text(cause, e, left));
  if (c.more > 0)
    out += fmt::format("        {} more changes of one step give these bits too\n", grouped(c.more));
  if (c.refuted > 0)
    out += wrapped(
        "        ", "        ",
        fmt::format(
            "{} would give these bits too, but simulated with {} at least as many elements differ: {} not "
            "what happened",
            counted(c.refuted, "change"), c.refuted == 1 ? "it" : "them",
            c.refuted == 1 ? "it is" : "they are"));
  if (c.found.empty() && e.replayable)
    out += wrapped(
        "  cause ", "        ",
        fmt::format("none found: {} changes of rounding, flushing, fusing and order were computed, and "
                    "{} gives {}'s bits{}",
                    grouped(c.tried), c.refuted > 0 ? "no other" : "none", left,
                    c.all_tried ? "" : " (a limit was hit before all were)"));
  return out;
}

}  // namespace turnstile::cli
