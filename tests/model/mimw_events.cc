// SPDX-License-Identifier: Apache-2.0
// What each operation becomes, where model/trace.h leaves a choice (model/mimw/README.md).
#include "tests/model/mimw_support.h"

namespace turnstile {

using Kind = EventKind;

TEST_CASE("mbarriers: counts, bytes, drops, and the scope of a remote arrive") {
  const Orchestration o = unrolled(R"(
mbar b:5 @1.r:1
agent A
  arrive b
  arrive b, 3
  arrive_tx b, 64
  expect_tx b, 32
  arrive_drop b
  arrive @1.r
  wait b, 1
agent B @1
  wait r, 0
)");
  const std::vector<Event>& e = o.strands[0].events;
  CHECK(kinds(e) == std::vector{Kind::mbarrier_arrive, Kind::mbarrier_arrive, Kind::mbarrier_arrive,
                                Kind::mbarrier_expect_tx, Kind::mbarrier_arrive, Kind::mbarrier_arrive,
                                Kind::mbarrier_wait, Kind::exit});
  CHECK(e[0].count == 1);
  CHECK(e[0].scope == Scope::cta);
  CHECK(e[1].count == 3);
  CHECK(e[2].count == 1);
  CHECK(e[2].bytes == 64);
  CHECK(e[2].has(Event::expects_bytes));
  CHECK(e[3].bytes == 32);
  CHECK_FALSE(e[3].has(Event::release));
  CHECK(e[4].has(Event::drops));
  CHECK(e[5].scope == Scope::cluster);
  CHECK(e[6].count == 1);
  // A plain name is one barrier in each CTA.
  REQUIRE(o.tables.barriers.size() == 3);
  CHECK(o.tables.barriers[0].name == "@0.b");
  CHECK(o.tables.barriers[1].name == "@1.b");
  CHECK(o.tables.barriers[2].name == "@1.r");
  CHECK(o.tables.barriers[2].cta == 1);
  CHECK(e[5].object == 2);
  CHECK(o.strands[1].events[0].object == 2);
}

TEST_CASE("barriers that mbar_init places share the bytes of their slot") {
  const std::string text = R"(
mbar A:1 B:2 C:3
agent W
  mbar_init A, slot0
  mbar_inval A
  mbar_init B, slot0
  write slot0
  arrive C
)";
  const Orchestration o = unrolled(text);
  const std::vector<Event>& e = o.strands[0].events;
  CHECK(kinds(e) == std::vector{Kind::mbarrier_init, Kind::mbarrier_inval, Kind::mbarrier_init, Kind::access,
                                Kind::mbarrier_arrive, Kind::exit});
  CHECK(e[0].count == 1);
  CHECK(e[2].count == 2);
  CHECK(o.tables.barriers[0].initial_count == 0);
  CHECK(o.tables.barriers[1].initial_count == 0);
  CHECK(o.tables.barriers[2].initial_count == 3);
  CHECK(o.tables.barriers[0].address == o.tables.barriers[1].address);
  CHECK(o.tables.barriers[0].address == bytes_of(o, e[3]).begin);
  CHECK(o.tables.barriers[2].address != o.tables.barriers[0].address);
  CHECK(unrolled("option inits\n" + text).tables.barriers[2].initial_count == 0);
  CHECK(mimw_error("mbar A:1\nagent W\n  mbar_init A, s0\n  mbar_init A, s1\n") ==
        "t.mimw:4:16: 'A' lies in another slot already; a barrier has one place");
}

