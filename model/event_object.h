// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/trace.h"

namespace turnstile {

/// What the `object` of an event is the number of, or what else the event names.
enum class EventObject : uint8_t {
  none,           ///< nothing, or something that there is once
  strand,         ///< Trace::agents
  barrier,        ///< Trace::barriers
  named_barrier,  ///< cta * 16 + id
  operation,      ///< Trace::ops
  queue,          ///< Trace::queues
  signal,         ///< Trace::signals
  pool,           ///< Trace::pools
  cluster,        ///< number of the cluster
};

inline constexpr uint32_t max_named_barriers = 16u << 16;

/// The table of event kinds: whoever looks at events from outside reads it here.
constexpr EventObject object_of(EventKind kind) {
  switch (kind) {
    case EventKind::fork:
    case EventKind::join:
      return EventObject::strand;
    case EventKind::mbarrier_init:
    case EventKind::mbarrier_inval:
    case EventKind::mbarrier_arrive:
    case EventKind::mbarrier_expect_tx:
    case EventKind::mbarrier_wait:
      return EventObject::barrier;
    case EventKind::named_barrier_arrive:
    case EventKind::named_barrier_pass:
      return EventObject::named_barrier;
    case EventKind::async_issue:
    case EventKind::async_access:
    case EventKind::async_complete:
      return EventObject::operation;
    case EventKind::group_commit:
    case EventKind::group_wait:
    case EventKind::register_hazard:
      return EventObject::queue;
    case EventKind::signal_add:
    case EventKind::signal_set:
    case EventKind::signal_wait:
      return EventObject::signal;
    case EventKind::pool_acquire:
    case EventKind::pool_release:
      return EventObject::pool;
    case EventKind::cluster_arrive:
    case EventKind::cluster_wait:
      return EventObject::cluster;
    case EventKind::access:
    case EventKind::fence_proxy_async:
    case EventKind::fence:
    case EventKind::fence_mbarrier_init:
    case EventKind::registers_release:
    case EventKind::registers_acquire:
    case EventKind::tensor_fence_before:
    case EventKind::tensor_fence_after:
    case EventKind::tensor_alloc:
    case EventKind::tensor_dealloc:
    case EventKind::tensor_relinquish:
    case EventKind::fence_tensormap:
    case EventKind::dependents_launch:
    case EventKind::dependency_wait:
    case EventKind::exit:
      return EventObject::none;
  }
  return EventObject::none;
}

constexpr bool has_footprint(EventKind kind) {
  return kind == EventKind::access || kind == EventKind::async_access;
}

/// What the events of a trace may name, counted once, so that looking at an event costs two comparisons.
/// Numbers of clusters nobody uses as an index.
class EventBounds {
 public:
  explicit EventBounds(const Trace& t) {
    for (size_t kind = 0; kind < by_kind_.size(); ++kind) {
      by_kind_[kind].objects = count(t, object_of(static_cast<EventKind>(kind)));
      if (has_footprint(static_cast<EventKind>(kind))) by_kind_[kind].footprints = t.footprints.size();
    }
  }

  /// Does the trace have the object and the footprint of this event?
  bool hold(const Event& e) const {
    const Bound& bound = by_kind_[static_cast<size_t>(e.kind)];
    return e.object < bound.objects && e.footprint < bound.footprints;
  }

 private:
  static constexpr uint64_t unbounded = uint64_t{1} << 32;
  struct Bound {
    uint64_t objects = unbounded, footprints = unbounded;
  };

  static uint64_t count(const Trace& t, EventObject object) {
    switch (object) {
      case EventObject::strand:
        return t.agents.size();
      case EventObject::barrier:
        return t.barriers.size();
      case EventObject::named_barrier:
        return max_named_barriers;
      case EventObject::operation:
        return t.ops.size();
      case EventObject::queue:
        return t.queues.size();
      case EventObject::signal:
        return t.signals.size();
      case EventObject::pool:
        return t.pools.size();
      case EventObject::none:
      case EventObject::cluster:
        break;
    }
    return unbounded;
  }

  std::array<Bound, static_cast<size_t>(EventKind::exit) + 1> by_kind_;
};

}  // namespace turnstile
