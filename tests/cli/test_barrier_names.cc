// SPDX-License-Identifier: Apache-2.0

// Barriers without a symbol are called what their author calls them.

#include <doctest/doctest.h>

#include "cli/barrier_names.h"
#include "tests/cli/program.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

/// One CTA that initialises barriers at these addresses, each at a line of kernel.py.
Trace initialising(const std::vector<std::pair<uint64_t, uint32_t>>& barriers, const std::string& file) {
  Trace t;
  t.agents.resize(1);
  for (const auto& [address, line] : barriers) {
    Place place;
    place.file = file;
    place.line = line;
    t.places.push_back(place);
    BarrierInfo info;
    info.address = address;
    info.name = "shared+0x";
    t.barriers.push_back(info);
    Event e;
    e.kind = EventKind::mbarrier_init;
    e.object = static_cast<uint32_t>(t.barriers.size() - 1);
    e.place = static_cast<uint32_t>(t.places.size() - 1);
    e.count = 1;
    t.events.push_back(e);
  }
  return t;
}

}  // namespace

TEST_CASE("the line that makes a barrier names it") {
  CHECK(name_in_source("full = tlx.alloc_barriers(num_barriers=S)") == "full");
  CHECK(name_in_source("full: tl.constexpr = alloc(S)") == "full");
  CHECK(name_in_source("auto full = make(1);") == "full");
  CHECK(name_in_source("smem.full = make(1);") == "smem.full");
  CHECK(name_in_source("mbarrier.init(full.index(i), count=1)") == "full");
  CHECK(name_in_source("mbarrier_init(&full[stage], 1);") == "full");
  CHECK(name_in_source("init(smem.empty[i], 2)") == "smem.empty");
}

TEST_CASE("a comment names nothing") {
  CHECK(name_in_source("def kernel(  # noqa: TR001") == "");
  CHECK(name_in_source("init(full[i], 1)  # empty = 2") == "full");
  CHECK(name_in_source("# full = alloc(2)") == "");
  CHECK(name_in_source("auto full = make(1);  // of two") == "full");
  CHECK(name_in_source("full = alloc(n // 2)") == "full");
}

TEST_CASE("barriers that a line of a function's head makes are the compiler's") {
  const test::Folder folder("compiler_names");
  const std::string file = folder.write("kernel.py", "def kernel(  # noqa: TR001\n    a,\n");
  Trace t = initialising({{0x40, 1}, {0x48, 1}}, file);
  SourceText source({});
  name_barriers(t, source);
  CHECK(t.barriers[1].name == "compiler's mbarrier[1]");
}

TEST_CASE("a fault that was told by address is told by name") {
  const test::Folder folder("fault_names");
  const std::string file = folder.write("kernel.py", "full = alloc(2)\n");
  Trace t = initialising({{0x40, 1}, {0x48, 1}}, file);
  t.faults.push_back({{},
                      0,
                      "MB15",
                      "an arrival on shared+0x48, not on shared+0x480 or shared+0x5",
                      "init shared+0x40",
                      "shared+0x48"});
  t.unknowns.push_back({0, "who waits for shared+0x40", ""});
  SourceText source({});
  name_barriers(t, source);
  CHECK(t.faults[0].message == "an arrival on full[1], not on shared+0x480 or shared+0x5");
  CHECK(t.faults[0].help == "init full[0]");
  CHECK(t.faults[0].subject == "full[1]");
  CHECK(t.unknowns[0].message == "who waits for full[0]");
}

TEST_CASE("a line that does not say what it makes gives no name") {
  CHECK(name_in_source("full, empty = make()") == "");
  CHECK(name_in_source("mbarrier.init.shared::cta.b64") == "");
  CHECK(name_in_source("if a == b") == "");
  CHECK(name_in_source("f()") == "");
  CHECK(name_in_source("") == "");
  CHECK(name_in_source(std::string(200, 'x') + " = make()") == "");
}

TEST_CASE("barriers of one allocation are its stages, by address; others keep where they were made") {
  const test::Folder folder("names");
  const std::string file = folder.write("kernel.py", "full = alloc(2)\nempty = alloc(1)\n(a, b)\n");
  Trace t = initialising({{0x48, 1}, {0x40, 1}, {0x50, 2}, {0x58, 9}}, file);
  SourceText source({});
  name_barriers(t, source);
  CHECK(t.barriers[0].name == "full[1]");
  CHECK(t.barriers[1].name == "full[0]");
  CHECK(t.barriers[2].name == "empty");
  CHECK(t.barriers[3].name == "mbarrier of kernel.py:9");
  CHECK(t.shared_names.size() == 4);
}

TEST_CASE("a symbol of the kernel is the better name, and without line information nothing changes") {
  Trace t = initialising({{0x40, 1}, {0x80, 0}}, "/nowhere/kernel.py");
  t.shared_names.push_back({{0x40, 0x48, 0, 1}, "ring.full", Space::shared});
  SourceText source({});
  name_barriers(t, source);
  CHECK(t.barriers[0].name == "shared+0x");
  CHECK(t.barriers[1].name == "shared+0x");
}
