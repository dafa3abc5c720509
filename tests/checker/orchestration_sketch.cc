// SPDX-License-Identifier: Apache-2.0
#include "tests/checker/orchestration_sketch.h"

#include <algorithm>

namespace turnstile::test {

namespace {

using K = SketchOp::Kind;

const char* word(K kind) {
  switch (kind) {
    case K::arrive:
      return "arrive";
    case K::arrive_tx:
      return "arrive_tx";
    case K::expect:
      return "expect_tx";
    case K::wait:
      return "wait";
    case K::load:
      return "load";
    case K::read:
      return "read";
    case K::write:
      return "write";
    case K::bar_sync:
      return "bar_sync";
    case K::bar_arrive:
      return "bar_arrive";
    case K::cluster_arrive:
      return "cluster_arrive";
    case K::cluster_wait:
      return "cluster_wait";
    case K::add:
      return "add";
    case K::set:
      return "set";
    case K::spin:
      return "spin_ge";
    case K::spin_eq:
      return "spin_eq";
    case K::acquire:
      return "acquire";
    case K::release:
      return "release";
  }
  return "?";
}

class Lowering {
 public:
  explicit Lowering(const Sketch& sketch) : sketch_(sketch) {
    Trace& t = program_.tables;
    t.kernel = sketch.base;
    t.warps = static_cast<uint32_t>(sketch.strands.size());
    t.cluster_ctas = sketch.cluster_ctas;
    for (size_t s = 0; s < sketch.strands.size(); ++s)
      t.agents.push_back({sketch.ctas[s], static_cast<uint16_t>(s), "role " + std::to_string(s), 32});
    for (size_t b = 0; b < sketch.counts.size(); ++b)
      t.barriers.push_back({sketch.barrier_ctas[b], 8 * b, "b" + std::to_string(b), sketch.counts[b]});
    for (uint32_t b = 0; b < sketch.buffers; ++b) {
      t.ranges.push_back({uint64_t{1024} * b, uint64_t{1024} * b + 64, 0, 1});
      t.footprints.push_back({Space::shared, b / sketch.buffers_per_cta, b, 1});
    }
    for (size_t i = 0; i < sketch.signals.size(); ++i)
      t.signals.push_back({"v" + std::to_string(i), sketch.signals[i]});
    for (size_t i = 0; i < sketch.pools.size(); ++i)
      t.pools.push_back({"p" + std::to_string(i), sketch.pools[i], false});
    if (t.cluster_ctas > 1) t.cluster_barrier_count = t.warps;
  }

  Orchestration run() {
    program_.strands.resize(sketch_.strands.size());
    for (uint32_t s = 0; s < sketch_.strands.size(); ++s) {
      uint32_t at = 0;
      for (const SketchOp& op : sketch_.strands[s]) lower(s, ++at, op);
      event(s, at + 1, EventKind::exit).count =
          sketch_.cluster_ctas > 1 ? 1 : 0;  // leaves the cluster barrier (C5)
    }
    return std::move(program_);
  }

 private:
  uint32_t place(uint32_t s, uint32_t at) {
    const uint32_t line = 1000 * s + at;
    std::vector<Place>& places = program_.tables.places;
    if (places.empty() || places.back().line != line) places.push_back({"sketch.mimw", line, 1, "", 0, "op"});
    return static_cast<uint32_t>(places.size() - 1);
  }

  Event make(uint32_t s, uint32_t at, EventKind kind, uint32_t object, uint8_t flags) {
    Event e;
    e.kind = kind;
    e.agent = AgentId{static_cast<uint16_t>(s)};
    e.place = place(s, at);
    e.object = object;
    e.flags = flags;
    e.scope = sketch_.cluster_ctas > 1 ? Scope::cluster : Scope::cta;
    return e;
  }

  Event& event(uint32_t s, uint32_t at, EventKind kind, uint32_t object = 0, uint8_t flags = 0) {
    program_.strands[s].events.push_back(make(s, at, kind, object, flags));
    return program_.strands[s].events.back();
  }

