// SPDX-License-Identifier: Apache-2.0
// Operations in flight: groups, queues, wgmma, tcgen05 (semantics.md sections 5 to 7, 9.4, 9.5).
#include <doctest/doctest.h>

#include "model/protocol/async_groups.h"
#include "model/protocol/tensor_queue.h"
#include "tests/model/orchestration_builder.h"
#include "tests/model/orchestration_explore.h"

using namespace turnstile;
using namespace turnstile::test;
using OpKind = AsyncOp::Kind;
using Step = OrchestrationMachine::Step;

namespace {

constexpr uint32_t none = AsyncOp::none;

/// Can operation `late` be over while `early` is in flight?
bool can_overtake(const Orchestration& program, uint32_t early, uint32_t late) {
  bool seen = false;
  explore_all(program, [&](const OrchestrationMachine& m, const std::vector<Step>&) {
    bool has_early = false, has_late = false;
    for (const AsyncGroups::Operation& o : m.in_flight()) {
      has_early |= o.op == early;
      has_late |= o.op == late;
    }
    seen |= has_early && !has_late && m.strands_ended();
  });
  return seen;
}

}  // namespace

TEST_CASE("BK1: bulk copies of one thread land in any order") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), q = o.queue(QueueInfo::Kind::bulk), x = o.memory(Space::shared, 0);
  const uint32_t first = o.issue(a, OpKind::bulk_store, none, 0, q, 1, {x}, {});
  const uint32_t second = o.issue(a, OpKind::bulk_store, none, 0, q, 1, {x}, {});
  CHECK(can_overtake(o.program(), first, second));
}

TEST_CASE("CA8, WG3: groups of cp.async and of wgmma complete in the order of commit") {
  for (const QueueInfo::Kind kind : {QueueInfo::Kind::cp_async, QueueInfo::Kind::wgmma}) {
    OrchestrationBuilder o;
    const uint32_t a = o.agent(), q = o.queue(kind), x = o.memory(Space::shared, 0);
    const OpKind op = kind == QueueInfo::Kind::wgmma ? OpKind::wgmma : OpKind::cp_async;
    const uint32_t first = o.issue(a, op, none, 0, q, 1, {}, {x});
    const uint32_t second = o.issue(a, op, none, 0, q, 2, {}, {x});
    CHECK_FALSE(can_overtake(o.program(), first, second));
  }
}

TEST_CASE("T21: a queue in order executes one copy after the other") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), q = o.queue(QueueInfo::Kind::bulk, true), x = o.memory(Space::shared, 0);
  o.issue(a, OpKind::bulk_store, none, 0, q, 1, {x}, {});
  const uint32_t second = o.issue(a, OpKind::bulk_store, none, 0, q, 1, {x}, {});
  OrchestrationMachine m(o.program());
  Event e;
  m.take({Step::Kind::strand, a}, e);
  m.take({Step::Kind::strand, a}, e);
  CHECK_FALSE(m.is_enabled({Step::Kind::operation, second}));
}

TEST_CASE("CA3, BK2: a wait counts groups of its own queue, an empty group is done") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), b = o.agent();
  const uint32_t mine = o.queue(QueueInfo::Kind::bulk), other = o.queue(QueueInfo::Kind::bulk);
  const uint32_t x = o.memory(Space::shared, 0);
  o.issue(a, OpKind::bulk_store, none, 0, mine, 1, {x}, {});
  o.event(a, EventKind::group_commit, mine).generation = 1;
  o.event(a, EventKind::group_commit, mine).generation = 2;  // CA2
  o.event(a, EventKind::group_wait, mine).generation = 2;
  o.event(b, EventKind::group_wait, other).generation = 0;
  OrchestrationMachine m(o.program());
  Event e;
  CHECK(m.is_enabled({Step::Kind::strand, b}));  // it waits for nothing
  for (int i = 0; i < 3; ++i) m.take({Step::Kind::strand, a}, e);
  CHECK_FALSE(m.is_enabled({Step::Kind::strand, a}));
  m.take({Step::Kind::operation, 0}, e);  // the read
  CHECK_FALSE(m.is_enabled({Step::Kind::strand, a}));
  m.take({Step::Kind::operation, 0}, e);  // done
  CHECK(m.is_enabled({Step::Kind::strand, a}));
}

