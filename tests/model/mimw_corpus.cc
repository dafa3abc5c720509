// SPDX-License-Identifier: Apache-2.0
// Every program of the catalogue is read, laid out and unrolled; what comes out is well-formed.
#include <set>
#include <sstream>

#include "model/mimw/library.h"
#include "tests/model/mimw_support.h"

namespace turnstile {
namespace {

void check_event(const Orchestration& o, const Event& e) {
  const Trace& t = o.tables;
  CHECK(e.place < t.places.size());
  CHECK(e.agent.v < t.agents.size());
  switch (e.kind) {
    case EventKind::mbarrier_init:
    case EventKind::mbarrier_inval:
    case EventKind::mbarrier_arrive:
    case EventKind::mbarrier_expect_tx:
    case EventKind::mbarrier_wait:
      CHECK(e.object < t.barriers.size());
      break;
    case EventKind::access:
    case EventKind::fence_tensormap:
      CHECK(e.footprint < t.footprints.size());
      break;
    case EventKind::async_access:
      CHECK(e.footprint < t.footprints.size());
      CHECK(e.object < t.ops.size());
      break;
    case EventKind::async_issue:
    case EventKind::async_complete:
      CHECK(e.object < t.ops.size());
      break;
    case EventKind::group_commit:
    case EventKind::group_wait:
      CHECK(e.object < t.queues.size());
      break;
    case EventKind::signal_add:
    case EventKind::signal_set:
    case EventKind::signal_wait:
      CHECK(e.object < t.signals.size());
      break;
    case EventKind::pool_acquire:
    case EventKind::pool_release:
      CHECK(e.object < t.pools.size());
      break;
    default:
      break;
  }
}

void check_well_formed(const Orchestration& o) {
  const Trace& t = o.tables;
  CHECK(t.agents.size() == o.strands.size());
  CHECK(t.ops.size() == o.operations.size());
  CHECK(t.events.empty());
  std::multiset<uint32_t> issued;
  std::set<std::pair<uint16_t, uint16_t>> warps;
  for (size_t s = 0; s < o.strands.size(); ++s) {
    CHECK(warps.emplace(t.agents[s].cta, t.agents[s].warp).second);
    CHECK(t.agents[s].cta < t.cluster_ctas);
    CHECK_FALSE(t.agents[s].role.empty());
    const std::vector<Event>& events = o.strands[s].events;
    REQUIRE_FALSE(events.empty());
    CHECK(events.back().kind == EventKind::exit);
    for (const Event& e : events) {
      check_event(o, e);
      CHECK(e.agent.v == s);
      CHECK((e.kind == EventKind::exit) == (&e == &events.back()));
      if (e.kind == EventKind::async_issue) issued.insert(e.object);
    }
  }
  for (uint32_t op = 0; op < o.operations.size(); ++op) {
    CHECK(issued.count(op) == 1);
    REQUIRE_FALSE(o.operations[op].empty());
    CHECK(o.operations[op].back().kind == EventKind::async_complete);
    for (const Event& e : o.operations[op]) {
      check_event(o, e);
      CHECK(e.object == op);
      CHECK(e.agent == t.ops[op].issuer);
      CHECK((e.kind == EventKind::async_complete) == (&e == &o.operations[op].back()));
    }
  }
  for (const Footprint& f : t.footprints) {
    REQUIRE(f.first_range + f.range_count <= t.ranges.size());
    CHECK(t.ranges[f.first_range].begin < t.ranges[f.first_range].end);
  }
  for (const Place& p : t.places) {
    CHECK(p.line > 0);
    CHECK(p.column > 0);
    CHECK_FALSE(p.instruction.empty());
  }
}

}  // namespace

// The counts are those that the catalogue states of itself (orchestration_bugs.md section 6).
TEST_CASE("all 101 programs of the catalogue unroll in all of their 206 variants") {
  size_t programs = 0, all_variants = 0;
  for (const std::string& path : catalogue_files()) {
    CAPTURE(path);
    const std::string text = text_of(path);
    const Result<MimwProgram> program = parse_mimw(text, path);
    if (!program) FAIL_CHECK(program.error().text());
    if (!program) continue;
    ++programs;
    CHECK(program->name == std::filesystem::path(path).stem().string());
    CHECK_FALSE(expectations(*program).empty());
    for (const std::string& variant : variants(*program)) {
      CAPTURE(variant);
      ++all_variants;
      const Result<Orchestration> made = unroll(*program, variant);
      if (!made) FAIL_CHECK(made.error().text());
      if (made) check_well_formed(*made);
    }
  }
  CHECK(programs == 101);
  CHECK(all_variants == 206);
}

/// A line of tests/corpus/catalogue.txt: the id of a case, and the verdict lines of its program.
struct Case {
  std::string id;
  std::vector<MimwExpectation> expected;  ///< empty: the catalogue has no program
};

std::vector<Case> catalogue() {
  std::vector<Case> cases;
  std::istringstream text(text_of(corpus_folder() + "/catalogue.txt"));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with('#')) continue;
    Case& c = cases.emplace_back();
    c.id = line.substr(0, line.find(' '));
    std::string program = "agent A\n  nop\n";
    size_t at = line.find("=> ");
    if (at == std::string::npos) continue;
    for (size_t next = at; next != std::string::npos; at = next) {
      next = line.find(" => ", at + 1);
      if (next != std::string::npos) ++next;
      program += line.substr(at, next == std::string::npos ? next : next - at) + "\n";
    }
    c.expected = expectations(program_of(program));
  }
  return cases;
}

