// SPDX-License-Identifier: Apache-2.0
// Which kernels are made, and what is done to them.
#include "tests/checker/orchestration_sketch.h"

namespace turnstile::test {

namespace {

using K = SketchOp::Kind;

uint32_t below(Random& random, size_t n) { return static_cast<uint32_t>(random() % n); }

/// Small, and in one CTA of warps.
Sketch part_sketch(Random& random) {
  switch (below(random, 8)) {
    case 0:
      return ring_sketch(1, 1, 1 + below(random, 2), true);
    case 1:
      return ping_pong_sketch(1 + below(random, 2));
    case 2:
      return flags_sketch(1, 1 + below(random, 2), false);
    case 3:
      return wgmma_sketch(1, 1 + below(random, 2), 0);
    case 4:
      return store_sketch(1, 1 + below(random, 2));
    case 5:
      return copy_sketch(1, 1 + below(random, 2), static_cast<CopySignal>(below(random, 3)));
    case 6:
      return tensor_sketch(1, 1, 1 + below(random, 2), 1);
    default:
      return expect_sketch(1, 1 + below(random, 2));
  }
}

Sketch base_sketch(Random& random) {
  switch (below(random, 20)) {
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
    case 7:
      return pool_sketch(2 + below(random, 2), 1 + below(random, 2), 1 + below(random, 2));
    case 8:
      return expect_sketch(1 + below(random, 2), 2 + below(random, 3));
    case 9:
      return drop_sketch(1 + below(random, 4));
    case 10: {
      const uint32_t stages = 1 + below(random, 2);
      return wgmma_sketch(stages, 2 + below(random, 3), below(random, stages));
    }
    case 11:
      return store_sketch(1 + below(random, 2), 1 + below(random, 3));
    case 12:
      return copy_sketch(1 + below(random, 2), 2 + below(random, 3),
                         static_cast<CopySignal>(below(random, 3)));
    case 13:
      return remote_sketch(1 + below(random, 3));
    case 14:
      return tensor_sketch(1 + below(random, 2), 1 + below(random, 2), 1 + below(random, 2),
                           1 + below(random, 2));
    case 16:
      return allocation_sketch(64u << below(random, 3), 1 + below(random, 2));
    case 17:
    case 18: {
      const Sketch first = part_sketch(random);
      return in_sequence(first, part_sketch(random));
    }
    case 15:
      return registers_sketch(1 + below(random, 2), below(random, 2));
    default:
      return whole_cta_sketch(2 + below(random, 2), 1 + below(random, 2), below(random, 2));
  }
}

void retarget(Sketch& s, SketchOp& o, Random& random) {
  switch (o.kind) {
    case K::arrive:
    case K::arrive_tx:
    case K::drop:
    case K::expect:
    case K::wait:
    case K::load:
    case K::remote_store:
    case K::copy_arrive:
    case K::mma_commit:
      o.object = below(random, s.counts.size());
      break;
    case K::bar_sync:
    case K::bar_arrive:
      o.object = 1 + below(random, 2);
      break;
    case K::sync_all:
      o.object = below(random, 2);
      break;
    case K::add:
    case K::set:
    case K::spin:
    case K::spin_eq:
      o.object = below(random, s.signals.size());
      break;
    case K::mma:
    case K::tensor_load:
      o.count = below(random, s.accumulators);
      break;
    case K::tensor_alloc:
    case K::tensor_free:
      o.object = below(random, 2);
      break;
    default:
      break;
  }
}

void retune(SketchOp& o, Random& random) {  // another parity, count, number of bytes or value
  switch (o.kind) {
    case K::wait:
    case K::copy_arrive:
      o.count ^= 1;
      break;
    case K::arrive:
    case K::drop:
    case K::acquire:
    case K::release:
      o.count = 1 + below(random, 2);
      break;
    case K::arrive_tx:
    case K::expect:
    case K::load:
    case K::remote_store:
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
    case K::wgmma_wait:
    case K::store_wait:
    case K::copy_wait:
      o.count = below(random, 3);
      break;
    case K::tensor_alloc:
    case K::tensor_free:
      o.count = 64u << below(random, 3);
      break;
    case K::registers_dec:
    case K::registers_inc:
      o.count = 40 + 64 * below(random, 4);
      break;
    default:
      break;
  }
}

/// The kind that is mistaken for this one.
K near(K kind) {
  switch (kind) {
    case K::arrive:
      return K::drop;
    case K::drop:
      return K::arrive;
    case K::arrive_tx:
      return K::expect;
    case K::expect:
      return K::arrive_tx;
    case K::read:
      return K::atomic;
    case K::write:
      return K::read;
    case K::atomic:
      return K::write;
    case K::bar_sync:
      return K::bar_arrive;
    case K::bar_arrive:
      return K::bar_sync;
    case K::spin:
      return K::spin_eq;
    case K::spin_eq:
      return K::spin;
    case K::tensor_free:
      return K::tensor_relinquish;
    default:
      return kind;
  }
}

void mutate(Sketch& s, Random& random) {
  std::vector<SketchOp>& ops = s.strands[below(random, s.strands.size())];
  if (ops.empty()) return;
  const uint32_t at = below(random, ops.size());
  switch (below(random, 9)) {
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
      if (s.buffers != 0) ops[at].buffer = below(random, s.buffers);
      break;
    case 7:
      ops[at].kind = near(ops[at].kind);
      break;
    default: {  // what another strand does
      const std::vector<SketchOp>& others = s.strands[below(random, s.strands.size())];
      if (!others.empty()) ops.insert(ops.begin() + at, SketchOp(others[below(random, others.size())]));
      break;
    }
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
