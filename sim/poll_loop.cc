// SPDX-License-Identifier: Apache-2.0
#include "sim/poll_loop.h"

#include <algorithm>
#include <vector>

#include "sim/handlers.h"
#include "sim/poll_path.h"

namespace turnstile::sim {

namespace {

std::vector<uint32_t> operands_of(const Decoded& d) {
  std::vector<uint32_t> out(d.src.begin(),
                            d.src.begin() + static_cast<ptrdiff_t>(std::min<size_t>(d.src.size(), 2)));
  if (d.guard != Decoded::none) out.push_back(d.guard);
  return out;
}

/// The comparison that ends the loop, if it is `truth` of this one that does.
FlagPoll::Until until(Comparison c, bool truth) {
  using Until = FlagPoll::Until;
  switch (c) {
    case Comparison::eq:
      return truth ? Until::equal : Until::not_equal;
    case Comparison::ne:
      return truth ? Until::not_equal : Until::equal;
    case Comparison::ge:
      return truth ? Until::at_least : Until::below;
    case Comparison::lt:
      return truth ? Until::below : Until::at_least;
    case Comparison::gt:
      return truth ? Until::above : Until::at_most;
    case Comparison::le:
      return truth ? Until::at_most : Until::above;
    default:
      return Until::other;
  }
}

}  // namespace

// Anything else is "not a plain wait", which is never wrong, only less precise.
bool is_poll_loop(const Program& program, uint32_t index) {
  const Decoded& poll = program.code[index];
  if (poll.dst.empty() || poll.dst[0] == Decoded::none) return false;
  const Path failure = path_after(program, index, false, false);
  // A loop that also counts its polls is left alone: nobody waits like that, and what it counts for is
  // unclear.
  if (!failure.returns || std::any_of(failure.steps.begin(), failure.steps.end(),
                                      [](const PollStep& step) { return step.carried; }))
    return false;
  const Path success = path_after(program, index, true, false);
  return leaves_nothing_behind(program, index, failure, success, operands_of(poll));
}

namespace {

/// The two ways on from a load whose value is compared once; `ends`: which truth of the comparison does not
/// lead to polling again.
struct Ways {
  Path failure, success;
  FlagPoll poll;
};

std::optional<Ways> ways_of(const Program& program, uint32_t index, bool ends) {
  Ways w{path_after(program, index, !ends, true), path_after(program, index, ends, true), {}};
  if (!w.failure.comparison || !w.success.comparison || w.failure.second_comparison ||
      w.success.second_comparison || w.failure.comparison->at != w.success.comparison->at)
    return std::nullopt;
  const PolledComparison& c = *w.failure.comparison;
  const Decoded& load = program.code[index];
  if (load.dst[0] == c.bound || std::find(load.src.begin(), load.src.end(), load.dst[0]) != load.src.end())
    return std::nullopt;
  w.poll.bound = c.bound;
  w.poll.is_signed = c.is_signed;
  w.poll.until = until(c.compare, ends);
  // Whoever reads the value after the wait reads what the schedule put there.
  w.poll.value_is_used = read_elsewhere(program, load.dst[0], index, w.failure);
  return w;
}

bool loads_a_word(const Decoded& d) {
  return d.dst.size() == 1 && d.dst[0] != Decoded::none && (d.bytes == 4 || d.bytes == 8) && d.vector == 1;
}

}  // namespace

std::optional<FlagPoll> flag_poll(const Program& program, uint32_t index) {
  const Decoded& poll = program.code[index];
  if (!loads_a_word(poll)) return std::nullopt;
  for (const bool ends : {false, true}) {
    const std::optional<Ways> w = ways_of(program, index, ends);
    if (!w || !w->failure.returns || w->success.returns) continue;
    std::vector<uint32_t> operands = operands_of(poll);
    operands.push_back(w->poll.bound);
    if (leaves_nothing_behind(program, index, w->failure, w->success, operands)) return w->poll;
  }
  return std::nullopt;
}

std::optional<FlagPoll> first_look(const Program& program, uint32_t index) {
  const Decoded& look = program.code[index];
  if (!loads_a_word(look)) return std::nullopt;
  for (const bool ends : {false, true}) {
    const std::optional<Ways> w = ways_of(program, index, ends);
    if (!w || w->failure.returns || w->success.returns || w->failure.ended_at >= program.code.size())
      continue;
    const Decoded& next = program.code[w->failure.ended_at];
    if (next.poll == Decoded::none || next.run != look.run || next.src[0] != look.src[0] ||
        next.offsets[0] != look.offsets[0] || next.space != look.space || next.order != look.order ||
        next.scope != look.scope || next.bytes != look.bytes || next.guard != Decoded::none)
      continue;
    const FlagPoll& loop = program.flag_polls[next.poll];
    if (loop.until != w->poll.until || loop.is_signed != w->poll.is_signed || loop.bound != w->poll.bound)
      continue;
    bool same_exit = false;
    for (const bool truth : {false, true})
      if (const std::optional<Ways> exit = ways_of(program, next.index, truth))
        same_exit =
            same_exit || (exit->poll.until == loop.until && exit->success.ended_at == w->success.ended_at);
    if (!same_exit) continue;
    // What either way leaves in registers must not be looked at: then nobody can tell them apart.
    const auto silent = [&](const Path& path) {
      return std::all_of(path.steps.begin(), path.steps.end(), [&](const PollStep& s) {
        return s.written == Decoded::none || !read_elsewhere(program, s.written, index, path);
      });
    };
    if (silent(w->failure) && silent(w->success)) return w->poll;
  }
  return std::nullopt;
}

}  // namespace turnstile::sim
