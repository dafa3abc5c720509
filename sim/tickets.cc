// SPDX-License-Identifier: Apache-2.0
#include "sim/tickets.h"

#include <algorithm>

#include "sim/grouping.h"
#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

bool may_draw(const Decoded& d) {
  return d.run == exec_atomic && d.variant == atomic_reduce && d.vector == 1 && !d.dst.empty() &&
         d.dst[0] != Decoded::none && (d.space == AddressSpace::global || d.space == AddressSpace::generic);
}

}  // namespace

uint64_t TicketCounter::value(uint64_t ticket) const {
  return (start + ticket * step) & width_mask(8u * bytes);
}

bool TicketCounter::overlaps(const ByteRange& range) const {
  for (uint64_t i = 0; i < range.count; ++i)
    if (overlaps(range.begin + i * range.stride, range.end + i * range.stride)) return true;
  return false;
}

bool TicketCounter::is_whole(std::span<const ByteRange> ranges) const {
  return ranges.size() == 1 && ranges[0] == ByteRange{offset, offset + bytes, 0, 1};
}

bool asks_counters(const Program& program, const Launch& launch) {
  // Clusters that wait for each other run together, and launch control's choices are not followed besides.
  if (program.waits_globally || takes_clusters(program) ||
      std::none_of(launch.buffers.begin(), launch.buffers.end(),
                   [](const Buffer& b) { return b.control_data; }) ||
      std::none_of(program.code.begin(), program.code.end(), may_draw))
    return false;
  RunOptions options;
  options.ctas = {cta_of_trace(program, launch, 0)};
  const Result<RunResult> run = run_launch(program, launch, options);
  return run && run->asks_atomics;
}

TicketCounter counter_of(const AtomicAnswer& first) {
  TicketCounter c;
  c.buffer = first.buffer;
  c.offset = first.offset;
  c.bytes = first.bytes;
  c.start = first.value;
  c.step = first.added;
  c.place = first.place;
  c.cta = first.cta;
  c.warp = first.warp;
  c.lane = first.lane;
  return c;
}

std::optional<TicketCounter> find_ticket_counter(const Program& program, const Launch& launch) {
  constexpr uint64_t most_tickets = uint64_t{1} << 20;
  RunOptions options;
  options.ctas = {cta_of_trace(program, launch, 0)};
  options.atomics_in_order = true;
  const Result<RunResult> run = run_launch(program, launch, options);
  if (!run || run->traces.size() != 1) return std::nullopt;
  const Trace& trace = run->traces.front();
  const std::vector<AtomicAnswer>& answers = run->atomic_answers.front();
  // The only unknown is that the answers are a choice.
  if (answers.size() < 2 || trace.cut_short || trace.unknowns.size() != 1 || !trace.faults.empty() ||
      !trace.blocked.empty() || !trace.live_pollers.empty())
    return std::nullopt;
  const AtomicAnswer& first = answers.front();
  TicketCounter c = counter_of(first);
  c.count = answers.size() - 1;
  for (size_t i = 0; i < answers.size(); ++i) {
    const AtomicAnswer& a = answers[i];
    if (a.buffer != c.buffer || a.offset != c.offset || a.bytes != c.bytes || a.added != c.step ||
        a.cta != c.cta || a.warp != c.warp || a.lane != c.lane || a.value != c.value(i))
      return std::nullopt;
  }
  // No value comes twice: the counter does not come round.
  const unsigned unused = 64 - 8u * c.bytes;
  const int64_t step = static_cast<int64_t>(c.step << unused) >> unused;
  const uint64_t most = c.count + launch.cta_count(), far = width_mask(8u * c.bytes) / 2;
  const uint64_t size = step < 0 ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  if (size == 0 || most > most_tickets || size > far / most) return std::nullopt;
  return c;
}

void note_other_accesses(const TicketCounter& counter, const Program& program, Recorder& recorder) {
  const Trace& trace = recorder.trace();
  std::vector<bool> touches(trace.footprints.size());
  for (size_t f = 0; f < touches.size(); ++f) {
    const Footprint& footprint = trace.footprints[f];
    if (footprint.space != Space::global || footprint.allocation != counter.buffer) continue;
    for (uint32_t r = footprint.first_range; r < footprint.first_range + footprint.range_count; ++r)
      touches[f] = touches[f] || counter.overlaps(trace.ranges[r]);
  }
  if (std::find(touches.begin(), touches.end(), true) == touches.end()) return;
  std::vector<uint32_t> others;
  for (const Event& e : trace.events) {
    if ((e.kind != EventKind::access && e.kind != EventKind::async_access) || !touches[e.footprint]) continue;
    // Every atomic there is one that draws, or has ended the run.
    const uint32_t place = e.kind == EventKind::access ? e.place : trace.ops[e.object].place;
    if (e.kind == EventKind::access && program.code[place].run == exec_atomic) continue;
    if (std::find(others.begin(), others.end(), place) == others.end()) others.push_back(place);
  }
  for (const uint32_t place : others)
    recorder.unknown(
        place,
        "the counter from which tickets are drawn is accessed here in another way: what it holds then "
        "depends on the order of the CTAs (LF3)",
        {});
}

}  // namespace turnstile::sim
