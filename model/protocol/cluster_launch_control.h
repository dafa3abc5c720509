// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace turnstile {

/// Cluster launch control of one grid (semantics.md section 10): every cluster of the grid is either launched
/// by the hardware or cancelled by a running CTA that takes over its work, each exactly once (CL1).
///
/// Which cluster a successful request gets, and whether the hardware launches it first, is not specified
/// (CL7): the caller chooses. The response is written through the async proxy and completes 16 bytes on a
/// barrier of each destination CTA (CL2); those are operations in flight like any copy.
class ClusterLaunchControl {
 public:
  static constexpr uint32_t response_bytes = 16;  // CL2, CL10

  enum class Outcome : uint8_t {
    ok,
    not_waiting,    ///< CL1: the cluster was launched or cancelled before
    exited_target,  ///< CL3: a multicast response to a cluster with an exited CTA
    after_failure,  ///< CL4: this CTA has seen that nothing is left
  };

  /// What try_cancel answers: the cluster that was cancelled, or none.
  struct Response {
    std::optional<uint32_t> cluster;
  };

  ClusterLaunchControl(uint32_t clusters, uint32_t ctas);

  /// The hardware launches a cluster.
  Outcome launch(uint32_t cluster);
  /// try_cancel by a CTA; `choice` is the cluster that it gets, none for a failure. A request can fail
  /// although clusters are left (they may be launched in the meantime), it cannot succeed without one.
  Outcome request(uint32_t cta, bool multicast, bool any_cta_exited, std::optional<uint32_t> choice,
                  Response& response);
  /// query.is_canceled on a response; from then on the CTA knows of the failure.
  bool is_cancelled(uint32_t cta, const Response& response);
  /// CL9: query.get_first_ctaid of a failed response has no answer.
  static bool first_cta(const Response& response, uint32_t& cluster);

  uint32_t waiting() const { return waiting_count_; }
  /// CL1 at the end: nobody has forgotten a cluster.
  bool all_processed() const { return waiting_count_ == 0; }

 private:
  std::vector<uint8_t> waiting_;       // by cluster
  std::vector<uint8_t> failure_seen_;  // by CTA
  uint32_t waiting_count_;
};

/// Rule id that an outcome breaks; empty for ok.
std::string_view broken_rule(ClusterLaunchControl::Outcome outcome);

}  // namespace turnstile