  void load(uint32_t s, uint32_t at, const SketchOp& o) {
    const auto number = static_cast<uint32_t>(program_.tables.ops.size());
    AsyncOp op;
    op.kind = AsyncOp::Kind::bulk_load;
    op.issuer = AgentId{static_cast<uint16_t>(s)};
    op.place = place(s, at);
    op.barrier = o.object;
    op.bytes = o.bytes;
    program_.tables.ops.push_back(op);
    event(s, at, EventKind::async_issue, number);
    Event write = make(s, at, EventKind::async_access, number, Event::write);
    write.footprint = o.buffer;
    write.generation = o.tag;
    program_.operations.push_back({write, make(s, at, EventKind::async_complete, number, 0)});
  }

  void lower(uint32_t s, uint32_t at, const SketchOp& o) {
    switch (o.kind) {
      case K::arrive:
        event(s, at, EventKind::mbarrier_arrive, o.object, Event::release).count = o.count;
        break;
      case K::arrive_tx: {
        Event& e = event(s, at, EventKind::mbarrier_arrive, o.object, Event::release | Event::expects_bytes);
        e.count = 1;
        e.bytes = o.bytes;
        break;
      }
      case K::expect:
        event(s, at, EventKind::mbarrier_expect_tx, o.object).bytes = o.bytes;
        break;
      case K::wait:
        event(s, at, EventKind::mbarrier_wait, o.object, Event::acquire).count = o.count;
        break;
      case K::load:
        load(s, at, o);
        break;
      case K::read:
      case K::write: {
        Event& e = event(s, at, EventKind::access, 0, o.kind == K::write ? Event::write : 0);
        e.footprint = o.buffer;
        e.generation = o.tag;
        break;
      }
      case K::bar_sync:
      case K::bar_arrive: {
        const bool waits = o.kind == K::bar_sync;
        Event& e = event(s, at, EventKind::named_barrier_arrive, o.object, waits ? Event::waits : 0);
        e.count = o.count;
        e.bytes = 32;
        if (waits) event(s, at, EventKind::named_barrier_pass, o.object);
        break;
      }
      case K::cluster_arrive:
        event(s, at, EventKind::cluster_arrive, 0, Event::release).count = 1;
        break;
      case K::cluster_wait:
        event(s, at, EventKind::cluster_wait, 0, Event::acquire);
        break;
      case K::add:
        event(s, at, EventKind::signal_add, o.object, Event::release).bytes = o.bytes;
        break;
      case K::set:
        event(s, at, EventKind::signal_set, o.object, Event::release).bytes = o.bytes;
        break;
      case K::spin:
      case K::spin_eq:
        event(s, at, EventKind::signal_wait, o.object,
              o.kind == K::spin_eq ? Event::acquire | Event::equal : Event::acquire)
            .bytes = o.bytes;
        break;
      case K::acquire:
        event(s, at, EventKind::pool_acquire, o.object).count = o.count;
        break;
      case K::release:
        event(s, at, EventKind::pool_release, o.object).count = o.count;
        break;
    }
  }

  const Sketch& sketch_;
  Orchestration program_;
};

/// Adds operations to a sketch.
struct Writer {
  Sketch sketch;

