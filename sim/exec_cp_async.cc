// SPDX-License-Identifier: Apache-2.0
// cp.async of single threads and its groups (semantics.md section 5). Asynchronous, yet generic proxy: the
// data move at landing; the wait of a thread covers the copies of this thread only (CA7).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "sim/barrier_operand.h"
#include "sim/deferred_arrival.h"
#include "sim/execution_log.h"
#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/unknown_operand.h"

namespace turnstile::sim {

namespace {

QueueInfo queue_info(const Cta& cta, const Warp& warp) {
  QueueInfo info;
  info.kind = QueueInfo::Kind::cp_async;
  info.cta = cta.index;
  info.warp = warp.index;
  return info;
}

/// Whether the warp acts as one and always has: one queue stands for its threads.
bool together(const Warp& warp, LaneMask lanes) {
  if (lanes != warp.live() || warp.exited != 0) return false;
  const auto& committed = warp.copy_groups.committed;
  const uint64_t first = committed[static_cast<size_t>(std::countr_zero(lanes))];
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
    if (committed[static_cast<size_t>(std::countr_zero(rest))] != first) return false;
  return true;
}

uint32_t warp_queue(Cta& cta, Warp& warp) {
  uint32_t& queue = warp.copy_groups.warp_queue;
  if (queue == CopyGroups::none) queue = cta.recorder.add_queue(queue_info(cta, warp));
  return queue;
}

uint32_t lane_queue(Cta& cta, Warp& warp, unsigned lane) {
  uint32_t& queue = warp.copy_groups.lane_queue[lane];
  if (queue != CopyGroups::none) return queue;
  QueueInfo info = queue_info(cta, warp);
  info.lane = static_cast<uint8_t>(lane);
  return queue = cta.recorder.add_queue(info);
}

/// Calls body(agent, queue, lanes) for all lanes of each strand at once, or lane by lane if the warp does not
/// act as one.
template <typename Body>
void for_shares(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, Body body) {
  const bool one = together(warp, lanes);
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    if (one) {
      body(s.agent, warp_queue(cta, warp), s.lanes);
      continue;
    }
    for (LaneMask rest = s.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      body(s.agent, lane_queue(cta, warp, lane), LaneMask{1} << lane);
    }
  }
}

/// Records an operation in the group that these lanes have open.
uint32_t issue_op(Cta& cta, Warp& warp, const Decoded& d, AgentId agent, uint32_t queue, LaneMask lanes,
                  uint32_t barrier = AsyncOp::none, uint64_t bytes = 0) {
  CopyGroups& groups = warp.copy_groups;
  AsyncOp op;
  op.kind = AsyncOp::Kind::cp_async;
  op.issuer = agent;
  op.place = d.index;
  op.barrier = barrier;
  op.bytes = bytes;
  op.queue = queue;
  op.group = groups.committed[static_cast<size_t>(std::countr_zero(lanes))] + 1;
  if (queue == groups.warp_queue) groups.warp_group = op.group;
  const uint32_t number = cta.recorder.add_op(op);
  cta.recorder.add(EventKind::async_issue, agent, d.index).object = number;
  return number;
}

/// One lane's copy.
struct Piece {
  uint64_t shared = 0;
  uint32_t buffer = 0;
  uint64_t offset = 0;
  uint32_t filled = 0;  ///< bytes that come from the source; the rest of `bytes` is zero
  uint32_t bytes = 0;
};

/// Empty: the copy is legal.
std::string problem_of(const Cta& cta, const Piece& p, uint64_t source, uint64_t wanted) {
  if (wanted > p.bytes)
    return fmt::format("a source size of {} bytes in a copy of {} (CA1)", wanted, p.bytes);
  if (p.shared % p.bytes != 0 || source % p.bytes != 0)
    return fmt::format(
        "addresses shared 0x{:x} and global 0x{:x} are not both aligned to the {} bytes of the copy",
        p.shared, source, p.bytes);
  if (!cta.shared.contains(p.shared, p.bytes) || p.shared < AddressMap::shared_static_base)
    return fmt::format("shared address 0x{:x} is outside the shared memory of this launch", p.shared);
  if (p.filled == 0) return {};
  const uint64_t number = source / AddressMap::window_bytes;
  if (number == 0 || number > cta.global.buffer_count())
    return fmt::format("global address 0x{:x} is in no buffer of this launch", source);
  if (p.offset + p.filled > cta.global.bytes_of(p.buffer))
    return fmt::format("byte {} of buffer '{}' is beyond its {} bytes", p.offset,
                       cta.recorder.trace().allocation_names[p.buffer], cta.global.bytes_of(p.buffer));
  return {};
}

void land(Cta& cta, uint32_t number, const std::vector<Piece>& pieces, const std::vector<uint32_t>& sources,
          uint32_t writes) {
  const AgentId issuer = cta.recorder.trace().ops[number].issuer;
  const uint32_t place = cta.recorder.trace().ops[number].place;
  auto access = [&](uint32_t footprint, bool write) {
    Event& e = cta.recorder.add(EventKind::async_access, issuer, place);
    e.object = number;
    e.footprint = footprint;
    if (write) e.flags = Event::write;
  };
  for (uint32_t source : sources) access(source, false);
  access(writes, true);
  ByteRun& run = cta.scratch;
  for (const Piece& p : pieces) {
    run.resize(p.bytes, cta.provenance());
    std::fill_n(run.value.begin(), p.bytes, uint8_t{0});
    std::fill_n(run.known.begin(), p.bytes, uint8_t{1});
    if (cta.machine.log != nullptr) cta.machine.log->begin_run();
    if (p.filled != 0) cta.global.read(p.buffer, p.offset, p.filled, run, 0);
    cta.shared.write(p.shared, 0, p.bytes, run);
  }
  cta.recorder.add(EventKind::async_complete, issuer, place).object = number;
}

/// CA5: two copies of one group of one thread that write the same bytes.
bool written_twice(CopyGroups& groups, unsigned lane, const Piece& p) {
  const CopyGroups::Written now{static_cast<uint8_t>(lane), p.shared, p.shared + p.bytes};
  auto before = [](const CopyGroups::Written& a, const CopyGroups::Written& b) {
    return a.lane != b.lane ? a.lane < b.lane : a.begin < b.begin;
  };
  const auto at = std::lower_bound(groups.open.begin(), groups.open.end(), now, before);
  if (at != groups.open.end() && at->lane == lane && at->begin < now.end) return true;
  if (at != groups.open.begin() && (at - 1)->lane == lane && (at - 1)->end > now.begin) return true;
  groups.open.insert(at, now);
  return false;
}

void issue(Cta& cta, Warp& warp, const Decoded& d, AgentId agent, uint32_t queue, LaneMask lanes,
           const std::array<Piece, warp_size>& pieces) {
  std::vector<Piece> mine;
  std::vector<ByteRange> inside;
  std::map<uint32_t, std::vector<ByteRange>> outside;  // by buffer
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const Piece& p = pieces[static_cast<size_t>(std::countr_zero(rest))];
    mine.push_back(p);
    inside.push_back({p.shared, p.shared + p.bytes, 0, 1});
    if (p.filled != 0) outside[p.buffer].push_back({p.offset, p.offset + p.filled, 0, 1});
  }
  normalise(inside);
  std::vector<uint32_t> sources;
  for (auto& [buffer, ranges] : outside) {
    normalise(ranges);
    sources.push_back(cta.recorder.footprint(Space::global, buffer, ranges));
  }
  const uint32_t writes = cta.shared_footprint(inside);
  const uint32_t number = issue_op(cta, warp, d, agent, queue, lanes);
  cta.flights.push_back({number, [number, sources, writes, mine = std::move(mine)](Cta& c) {
                           land(c, number, mine, sources, writes);
                         }});
}

}  // namespace

