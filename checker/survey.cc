// SPDX-License-Identifier: Apache-2.0
//
// One pass over all events, in pieces that stay in the cache from the look at their indices to the survey. It
// reads as much memory as the run itself.
#include "checker/survey.h"

#include <algorithm>
#include <set>
#include <span>

#include "checker/scopes.h"
#include "checker/trace_defect.h"

namespace turnstile::checker {

namespace {

constexpr uint32_t kNobody = 0xffffffff;

/// Which strands issue to a queue and wait for it.
class QueueStrands {
 public:
  explicit QueueStrands(const Trace& trace)
      : only_(trace.queues.size(), kNobody), one_(trace.queues.size(), 1), forked_(trace.agents.size()) {}

  void note(uint32_t queue, AgentId strand) {
    if (only_[queue] == kNobody) only_[queue] = strand.v;
    if (only_[queue] != strand.v) one_[queue] = 0;
  }
  void fork(uint32_t child) { forked_[child] = true; }

  std::vector<uint8_t> of_one_strand() && {
    for (size_t q = 0; q < one_.size(); ++q)
      if (only_[q] != kNobody && forked_[only_[q]]) one_[q] = 0;
    return std::move(one_);
  }

 private:
  std::vector<uint32_t> only_;  ///< by queue, the strand seen first
  std::vector<uint8_t> one_;
  std::vector<bool> forked_;
};

template <typename T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

class SurveyPass {
 public:
  SurveyPass(const Trace& trace, Survey& into)
      : trace_(trace),
        into_(into),
        writes_(trace.footprints.size()),
        acts_(trace.agents.size()),
        scopes_(trace),
        queues_(trace) {}

  void see(const Event& e);
  void finish();

 private:
  const Trace& trace_;
  Survey& into_;
  std::vector<uint8_t> writes_;  ///< by footprint
  std::vector<uint8_t> acts_;    ///< by strand
  NarrowScopes scopes_;
  std::set<uint32_t> maps_;  ///< footprints of descriptors that copies use
  QueueStrands queues_;
};

void SurveyPass::see(const Event& e) {
  acts_[e.agent.v] = 1;
  switch (e.kind) {
    case EventKind::access:
    case EventKind::async_access:
      writes_[e.footprint] |= (e.flags & (Event::write | Event::atomic)) != 0 || e.generation != 0;
      if (e.kind == EventKind::async_access && e.has(Event::tensormap)) maps_.insert(e.footprint);
      break;
    case EventKind::mbarrier_wait:
      scopes_.see(e);
      into_.guards.wait(e);
      into_.uses.relaxed_barriers |= !e.has(Event::acquire);
      break;
    case EventKind::mbarrier_arrive:
      scopes_.see(e);
      into_.uses.relaxed_barriers |= !e.has(Event::release);
      break;
    case EventKind::cluster_arrive:
      into_.uses.relaxed_barriers |= !e.has(Event::release);
      break;
    case EventKind::async_issue:
      into_.guards.issue(e);
      if (const uint32_t queue = trace_.ops[e.object].queue; queue != AsyncOp::none)
        queues_.note(queue, e.agent);
      break;
    case EventKind::group_wait:
      queues_.note(e.object, e.agent);
      break;
    case EventKind::fork:
      queues_.fork(e.object);
      break;
    case EventKind::fence_proxy_async:
      into_.uses.shared_fences |= e.has(Event::shared_space);
      into_.uses.global_fences |= e.has(Event::global_space);
      break;
    case EventKind::named_barrier_arrive:
    case EventKind::named_barrier_pass:
      if (into_.named.empty() || into_.named.back() != e.object) into_.named.push_back(e.object);
      break;
    case EventKind::fence_tensormap:
      into_.uses.map_fences = true;
      break;
    case EventKind::dependency_wait:
      into_.dependent_launch = true;
      break;
    default:
      break;
  }
}

void SurveyPass::finish() {
  into_.uses.narrow_scopes = scopes_.found();
  into_.uses.maps.assign(maps_.begin(), maps_.end());
  for (const AsyncOp& op : trace_.ops)
    into_.uses.tensor_memory |=
        op.kind >= AsyncOp::Kind::tensor_mma && op.kind <= AsyncOp::Kind::tensor_commit;
  for (size_t f = 0; f < writes_.size(); ++f)
    if (writes_[f] != 0)
      into_.written.emplace_back(trace_.footprints[f].space, trace_.footprints[f].allocation);
  for (const Blocked& b : trace_.blocked) acts_[b.agent.v] = 1;  // some at their first operation
  into_.agents = static_cast<uint32_t>(std::count(acts_.begin(), acts_.end(), 1));
  into_.of_one_strand = std::move(queues_).of_one_strand();
  sort_unique(into_.named);
  sort_unique(into_.written);
}

}  // namespace

Survey::Survey(const Trace& trace)
    : defect(table_defect(trace)), dependent_launch(!trace.previous_kernel.empty()), guards(trace) {
  if (!defect.empty()) return;
  SurveyPass pass(trace, *this);
  const EventDefects defects(trace);
  const std::span<const Event> events = trace.events;
  for (size_t begin = 0; begin < events.size(); begin += events_a_piece) {
    const std::span<const Event> part =
        events.subspan(begin, std::min(events_a_piece, events.size() - begin));
    if (const char* found = defects.find(part)) {
      defect = found;
      return;
    }
    for (size_t i = 0; i < part.size(); ++i) {
      fetch_ahead(events, begin + i);
      pass.see(part[i]);
    }
  }
  pass.finish();
}

}  // namespace turnstile::checker