TEST_CASE("BK3: .read waits until the source has been read, not until the store is done") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), q = o.queue(QueueInfo::Kind::bulk);
  const uint32_t from = o.memory(Space::shared, 0), to = o.memory(Space::global, 0);
  o.issue(a, OpKind::bulk_store, none, 0, q, 1, {from}, {to});
  o.event(a, EventKind::group_wait, q, 0, 0, Event::read_only).generation = 1;
  OrchestrationMachine m(o.program());
  Event e;
  m.take({Step::Kind::strand, a}, e);
  CHECK_FALSE(m.is_enabled({Step::Kind::strand, a}));
  m.take({Step::Kind::operation, 0}, e);
  CHECK(m.is_enabled({Step::Kind::strand, a}));
  CHECK(m.in_flight().size() == 1);
}

TEST_CASE("WG6: a wgmma starts when all warps of the group have issued it") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), b = o.agent(), q = o.queue(QueueInfo::Kind::wgmma);
  const uint32_t op = o.issue(a, OpKind::wgmma, none, 0, q, 1, {o.memory(Space::shared, 0)}, {});
  o.event(b, EventKind::async_issue, op);
  o.event(a, EventKind::group_wait, q).generation = 1;
  OrchestrationMachine m(o.program());
  Event e;
  m.take({Step::Kind::strand, a}, e);
  CHECK_FALSE(m.is_enabled({Step::Kind::operation, op}));
  CHECK_FALSE(m.is_enabled({Step::Kind::strand, a}));
  m.take({Step::Kind::strand, b}, e);
  CHECK(m.is_enabled({Step::Kind::operation, op}));
  CHECK_FALSE(can_deadlock(o.program()));
}

TEST_CASE("TC12: lanes of a warp that have come apart issue one tcgen05.ld together") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), b = o.agent(), q = o.queue(QueueInfo::Kind::tensor_load);
  const uint32_t op = o.issue(a, OpKind::tensor_load, none, 0, q, 1, {o.memory(Space::tensor, 0)}, {});
  o.event(b, EventKind::async_issue, op);
  o.event(b, EventKind::group_wait, q).generation = 1;
  CHECK(orchestration_defect(o.program()).empty());
  OrchestrationMachine m(o.program());
  Event e;
  m.take({Step::Kind::strand, a}, e);
  CHECK_FALSE(m.is_enabled({Step::Kind::operation, op}));
  CHECK_FALSE(can_deadlock(o.program()));
  o.event(b, EventKind::async_issue, op);
  CHECK(orchestration_defect(o.program()) == "an operation is issued twice");
}

TEST_CASE("BK6, D5: a store that still reads, a copy that has not landed, when the CTA exits") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), q = o.queue(QueueInfo::Kind::bulk), x = o.memory(Space::shared, 0);
  o.issue(a, OpKind::bulk_store, none, 0, q, 1, {x}, {});
  CHECK(broken_rules(o.program()) == std::set<std::string>{"BK6"});
  o.event(a, EventKind::group_wait, q, 0, 0, Event::read_only).generation = 1;
  CHECK(broken_rules(o.program()).empty());
  OrchestrationBuilder r;
  const uint32_t b = r.agent(), f = r.barrier("f", 1);
  r.arrive_tx(b, f, 16);
  r.load(b, r.memory(Space::shared, 0), f, 16);
  CHECK(broken_rules(r.program()) == std::set<std::string>{"D5"});
}