  uint32_t strand(uint16_t cta = 0) {
    sketch.strands.emplace_back();
    sketch.ctas.push_back(cta);
    return static_cast<uint32_t>(sketch.strands.size() - 1);
  }
  uint32_t barrier(uint32_t count, uint16_t cta = 0) {
    sketch.counts.push_back(count);
    sketch.barrier_ctas.push_back(cta);
    return static_cast<uint32_t>(sketch.counts.size() - 1);
  }
  void add(uint32_t s, SketchOp op) { sketch.strands[s].push_back(op); }
  void wait(uint32_t s, uint32_t b, uint32_t parity) { add(s, {K::wait, b, parity & 1}); }
  void arrive(uint32_t s, uint32_t b) { add(s, {K::arrive, b, 1}); }
  void arrive_tx(uint32_t s, uint32_t b, uint64_t bytes) { add(s, {K::arrive_tx, b, 1, 0, bytes}); }
  void load(uint32_t s, uint32_t buffer, uint32_t b, uint64_t bytes, uint32_t tag = 0) {
    add(s, {K::load, b, 1, buffer, bytes, tag});
  }
  void read(uint32_t s, uint32_t buffer, uint32_t tag = 0) { add(s, {K::read, 0, 1, buffer, 0, tag}); }
  void write(uint32_t s, uint32_t buffer) { add(s, {K::write, 0, 1, buffer}); }
};

}  // namespace

std::string Sketch::text() const {
  std::string out = base + ", mbarrier counts";
  for (uint32_t c : counts) out += " " + std::to_string(c);
  for (size_t s = 0; s < strands.size(); ++s) {
    out += "\nstrand " + std::to_string(s) + " @" + std::to_string(ctas[s]) + ":";
    for (const SketchOp& o : strands[s])
      out += std::string(" ") + word(o.kind) + "(" + std::to_string(o.object) + "," +
             std::to_string(o.count) + ",x" + std::to_string(o.buffer) + "," + std::to_string(o.bytes) +
             (o.tag ? "#" + std::to_string(o.tag - 1) : "") + ")";
  }
  return out + "\n";
}

Orchestration lower(const Sketch& sketch) { return Lowering(sketch).run(); }

Sketch ring_sketch(uint32_t stages, uint32_t consumers, uint32_t trips, bool tags) {
  Writer w;
  w.sketch.base = "ring";
  w.sketch.buffers = stages;
  for (uint32_t s = 0; s < stages; ++s) w.barrier(1);
  for (uint32_t s = 0; s < stages; ++s) w.barrier(consumers);
  const uint32_t producer = w.strand();
  for (uint32_t i = 0; i < trips; ++i) {
    const uint32_t s = i % stages, q = i / stages % 2;
    w.wait(producer, stages + s, 1 - q);
    w.arrive_tx(producer, s, 1);
    w.load(producer, s, s, 1, tags ? i + 1 : 0);
  }
  for (uint32_t c = 0; c < consumers; ++c) {
    const uint32_t me = w.strand();
    for (uint32_t i = 0; i < trips; ++i) {
      const uint32_t s = i % stages, q = i / stages % 2;
      w.wait(me, s, q);
      w.read(me, s, tags ? i + 1 : 0);
      w.arrive(me, stages + s);
    }
  }
  return w.sketch;
}

Sketch attention_sketch(uint32_t stages, uint32_t groups, uint32_t trips, uint32_t tiles) {
  Writer w;
  w.sketch.base = "attention";
  // Buffers: K stages, V stages, one Q a group, one O a group.
  w.sketch.buffers = 2 * stages + 2 * groups;
  std::vector<uint32_t> full[2], empty[2], q_full, q_empty, order;
  for (uint32_t kv = 0; kv < 2; ++kv)
    for (uint32_t s = 0; s < stages; ++s) {
      full[kv].push_back(w.barrier(1));
      empty[kv].push_back(w.barrier(groups));
    }
  for (uint32_t g = 0; g < groups; ++g) {
    q_full.push_back(w.barrier(1));
    q_empty.push_back(w.barrier(1));
    if (groups > 1) order.push_back(w.barrier(1));
  }
  const uint32_t producer = w.strand();
  const auto load = [&](uint32_t buffer, uint32_t f, uint32_t e, uint32_t use) {
    w.wait(producer, e, 1 - use % 2);
    w.arrive_tx(producer, f, 1);
    w.load(producer, buffer, f, 1);
  };
  for (uint32_t t = 0; t < tiles; ++t) {
    for (uint32_t g = 0; g < groups; ++g) load(2 * stages + g, q_full[g], q_empty[g], t);
    for (uint32_t i = 0; i < trips; ++i) {
      const uint32_t n = t * trips + i, s = n % stages;
      for (uint32_t kv = 0; kv < 2; ++kv) load(kv * stages + s, full[kv][s], empty[kv][s], n / stages);
    }
  }
  for (uint32_t g = 0; g < groups; ++g) {
    const uint32_t me = w.strand();
    for (uint32_t t = 0; t < tiles; ++t) {
      w.wait(me, q_full[g], t % 2);
      for (uint32_t i = 0; i < trips; ++i) {
        const uint32_t n = t * trips + i, s = n % stages, q = n / stages % 2;
        w.wait(me, full[0][s], q);
        if (groups > 1 && !(g == 0 && n == 0)) w.wait(me, order[g], g == 0 ? (n - 1) % 2 : n % 2);
        w.read(me, 2 * stages + g);
        w.read(me, s);
        w.arrive(me, empty[0][s]);
        if (groups > 1) w.arrive(me, order[(g + 1) % groups]);
        w.wait(me, full[1][s], q);
        w.read(me, stages + s);
        w.arrive(me, empty[1][s]);
      }
      w.arrive(me, q_empty[g]);
      w.write(me, 2 * stages + groups + g);
    }
  }
  return w.sketch;
}

Sketch cluster_sketch(uint32_t stages, uint32_t ctas, uint32_t trips) {
  Writer w;
  w.sketch.base = "cluster";
  w.sketch.cluster_ctas = ctas;
  w.sketch.buffers_per_cta = stages * ctas;
  w.sketch.buffers = ctas * w.sketch.buffers_per_cta;  // CTA, stage, part
  std::vector<uint32_t> full, empty;                   // by CTA, stage
  for (uint32_t c = 0; c < ctas; ++c)
    for (uint32_t s = 0; s < stages; ++s) {
      full.push_back(w.barrier(1, static_cast<uint16_t>(c)));
      empty.push_back(w.barrier(ctas, static_cast<uint16_t>(c)));
    }
  for (uint32_t c = 0; c < ctas; ++c) {
    const uint32_t producer = w.strand(static_cast<uint16_t>(c)),
                   consumer = w.strand(static_cast<uint16_t>(c));
    for (uint32_t i = 0; i < trips; ++i) {
      const uint32_t s = i % stages, q = i / stages % 2, own = c * stages + s;
      w.wait(producer, empty[own], 1 - q);
      w.arrive_tx(producer, full[own], ctas);
      for (uint32_t d = 0; d < ctas; ++d)
        w.load(producer, (d * stages + s) * ctas + c, full[d * stages + s], 1);
      w.wait(consumer, full[own], q);
      for (uint32_t part = 0; part < ctas; ++part) w.read(consumer, own * ctas + part);
      for (uint32_t d = 0; d < ctas; ++d) w.arrive(consumer, empty[d * stages + s]);
    }
    for (const uint32_t me : {producer, consumer}) {  // nobody ends while its peer may still touch it
      w.add(me, {K::cluster_arrive});
      w.add(me, {K::cluster_wait});
    }
  }
  return w.sketch;
}

Sketch ping_pong_sketch(uint32_t trips) {
  Writer w;
  w.sketch.base = "ping-pong";
  w.sketch.buffers = 1;
  const uint32_t a = w.strand(), b = w.strand();
  for (uint32_t i = 0; i < trips; ++i) {
    w.add(a, {K::bar_sync, 1, 64});
    w.write(a, 0);
    w.add(a, {K::bar_arrive, 2, 64});
    if (i == 0) w.add(b, {K::bar_arrive, 1, 64});
    w.add(b, {K::bar_sync, 2, 64});
    w.read(b, 0);
    if (i + 1 < trips) w.add(b, {K::bar_arrive, 1, 64});
  }
  return w.sketch;
}

Sketch flags_sketch(uint32_t producers, uint32_t trips, bool equal) {
  Writer w;
  w.sketch.base = "flags";
  w.sketch.buffers = producers;
  w.sketch.signals = {0, 0};  // ready, taken
  for (uint32_t p = 0; p < producers; ++p) {
    const uint32_t me = w.strand();
    for (uint32_t i = 0; i < trips; ++i) {
      if (i > 0) w.add(me, {K::spin, 1, 0, 0, i});
      w.write(me, p);
      w.add(me, {K::add, 0, 0, 0, 1});
    }
  }
  const uint32_t consumer = w.strand();
  for (uint32_t i = 0; i < trips; ++i) {
    w.add(consumer, {equal ? K::spin_eq : K::spin, 0, 0, 0, uint64_t{producers} * (i + 1)});
    for (uint32_t p = 0; p < producers; ++p) w.read(consumer, p);
    w.add(consumer, {K::set, 1, 0, 0, i + 1});
  }
  return w.sketch;
}

Sketch pool_sketch(uint32_t users, uint32_t units, uint32_t trips) {
  Writer w;
  w.sketch.base = "pool";
  w.sketch.buffers = users;
  w.sketch.pools = {units};
  for (uint32_t u = 0; u < users; ++u) {
    const uint32_t me = w.strand();
    for (uint32_t i = 0; i < trips; ++i) {
      w.add(me, {K::acquire, 0, 1});
      w.write(me, u);  // a pool orders no memory
      w.add(me, {K::release, 0, 1});
    }
  }
  return w.sketch;
}

namespace {

uint32_t below(Random& random, size_t n) { return static_cast<uint32_t>(random() % n); }

Sketch base_sketch(Random& random) {
  switch (below(random, 8)) {
    case 0:
      return ring_sketch(1 + below(random, 3), 1 + below(random, 2), 2 + below(random, 4), below(random, 2));
    case 1:
      return ring_sketch(1 + below(random, 2), 1 + below(random, 3), 3 + below(random, 3), false);
    case 2:
      return attention_sketch(1 + below(random, 2), 1, 2, 1 + below(random, 2));
    case 3:
      return attention_sketch(1, 2, 1 + below(random, 2), 1);
    case 4:
      return cluster_sketch(1 + below(random, 2), 2, 1 + below(random, 2));
    case 5:
      return ping_pong_sketch(1 + below(random, 3));
    case 6:
      return flags_sketch(1 + below(random, 2), 1 + below(random, 3), below(random, 2));
    default:
      return pool_sketch(2 + below(random, 2), 1 + below(random, 2), 1 + below(random, 2));
  }
}

void retarget(Sketch& s, SketchOp& o, Random& random) {
  switch (o.kind) {
    case K::arrive:
    case K::arrive_tx:
    case K::expect:
    case K::wait:
    case K::load:
      o.object = below(random, s.counts.size());
      break;
    case K::bar_sync:
    case K::bar_arrive:
      o.object = 1 + below(random, 2);
      break;
    case K::add:
    case K::set:
    case K::spin:
    case K::spin_eq:
      o.object = below(random, s.signals.size());
      break;
    case K::read:
    case K::write:
    case K::cluster_arrive:
    case K::cluster_wait:
    case K::acquire:
    case K::release:
      break;
  }
}

void retune(SketchOp& o, Random& random) {  // another parity, count, number of bytes or value
  switch (o.kind) {
    case K::wait:
      o.count ^= 1;
      break;
    case K::arrive:
    case K::acquire:
    case K::release:
      o.count = 1 + below(random, 2);
      break;
    case K::arrive_tx:
    case K::expect:
    case K::load:
    case K::add:
      o.bytes = 1 + below(random, 2);
      break;
    case K::set:
    case K::spin:
    case K::spin_eq:
      o.bytes = below(random, 4);
      break;
    case K::bar_sync:
    case K::bar_arrive:
      o.count = 32 * (1 + below(random, 3));
      break;
    case K::read:
    case K::write:
    case K::cluster_arrive:
    case K::cluster_wait:
      break;
  }
}

void mutate(Sketch& s, Random& random) {
  std::vector<SketchOp>& ops = s.strands[below(random, s.strands.size())];
  if (ops.empty()) return;
  const uint32_t at = below(random, ops.size());
  switch (below(random, 7)) {
    case 0:
      ops.erase(ops.begin() + at);
      break;
    case 1:
      ops.insert(ops.begin() + at, SketchOp(ops[below(random, ops.size())]));
      break;
    case 2:
      if (at + 1 < ops.size()) std::swap(ops[at], ops[at + 1]);
      break;
    case 3:
      retune(ops[at], random);
      break;
    case 4:
      if (!s.counts.empty()) s.counts[below(random, s.counts.size())] = 1 + below(random, 3);
      break;
    case 5:
      retarget(s, ops[at], random);
      break;
    case 6:
      ops[at].buffer = below(random, s.buffers);
      break;
  }
}

}  // namespace

Sketch random_sketch(Random& random) {
  Sketch s = base_sketch(random);
  const uint32_t mutations = below(random, 4);
  for (uint32_t m = 0; m < mutations; ++m) mutate(s, random);
  return s;
}

}  // namespace turnstile::test
