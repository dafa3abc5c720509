// SPDX-License-Identifier: Apache-2.0
//
// Queues. A group wait is absolute and monotone (algorithms.md EXT4): it raises the lane of the queue to the
// group that it names, so D1 and D2 are void for it. Issues of one thread are ordered, so the issue clock of
// a group covers those of the groups before it.
//
// A wgmma is one operation of four warps. It starts when all four have issued it: its causal past is the join
// of theirs (a group that is complete proves that every warp got there: ptx.md PI1). Each warp must itself
// have observed the operands, so what it may read without a race is what all four know: the minimum.
#include "checker/queues.h"

#include <algorithm>
#include <cstddef>

namespace turnstile::checker {

namespace {
// Groups whose issue clocks are kept; the numbers in a trace are dense, so that this is a bound on hostile
// input only.
constexpr uint64_t kMaxGroups = 1u << 22;

// Up to `groups` clocks; a group without operations has the clock of the group before, whose issues its wait
// proves too.
void repeat_last_clock(std::vector<uint32_t>& clocks, uint64_t groups, uint32_t width) {
  if (clocks.empty()) clocks.assign(width, 0);
  while (clocks.size() < groups * width) {
    clocks.resize(clocks.size() + width);
    std::copy_n(clocks.end() - 2 * std::ptrdiff_t{width}, width, clocks.end() - std::ptrdiff_t{width});
  }
}
}  // namespace

Queues::Queues(RunState& run, const std::vector<uint8_t>& of_one_strand)
    : run_(run),
      of_one_strand_(of_one_strand),
      ops_(run.trace.ops.size()),
      queues_(run.trace.queues.size()),
      in_flight_(run.lanes, run.views, 0) {}

uint32_t* Queues::knowledge(uint32_t op) {
  return ops_[op].slot == no_slot ? nullptr : in_flight_.all(ops_[op].slot);
}

void Queues::issue(const Event& e) {
  const AsyncOp& op = run_.trace.ops[e.object];
  Op& o = ops_[e.object];
  const uint32_t width = run_.lanes.width;
  const uint32_t* strand = run_.strands.all(e.agent.v);
  if (o.slot == no_slot) {
    o.slot = in_flight_.take();
    std::copy_n(strand, in_flight_.stride(), in_flight_.all(o.slot));
  } else {
    uint32_t* both = in_flight_.all(o.slot);
    join(both, strand, width);
    meet(both + width, strand + width, in_flight_.stride() - width);
  }
  o.event = run_.now;
  if (keeps_issuers_) issues_[e.object].push_back(run_.here(e.agent.v));
  if (op.queue != AsyncOp::none) count_in_queue(op, o, strand);
  if (op.kind == AsyncOp::Kind::tensor_mma || op.kind == AsyncOp::Kind::tensor_copy)
    for (uint32_t view : {Views::causal, Views::order, run_.views.tensor})  // TC20: it is issued, not done
      run_.strands.row(e.agent.v, view)[run_.lanes.issued(op.queue)] = o.sequence;
  run_.tick(e.agent.v);
}

void Queues::count_in_queue(const AsyncOp& op, Op& o, const uint32_t* strand) {
  Queue& q = queues_[op.queue];
  if (o.sequence == 0) o.sequence = ++q.operations;
  if (run_.trace.queues[op.queue].kind == QueueInfo::Kind::tensor || delivers_bytes(op)) return;
  if (op.group == 0 || op.group > kMaxGroups) {
    run_.seen.inconsistent = "an operation belongs to a group without a number";
    return;
  }
  if (of_one_strand_[op.queue] == 0) {
    const uint32_t width = run_.lanes.width;
    repeat_last_clock(q.issued, op.group, width);
    join(q.issued.data() + (op.group - 1) * width, strand, width);
  }
  q.last_group = std::max(q.last_group, op.group);
  q.last_issue = run_.now;
  if (run_.trace.queues[op.queue].kind != QueueInfo::Kind::cp_async) return;
  while (q.last_of_group.size() < op.group)
    q.last_of_group.push_back(q.last_of_group.empty() ? 0 : q.last_of_group.back());
  q.last_of_group[op.group - 1] = o.sequence;
}

/// What a lane shows when all groups up to this one are done.
uint32_t Queues::lane_value(uint32_t queue, uint64_t group) const {
  const Queue& q = queues_[queue];
  const QueueInfo::Kind kind = run_.trace.queues[queue].kind;
  if (kind == QueueInfo::Kind::tensor) return 0;  // only a commit tells that an mma is done (TC19, TC24)
  if (kind != QueueInfo::Kind::cp_async) return static_cast<uint32_t>(std::min<uint64_t>(group, 0xffffffff));
  if (group == 0 || q.last_of_group.empty()) return 0;
  return q.last_of_group[std::min<uint64_t>(group, q.last_of_group.size()) - 1];
}

void Queues::commit(const Event& e) { run_.tick(e.agent.v); }

void Queues::wait(const Event& e) {
  Queue& q = queues_[e.object];
  const uint32_t width = run_.lanes.width;
  const uint64_t generation = std::min<uint64_t>(e.generation, 0xffffffff);
  const uint32_t value = lane_value(e.object, generation);
  uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  const auto raise = [&](uint32_t view, uint32_t lane) {
    uint32_t& known = run_.strands.row(e.agent.v, view)[lane];
    known = std::max(known, value);
  };
  for (uint32_t view : {Views::causal, Views::order}) {
    raise(view, run_.lanes.read_done(e.object));
    if (!e.has(Event::read_only)) raise(view, run_.lanes.all_done(e.object));  // BK3
  }
  if (run_.views.tensor != Views::none)  // TC17, TC18
    for (const uint32_t lane : {run_.lanes.read_done(e.object), run_.lanes.all_done(e.object)})
      raise(run_.views.tensor, lane);
  const uint64_t with_clock = std::min<uint64_t>(generation, q.issued.size() / width);
  if (with_clock > 0) join(causal, q.issued.data() + (with_clock - 1) * width, width);
  q.read_waited = std::max(q.read_waited, generation);
  if (!e.has(Event::read_only)) q.all_waited = std::max(q.all_waited, generation);
  run_.tick(e.agent.v);
}

void Queues::retire(uint32_t op) {
  Op& o = ops_[op];
  if (o.slot == no_slot) return;
  in_flight_.give_back(o.slot);
  o.slot = no_slot;
}

bool Queues::issue_known(uint32_t op, const uint32_t* order) const {
  const auto issues = issues_.find(op);
  return issues != issues_.end() &&
         std::any_of(issues->second.begin(), issues->second.end(), [&](Epoch e) { return knows(order, e); });
}

Epoch Queues::reads(uint32_t op) const {
  const AsyncOp& o = run_.trace.ops[op];
  const QueueInfo::Kind kind = run_.trace.queues[o.queue].kind;
  if (kind == QueueInfo::Kind::tensor || kind == QueueInfo::Kind::cp_async) return all_before(op);
  return {run_.lanes.read_done(o.queue), static_cast<uint32_t>(o.group)};
}

Epoch Queues::writes(uint32_t op) const {
  const AsyncOp& o = run_.trace.ops[op];
  const QueueInfo::Kind kind = run_.trace.queues[o.queue].kind;
  if (kind == QueueInfo::Kind::tensor || kind == QueueInfo::Kind::cp_async) return all_before(op);
  return {run_.lanes.all_done(o.queue), static_cast<uint32_t>(o.group)};
}

Epoch Queues::all_before(uint32_t op) const {
  return {run_.lanes.all_done(run_.trace.ops[op].queue), ops_[op].sequence};
}

void Queues::finish(const std::map<std::pair<uint16_t, uint16_t>, size_t>& last_exit) {
  for (uint32_t i = 0; i < queues_.size(); ++i) {
    const Queue& q = queues_[i];
    const QueueInfo& info = run_.trace.queues[i];
    if (info.kind != QueueInfo::Kind::bulk || q.last_group == 0 || q.last_group <= q.all_waited) continue;
    const auto exit = last_exit.find({info.cta, info.warp});
    if (exit == last_exit.end()) continue;
    const bool read = q.last_group <= q.read_waited;
    run_.seen.undrained.push_back(
        {read ? Undrained::Kind::store_writes : Undrained::Kind::store_reads, q.last_issue, exit->second});
  }
}

}  // namespace turnstile::checker
