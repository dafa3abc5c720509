// SPDX-License-Identifier: Apache-2.0
#include "sim/execution_log.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sim/handlers.h"
#include "sim/lane_targets.h"
#include "sim/machine.h"

namespace turnstile::sim {

namespace {

constexpr std::array<Handler, 5> lane_collectives = {exec_shuffle, exec_vote, exec_redux, exec_match,
                                                     exec_elect};

bool addresses_memory(const Decoded& d) {
  return d.run == exec_load || d.run == exec_store || d.run == exec_load_matrix ||
         d.run == exec_store_matrix || d.run == exec_atomic;
}

}  // namespace

void ExecutionLog::attach(Machine& machine) {
  machine.log = this;
  machine.global.note_in(*this);
  if (memories.empty()) {
    for (uint32_t b = 0; b < machine.global.buffer_count(); ++b) memories.push_back({false, b});
  } else {
    ++machine_;
  }
  first_cta_ = static_cast<uint16_t>(positions.size());
  for (auto& cta : machine.ctas) {
    cta->shared.note_in(*this, static_cast<uint32_t>(memories.size()));
    memories.push_back({true, static_cast<uint32_t>(positions.size())});
    positions.push_back({cta->position[0], cta->position[1], cta->position[2]});
  }
  writes.resize(memories.size());
}

uint16_t ExecutionLog::cta_of(const Cta& cta) const { return static_cast<uint16_t>(first_cta_ + cta.index); }

void ExecutionLog::keep(uint64_t bytes) {
  kept_ += bytes;
  overflowed = overflowed || kept_ > most_bytes;
}

LoggedLanes ExecutionLog::lanes_of(const Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes) const {
  LoggedLanes out;
  if (d.run == exec_shuffle) {
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      out.delta[lane] = shuffle_source_lane(warp, d, lane);
    }
    return out;
  }
  const bool rows = d.run == exec_load_matrix || d.run == exec_store_matrix;
  if (rows) lanes = static_cast<LaneMask>((uint64_t{1} << (8 * d.shape[0])) - 1);
  std::array<uint64_t, warp_size> at{};
  bool first = true;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Target t = target_of(cta, d, warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]));
    uint32_t memory = LoggedLanes::nowhere;
    if (t.where == Target::Where::global) memory = t.buffer;
    if (t.where == Target::Where::shared || t.where == Target::Where::remote) {
      const uint16_t number =
          t.where == Target::Where::shared ? cta_of(cta) : static_cast<uint16_t>(first_cta_ + t.buffer);
      memory = static_cast<uint32_t>(memories.size() - positions.size() + number);
    }
    if (first) out.memory = memory;
    if (memory != out.memory || memory == LoggedLanes::nowhere) return {};
    out.base = first ? t.offset : std::min(out.base, t.offset);
    at[lane] = t.offset;
    first = false;
  }
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (at[lane] - out.base > 0xffffffff) return {};
    out.delta[lane] = static_cast<uint32_t>(at[lane] - out.base);
  }
  return out;
}

void ExecutionLog::before(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (mode_ == Mode::values) visit_step(step_, cta, warp, d);
  if (mode_ != Mode::steps || overflowed) return;
  pending_.reset();
  if (addresses_memory(d) || d.run == exec_shuffle) pending_ = lanes_of(cta, warp, d, lanes);
}

void ExecutionLog::after(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, Step step) {
  if (step == Step::blocked) return;
  if (mode_ == Mode::steps && !overflowed) {
    // Lanes of a collective that wait for their partners have not executed it.
    if (step == Step::moved &&
        std::find(lane_collectives.begin(), lane_collectives.end(), d.run) != lane_collectives.end())
      for (const Fragment& f : warp.fragments)
        if (f.pc == d.index) lanes &= ~f.lanes;
    steps.push_back({d.index, cta_of(cta), warp.index, lanes});
    if (pending_) lane_targets.emplace_hint(lane_targets.end(), step_, *pending_);
    keep(sizeof(LoggedStep) + (pending_ ? sizeof(LoggedLanes) + 48 : 0));
  }
  ++step_;
}

void ExecutionLog::begin_landing(Cta& cta, uint32_t place) {
  landing_ = true;
  run_ = 0;
  next_at_ = 0;
  read_since_write_ = true;
  if (mode_ == Mode::steps && !overflowed) {
    steps.push_back({place, cta_of(cta), LoggedStep::landing, 0});
    keep(sizeof(LoggedStep));
  }
  ++step_;
}

void ExecutionLog::matrix_operation(Cta& cta, const WarpGroupOp& op, uint32_t first_warp) {
  if (mode_ == Mode::values) visit_matrix(step_, cta, op, first_warp);
  if (mode_ == Mode::steps && !overflowed) {
    matrices_of[{cta_of(cta), first_warp / 4}].push_back(static_cast<uint32_t>(matrices.size()));
    matrices.push_back({step_, op.text->index, cta_of(cta), first_warp, op.a, op.b, op.scale_d != 0});
    steps.push_back({op.text->index, cta_of(cta), LoggedStep::matrix, all_lanes});
    keep(sizeof(LoggedStep) + sizeof(LoggedMatrix) + 4);
  }
  ++step_;
}

void ExecutionLog::wrote(uint32_t memory, uint64_t address, uint64_t bytes, uint64_t from) {
  if (mode_ == Mode::writers) {
    if (memory >= memories.size() || memories[memory].shared) return;
    written_by_[memory].insert(machine_);
    if (memory == watched_buffer && address < watched_end && address + bytes > watched_begin)
      last_writer = machine_;
    return;
  }
  if (mode_ != Mode::steps || overflowed) return;
  writes[memory].push_back({landing_ ? step_ - 1 : step_, static_cast<uint32_t>(bytes),
                            static_cast<uint32_t>(from), run_, address});
  keep(sizeof(LoggedWrite));
  read_since_write_ = false;
}

void ExecutionLog::read(uint32_t memory, uint64_t address, uint64_t bytes, uint64_t at) {
  if (mode_ == Mode::writers) {
    if (memories[memory].shared) return;
    const auto found = written_by_.find(memory);
    machines_depend = machines_depend || (found != written_by_.end() &&
                                          (found->second.size() > 1 || *found->second.begin() != machine_));
    return;
  }
  if (mode_ != Mode::steps || overflowed || !landing_) return;
  if (!read_since_write_) begin_run();
  if (at == follow) at = next_at_;
  next_at_ = at + bytes;
  reads.push_back(
      {step_ - 1, memory, static_cast<uint32_t>(bytes), static_cast<uint32_t>(at), address, run_});
  keep(sizeof(LoggedRead));
}

}  // namespace turnstile::sim