TEST_CASE("MB20: an arrival of cp.async raises the count when it is executed") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), b = o.agent(), q = o.queue(QueueInfo::Kind::cp_async);
  const uint32_t f = o.barrier("f", 1), x = o.memory(Space::shared, 0);
  o.issue(a, OpKind::cp_async, f, 1, q, 1, {}, {x});
  o.arrive(a, f);
  o.wait(b, f, 0);
  bool early = false;
  explore_all(o.program(), [&](const OrchestrationMachine& m, const std::vector<Step>&) {
    early |= m.strand_ended(b) && !m.in_flight().empty();
  });
  CHECK_FALSE(early);
  CHECK_FALSE(can_deadlock(o.program()));
}

TEST_CASE("HB2: an arrival of cp.async comes after all earlier copies of its thread, committed or not") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), b = o.agent(), q = o.queue(QueueInfo::Kind::cp_async);
  const uint32_t f = o.barrier("f", 1), x = o.memory(Space::shared, 0);
  const uint32_t copy = o.issue(a, OpKind::cp_async, none, 0, q, 1, {}, {x});
  o.issue(a, OpKind::cp_async, f, 0, q, 1, {}, {});
  o.wait(b, f, 0);
  bool early = false;
  explore_all(o.program(), [&](const OrchestrationMachine& m, const std::vector<Step>&) {
    for (const AsyncGroups::Operation& flight : m.in_flight())
      early |= flight.op == copy && m.strand_ended(b);
  });
  CHECK_FALSE(early);
  CHECK_FALSE(can_deadlock(o.program()));
}

TEST_CASE("TC15, TC16: which tcgen05 operations of one thread follow each other") {
  const TensorOperation mma{OpKind::tensor_mma, true, 1}, same{OpKind::tensor_mma, true, 1},
      other{OpKind::tensor_mma, true, 2}, copy{OpKind::tensor_copy, false, 0},
      commit{OpKind::tensor_commit, false, 0}, load{OpKind::tensor_load, false, 0};
  CHECK(tensor_pipelined(mma, same));
  CHECK_FALSE(tensor_pipelined(mma, other));  // LT29
  CHECK(tensor_pipelined(copy, mma));
  CHECK_FALSE(tensor_pipelined(mma, copy));  // refill of a scale buffer
  CHECK(tensor_pipelined(mma, commit));
  CHECK(tensor_pipelined(copy, commit));
  CHECK_FALSE(tensor_pipelined(mma, load));
  CHECK_FALSE(tensor_pipelined(load, commit));
  // TLX-MMA-5: in one CTA, if so assumed (policy commit_order).
  const auto to = [](uint32_t cta) { return TensorOperation{OpKind::tensor_commit, false, 0, cta}; };
  CHECK(tensor_pipelined(to(0), to(0)));
  CHECK_FALSE(tensor_pipelined(to(0), to(1)));
  CHECK_FALSE(tensor_pipelined(commit, commit));
}

TEST_CASE("TC24, TC25, LT26: a commit waits for earlier operations of its own thread only") {
  for (const bool own : {true, false}) {
    OrchestrationBuilder o;
    const uint32_t a = o.agent(), b = o.agent();
    const uint32_t q = o.queue(QueueInfo::Kind::tensor), p = o.queue(QueueInfo::Kind::tensor);
    const uint32_t done = o.barrier("done", 1), acc = o.memory(Space::tensor, 0);
    o.issue(a, OpKind::tensor_mma, none, 0, q, 1, {}, {acc});
    o.issue(own ? a : b, OpKind::tensor_commit, done, 0, own ? q : p, 1, {}, {});
    o.wait(b, done, 0);
    bool early = false;
    explore_all(o.program(), [&](const OrchestrationMachine& m, const std::vector<Step>&) {
      early |= m.strand_ended(b) && !(m.strand_ended(a) && m.in_flight().empty());
    });
    CHECK(early == !own);
  }
}
