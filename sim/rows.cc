// SPDX-License-Identifier: Apache-2.0
#include "sim/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/cta.h"
#include "sim/run_rows.h"
#include "sim/sum_log.h"

namespace turnstile::sim {

namespace {

struct RowRange {
  uint64_t begin = 0, end = 0;  // bytes in the buffer
};

RowRange range_of(const Launch& launch, uint32_t buffer, uint64_t row) {
  const Buffer& b = launch.buffers[buffer];
  const uint64_t width = element_bytes(b.type);
  return {row * b.row_pitch * width, (row * b.row_pitch + b.columns()) * width};
}

/// Rows are lines of a matrix today: the batch axis must be the outer one of two dimensions.
Result<void> check_row(const Launch& launch, uint32_t buffer, uint64_t row) {
  if (buffer >= launch.buffers.size())
    return fail(launch.path, 0, 0, fmt::format("buffer number {} does not exist", buffer));
  const Buffer& b = launch.buffers[buffer];
  if (!b.batch_axis || *b.batch_axis != 0 || b.shape.size() != 2)
    return fail(
        launch.path, 0, 0,
        fmt::format("buffer '{}' needs batch_axis = 0 and two dimensions for a question about its rows",
                    b.name));
  if (row >= b.shape[0])
    return fail(launch.path, 0, 0,
                fmt::format("row {} of buffer '{}' does not exist: it has {}", row, b.name, b.shape[0]));
  return {};
}

bool touches(const ByteRange& r, const RowRange& row) {
  for (uint32_t i = 0; i < r.count; ++i) {
    const uint64_t begin = r.begin + i * r.stride, end = r.end + i * r.stride;
    if (begin >= row.end) return false;  // ranges ascend
    if (end > row.begin) return true;
  }
  return false;
}

bool writes_row(const Trace& t, uint32_t buffer, const RowRange& row) {
  std::vector<int8_t> known(t.footprints.size(), -1);
  for (const Event& e : t.events) {
    if ((e.kind != EventKind::access && e.kind != EventKind::async_access) || !e.has(Event::write)) continue;
    if (known[e.footprint] < 0) {
      const Footprint& f = t.footprints[e.footprint];
      bool hit = false;
      if (f.space == Space::global && f.allocation == buffer)
        for (uint32_t i = 0; i < f.range_count && !hit; ++i) hit = touches(t.ranges[f.first_range + i], row);
      known[e.footprint] = hit ? 1 : 0;
    }
    if (known[e.footprint] == 1) return true;
  }
  return false;
}

void collect_problems(const RunResult& run, std::vector<std::string>& out) {
  for (const Trace& t : run.traces) {
    for (const Fault& f : t.faults) out.push_back(f.message);
    for (const Unknown& u : t.unknowns) out.push_back(u.message);
    if (!t.blocked.empty())
      out.push_back(fmt::format("{} strands of CTA {} never end", t.blocked.size(), t.first_cta[0]));
  }
}

}  // namespace

Result<std::vector<uint32_t>> ctas_of_row(const Program& program, const Launch& launch, uint32_t buffer,
                                          uint64_t row) {
  if (auto fine = check_row(launch, buffer, row); !fine) return tl::unexpected<Error>(fine.error());
  const RowRange range = range_of(launch, buffer, row);
  std::vector<uint32_t> out;
  for (uint32_t cta = 0; cta < launch.cta_count(); ++cta) {
    RunOptions options;
    options.ctas = {cta};
    auto run = run_launch(program, launch, options);
    if (!run) return tl::unexpected<Error>(run.error());
    if (writes_row(run->traces.front(), buffer, range)) out.push_back(cta);
  }
  return out;
}

Result<RowExpressions> row_expressions(const Program& program, const Launch& launch, uint32_t buffer,
                                       uint64_t row, const std::vector<uint32_t>& ctas) {
  if (auto fine = check_row(launch, buffer, row); !fine) return tl::unexpected<Error>(fine.error());
  auto global = GlobalMemory::create(launch, program.variables, Domain::provenance, {row});
  if (!global) return tl::unexpected<Error>(global.error());
  RowExpressions out;
  out.ctas = ctas;
  if (!ctas.empty()) {
    RunOptions options;
    options.domain = Domain::provenance;
    options.ctas = ctas;
    auto run = run_ctas(program, launch, options, *global);
    if (!run) return tl::unexpected<Error>(run.error());
    out.instructions = run->instructions;
    collect_problems(*run, out.problems);
  }
  const Buffer& b = launch.buffers[buffer];
  const auto width = static_cast<unsigned>(element_bytes(b.type));
  const RowRange range = range_of(launch, buffer, row);
  for (uint64_t c = 0; c < b.columns(); ++c) {
    const uint64_t at = range.begin + c * width;
    out.columns.push_back(global->element(buffer, at, width));
    if (!global->written(buffer, at)) out.unwritten.push_back(c);
    if (out.columns.back().foreign()) out.foreign.push_back(c);
  }
  return out;
}

Result<std::vector<SumStep>> sum_of_element(const Program& program, const Launch& launch, uint32_t buffer,
                                            uint64_t row, uint64_t column,
                                            const std::vector<uint32_t>& ctas) {
  if (auto fine = check_row(launch, buffer, row); !fine) return tl::unexpected<Error>(fine.error());
  auto global = GlobalMemory::create(launch, program.variables, Domain::provenance, {row});
  if (!global) return tl::unexpected<Error>(global.error());

  // Names of the leaves that matter here: the row of each batch operand by column, and line `column` of the
  // other operands.
  SumLog log;
  log.wanted_line = column;
  for (uint32_t i = 0; i < launch.buffers.size(); ++i) {
    const Buffer& in = launch.buffers[i];
    if (in.role == BufferRole::out || in.shape.size() != 2) continue;
    const uint64_t line = in.batch_axis ? row : column;
    if (line >= in.shape[0]) continue;
    const auto width = static_cast<unsigned>(element_bytes(in.type));
    auto& names = in.batch_axis ? log.batch_columns : log.other_lines;
    for (uint64_t c = 0; c < in.columns(); ++c)
      names[global->element(i, (line * in.row_pitch + c) * width, width).hi] = c;
  }
  RunOptions options;
  options.domain = Domain::provenance;
  options.ctas = ctas;
  auto run = run_ctas(program, launch, options, *global, &log);
  if (!run) return tl::unexpected<Error>(run.error());
  return log.steps;
}

Result<std::vector<std::byte>> row_bits(const Program& program, const Launch& launch, uint32_t buffer,
                                        uint64_t row, const std::vector<uint32_t>& ctas) {
  if (auto fine = check_row(launch, buffer, row); !fine) return tl::unexpected<Error>(fine.error());
  RunOptions options;
  options.domain = Domain::bits;
  options.ctas = ctas;
  auto run = run_launch(program, launch, options);
  if (!run) return tl::unexpected<Error>(run.error());
  const RowRange range = range_of(launch, buffer, row);
  const std::vector<std::byte>& all = run->buffers[buffer];
  return std::vector<std::byte>(all.begin() + static_cast<ptrdiff_t>(range.begin),
                                all.begin() + static_cast<ptrdiff_t>(range.end));
}

}  // namespace turnstile::sim
