// SPDX-License-Identifier: Apache-2.0
#include "checker/policies.h"

#include <algorithm>

namespace turnstile {

namespace {

constexpr PolicyName kPolicies[] = {
    {"remote_scope", "practice, strict",
     "remote arrivals and waits of scope .cta order what is complete before them, or nothing (HB1, Q2)"},
    {"read_fence", "error, lint", "generic read, then asynchronous write, without a proxy fence (PX2)"},
    {"tensor_fence", "lint, error", "a thread sync without tcgen05.fence beside it (TC23)"},
    {"async_across_ctas", "lint, error", "asynchronous accesses of two CTAs, ordered by barriers (PX5, Q3)"},
    {"init_fence", "lint, error",
     "a barrier of another CTA initialised without fence.mbarrier_init, ordered by a cluster barrier (MB11)"},
    {"register_meeting", "lint, error", "setmaxnreg again before the warps of its group have met (RG1)"},
    {"exit_in_flight", "lint, error", "a bulk store that still reads when its thread ends (BK6, Q8)"},
    {"unseen_phase", "error, lint", "an arrival in the phase after one that nobody has waited for (S1)"},
    {"commit_address", "error, lint",
     "tcgen05.commit without .shared::cluster gets a shared address, not a generic one (TC24)"},
    {"commit_order", "issue, free",
     "in which order the tcgen05.commits of one thread arrive in a CTA: that of issue, or any (TC24)"},
};

Severity& severity_of(Policies& policies, std::string_view name) {
  if (name == "read_fence") return policies.read_fence;
  if (name == "tensor_fence") return policies.tensor_fence;
  if (name == "init_fence") return policies.init_fence;
  if (name == "register_meeting") return policies.register_meeting;
  if (name == "unseen_phase") return policies.unseen_phase;
  if (name == "commit_address") return policies.commit_address;
  return name == "exit_in_flight" ? policies.exit_in_flight : policies.async_across_ctas;
}

}  // namespace

std::span<const PolicyName> policy_names() { return kPolicies; }

Policies strict_policies() {
  Policies p;
  p.remote_scope = Policies::Scope::strict;
  p.read_fence = p.tensor_fence = p.async_across_ctas = p.init_fence = p.register_meeting = p.exit_in_flight =
      p.unseen_phase = p.commit_address = Severity::error;
  p.commits_in_order = false;
  return p;
}

std::string set_policy(Policies& policies, std::string_view name, std::string_view value) {
  const auto policy = std::find_if(std::begin(kPolicies), std::end(kPolicies),
                                   [&](const PolicyName& p) { return p.name == name; });
  if (policy == std::end(kPolicies)) {
    std::string known;
    for (const PolicyName& p : kPolicies) known.append(known.empty() ? "" : ", ").append(p.name);
    return "there is no policy '" + std::string(name) + "'; there are " + known;
  }
  const size_t comma = policy->values.find(", ");
  if (value != policy->values.substr(0, comma) && value != policy->values.substr(comma + 2))
    return "policy " + std::string(name) + ": '" + std::string(value) + "' is none of " +
           std::string(policy->values);
  if (name == "remote_scope")
    policies.remote_scope = value == "strict" ? Policies::Scope::strict : Policies::Scope::practice;
  else if (name == "commit_order")
    policies.commits_in_order = value == "issue";
  else
    severity_of(policies, name) = value == "error" ? Severity::error : Severity::lint;
  return {};
}

}  // namespace turnstile
