// SPDX-License-Identifier: Apache-2.0
// A row's bits and the batch around it: proof by expression hashes, refutation by inputs.
#include "golden/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "sim/rows.h"

namespace turnstile::golden {

namespace {

struct Prepared {
  Launch launch;
  sim::ProgramHandle program;
  uint32_t buffer = 0;
  std::vector<uint32_t> ctas;
};

Result<uint32_t> output_of(const Launch& launch, const std::string& name) {
  std::string candidates;
  int found = -1, count = 0;
  for (uint32_t i = 0; i < launch.buffers.size(); ++i) {
    const Buffer& b = launch.buffers[i];
    if (b.role == BufferRole::in || (name.empty() ? !b.batch_axis.has_value() : b.name != name)) continue;
    found = static_cast<int>(i);
    ++count;
    candidates += (candidates.empty() ? "" : ", ") + b.name;
  }
  if (count == 1) return static_cast<uint32_t>(found);
  if (count == 0)
    return fail(launch.path, 0, 0,
                name.empty() ? std::string("no output buffer has a batch_axis")
                             : fmt::format("there is no output buffer '{}'", name));
  return fail(launch.path, 0, 0,
              fmt::format("several outputs have a batch axis ({}); name one with --output", candidates));
}

Result<Prepared> prepare(const RowQuestion& q, int64_t value, const LaunchOverrides& overrides) {
  LaunchOverrides o = overrides;
  o.vars[q.variable] = value;
  auto launch = read_launch(q.launch_path, o);
  if (!launch) return tl::unexpected<Error>(launch.error());
  auto program = sim::load_program(*launch);
  if (!program) return tl::unexpected<Error>(program.error());
  auto buffer = output_of(*launch, q.output);
  if (!buffer) return tl::unexpected<Error>(buffer.error());
  auto ctas = sim::ctas_of_row(**program, *launch, *buffer, q.row);
  if (!ctas) return tl::unexpected<Error>(ctas.error());
  return Prepared{std::move(*launch), std::move(*program), *buffer, std::move(*ctas)};
}

std::string step_text(const sim::SumStep& s) {
  const std::string what =
      s.first == s.last ? fmt::format("k {}", s.first) : fmt::format("k {}..{}", s.first, s.last);
  return fmt::format("{}{}{}", s.starts ? "starts a sum with " : "adds ", what,
                     s.contiguous ? "" : " (not all of them)");
}

/// The first group in which two sums differ, in words.
Result<std::vector<std::string>> explain(const RowQuestion& q, const Prepared& a, int64_t value_a,
                                         const Prepared& b, int64_t value_b, uint64_t column) {
  auto first = sim::sum_of_element(*a.program, a.launch, a.buffer, q.row, column, a.ctas);
  if (!first) return tl::unexpected<Error>(first.error());
  auto second = sim::sum_of_element(*b.program, b.launch, b.buffer, q.row, column, b.ctas);
  if (!second) return tl::unexpected<Error>(second.error());
  const std::string element = fmt::format("{}[{},{}]", a.launch.buffers[a.buffer].name, q.row, column);
  auto same = [](const sim::SumStep& x, const sim::SumStep& y) {
    return x.first == y.first && x.last == y.last && x.contiguous == y.contiguous && x.starts == y.starts;
  };
  size_t i = 0;
  while (i < first->size() && i < second->size() && same((*first)[i], (*second)[i])) ++i;
  std::vector<std::string> out;
  if (i == first->size() && i == second->size()) {
    out.push_back(fmt::format(
        "the dot products of {} add the same k in the same order; what is done with the sum differs",
        element));
    return out;
  }
  auto say = [&](const std::vector<sim::SumStep>& steps, int64_t value) {
    out.push_back(i < steps.size()
                      ? fmt::format("at {} = {}, matrix instruction {} of {} {}", q.variable, value, i + 1,
                                    element, step_text(steps[i]))
                      : fmt::format("at {} = {}, the sum of {} ends after {} matrix instructions", q.variable,
                                    value, element, i));
  };
  say(*first, value_a);
  say(*second, value_b);
  return out;
}

uint64_t element_bits(const std::vector<std::byte>& row, uint64_t column, size_t width) {
  uint64_t bits = 0;
  std::memcpy(&bits, row.data() + column * width, width);
  return bits;
}

/// Looks for inputs that show different bits of the row in two batches.
Result<bool> search_inputs(const RowQuestion& q, int64_t value_a, int64_t value_b, RowAnswer& answer) {
  for (unsigned seed = 1; seed <= q.search_seeds; ++seed) {
    for (Family family : {Family::wide, Family::normal}) {
      LaunchOverrides o = q.overrides;
      o.fill = family;
      if (q.overrides.vars.contains("seed") == false) o.vars["seed"] = seed;
      auto a = prepare(q, value_a, o);
      if (!a) return tl::unexpected<Error>(a.error());
      auto b = prepare(q, value_b, o);
      if (!b) return tl::unexpected<Error>(b.error());
      auto bits_a = sim::row_bits(*a->program, a->launch, a->buffer, q.row, a->ctas);
      if (!bits_a) return tl::unexpected<Error>(bits_a.error());
      auto bits_b = sim::row_bits(*b->program, b->launch, b->buffer, q.row, b->ctas);
      if (!bits_b) return tl::unexpected<Error>(bits_b.error());
      if (*bits_a == *bits_b) continue;
      const Buffer& buffer = a->launch.buffers[a->buffer];
      const size_t width = element_bytes(buffer.type);
      answer.differing_columns = 0;
      for (uint64_t c = 0; c < buffer.columns(); ++c) {
        const uint64_t x = element_bits(*bits_a, c, width), y = element_bits(*bits_b, c, width);
        if (x == y) continue;
        if (answer.differing_columns++ != 0) continue;
        answer.column = c;
        answer.bits_a = x;
        answer.bits_b = y;
      }
      answer.family = family_name(family);
      answer.seed = o.vars.contains("seed") ? static_cast<uint64_t>(o.vars["seed"]) : 0;
      answer.type = buffer.type;
      answer.value_a = value_a;
      answer.value_b = value_b;
      return true;
    }
  }
  return false;
}

std::string columns_text(const std::vector<uint64_t>& columns) {
  return columns.size() == 1 ? fmt::format("column {}", columns.front())
                             : fmt::format("{} columns, first {}", columns.size(), columns.front());
}

}  // namespace

Result<RowAnswer> ask_row(const RowQuestion& q) {
  if (q.values.size() < 2)
    return fail(fmt::format("a question about batches needs at least two values of {}", q.variable));
  RowAnswer answer;
  std::vector<Prepared> prepared;
  std::vector<sim::RowExpressions> rows;
  for (int64_t value : q.values) {
    const auto start = std::chrono::steady_clock::now();
    auto p = prepare(q, value, q.overrides);
    if (!p) return tl::unexpected<Error>(p.error());
    auto row = sim::row_expressions(*p->program, p->launch, p->buffer, q.row, p->ctas);
    if (!row) return tl::unexpected<Error>(row.error());
    RowBatch batch;
    batch.value = value;
    batch.ctas = p->launch.cta_count();
    batch.ctas_run = p->ctas.size();
    batch.columns = row->columns.size();
    answer.output = p->launch.buffers[p->buffer].name;
    if (!row->problems.empty()) {
      answer.reason =
          fmt::format("at {} = {} the kernel does not reach its end: {}; turnstile check says why",
                      q.variable, value, row->problems.front());
    } else if (!row->unwritten.empty()) {
      answer.reason = fmt::format("at {} = {} row {} of {} is not written in {}", q.variable, value, q.row,
                                  answer.output, columns_text(row->unwritten));
    } else if (!row->foreign.empty()) {
      answer.kind = RowAnswer::Kind::refuted;
      answer.reason = fmt::format("at {} = {} row {} of {} depends on other rows of the batch in {}",
                                  q.variable, value, q.row, answer.output, columns_text(row->foreign));
    }
    prepared.push_back(std::move(*p));
    rows.push_back(std::move(*row));
    const sim::RowExpressions& first = rows.front();
    const sim::RowExpressions& mine = rows.back();
    batch.same = mine.columns.size() == first.columns.size();
    for (uint64_t c = 0; batch.same && c < mine.columns.size(); ++c)
      if (!(mine.columns[c] == first.columns[c])) {
        batch.same = false;
        batch.first_difference = c;
      }
    batch.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    answer.batches.push_back(batch);
    if (!answer.reason.empty()) return answer;
  }
  const auto different =
      std::find_if(answer.batches.begin(), answer.batches.end(), [](const RowBatch& b) { return !b.same; });
  if (different == answer.batches.end()) {
    answer.kind = RowAnswer::Kind::proved;
    return answer;
  }
  const auto other = static_cast<size_t>(different - answer.batches.begin());
  if (rows[other].columns.size() != rows.front().columns.size()) {
    answer.reason = "the row has another number of columns";
    return answer;
  }
  auto words = explain(q, prepared.front(), q.values.front(), prepared[other], different->value,
                       different->first_difference);
  if (!words) return tl::unexpected<Error>(words.error());
  answer.explanation = std::move(*words);
  auto shown = search_inputs(q, q.values.front(), different->value, answer);
  if (!shown) return tl::unexpected<Error>(shown.error());
  if (*shown)
    answer.kind = RowAnswer::Kind::refuted;
  else
    answer.reason = fmt::format("the expressions differ, but {} inputs of each family gave the same bits",
                                q.search_seeds);
  return answer;
}

}  // namespace turnstile::golden