TEST_CASE("copies to a barrier: one operation for each destination, the descriptor read first") {
  const Orchestration o = unrolled(R"(
mbar @0.f:1 @1.f:1
agent A
  tma_load @0.x#4, @1.x#4 -> @0.f, @1.f, 96 using desc
  clc_query r -> f, 16
  remote_store @1.y -> @1.f, 8
  tensormap_fence
agent B @1
  nop
)");
  REQUIRE(o.tables.ops.size() == 4);
  CHECK(kinds(o.strands[0].events) == std::vector{Kind::async_issue, Kind::async_issue, Kind::async_issue,
                                                  Kind::async_issue, Kind::fence_tensormap,
                                                  Kind::fence_tensormap, Kind::exit});
  for (uint32_t i = 0; i < 2; ++i) {
    CHECK(o.tables.ops[i].kind == AsyncOp::Kind::bulk_load);
    CHECK(o.tables.ops[i].barrier == i);
    CHECK(o.tables.ops[i].bytes == 96);
    const std::vector<Event>& e = o.operations[i];
    CHECK(kinds(e) == std::vector{Kind::async_access, Kind::async_access, Kind::async_complete});
    CHECK(e[0].has(Event::tensormap));
    CHECK_FALSE(e[0].has(Event::write));
    CHECK(o.tables.footprints[e[0].footprint].space == Space::global);
    CHECK(e[1].has(Event::write));
    CHECK(e[1].generation == 5);
    CHECK(o.tables.footprints[e[1].footprint].space == Space::shared);
    CHECK(o.tables.footprints[e[1].footprint].allocation == i);
  }
  CHECK(o.tables.ops[2].kind == AsyncOp::Kind::clc_query);
  CHECK(o.tables.ops[3].kind == AsyncOp::Kind::remote_store);
  const Event& release = o.strands[0].events[4];
  CHECK(release.has(Event::release));
  CHECK_FALSE(o.strands[0].events[5].has(Event::release));
  const ByteRange fenced = bytes_of(o, release), read = bytes_of(o, o.operations[0][0]);
  CHECK(fenced.begin <= read.begin);
  CHECK(fenced.end >= read.end);
  CHECK(o.tables.allocation_names == std::vector<std::string>{"desc"});
}

TEST_CASE("groups: commits number them, wait N leaves the N newest") {
  const std::vector<Event> e = events_of("", R"(
  bulk_wait_read 1
  tma_store a
  bulk_commit
  tma_store b
  bulk_commit
  bulk_wait_read 1
  bulk_wait 0
)");
  CHECK(kinds(e) == std::vector{Kind::group_wait, Kind::async_issue, Kind::group_commit, Kind::async_issue,
                                Kind::group_commit, Kind::group_wait, Kind::group_wait, Kind::exit});
  CHECK(e[0].generation == 0);
  CHECK(e[0].has(Event::read_only));
  CHECK(e[2].generation == 1);
  CHECK(e[4].generation == 2);
  CHECK(e[5].generation == 1);
  CHECK(e[6].generation == 2);
  CHECK_FALSE(e[6].has(Event::read_only));
}

TEST_CASE("wgmma, tensor and LDS queues") {
  const Orchestration o = unrolled(R"(
mbar b:1 c:1
agent A x128
  wgmma x, y
  wg_commit
  wg_wait 0
  mma s.a, tm.p#1 => tm.o#2
  mma_commit b, c
  tmem_copy s.a => tm.q
  tmem_ld tm.o
  tmem_ld tm.p
  tmem_wait_ld
  tmem_st tm.p#3
  tmem_wait_st
  lds_read x
  wait_lds
)");
  const auto queue = [&](uint32_t op) { return o.tables.queues.at(o.tables.ops.at(op).queue); };
  CHECK(queue(0).kind == QueueInfo::Kind::wgmma);
  CHECK(queue(0).in_order);
  CHECK(o.operations[0].size() == 3);
  const std::vector<Event>& mma = o.operations[1];
  CHECK(kinds(mma) ==
        std::vector{Kind::async_access, Kind::async_access, Kind::async_access, Kind::async_complete});
  CHECK_FALSE(mma[0].has(Event::write));
  CHECK(mma[1].generation == 2);
  CHECK(o.tables.footprints[mma[1].footprint].space == Space::tensor);
  CHECK(mma[2].has(Event::write));
  CHECK(mma[2].generation == 3);
  for (uint32_t op : {2u, 3u}) {
    CHECK(o.tables.ops[op].kind == AsyncOp::Kind::tensor_commit);
    CHECK(o.tables.ops[op].barrier == op - 2);
    CHECK(o.tables.ops[op].queue == o.tables.ops[1].queue);
    CHECK(kinds(o.operations[op]) == std::vector{Kind::async_complete});
  }
  CHECK(o.tables.ops[4].kind == AsyncOp::Kind::tensor_copy);
  CHECK(o.tables.ops[4].queue == o.tables.ops[1].queue);
  CHECK(o.tables.ops[5].group == 1);
  CHECK(o.tables.ops[6].group == 2);
  CHECK(o.tables.ops[7].kind == AsyncOp::Kind::tensor_store);
  CHECK(o.operations[7][0].has(Event::write));
  CHECK(o.tables.ops[8].kind == AsyncOp::Kind::lds_read);
  std::vector<std::pair<uint32_t, uint64_t>> waits;
  for (const Event& e : o.strands[0].events)
    if (e.kind == Kind::group_wait) waits.emplace_back(e.object, e.generation);
  CHECK(waits == std::vector<std::pair<uint32_t, uint64_t>>{{o.tables.ops[0].queue, 1},
                                                            {o.tables.ops[5].queue, 2},
                                                            {o.tables.ops[7].queue, 1},
                                                            {o.tables.ops[8].queue, 1}});
}

