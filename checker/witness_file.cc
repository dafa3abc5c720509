// SPDX-License-Identifier: Apache-2.0
//
// A witness as text: a line for each fact, then the steps. "s3*12" is twelve steps of strand 3, "o5" one of
// operation 5.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "checker/explore_store.h"
#include "checker/witness.h"
#include "model/files.h"

namespace turnstile {

namespace {

constexpr std::string_view first_line = "turnstile witness 1";
constexpr uint64_t max_steps = 16'000'000;
constexpr std::pair<std::string_view, Witness::Shows> kinds[] = {
    {"hang", Witness::Shows::hang},     {"race", Witness::Shows::race},
    {"stale", Witness::Shows::stale},   {"refused", Witness::Shows::refused},
    {"judged", Witness::Shows::judged},
};

using Step = OrchestrationMachine::Step;

std::string step_text(Step s) { return (s.kind == Step::Kind::strand ? "s" : "o") + std::to_string(s.index); }

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text;
}

std::string hex(uint64_t x) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(x));
  return digits;
}

template <typename Number>
bool number(std::string_view text, Number& out, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parse_step(std::string_view text, Step& step) {
  if (text.size() < 2 || (text[0] != 's' && text[0] != 'o')) return false;
  step.kind = text[0] == 's' ? Step::Kind::strand : Step::Kind::operation;
  return number(text.substr(1), step.index);
}

/// Cuts the first word off.
std::string_view word(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t end = std::min(line.find(' ', begin), line.size());
  const std::string_view w = line.substr(begin, end - begin);
  line.remove_prefix(std::min(end + 1, line.size()));
  return w;
}

bool parse_steps(std::string_view line, checker::Schedule& schedule) {
  while (true) {
    const std::string_view w = word(line);
    if (w.empty()) return true;
    const size_t star = w.find('*');
    uint64_t times = 1;
    Step step;
    if (star != std::string_view::npos && !number(w.substr(star + 1), times)) return false;
    if (!parse_step(w.substr(0, star), step) || times == 0 || times > max_steps - schedule.size())
      return false;
    schedule.insert(schedule.end(), times, step);
  }
}

}  // namespace

std::string witness_text(const Witness& w) {
  std::string out = std::string(first_line) + "\nprogram " + hex(w.program) + "\n";
  for (const auto& [key, value] : w.input) out += "input " + one_line(key) + " " + one_line(value) + "\n";
  for (const auto& [name, kind] : kinds)
    if (kind == w.shows) out += "shows " + std::string(name) + "\n";
  out += "rule " + one_line(w.rule) + "\nmessage " + one_line(w.message) + "\n";
  if (w.shows == Witness::Shows::race) out += "both " + step_text(w.first) + " " + step_text(w.second) + "\n";
  if (w.shortest) out += "shortest\n";
  size_t column = 0;
  for (size_t i = 0; i < w.schedule.size();) {
    size_t n = 1;
    while (i + n < w.schedule.size() && w.schedule[i + n] == w.schedule[i]) ++n;
    if (column == 0) out += "steps";
    std::string text = " " + step_text(w.schedule[i]);
    if (n > 1) text += "*" + std::to_string(n);
    out += text;
    column += text.size();
    i += n;
    if (column > 90 || i == w.schedule.size()) {
      out += "\n";
      column = 0;
    }
  }
  return out;
}

Result<Witness> parse_witness(std::string_view text, std::string file) {
  if (text.size() > max_witness_bytes) return fail(file, 0, 0, "a witness file is not that long");
  Witness w;
  bool shows = false, program = false, both = false;
  unsigned line_number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (++line_number == 1) {
      if (line == first_line) continue;
      return fail(file, 1, 1,
                  "not a witness file of this version: it starts with '" + std::string(first_line) + "'");
    }
    const auto bad = [&](const std::string& expected) {
      return fail(file, line_number, 1, "expected " + expected);
    };
    const std::string_view key = word(line);
    if (key.empty()) continue;
    if (key == "program") {
      if (!number(line, w.program, 16)) return bad("16 hexadecimal digits");
      program = true;
    } else if (key == "input") {
      const std::string_view name = word(line);
      if (name.empty() || w.input.size() == 1000) return bad("a name and a value, no more than 1000 of them");
      w.input.emplace_back(name, line);
    } else if (key == "shows") {
      for (const auto& [name, kind] : kinds)
        if (line == name) {
          w.shows = kind;
          shows = true;
        }
      if (!shows) return bad("hang, race, stale, refused or judged");
    } else if (key == "rule") {
      w.rule = line;
    } else if (key == "message") {
      w.message = line;
    } else if (key == "shortest") {
      w.shortest = true;
    } else if (key == "both") {
      both = parse_step(word(line), w.first) && parse_step(word(line), w.second);
      if (!both) return bad("two steps, such as 's3 o5'");
    } else if (key == "steps") {
      if (!parse_steps(line, w.schedule)) return bad("steps, such as 's3*12 o5'");
    } else {
      return bad("program, input, shows, rule, message, shortest, both or steps");
    }
  }
  if (!shows || !program || (w.shows == Witness::Shows::race && !both))
    return fail(file, line_number, 1, "the file ends before it says what the witness shows");
  return w;
}

Result<std::string> write_witness(const Witness& witness, const std::string& folder) {
  namespace fs = std::filesystem;
  const std::string text = witness_text(witness);
  const checker::Fingerprint print =
      checker::fingerprint({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(folder, 0, 0, "cannot make this folder: " + error.message());
  const std::string path = (fs::path(folder) / (hex(print.low) + ".witness")).string();
  if (const Result<void> written = write_file_atomically(path, text); !written)
    return tl::unexpected(written.error());
  return path;
}

}  // namespace turnstile
