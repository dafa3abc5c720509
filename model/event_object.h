// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Does a trace have what the event names: object and footprint? Numbers of clusters nobody uses as an index.
inline bool names_what_is_there(const Trace& t, const Event& e) {
  if (has_footprint(e.kind) && e.footprint >= t.footprints.size()) return false;
  const auto count = [&]() -> size_t {
    switch (object_of(e.kind)) {
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
    return size_t{1} << 32;
  };
  return e.object < count();
}

}  // namespace turnstile