TEST_CASE("classic copies: the counter form covers what no commit has closed") {
  const Orchestration o = unrolled(
      "agent A\n  async_copy x#0\n  wait_async\n  wait_async\n  async_copy x\n  copy_commit\n"
      "  copy_wait 0\n");
  const std::vector<Event>& e = o.strands[0].events;
  CHECK(kinds(e) == std::vector{Kind::async_issue, Kind::group_commit, Kind::group_wait, Kind::group_wait,
                                Kind::async_issue, Kind::group_commit, Kind::group_wait, Kind::exit});
  CHECK(e[2].generation == 1);
  CHECK(e[3].generation == 1);
  CHECK(e[6].generation == 2);
  CHECK(o.tables.ops[1].group == 2);
  CHECK_FALSE(o.tables.queues[0].in_order);
  CHECK(unrolled("option in-order-copies\nagent A\n  async_copy x\n").tables.queues[0].in_order);
}

TEST_CASE("named and cluster barriers") {
  const Orchestration o = unrolled(R"(
cluster 2
agent A x96
  bar_sync 3, 256
  bar_arrive 4, 128
  cluster_sync
agent B @1
  bar_sync 3, 32
  cluster_arrive
  cluster_wait
)");
  const std::vector<Event>& a = o.strands[0].events;
  CHECK(kinds(a) == std::vector{Kind::named_barrier_arrive, Kind::named_barrier_pass,
                                Kind::named_barrier_arrive, Kind::cluster_arrive, Kind::cluster_wait,
                                Kind::exit});
  CHECK(a[0].object == 3);
  CHECK(a[0].count == 256);
  CHECK(a[0].bytes == 96);
  CHECK(a[0].has(Event::waits));
  CHECK_FALSE(a[2].has(Event::waits));
  CHECK(a[3].count == 1);
  CHECK(o.tables.cluster_barrier_count == 2);
  const std::vector<Event>& b = o.strands[1].events;
  CHECK(b[0].object == 16 + 3);
  CHECK(kinds(b) == std::vector{Kind::named_barrier_arrive, Kind::named_barrier_pass, Kind::cluster_arrive,
                                Kind::cluster_wait, Kind::exit});
}

TEST_CASE("variables and pools") {
  const std::string text = "var n=0 o=0-7\npool p=5 must-return\npool q=2-4\n";
  const std::vector<Event> e = events_of(text, R"(
  inc n
  inc_relaxed o, 0-1
  set n, 4
  spin_ge n, 4
  spin_eq o, 0
  acquire p, 3
  release q, 2
)");
  CHECK(kinds(e) == std::vector{Kind::signal_add, Kind::signal_add, Kind::signal_set, Kind::signal_wait,
                                Kind::signal_wait, Kind::pool_acquire, Kind::pool_release, Kind::exit});
  CHECK(e[0].bytes == 1);
  CHECK(e[0].has(Event::release));
  CHECK(e[0].scope == Scope::gpu);
  CHECK(static_cast<int64_t>(e[1].bytes) == -1);
  CHECK_FALSE(e[1].has(Event::release));
  CHECK(e[2].bytes == 4);
  CHECK_FALSE(e[3].has(Event::equal));
  CHECK(e[4].has(Event::equal));
  CHECK(e[4].has(Event::acquire));
  CHECK(e[5].count == 3);
  CHECK(e[6].object == 1);
  const Trace t = unrolled(text + "agent A\n  nop\n").tables;
  CHECK(t.signals[1].initial == -7);
  CHECK(t.pools[0].must_return);
  CHECK_FALSE(t.pools[1].must_return);
  CHECK(t.pools[1].initial == -2);
}

