// SPDX-License-Identifier: Apache-2.0

#include "tests/checker/rule_cases.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

namespace turnstile::test {

namespace {

using Snippets = std::map<std::string, std::string>;

/// `$name` and `$name(a, b)` become their snippets, in which `$1` and `$2` are the arguments.
std::string expanded(const std::string& text, const Snippets& snippets, int depth = 0) {
  REQUIRE_MESSAGE(depth < 16, "a snippet that names itself: ", text);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (text[i] == '$' && end < text.size() && (std::isalnum(text[end]) != 0 || text[end] == '_')) ++end;
    if (text[i] != '$' || end == i + 1) {
      out += text[i++];
      continue;
    }
    const std::string name = text.substr(i + 1, end - i - 1);
    const auto found = snippets.find(name);
    REQUIRE_MESSAGE(found != snippets.end(), "no snippet of this name: ", name);
    std::string body = found->second;
    if (end < text.size() && text[end] == '(') {
      const size_t close = text.find(')', end);
      REQUIRE(close != std::string::npos);
      std::stringstream list(text.substr(end + 1, close - end - 1));
      std::string argument;
      for (int n = 1; std::getline(list, argument, ','); ++n) {
        argument.erase(0, argument.find_first_not_of(' '));
        const std::string parameter = "$" + std::to_string(n);
        for (size_t at = 0; (at = body.find(parameter, at)) != std::string::npos; at += argument.size())
          body.replace(at, parameter.size(), argument);
      }
      end = close + 1;
    }
    out += expanded(body, snippets, depth + 1);
    i = end;
  }
  return out;
}

struct World {
  Setup setup;
  std::string end;      ///< after the body of the case
  uint32_t cancel = 0;  ///< clusters that are handed over to the first one, which alone is run; 0: all run
};

void set(World& world, const std::string& key, const std::string& value) {
  Setup& s = world.setup;
  if (key == "ctas")
    s.ctas = static_cast<uint32_t>(std::stoul(value));
  else if (key == "threads")
    s.threads = static_cast<uint32_t>(std::stoul(value));
  else if (key == "launch")
    s.launch_lines += value + "\n";
  else if (key == "toml")
    s.launch_text += value + "\n";
  else if (key == "parameters")
    s.parameters += value;
  else if (key == "module")
    s.module_text += value + "\n";
  else if (key == "variables")
    s.variables += value + "\n";
  else if (key == "body")
    s.body += value + "\n";
  else if (key == "cancel")
    world.cancel = static_cast<uint32_t>(std::stoul(value));
  else if (key == "end")
    world.end += value + "\n";
  else
    FAIL("a world has no ", key);
}

struct Reader {
  Snippets snippets;
  std::map<std::string, World> worlds;
  std::vector<RuleCase> cases;

