// SPDX-License-Identifier: Apache-2.0
#include "tests/checker/role_program.h"

#include <algorithm>
#include <map>
#include <random>

#include "model/protocol/mbarrier.h"
#include "model/protocol/named_barrier.h"

namespace turnstile::test {

namespace {

using K = Step::Kind;

class Executor {
 public:
  Executor(const RoleProgram& program, uint64_t seed)
      : program_(program),
        random_(seed),
        burst_(seed == 0),
        build_(static_cast<uint32_t>(program.roles.size())) {
    const auto warps = static_cast<uint32_t>(program.roles.size());
    build_.trace.registers_per_thread = program.registers;
    pool_ = 0;
    for (uint32_t w = 0; w < warps; ++w) build_.trace.agents[w].role = program.roles[w].name;
    for (const auto& b : program.barriers) build_.barrier(b.name);
    for (const auto& q : program.queues) build_.queue(q.kind, q.warps.front());
    machines_.resize(program.barriers.size());
    for (uint32_t b = 0; b < machines_.size(); ++b) {
      machines_[b].init(program.barriers[b].count);
      build_.init(0, 1, b, program.barriers[b].count);
    }
    build_.sync_all(2, 1);
    for (uint32_t id = 0; id < 16; ++id) named_.emplace_back();
    named_base_.assign(16, 0);
    named_base_[0] = 1;
    pc_.assign(warps, 0);
    waiting_.assign(warps, 0);
    committed_.assign(warps, std::vector<uint64_t>(program.queues.size(), 0));
    sequence_ = committed_;
    own_.assign(warps, program.registers);
  }

  Trace run() {
    for (;;) {
      std::vector<uint32_t> ready;
      for (uint32_t w = 0; w < pc_.size(); ++w)
        if (can_step(w)) ready.push_back(w);
      const size_t landings = flying_.size();
      if (stopped_ || (ready.empty() && landings == 0)) break;
      if (burst_) {
        if (!ready.empty())
          step(ready.front());
        else
          land(0);
        continue;
      }
      const size_t choice = random_() % (ready.size() + landings);
      if (choice < ready.size())
        step(ready[choice]);
      else
        land(choice - ready.size());
    }
    if (!stopped_)
      for (uint32_t w = 0; w < pc_.size(); ++w)
        if (!done(w)) block(w);
    return std::move(build_.trace);
  }

 private:
  struct Flying {
    uint32_t op, buffer, global;
    bool read_done;
  };
  struct Pending {
    uint32_t op, issued;
  };

  bool done(uint32_t w) const { return pc_[w] > program_.roles[w].steps.size(); }
  const Step* next(uint32_t w) const {
    return pc_[w] < program_.roles[w].steps.size() ? &program_.roles[w].steps[pc_[w]] : nullptr;
  }

  bool group_done(uint32_t q, uint64_t group, bool reads_only) const {
    return std::none_of(flying_.begin(), flying_.end(),
                        [&](const Flying& f) {
                          const AsyncOp& o = build_.trace.ops[f.op];
                          return o.kind != AsyncOp::Kind::bulk_load && o.queue == q && o.group <= group &&
                                 !(reads_only && f.read_done);
                        }) &&
           std::none_of(half_issued_.begin(), half_issued_.end(), [&](const auto& p) {
             const AsyncOp& o = build_.trace.ops[p.second.op];
             return o.queue == q && o.group <= group;
           });
  }

  bool can_step(uint32_t w) const {
    if (done(w)) return false;
    const Step* s = next(w);
    if (s == nullptr) return true;  // exit
    switch (s->kind) {
      case K::wait:
        return machines_[s->object].ready(s->count);
      case K::bar_sync:
        return waiting_[w] == 0 || named_base_[s->object] + named_[s->object].instance() >= waiting_[w];
      case K::group_wait: {
        const uint64_t committed = committed_[w][s->object];
        return committed <= s->count || group_done(s->object, committed - s->count, s->flag);
      }
      case K::inc:
        return pool_ >= static_cast<int64_t>(s->count) - own_[w];
      default:
        return true;
    }
  }

