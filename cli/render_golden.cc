// SPDX-License-Identifier: Apache-2.0
#include "cli/render_golden.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/render_why.h"

namespace turnstile::cli {

namespace {

/// Sum over the outputs of one pair of sides; nullopt if they were not compared.
struct Column {
  uint64_t elements = 0;
  uint64_t equal = 0;
  bool known = false;
};

Column column(const GoldenRow& row, std::string_view left, std::string_view right) {
  Column sum;
  for (const Match& m : row.matches) {
    if (m.left != left || m.right != right) continue;
    sum.known = true;
    sum.elements += m.comparison.elements;
    sum.equal += m.comparison.equal_elements();
  }
  return sum;
}

/// A count, painted when something differs; padded by hand because colours have no width.
std::string cell(const Column& c, const Style& style) {
  const std::string text = c.known ? std::to_string(c.equal) : "-";
  const std::string pad(text.size() < 13 ? 13 - text.size() : 1, ' ');
  return pad + (c.known && c.equal != c.elements ? style.error(text) : text);
}

uint64_t elements_of(const GoldenRow& row) {
  const Column sim = column(row, "GPU", "sim");
  return sim.known ? sim.elements : column(row, "sim", "record").elements;
}

std::string difference_text(const Match& m) {
  const golden::Comparison& c = m.comparison;
  if (c.first)
    return fmt::format("{}[{},{}]  {} {} ({})  {} {} ({});  {} of {} elements differ, in {}", m.buffer,
                       c.first->row, c.first->column, m.left, golden::bits_text(m.type, c.first->left),
                       golden::value_text(m.type, c.first->left), m.right,
                       golden::bits_text(m.type, c.first->right), golden::value_text(m.type, c.first->right),
                       grouped(c.differing), grouped(c.elements), counted(c.differing_rows, "row"));
  if (c.first_differing_row)
    return fmt::format(
        "{} row {} is the first of {} rows that differ between {} and {}; the record holds digests only",
        m.buffer, *c.first_differing_row, grouped(c.differing_rows), m.left, m.right);
  return fmt::format("{} differs between {} and {}", m.buffer, m.left, m.right);
}

std::string case_text(const GoldenRow& row) {
  return row.case_name.empty() ? "(no cases)" : printable(row.case_name);
}

}  // namespace

std::string render_golden_head(const std::string& verb) {
  if (verb == "verify") return fmt::format("  {:<32}{:>13}{:>13}\n", "case", "elements", "sim = record");
  if (verb == "crossval")
    return fmt::format("  {:<32}{:>13}{:>13}{:>13}\n", "case", "elements", "GPU = sim", "GPU = record");
  return fmt::format("  {:<32}  {:<12}{}\n", "case", "record", "file");
}

std::string render_golden_row(const std::string& verb, const GoldenRow& row, const Style& style) {
  std::string out;
  if (row.status == GoldenRow::Status::failed && row.matches.empty()) {
    out = fmt::format("  {:<32}  {}\n", case_text(row), style.error("failed"));
  } else if (verb == "record") {
    const std::string word = status_name(row.status);
    const std::string pad(word.size() < 12 ? 12 - word.size() : 1, ' ');
    const bool good = row.status != GoldenRow::Status::different;
    out = fmt::format("  {:<32}  {}{}{}\n", case_text(row), good ? word : style.error(word), pad,
                      row.record_file);
  } else {
    out = fmt::format("  {:<32}{:>13}", case_text(row), elements_of(row));
    if (verb == "crossval") out += cell(column(row, "GPU", "sim"), style);
    out += cell(column(row, verb == "crossval" ? "GPU" : "sim", "record"), style) + "\n";
  }
  for (const Match& match : row.matches)
    if (!match.comparison.equal())
      out += style.error("error[bits]") + wrapped("error[bits]: ", "  ", difference_text(match)).substr(11);
  for (const Match& match : row.matches)
    if (match.comparison.pattern && match.comparison.differing > 1)
      out += wrapped("  where ", "        ",
                     fmt::format("{} and {} differ: {}", match.left, match.right,
                                 pattern_text(*match.comparison.pattern)));
  if (row.explanation)
    out += render_why(*row.explanation, row.explained_side == "record" ? "the record" : "the GPU", "sim",
                      shown_why_steps);
  for (const std::string& remark : row.remarks) out += wrapped("    = ", "      ", remark);
  if (!row.error.empty()) out += wrapped("    = ", "      ", row.error);
  return out;
}

std::string render_golden_summary(const std::string& verb, const std::vector<GoldenRow>& rows,
                                  const Style& style) {
  uint64_t good = 0;
  uint64_t unrecorded = 0;
  uint64_t differing = 0;
  for (const GoldenRow& row : rows) {
    using Status = GoldenRow::Status;
    good += row.status == Status::equal || row.status == Status::written || row.status == Status::unchanged
                ? 1
                : 0;
    unrecorded += row.status == Status::no_record ? 1 : 0;
    for (const Match& match : row.matches) differing += match.comparison.differing;
  }
  const bool all = good == rows.size();
  std::string words;
  if (verb == "record")
    words = fmt::format("{} of {} recorded", grouped(good), counted(rows.size(), "case"));
  else
    words = fmt::format("{} of {} equal, {} differing elements", grouped(good), counted(rows.size(), "case"),
                        grouped(differing));
  if (unrecorded > 0)
    words += fmt::format("; GPU = simulator in {} without a record", counted(unrecorded, "case"));
  return (all ? style.good(words) : style.error(words)) + "\n";
}

}  // namespace turnstile::cli