TEST_CASE("generic accesses, fences, tensor memory, exit") {
  const std::vector<Event> e = events_of("", R"(
  write x#0
  read x
  atomic x
  proxy_fence
  fence
  init_fence
  tc_fence_before
  tc_fence_after
  tmem_alloc 128
  tmem_alloc 64
  tmem_free 64
  tmem_free 128
  tmem_relinquish
  pair_alloc
  pair_free
  pdl_launch
  pdl_wait
  enter
  wgmma_fence
  exit
  write y
)");
  CHECK(kinds(e) == std::vector{Kind::access, Kind::access, Kind::access, Kind::fence_proxy_async,
                                Kind::fence, Kind::fence_mbarrier_init, Kind::tensor_fence_before,
                                Kind::tensor_fence_after, Kind::tensor_alloc, Kind::tensor_alloc,
                                Kind::tensor_dealloc, Kind::tensor_dealloc, Kind::tensor_relinquish,
                                Kind::tensor_alloc, Kind::tensor_dealloc, Kind::dependents_launch,
                                Kind::dependency_wait, Kind::exit});
  CHECK(e[0].has(Event::write));
  CHECK(e[0].generation == 1);
  CHECK(e[1].generation == 0);
  CHECK(e[2].has(Event::atomic));
  CHECK(e[3].has(Event::shared_space));
  CHECK(e[3].has(Event::global_space));
  CHECK(e[4].has(Event::fence_release));
  CHECK(e[4].has(Event::fence_acquire));
  CHECK(e[4].scope == Scope::gpu);
  CHECK(e[8].count == 128);
  CHECK(e[8].generation == 0);
  CHECK(e[9].generation == 128);
  CHECK(e[10].generation == 128);
  CHECK(e[11].generation == 0);
  CHECK(e[13].bytes == 2);
  CHECK(e[8].bytes == 1);
}

TEST_CASE("labels are tags above all numbers, one for each name") {
  const std::vector<Event> e =
      events_of("", "  write x#first\n  write x#second\n  read x#first\n  read x#7\n");
  CHECK(e[0].generation > (uint64_t{1} << 32));
  CHECK(e[1].generation != e[0].generation);
  CHECK(e[2].generation == e[0].generation);
  CHECK(e[3].generation == 8);
}

TEST_CASE("objects: same name and index, same bytes; anything else, other bytes") {
  const Orchestration o = unrolled(R"(
agent A
  write x
  write y[0]
  write y[1]
  write tm.y[1]
  write @1.x
  write c.l
  write c.o
  read x
agent B @1
  write x
)");
  const std::vector<Event>& e = o.strands[0].events;
  for (size_t i = 0; i < 7; ++i)
    for (size_t j = 0; j < i; ++j) {
      const ByteRange a = bytes_of(o, e[i]), b = bytes_of(o, e[j]);
      CHECK((a.end <= b.begin || b.end <= a.begin));
    }
  CHECK(e[7].footprint == e[0].footprint);
  CHECK(o.strands[1].events[0].footprint == e[4].footprint);
  CHECK(o.tables.footprints[e[3].footprint].space == Space::tensor);
  std::map<uint64_t, std::string> names;
  for (const auto& [range, name, space] : o.tables.shared_names) names[range.begin] = name;
  CHECK(names.at(bytes_of(o, e[2]).begin) == "@0.y[1]");
  CHECK(names.at(bytes_of(o, e[3]).begin) == "@0.tm.y[1]");
  CHECK(names.at(bytes_of(o, e[4]).begin) == "@1.x");
}

TEST_CASE("buffers placed at an address overlap as their addresses do") {
  const Orchestration o = unrolled(R"(
buffer a[2] bytes 256
buffer b bytes 512 at 1024
buffer c bytes 128 at 1408
buffer d bytes 64 at 2048
buffer g global
tmem s[2] columns 64 at 0
tmem p columns 32 at 96
agent A
  write b
  write c
  write d
  write a[1]
  write a
  write g
  write tm.s[1]
  write tm.p
)");
  const std::vector<Event>& e = o.strands[0].events;
  const auto overlap = [&](size_t i, size_t j) {
    const ByteRange a = bytes_of(o, e[i]), b = bytes_of(o, e[j]);
    return a.begin < b.end && b.begin < a.end;
  };
  CHECK(overlap(0, 1));
  CHECK_FALSE(overlap(0, 2));
  CHECK_FALSE(overlap(0, 3));
  CHECK_FALSE(overlap(2, 3));
  CHECK(overlap(3, 4));
  CHECK(overlap(6, 7));
  CHECK(bytes_of(o, e[0]).end - bytes_of(o, e[0]).begin == 512);
  CHECK(bytes_of(o, e[4]).end - bytes_of(o, e[4]).begin == 512);
  CHECK(bytes_of(o, e[7]).end - bytes_of(o, e[7]).begin == 32 * 512);
  CHECK(o.tables.footprints[e[5].footprint].space == Space::global);
  CHECK(o.tables.allocation_names == std::vector<std::string>{"g"});
}

}  // namespace turnstile