  void read(const std::filesystem::path& path);
};

void Reader::read(const std::filesystem::path& path) {
  std::ifstream in(path);
  REQUIRE_MESSAGE(in.good(), path.string());
  enum class Part { none, snippet, world, head, body } part = Part::none;
  std::string name, line;
  for (int number = 1; std::getline(in, line); ++number) {
    INFO(path.string(), ":", number, ": ", line);
    if (line.empty() || line[0] == '#') continue;
    const std::string text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    if (line[0] == '[') {
      RuleCase c;
      c.file = path.filename().string();
      c.line = number;
      c.tags = rule_tags(line);
      REQUIRE(!c.tags.empty());
      c.title = line.substr(line.rfind(']') + 2);
      cases.push_back(c);
      part = Part::head;
    } else if (part == Part::head) {
      const size_t arrow = text.find(" => ");
      REQUIRE(arrow != std::string::npos);
      const auto world = worlds.find(text.substr(0, arrow));
      REQUIRE(world != worlds.end());
      cases.back().setup = world->second.setup;
      cases.back().end = world->second.end;
      cases.back().cancel = world->second.cancel;
      cases.back().expected = text.substr(arrow + 4);
      part = Part::body;
    } else if (line.rfind("let ", 0) == 0) {
      const size_t equals = line.find(" = ");
      REQUIRE(equals != std::string::npos);
      name = line.substr(4, equals - 4);
      snippets[name] = line.substr(equals + 3);
      part = Part::snippet;
    } else if (line.rfind("world ", 0) == 0) {
      std::stringstream words(line.substr(6));
      std::string base;
      words >> name >> base;
      name.pop_back();  // the colon
      if (!base.empty()) REQUIRE(worlds.count(base) == 1);
      worlds[name] = base.empty() ? World{} : worlds[base];
      part = Part::world;
    } else if (part == Part::snippet) {
      snippets[name] += "\n" + text;
    } else if (part == Part::world) {
      const size_t colon = text.find(": ");
      REQUIRE(colon != std::string::npos);
      set(worlds[name], text.substr(0, colon), expanded(text.substr(colon + 2), snippets));
    } else {
      REQUIRE(part == Part::body);
      cases.back().setup.body += expanded(text, snippets) + "\n";
    }
  }
}

uint32_t line_of_mark(const std::string& kernel) {
  const size_t mark = kernel.find("//!");
  if (mark == std::string::npos) return 0;
  return 1 +
         static_cast<uint32_t>(std::count(kernel.begin(), kernel.begin() + static_cast<long>(mark), '\n'));
}

std::string said(const Report& r) {
  std::string out(verdict_name(r.verdict));
  for (const Diagnostic& d : r.diagnostics)
    out += std::string("\n  ") + (d.severity == Severity::error ? "error " : "lint ") +
           std::string(finding_class_name(d.finding_class)) + " " + d.rule + " line " +
           std::to_string(d.where.ptx_line) + " `" + d.where.instruction + "`: " + d.message;
  for (const Note& n : r.inconclusive) out += "\n  ? " + n.text;
  return out;
}

/// "error CLASS RULE": one of the diagnostics is of that class and rule, at the marked line if there is one.
bool has(const Report& r, const RuleCase& c) {
  std::stringstream words(c.expected);
  std::string severity, finding_class, rule;
  words >> severity >> finding_class >> rule;
  const Severity wanted = severity == "error" ? Severity::error : Severity::lint;
  return std::any_of(r.diagnostics.begin(), r.diagnostics.end(), [&](const Diagnostic& d) {
    return d.severity == wanted && d.rule == rule && finding_class_name(d.finding_class) == finding_class &&
           (c.marked_line == 0 || d.where.ptx_line == c.marked_line ||
            std::any_of(d.sides.begin(), d.sides.end(),
                        [&](const Note& n) { return n.position.ptx_line == c.marked_line; }));
  });
}

std::string about(const Report& r, const RuleCase& c) {
  bool right = false;
  if (c.expected == "clean")
    right = r.verdict == Verdict::clean;
  else if (c.expected.rfind("inconclusive", 0) == 0)
    right = r.verdict == Verdict::inconclusive && contains(said(r), c.expected.substr(12).erase(0, 1));
  else if (c.expected.rfind("lint ", 0) == 0)
    right = r.verdict == Verdict::clean && has(r, c);
  else if (c.expected.rfind("error ", 0) == 0)
    right = r.verdict == Verdict::finding && has(r, c);
  return right ? std::string() : said(r);
}

}  // namespace

std::vector<RuleTag> rule_tags(const std::string& text) {
  static const std::regex tag("\\[((?:[A-Z]+[0-9]+ )+)(violates|obeys|shows)\\]");
  std::vector<RuleTag> out;
  for (std::sregex_iterator at(text.begin(), text.end(), tag), end; at != end; ++at) {
    const std::string kind = (*at)[2];
    std::stringstream ids((*at)[1]);
    for (std::string id; ids >> id;)
      out.push_back({id, kind == "violates" ? RuleTag::Kind::violates
                         : kind == "obeys"  ? RuleTag::Kind::obeys
                                            : RuleTag::Kind::shows});
  }
  return out;
}

std::vector<RuleCase> read_rule_cases() {
  const std::filesystem::path folder = TURNSTILE_SOURCE_DIR "/tests/rules";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".cases" && entry.path().filename() != "common.cases")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<RuleCase> out;
  for (const std::filesystem::path& file : files) {
    Reader reader;
    reader.read(folder / "common.cases");
    reader.read(file);
    for (RuleCase& c : reader.cases) {
      c.setup.domain = sim::Domain::control;
      c.setup.body += c.end + "ret;";
      c.marked_line = line_of_mark(kernel_text(c.setup));
      out.push_back(std::move(c));
    }
  }
  return out;
}

std::string disagreement(const RuleCase& c) {
  const auto refused = [&](const std::string& why) {
    const bool right = c.expected.rfind("refused ", 0) == 0 && contains(why, c.expected.substr(8));
    return right ? std::string() : "refused: " + why;
  };
  const auto launch = parse_launch(launch_toml(c.setup), "k.toml", {});
  if (!launch) return refused(launch.error().text());
  auto module = ptx::parse(kernel_text(c.setup), "k.ptx");
  if (!module) return refused(module.error().text());
  const auto program = sim::build_program(std::move(*module), *launch);
  if (!program) return refused(program.error().text());
  sim::RunOptions options;
  options.domain = sim::Domain::control;
  options.step_limit = c.setup.step_limit;
  if (c.cancel != 0) {
    options.clusters_to_cancel = c.cancel;
    options.every_cancel_count = true;
    options.ctas = {0};
  }
  const auto result = sim::run_launch(**program, *launch, options);
  if (!result) return refused(result.error().text());
  Report total;
  std::vector<GlobalAccessSummary> summaries;
  for (const Trace& t : result->traces) {
    merge_into(total, check(t));
    summaries.push_back(summarize_global(t));
  }
  if (summaries.size() > 1) merge_into(total, check_between(summaries));
  conclude(total);
  return about(total, c);
}

}  // namespace turnstile::test
