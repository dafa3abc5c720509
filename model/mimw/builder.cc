// SPDX-License-Identifier: Apache-2.0
#include "model/mimw/builder.h"

#include "fmt/format.h"

namespace turnstile::mimw {

void Builder::start(std::string kernel, uint32_t ctas, bool show_cta) {
  program_.tables.kernel = std::move(kernel);
  program_.tables.cluster_ctas = ctas;
  next_warp_.assign(ctas, 0);
  next_column.assign(ctas, 0);
  memory_.emplace(program_.tables, problems, show_cta);
}

std::optional<Strand> Builder::add_agent(const std::string& name, uint16_t cta, uint32_t threads,
                                         Position at) {
  constexpr size_t most = 4096;
  if (!agents_.emplace(std::pair{cta, name}, true).second) {
    problems.fail(at, fmt::format("there are two agents '{}' in CTA {}", name, cta));
    return std::nullopt;
  }
  std::vector<AgentInfo>& agents = program_.tables.agents;
  if (agents.size() >= most) {
    problems.fail(at, fmt::format("there are more than {} agents", most));
    return std::nullopt;
  }
  Strand strand;
  strand.id.v = static_cast<uint16_t>(agents.size());
  strand.cta = cta;
  strand.threads = threads;
  const uint32_t warps = (threads + 31) / 32;
  agents.push_back({cta, static_cast<uint16_t>(next_warp_[cta]), name, threads});
  next_warp_[cta] += warps;
  if (next_warp_[cta] > 0xffff) {
    problems.fail(at, fmt::format("CTA {} has more than {} warps", cta, 0xffff));
    return std::nullopt;
  }
  program_.tables.warps += warps;
  program_.strands.emplace_back();
  return strand;
}

uint32_t Builder::add_place(Position at, const std::string& file, std::string instruction) {
  program_.tables.places.push_back({file, at.line, at.column, {}, 0, std::move(instruction)});
  return static_cast<uint32_t>(program_.tables.places.size() - 1);
}

uint32_t Builder::place(const Statement& s, const std::string& file) {
  const auto found = places_.find(&s);
  if (found != places_.end()) return found->second;
  const uint32_t added = add_place(s.at, file, s.text);
  places_.emplace(&s, added);
  return added;
}

bool Builder::emit(const Strand& strand, Event event, Position at) {
  if (++events_ > limits_.events)
    return problems.fail(at,
                         fmt::format("the program unrolls to more than {} events; choose smaller trip counts",
                                     limits_.events));
  event.agent = strand.id;
  program_.strands[strand.id.v].events.push_back(event);
  return true;
}

bool Builder::emit_operation(uint32_t op, Event event, Position at) {
  if (++events_ > limits_.events)
    return problems.fail(at,
                         fmt::format("the program unrolls to more than {} events; choose smaller trip counts",
                                     limits_.events));
  program_.operations[op].push_back(event);
  return true;
}

uint32_t Builder::add_operation(AsyncOp op) {
  program_.tables.ops.push_back(op);
  program_.operations.emplace_back();
  return static_cast<uint32_t>(program_.tables.ops.size() - 1);
}

Strand::Queue& Builder::queue(Strand& strand, QueueInfo::Kind kind) {
  Strand::Queue& q = strand.queues[static_cast<size_t>(kind)];
  if (q.index != AsyncOp::none) return q;
  QueueInfo info;
  info.kind = kind;
  info.cta = strand.cta;
  info.warp = program_.tables.agents[strand.id.v].warp;
  switch (kind) {
    case QueueInfo::Kind::wgmma:     // WG3: one queue, first in first out
    case QueueInfo::Kind::tensor:    // orchestration_bugs.md 1.6: tcgen05.mma in one in-order queue
    case QueueInfo::Kind::lds_read:  // AM10: completion is reported in execution order
      info.in_order = true;
      break;
    case QueueInfo::Kind::cp_async:
      info.in_order = in_order_copies;
      break;
    case QueueInfo::Kind::bulk:  // BK1
    case QueueInfo::Kind::tensor_load:
    case QueueInfo::Kind::tensor_store:  // TC15
      break;
  }
  q.index = static_cast<uint32_t>(program_.tables.queues.size());
  program_.tables.queues.push_back(info);
  return q;
}

bool Builder::step(const Statement& s) {
  constexpr size_t usual_text = 64;
  steps_ += 1 + s.text.size() / usual_text;
  if (steps_ <= limits_.steps) return true;
  return problems.fail(s.at, fmt::format("the program executes more than {} statements; choose smaller trip "
                                         "counts",
                                         limits_.steps));
}

uint64_t Builder::label(const std::string& name) {
  return labels_.emplace(name, first_label + labels_.size()).first->second;
}

std::optional<uint64_t> Builder::known_label(const std::string& name) const {
  const auto found = labels_.find(name);
  return found == labels_.end() ? std::nullopt : std::optional<uint64_t>(found->second);
}

std::optional<Orchestration> Builder::finish() {
  // Barriers that no mbar_init has placed: invalid objects, each in bytes of its own.
  for (size_t i = 0; i < barrier_placed.size(); ++i) {
    if (barrier_placed[i]) continue;
    BarrierInfo& info = program_.tables.barriers[i];
    const std::optional<uint64_t> address = memory_->reserve(info.cta, Memory::barrier_bytes, barrier_at[i]);
    if (!address) return std::nullopt;
    info.address = *address;
  }
  memory_->finish();
  return std::move(program_);
}

}  // namespace turnstile::mimw