  void settle(Mbarrier::Outcome outcome, uint32_t w, uint32_t line) {
    if (broken_rule(outcome).empty()) return;
    stopped_ = true;
    build_.trace.faults.push_back({AgentId{static_cast<uint16_t>(w)}, build_.place(line),
                                   std::string(broken_rule(outcome)), "barrier misuse", ""});
  }

  void step(uint32_t w) {
    const Step* s = next(w);
    if (s == nullptr) {
      build_.exit(w, 9999);
      ++pc_[w];
      return;
    }
    const uint32_t line = s->line;
    ++pc_[w];
    switch (s->kind) {
      case K::arrive:
        build_.arrive(w, line, s->object, s->count);
        settle(machines_[s->object].arrive(s->count), w, line);
        break;
      case K::arrive_tx:
        build_.arrive_expect(w, line, s->object, s->bytes);
        settle(machines_[s->object].arrive_expect_tx(s->bytes), w, line);
        break;
      case K::expect:
        build_.expect(w, line, s->object, s->bytes);
        settle(machines_[s->object].expect_tx(s->bytes), w, line);
        break;
      case K::wait:
        build_.wait(w, line, s->object, s->count, machines_[s->object].generation());
        break;
      case K::load:
        flying_.push_back({build_.load(w, line, s->object, s->bytes), s->buffer, 0, false});
        break;
      case K::read:
        build_.read(w, line, build_.shared(s->buffer));
        break;
      case K::write:
        build_.write(w, line, build_.shared(s->buffer));
        break;
      case K::wgmma:
        wgmma(w, *s);
        break;
      case K::commit:
        build_.commit(w, line, s->object, ++committed_[w][s->object]);
        break;
      case K::group_wait: {
        const uint64_t committed = committed_[w][s->object];
        build_.group_wait(w, line, s->object, committed <= s->count ? 0 : committed - s->count, s->flag);
        break;
      }
      case K::store:
        flying_.push_back({build_.store(w, line, s->object, committed_[w][s->object] + 1), s->buffer,
                           static_cast<uint32_t>(s->bytes), false});
        break;
      case K::bar_sync:
      case K::bar_arrive:
        named(w, *s);
        break;
      case K::fence:
        build_.fence(w, line);
        break;
      case K::dec:
      case K::inc: {
        Event& e = build_.event(
            s->kind == K::dec ? EventKind::registers_release : EventKind::registers_acquire, w, line);
        e.count = s->count;
        e.bytes = own_[w];
        pool_ += static_cast<int64_t>(own_[w]) - s->count;
        own_[w] = s->count;
        break;
      }
    }
  }

  void named(uint32_t w, const Step& s) {
    if (waiting_[w] != 0) {  // second half of a bar.sync
      build_.bar_pass(w, s.line, s.object, waiting_[w]);
      waiting_[w] = 0;
      return;
    }
    const bool waits = s.kind == K::bar_sync;
    build_.bar_contribute(w, s.line, s.object, s.count, waits);
    if (waits) {
      waiting_[w] = named_base_[s.object] + named_[s.object].instance() + 1;
      --pc_[w];
    }
    const NamedBarrier::Outcome outcome = named_[s.object].contribute(s.count, 32);
    if (outcome != NamedBarrier::Outcome::ok && outcome != NamedBarrier::Outcome::completed) stopped_ = true;
  }

  void wgmma(uint32_t w, const Step& s) {
    const uint64_t number = ++sequence_[w][s.object];
    const auto key = std::pair(s.object, number);
    auto at = half_issued_.find(key);
    if (at == half_issued_.end())
      at = half_issued_
               .emplace(key, Pending{build_.queued(AsyncOp::Kind::wgmma, w, s.line, s.object,
                                                   committed_[w][s.object] + 1),
                                     0})
               .first;
    build_.event(EventKind::async_issue, w, s.line, at->second.op);
    if (++at->second.issued < program_.queues[s.object].warps.size()) return;
    flying_.push_back({at->second.op, s.buffer, 0, false});
    half_issued_.erase(at);
  }

