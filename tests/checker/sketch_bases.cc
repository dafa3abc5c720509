// SPDX-License-Identifier: Apache-2.0
// Small kernels, each of one mechanism or two (algorithms.md 11.4, and beyond).
#include <algorithm>

#include "tests/checker/orchestration_sketch.h"

namespace turnstile::test {

namespace {

using K = SketchOp::Kind;

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
  w.sketch.buffers = producers + 1;  // the last one is a sum that all add to
  w.sketch.signals = {0, 0};         // ready, taken
  for (uint32_t p = 0; p < producers; ++p) {
    const uint32_t me = w.strand();
    for (uint32_t i = 0; i < trips; ++i) {
      if (i > 0) w.add(me, {K::spin, 1, 0, 0, i});
      w.write(me, p);
      w.add(me, {K::atomic, 0, 1, producers});
      w.add(me, {K::add, 0, 0, 0, 1});
    }
  }
  const uint32_t consumer = w.strand();
  for (uint32_t i = 0; i < trips; ++i) {
    w.add(consumer, {equal ? K::spin_eq : K::spin, 0, 0, 0, uint64_t{producers} * (i + 1)});
    for (uint32_t p = 0; p <= producers; ++p) w.read(consumer, p);
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

Sketch expect_sketch(uint32_t stages, uint32_t trips) {
  Sketch s = ring_sketch(stages, 1, trips, true);
  s.base = "expect";
  std::vector<SketchOp>& producer = s.strands.front();
  for (size_t i = 0; i < producer.size(); ++i) {
    if (producer[i].kind != K::arrive_tx) continue;
    const SketchOp o = producer[i];
    producer[i] = {K::expect, o.object, 1, 0, o.bytes};
    producer.insert(producer.begin() + static_cast<std::ptrdiff_t>(i) + 2, {K::arrive, o.object, 1});
  }
  return s;
}

Sketch drop_sketch(uint32_t trips) {
  Sketch s = ring_sketch(1, 2, trips, false);
  s.base = "drop";
  std::vector<SketchOp>& leaver = s.strands.back();
  leaver.resize(3 * std::min<size_t>(2, trips));  // wait, read, arrive: a trip
  leaver.back().kind = K::drop;
  return s;
}

Sketch wgmma_sketch(uint32_t stages, uint32_t trips, uint32_t depth) {
  Sketch s = ring_sketch(stages, 1, trips, true);
  s.base = "wgmma";
  std::vector<SketchOp>& consumer = s.strands.back();
  consumer.clear();
  for (uint32_t i = 0; i < trips; ++i) {
    consumer.push_back({K::wait, i % stages, i / stages % 2});
    consumer.push_back({K::wgmma, 0, 1, i % stages, 0, i + 1});
    consumer.push_back({K::wgmma_commit});
    consumer.push_back({K::wgmma_wait, 0, depth});
    if (i >= depth) consumer.push_back({K::arrive, stages + (i - depth) % stages, 1});
  }
  consumer.push_back({K::wgmma_wait, 0, 0});
  return s;
}

Sketch store_sketch(uint32_t stages, uint32_t trips) {
  Writer w;
  w.sketch.base = "store";
  w.sketch.buffers = stages;
  const uint32_t fills = w.strand(), stores = w.strand();
  for (uint32_t i = 0; i < trips; ++i) {
    w.add(stores, {K::store_wait, 0, stages - 1});
    for (const uint32_t s : {fills, stores}) w.add(s, {K::bar_sync, 1, 64});  // the buffer is free
    w.write(fills, i % stages);
    w.add(fills, {K::proxy_fence});
    for (const uint32_t s : {fills, stores}) w.add(s, {K::bar_sync, 2, 64});  // it is filled
    w.add(stores, {K::store, 0, 1, i % stages});
    w.add(stores, {K::store_commit});
  }
  w.add(stores, {K::store_wait, 0, 0});
  return w.sketch;
}

Sketch copy_sketch(uint32_t stages, uint32_t trips, CopySignal signal) {
  Sketch s = ring_sketch(stages, 1, trips, true);
  s.base = "copy";
  std::vector<SketchOp>& loader = s.strands.front();
  loader.clear();
  for (uint32_t i = 0; i < trips; ++i) {
    const uint32_t full = i % stages;
    loader.push_back({K::wait, stages + i % stages, 1 - i / stages % 2});
    loader.push_back({K::copy, 0, 1, i % stages, 0, i + 1});
    switch (signal) {
      case CopySignal::waits:
        loader.push_back({K::copy_commit});
        loader.push_back({K::copy_wait, 0, 0});
        loader.push_back({K::arrive, full, 1});
        break;
      case CopySignal::arrives:
        loader.push_back({K::copy_arrive, full, 0});
        break;
      case CopySignal::arrives_counted:
        loader.push_back({K::copy_arrive, full, 1});
        loader.push_back({K::arrive, full, 1});
        break;
    }
  }
  return s;
}

Sketch remote_sketch(uint32_t trips) {
  Writer w;
  w.sketch.base = "remote";
  w.sketch.cluster_ctas = 2;
  w.sketch.buffers_per_cta = 1;
  w.sketch.buffers = 2;
  const uint32_t empty = w.barrier(1, 0), full = w.barrier(1, 1);
  const uint32_t sender = w.strand(0), receiver = w.strand(1);
  for (uint32_t i = 0; i < trips; ++i) {
    w.wait(sender, empty, 1 - i % 2);
    w.add(sender, {K::remote_store, full, 1, 1, 1, i + 1});
    w.arrive_tx(receiver, full, 1);
    w.wait(receiver, full, i % 2);
    w.read(receiver, 1, i + 1);
    w.arrive(receiver, empty);
  }
  for (const uint32_t me : {sender, receiver}) {
    w.add(me, {K::cluster_arrive});
    w.add(me, {K::cluster_wait});
  }
  return w.sketch;
}

Sketch tensor_sketch(uint32_t stages, uint32_t trips, uint32_t tiles, uint32_t accumulators) {
  Writer w;
  w.sketch.base = "tensor";
  w.sketch.buffers = stages;
  w.sketch.accumulators = accumulators;
  std::vector<uint32_t> full, empty, ready, taken;
  for (uint32_t s = 0; s < stages; ++s) full.push_back(w.barrier(1));
  for (uint32_t s = 0; s < stages; ++s) empty.push_back(w.barrier(1));
  for (uint32_t a = 0; a < accumulators; ++a) ready.push_back(w.barrier(1));
  for (uint32_t a = 0; a < accumulators; ++a) taken.push_back(w.barrier(1));
  const uint32_t producer = w.strand(), issuer = w.strand(), epilogue = w.strand();
  for (uint32_t t = 0; t < tiles; ++t) {
    const uint32_t a = t % accumulators, use = t / accumulators;
    w.wait(issuer, taken[a], 1 - use % 2);
    for (uint32_t k = 0; k < trips; ++k) {
      const uint32_t i = t * trips + k, s = i % stages;
      w.wait(producer, empty[s], 1 - i / stages % 2);
      w.arrive_tx(producer, full[s], 1);
      w.load(producer, s, full[s], 1);
      w.wait(issuer, full[s], i / stages);
      w.add(issuer, {K::mma, 0, a, s});
      w.add(issuer, {K::mma_commit, empty[s]});
    }
    w.add(issuer, {K::mma_commit, ready[a]});
    w.wait(epilogue, ready[a], use);
    w.add(epilogue, {K::tensor_load, 0, a});
    w.add(epilogue, {K::tensor_wait});
    w.arrive(epilogue, taken[a]);
  }
  return w.sketch;
}

Sketch registers_sketch(uint32_t takers, bool both_fit) {
  Writer w;
  w.sketch.base = "registers";
  w.sketch.buffers = 1 + takers;
  w.sketch.threads = 128;
  w.sketch.registers = 168;
  const uint32_t gives = w.strand();
  w.add(gives, {K::registers_dec, 0, both_fit ? 40u : 104u});  // 128, or 64, registers a thread
  w.write(gives, 0);
  for (uint32_t t = 0; t < takers; ++t) {
    const uint32_t me = w.strand();
    w.add(me, {K::registers_inc, 0, 232});  // 64
    w.write(me, 1 + t);
    w.add(me, {K::registers_dec, 0, 168});
  }
  return w.sketch;
}

Sketch allocation_sketch(uint32_t columns, uint32_t trips) {
  Writer w;
  w.sketch.base = "allocation";
  w.sketch.buffers = 1;
  const uint32_t given = w.barrier(1), back = w.barrier(1);
  const uint32_t first = w.strand(), second = w.strand(), frees = w.strand();
  for (uint32_t i = 0; i < trips; ++i) {
    w.wait(first, back, 1 - i % 2);
    w.add(first, {K::tensor_alloc, 0, columns});
    w.arrive(first, given);
    w.wait(frees, given, i % 2);
    w.add(frees, {K::tensor_free, 0, columns});
    w.arrive(frees, back);
    w.add(second, {K::tensor_alloc, 1, columns});
    w.add(second, {K::tensor_free, 1, columns});
  }
  return w.sketch;
}

Sketch whole_cta_sketch(uint32_t warps, uint32_t trips, bool early_end) {
  Writer w;
  w.sketch.base = "whole CTA";
  w.sketch.buffers = warps;
  w.sketch.exits_leave = true;
  for (uint32_t me = 0; me < warps; ++me) {
    w.strand();
    const uint32_t own = early_end && me + 1 == warps ? 1 : trips;
    for (uint32_t i = 0; i < own; ++i) {
      w.write(me, me);
      w.add(me, {K::sync_all, 0});
      w.read(me, (me + 1) % warps);
      w.add(me, {K::sync_all, 0});
    }
  }
  return w.sketch;
}

Sketch in_sequence(Sketch first, const Sketch& second) {
  const auto barriers = static_cast<uint32_t>(first.counts.size());
  const auto signals = static_cast<uint32_t>(first.signals.size());
  const auto pools = static_cast<uint32_t>(first.pools.size());
  first.base += ", then " + second.base;
  first.counts.insert(first.counts.end(), second.counts.begin(), second.counts.end());
  first.barrier_ctas.insert(first.barrier_ctas.end(), second.barrier_ctas.begin(), second.barrier_ctas.end());
  first.signals.insert(first.signals.end(), second.signals.begin(), second.signals.end());
  first.pools.insert(first.pools.end(), second.pools.begin(), second.pools.end());
  while (first.strands.size() < second.strands.size()) {
    first.strands.emplace_back();
    first.ctas.push_back(0);
  }
  for (size_t s = 0; s < second.strands.size(); ++s)
    for (SketchOp o : second.strands[s]) {
      o.buffer += first.buffers;
      switch (o.kind) {
        case K::bar_sync:
        case K::bar_arrive:
        case K::sync_all:
          break;
        case K::add:
        case K::set:
        case K::spin:
        case K::spin_eq:
          o.object += signals;
          break;
        case K::acquire:
        case K::release:
          o.object += pools;
          break;
        case K::mma:
        case K::tensor_load:
          o.count += first.accumulators;
          break;
        default:
          o.object += barriers;  // or it has none
          break;
      }
      first.strands[s].push_back(o);
    }
  first.buffers += second.buffers;
  first.accumulators += second.accumulators;
  return first;
}

}  // namespace turnstile::test