// Sources: [dst], [src], then possibly a source size, or a predicate that ignores the source.
Step exec_cp_async(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src, lanes)) return unknown_operand(cta, d);
  const bool ignores = d.src.size() > 2 && cta.program.register_bits[d.src[2]] == 1;
  std::array<Piece, warp_size> pieces;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    Piece& p = pieces[lane];
    p.bytes = d.bytes;
    p.shared = cta.shared_offset(warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]));
    const uint64_t source = warp.regs.get(d.src[1], lane) + static_cast<uint64_t>(d.offsets[1]);
    uint64_t wanted = d.bytes;
    if (d.src.size() > 2 && !ignores) wanted = warp.regs.get(d.src[2], lane) & 0xffffffff;
    if (ignores && ((warp.regs.get(d.src[2], lane) ^ (d.negated >> 2)) & 1) != 0) wanted = 0;
    p.filled = static_cast<uint32_t>(std::min<uint64_t>(wanted, d.bytes));
    p.buffer = static_cast<uint32_t>(source / AddressMap::window_bytes - 1);
    p.offset = source % AddressMap::window_bytes;
    const LaneMask bit = LaneMask{1} << lane;
    if (const std::string why = problem_of(cta, p, source, wanted); !why.empty())
      return cta.fault(
          warp, bit, d, wanted > d.bytes ? "CA1" : "memory",
          fmt::format("thread {} copies {} bytes: {}", warp.index * warp_size + lane, d.bytes, why),
          "check the index arithmetic against the sizes in the launch file");
    if (writes_a_barrier(cta, warp, d, lane, cta, p.shared, p.bytes)) return Step::stop;
    if (written_twice(warp.copy_groups, lane, p))
      return cta.fault(
          warp, bit, d, "CA5",
          fmt::format("thread {} copies to {} twice in one group: which copy comes last is not defined",
                      warp.index * warp_size + lane, cta.shared_name(p.shared)),
          "commit and wait between the two copies");
  }
  for_shares(cta, warp, d, lanes, [&](AgentId agent, uint32_t queue, LaneMask part) {
    issue(cta, warp, d, agent, queue, part, pieces);
  });
  return Step::next;
}