  void land(size_t i) {
    Flying& f = flying_[i];
    const AsyncOp op = build_.trace.ops[f.op];
    if (op.kind == AsyncOp::Kind::bulk_store && !f.read_done) {
      build_.touch(f.op, build_.shared(f.buffer), false);
      f.read_done = true;
      return;
    }
    if (op.kind == AsyncOp::Kind::bulk_load) build_.touch(f.op, build_.shared(f.buffer), true);
    if (op.kind == AsyncOp::Kind::wgmma) build_.touch(f.op, build_.shared(f.buffer), false);
    if (op.kind == AsyncOp::Kind::bulk_store) build_.touch(f.op, build_.global(f.global), true);
    build_.complete(f.op);
    flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(i));
    if (op.kind == AsyncOp::Kind::bulk_load)
      settle(machines_[op.barrier].complete_tx(op.bytes), op.issuer.v, build_.trace.places[op.place].line);
  }

  void block(uint32_t w) {
    const Step& s = *next(w);
    Blocked b;
    b.agent = AgentId{static_cast<uint16_t>(w)};
    b.place = build_.place(s.line);
    b.object = s.object;
    b.count = s.count;
    b.on = s.kind == K::wait         ? Blocked::On::mbarrier
           : s.kind == K::bar_sync   ? Blocked::On::named_barrier
           : s.kind == K::group_wait ? Blocked::On::group
                                     : Blocked::On::registers;
    build_.trace.blocked.push_back(b);
  }

  const RoleProgram& program_;
  std::mt19937_64 random_;
  bool burst_;
  TraceBuilder build_;
  std::vector<Mbarrier> machines_;
  std::vector<NamedBarrier> named_;
  std::vector<uint64_t> named_base_;
  std::vector<size_t> pc_;
  std::vector<uint64_t> waiting_;
  std::vector<std::vector<uint64_t>> committed_, sequence_;
  std::vector<uint32_t> own_;
  int64_t pool_ = 0;
  std::vector<Flying> flying_;
  std::map<std::pair<uint32_t, uint64_t>, Pending> half_issued_;
  bool stopped_ = false;
};

}  // namespace

Trace execute(const RoleProgram& program, uint64_t seed) { return Executor(program, seed).run(); }

RoleProgram ring(const RingOptions& o) {
  RoleProgram p;
  std::vector<uint32_t> full, empty;
  for (uint32_t s = 0; s < o.stages; ++s) full.push_back(p.barrier("full[" + std::to_string(s) + "]", 1));
  for (uint32_t s = 0; s < o.stages; ++s)
    empty.push_back(p.barrier("empty[" + std::to_string(s) + "]", o.consumers));
  Role& producer = p.roles[p.role("producer")];
  for (uint32_t i = 0; i < o.trips; ++i) {
    const uint32_t s = i % o.stages, q = i / o.stages % 2;
    producer.at(10).wait(empty[s], 1 - q);
    producer.at(11).arrive_tx(full[s], 100);
    producer.at(12).load(s, full[s], 100);
  }
  for (uint32_t c = 0; c < o.consumers; ++c) {
    std::vector<uint32_t> warps;
    for (uint32_t w = 0; w < o.warps; ++w) warps.push_back(p.role("consumer " + std::to_string(c)));
    const uint32_t queue = o.wgmma ? p.queue(QueueInfo::Kind::wgmma, warps) : 0;
    for (uint32_t w = 0; w < o.warps; ++w) {
      Role& r = p.roles[warps[w]];
      for (uint32_t i = 0; i < o.trips; ++i) {
        const uint32_t s = i % o.stages, q = i / o.stages % 2;
        r.at(20).wait(full[s], q);
        if (o.wgmma)
          r.at(21).wgmma(s, queue).at(22).commit(queue).at(23).group_wait(queue, 0);
        else
          r.at(21).read(s);
        if (!o.wgmma && o.fenced) r.at(22).fence();
        if (w == 0) r.at(24).arrive(empty[s]);
      }
    }
  }
  return p;
}

}  // namespace turnstile::test
