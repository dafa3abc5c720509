// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/cluster_launch_control.h"

namespace turnstile {

ClusterLaunchControl::ClusterLaunchControl(uint32_t clusters, uint32_t ctas)
    : waiting_(clusters, 1), failure_seen_(ctas, 0), waiting_count_(clusters) {}

ClusterLaunchControl::Outcome ClusterLaunchControl::launch(uint32_t cluster) {
  if (cluster >= waiting_.size() || waiting_[cluster] == 0) return Outcome::not_waiting;
  waiting_[cluster] = 0;
  --waiting_count_;
  return Outcome::ok;
}

ClusterLaunchControl::Outcome ClusterLaunchControl::request(uint32_t cta, bool multicast, bool any_cta_exited,
                                                            std::optional<uint32_t> choice,
                                                            Response& response) {
  if (multicast && any_cta_exited) return Outcome::exited_target;
  if (failure_seen_[cta] != 0) return Outcome::after_failure;
  if (choice)
    if (const Outcome outcome = launch(*choice); outcome != Outcome::ok) return outcome;
  response.cluster = choice;
  return Outcome::ok;
}

bool ClusterLaunchControl::is_cancelled(uint32_t cta, const Response& response) {
  if (!response.cluster) failure_seen_[cta] = 1;
  return response.cluster.has_value();
}

bool ClusterLaunchControl::first_cta(const Response& response, uint32_t& cluster) {
  if (!response.cluster) return false;
  cluster = *response.cluster;
  return true;
}

std::string_view broken_rule(ClusterLaunchControl::Outcome outcome) {
  switch (outcome) {
    case ClusterLaunchControl::Outcome::ok:
      return {};
    case ClusterLaunchControl::Outcome::not_waiting:
      return "CL1";
    case ClusterLaunchControl::Outcome::exited_target:
      return "CL3";
    case ClusterLaunchControl::Outcome::after_failure:
      return "CL4";
  }
  return {};
}

}  // namespace turnstile