Step exec_cp_async_commit(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  CopyGroups& groups = warp.copy_groups;
  for_shares(cta, warp, d, lanes, [&](AgentId agent, uint32_t queue, LaneMask part) {
    Event& e = cta.recorder.add(EventKind::group_commit, agent, d.index);
    e.object = queue;
    e.generation = groups.committed[static_cast<size_t>(std::countr_zero(part))] + 1;
  });
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
    ++groups.committed[static_cast<size_t>(std::countr_zero(rest))];
  std::erase_if(groups.open, [&](const CopyGroups::Written& w) { return ((lanes >> w.lane) & 1) != 0; });
  return Step::next;
}

// variant 1: wait_all, which is a commit and a wait for everything (CA4). Lanes that went apart and came
// together again have copies in queues of their own and in that of the warp.
Step exec_cp_async_wait(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  CopyGroups& groups = warp.copy_groups;
  if (d.variant == 1 && !cta.fragment_at(warp, lanes).wait.entered) {
    exec_cp_async_commit(cta, warp, d, lanes);
    cta.fragment_at(warp, lanes).wait.entered = true;
  }
  const uint64_t newest =
      d.variant == 1 ? 0 : warp.regs.get(d.src[0], static_cast<unsigned>(std::countr_zero(lanes)));
  auto covered = [&](unsigned lane) {
    return groups.committed[lane] > newest ? groups.committed[lane] - newest : 0;
  };
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    for (const uint32_t queue : {groups.warp_queue, groups.lane_queue[lane]}) {
      if (queue == CopyGroups::none || !cta.in_flight(queue, covered(lane))) continue;
      cta.fragment_at(warp, lanes).wait = {d.variant == 1, Blocked::On::group, queue,
                                           static_cast<uint32_t>(newest), covered(lane)};
      return Step::blocked;
    }
  }
  for_shares(cta, warp, d, lanes, [&](AgentId agent, uint32_t queue, LaneMask part) {
    auto passed = [&](uint32_t which, uint64_t group) {
      Event& e = cta.recorder.add(EventKind::group_wait, agent, d.index);
      e.object = which;
      e.generation = group;
    };
    const uint64_t group = covered(static_cast<unsigned>(std::countr_zero(part)));
    passed(queue, group);
    if (queue == groups.warp_queue) {
      groups.warp_waited = std::max(groups.warp_waited, group);
      for (LaneMask rest = part; rest != 0; rest &= rest - 1)
        if (const uint32_t own = groups.lane_queue[static_cast<size_t>(std::countr_zero(rest))];
            own != CopyGroups::none)
          passed(own, group);
    } else if (std::min(group, groups.warp_group) > groups.warp_waited) {
      cta.recorder.unknown(
          d.index,
          "the lanes of a warp wait apart for copies that they issued together: whose copies "
          "are complete is not followed",
          "let whole warps execute cp.async.wait_group");
    }
  });
  return Step::next;
}

// One arrival when the copies that this thread issued before are done (HB2). Without .noinc the pending count
// of the open phase grows by one at once, so that the phase waits for it.
Step exec_cp_async_arrive(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src, lanes)) return unknown_operand(cta, d);
  const bool counts = d.variant == 0;
  Step result = Step::next;
  for_shares(cta, warp, d, lanes, [&](AgentId agent, uint32_t queue, LaneMask part) {
    for (LaneMask rest = part; rest != 0 && result == Step::next; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      BarrierObject* b = find_barrier(cta, warp, d, lane);
      if (b == nullptr) {
        result = Step::stop;
        return;
      }
      if (counts) result = check_outcome(cta, warp, d, lane, b->state.raise_pending(), *b);
      const uint32_t number = issue_op(cta, warp, d, agent, queue, part, b->number, counts ? 1 : 0);
      cta.flights.push_back({number, [number, b](Cta& c) { land_arrival(c, number, *b, c); }});
    }
  });
  return result;
}

}  // namespace turnstile::sim
