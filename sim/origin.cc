// SPDX-License-Identifier: Apache-2.0
#include "sim/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>

#include "sim/handlers.h"
#include "sim/machine.h"

namespace turnstile::sim {

namespace {

constexpr size_t most_registers = 4096, most_loads = 64;

class Search {
 public:
  explicit Search(const Cta& cta)
      : program_(cta.program), machine_(cta.machine), trace_(cta.recorder.trace()) {
    for (const Decoded& d : program_.code)
      for (const uint32_t r : d.dst)
        if (r != Decoded::none) writers_[r].push_back(d.index);
  }

  std::string run(const Cta& cta, const Warp& warp, uint32_t reg, LaneMask lanes) {
    add(cta, warp, reg, lanes);
    while (!open_.empty() && found_.empty() && seen_.size() < most_registers) {
      const Value v = open_.front();
      open_.pop_front();
      const auto writers = writers_.find(v.reg);
      for (size_t i = 0; writers != writers_.end() && i < writers->second.size(); ++i)
        follow(v, program_.code[writers->second[i]]);
      if (writers == writers_.end())
        for (const auto& [special, name] : program_.specials)
          if (special == v.reg) second_best_ = fmt::format("; it is {}", name);
    }
    return found_.empty() ? second_best_ : found_;
  }
  bool from_atomic() const { return from_atomic_; }

 private:
  struct Value {
    const Cta* cta;
    const Warp* warp;
    uint32_t reg;
    LaneMask lanes;
  };

  void add(const Cta& cta, const Warp& warp, uint32_t reg, LaneMask lanes) {
    if (reg == Decoded::none || (warp.regs.known(reg) & lanes) == lanes) return;
    if (seen_.insert({cta.index, warp.index, reg}).second) open_.push_back({&cta, &warp, reg, lanes});
  }

  /// What this instruction, which writes the register, computed it from.
  void follow(const Value& v, const Decoded& d) {
    const bool loads = d.run == exec_load || d.run == exec_load_matrix || d.run == exec_atomic ||
                       (d.run == exec_tensor_access && d.variant == 0);
    if (d.run == exec_wgmma || d.run == exec_mma) return note(d.index, true);
    if (!loads) {
      for (const uint32_t r : d.src) add(*v.cta, *v.warp, r, v.lanes);
      add(*v.cta, *v.warp, d.guard, v.lanes);
      return;
    }
    if (++loads_ > most_loads) return;
    const std::optional<size_t> read = last_access(v, d.index);
    if (!read) return;
    const Footprint& f = trace_.footprints[trace_.events[*read].footprint];
    if (f.space == Space::global) {
      from_atomic_ = d.run == exec_atomic;
      found_ = text(d.index, trace_.allocation_names[f.allocation]);
      return;
    }
    const std::optional<size_t> written = last_write(*read);
    if (!written) return note(d.index, true);
    const Event& w = trace_.events[*written];
    const AgentInfo& by = trace_.agents[w.agent.v];
    const Cta& cta = *machine_.ctas[by.cta];
    const Decoded& writer = program_.code[w.place];
    if (w.kind == EventKind::async_access && trace_.ops[w.object].kind == AsyncOp::Kind::bulk_load) {
      found_ = text(w.place, source_of(*written));
      return;
    }
    if (writer.run != exec_store && writer.run != exec_store_matrix && writer.run != exec_tensor_access &&
        writer.run != exec_store_async)
      return note(w.place, true);
    note(d.index, false);
    for (const uint32_t r : writer.src) add(cta, *cta.warps[by.warp], r, all_lanes);
  }

  /// The last access of this warp at this instruction.
  std::optional<size_t> last_access(const Value& v, uint32_t place) const {
    for (size_t i = trace_.events.size(); i-- > 0;) {
      const Event& e = trace_.events[i];
      if (e.place != place || (e.kind != EventKind::access && e.kind != EventKind::async_access)) continue;
      const AgentInfo& by = trace_.agents[e.agent.v];
      if (by.cta == v.cta->index && by.warp == v.warp->index) return i;
    }
    return std::nullopt;
  }

  /// The last write before an access of bytes that it touches.
  std::optional<size_t> last_write(size_t access) const {
    const uint32_t wanted = trace_.events[access].footprint;
    for (size_t i = access; i-- > 0;) {
      const Event& e = trace_.events[i];
      const bool writes =
          (e.kind == EventKind::access || e.kind == EventKind::async_access) && e.has(Event::write);
      if (writes && (e.footprint == wanted || meet(e.footprint, wanted))) return i;
    }
    return std::nullopt;
  }

  bool meet(uint32_t a, uint32_t b) const {
    const Footprint &x = trace_.footprints[a], &y = trace_.footprints[b];
    if (x.space != y.space || x.allocation != y.allocation) return false;
    const auto bounds = [&](const ByteRange& r) {
      return std::pair(r.begin, r.end + (r.count - 1) * r.stride);
    };
    for (uint32_t i = 0; i < x.range_count; ++i)
      for (uint32_t j = 0; j < y.range_count; ++j) {
        const auto [first, end] = bounds(trace_.ranges[x.first_range + i]);
        const auto [other, last] = bounds(trace_.ranges[y.first_range + j]);
        if (first < last && other < end) return true;
      }
    return false;
  }

  /// The buffer that a copy took its bytes from: its read comes right before its writes.
  std::string source_of(size_t written) const {
    for (size_t i = written; i-- > 0 && trace_.events[i].object == trace_.events[written].object;) {
      const Event& e = trace_.events[i];
      if (e.kind != EventKind::async_access) break;
      const Footprint& f = trace_.footprints[e.footprint];
      if (f.space == Space::global) return trace_.allocation_names[f.allocation];
    }
    return {};
  }

  std::string text(uint32_t place, const std::string& buffer) const {
    const Place& p = program_.places[place];
    const auto name = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
    const std::string ptx = fmt::format("{}:{}", name(p.ptx_file), p.ptx_line);
    return fmt::format("; it comes from '{}'{} at {}", p.instruction,
                       buffer.empty() ? std::string() : fmt::format(" of buffer '{}'", buffer),
                       p.file.empty() ? ptx : fmt::format("{}:{} ({})", name(p.file), p.line, ptx));
  }
  /// If no load from global memory is found. `ends_here`: nothing lies before it; else it is one step on the
  /// way.
  void note(uint32_t place, bool ends_here) {
    if (!second_best_.empty() && (ends_ || !ends_here)) return;
    ends_ = ends_here;
    second_best_ = text(place, {});
  }

  const Program& program_;
  const Machine& machine_;
  const Trace& trace_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> writers_;
  std::deque<Value> open_;
  std::set<std::tuple<uint16_t, uint16_t, uint32_t>> seen_;
  size_t loads_ = 0;
  bool ends_ = false, from_atomic_ = false;
  std::string found_, second_best_;
};

}  // namespace

std::string origin_of_unknown(const Cta& cta, const Warp& warp, uint32_t reg, LaneMask lanes) {
  Search search(cta);
  std::string text = search.run(cta, warp, reg, lanes);
  if (search.from_atomic()) cta.machine.asks_atomics = true;
  return text;
}

std::string help_for_unknown(const Cta& cta) {
  if (cta.machine.asks_atomics)
    return "orders in which CTAs may come to an integer counter are run if its buffer has `control_data = "
           "true`";
  return "give the buffer it was loaded from `control_data = true` and its values, or run with --domain bits";
}

}  // namespace turnstile::sim