std::string text_of(const std::vector<MimwExpectation>& expected) {
  std::string text;
  for (const MimwExpectation& e : expected) {
    text += e.variant + (e.derived ? " (derived):" : ":");
    for (const MimwExpectation::Finding& f : e.findings) {
      text += " " + f.verdict_class;
      for (const std::string& s : f.subjects) text += "," + s;
    }
    text += "; ";
  }
  return text;
}

// The counts are those of orchestration_bugs.md: headings "#### A1. ..", rows of the table of traps, blocks.
TEST_CASE("every case of the catalogue is in the corpus with its verdicts, or the README says why not") {
  const std::vector<Case> cases = catalogue();
  const std::string readme = text_of(corpus_folder() + "/README.md");
  std::set<std::string> with_program;
  size_t without = 0, traps = 0;
  for (const Case& c : cases) {
    CAPTURE(c.id);
    traps += c.id[0] == 'T';
    const std::string path = corpus_folder() + "/" + c.id + ".mimw";
    if (c.expected.empty()) {
      ++without;
      CHECK_FALSE(std::filesystem::exists(path));
      const bool explained = readme.find("| " + c.id + " |") != std::string::npos ||
                             readme.find("| " + c.id + ", ") != std::string::npos ||
                             readme.find(", " + c.id + " |") != std::string::npos;
      CHECK(explained);
      continue;
    }
    CHECK(with_program.insert(c.id).second);
    REQUIRE(std::filesystem::exists(path));
    const std::vector<MimwExpectation> own = expectations(program_of(text_of(path)));
    CHECK(text_of(own) == text_of(c.expected));
    if (c.id[0] != 'T') continue;
    const bool has_safe =
        std::any_of(own.begin(), own.end(), [](const MimwExpectation& e) { return e.findings.empty(); });
    CHECK(has_safe);  // a trap is a correct pattern
  }
  CHECK(cases.size() == 113);
  CHECK(with_program.size() == 101);
  CHECK(without == 12);
  CHECK(traps == 21);
  for (const std::string& path : catalogue_files())
    CHECK(with_program.count(std::filesystem::path(path).stem().string()) == 1);
}

TEST_CASE("the catalogue is in canonical layout") {
  for (const std::string& path : catalogue_files()) {
    CAPTURE(path);
    const std::string text = text_of(path);
    const Result<std::string> formatted = format_mimw(text, path);
    REQUIRE(formatted.has_value());
    CHECK(*formatted == text);
  }
}

TEST_CASE("every program of the catalogue says where its case was published") {
  for (const std::string& path : catalogue_files()) {
    CAPTURE(path);
    const std::string text = text_of(path);
    CHECK(text.starts_with("-- " + std::filesystem::path(path).stem().string() + ": "));
    CHECK(text.find("\n-- Source: ") != std::string::npos);
  }
}

TEST_CASE("whatever else lies in the corpus can be read, laid out and unrolled") {
  for (const std::string& path : corpus_files()) {
    CAPTURE(path);
    const Result<MimwProgram> program = parse_mimw(text_of(path), path);
    if (!program) FAIL_CHECK(program.error().text());
    if (!program) continue;
    CHECK(format_mimw(text_of(path), path).has_value());
    for (const std::string& variant : variants(*program)) {
      CAPTURE(variant);
      const Result<Orchestration> made = unroll(*program, variant);
      if (!made) FAIL_CHECK(made.error().text());
      if (made) check_well_formed(*made);
    }
  }
}

TEST_CASE("the ring of the library is the ring of the corpus") {
  const std::string corpus = text_of(corpus_folder() + "/ring.mimw");
  REQUIRE(mimw::library().size() == 1);
  CHECK(corpus.substr(corpus.find("\n\n") + 2) == mimw::library()[0].text);
}

TEST_CASE("expectations are read as they are written") {
  const std::vector<MimwExpectation> h6 = expectations(
      program_of("agent A\n  nop\n=> bug: race(@0.x;@1.x), mbar-underflow(full[1])\n=> a|b: safe\n"
                 "=> c: lint [derived]\n"));
  REQUIRE(h6.size() == 4);
  CHECK(h6[0].variant == "bug");
  CHECK(h6[0].line == 3);
  REQUIRE(h6[0].findings.size() == 2);
  CHECK(h6[0].findings[0].verdict_class == "race");
  CHECK(h6[0].findings[0].subjects == std::vector<std::string>{"@0.x", "@1.x"});
  CHECK(h6[0].findings[1].subjects == std::vector<std::string>{"full[1]"});
  CHECK(h6[1].variant == "a");
  CHECK(h6[1].findings.empty());
  CHECK(h6[2].variant == "b");
  CHECK(h6[3].findings[0].subjects.empty());
  CHECK(h6[3].derived);
  CHECK_FALSE(h6[0].derived);
}

TEST_CASE("variants: verdict lines first, then marks; one named ok where there are none") {
  CHECK(variants(program_of("agent A\n  [x|b] nop\n  for i < 2\n    [y] nop\n=> b|none: safe\n")) ==
        std::vector<std::string>{"b", "none", "x", "y"});
  CHECK(variants(program_of("agent A\n  nop\n")) == std::vector<std::string>{"ok"});
  const std::string text = "agent A\n  [bug] nop\n  [fix] fence\n";
  CHECK(kinds(unrolled(text, "fix").strands[0].events) == std::vector{EventKind::fence, EventKind::exit});
  CHECK(kinds(unrolled(text, "bug").strands[0].events) == std::vector{EventKind::exit});
  const Result<Orchestration> none = unroll(program_of(text), "fxi");
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().text() == "t.mimw: there is no variant 'fxi'; did you mean 'fix'?");
}

}  // namespace turnstile
