// SPDX-License-Identifier: Apache-2.0
#include "checker/policies.h"

namespace turnstile {

namespace {

constexpr PolicyName kPolicies[] = {
    {"remote_scope", "practice, strict", "remote arrivals and waits of scope .cta order (HB1, Q2)"},
    {"read_fence", "lint, error", "generic read, then asynchronous write, without a proxy fence (PX2)"},
    {"tensor_fence", "lint, error", "a thread sync without tcgen05.fence beside it (TC23)"},
    {"async_across_ctas", "lint, error", "asynchronous accesses of two CTAs, ordered by barriers (PX5, Q3)"},
};

}  // namespace

std::span<const PolicyName> policy_names() { return kPolicies; }

Policies strict_policies() {
  return {Policies::Scope::strict, Severity::error, Severity::error, Severity::error};
}

std::string set_policy(Policies& policies, std::string_view name, std::string_view value) {
  for (const PolicyName& p : kPolicies) {
    if (p.name != name) continue;
    const size_t comma = p.values.find(", ");
    const bool second = value == p.values.substr(comma + 2);
    if (!second && value != p.values.substr(0, comma))
      return "policy " + std::string(name) + ": '" + std::string(value) + "' is none of " +
             std::string(p.values);
    const Severity severity = second ? Severity::error : Severity::lint;
    if (name == "remote_scope")
      policies.remote_scope = second ? Policies::Scope::strict : Policies::Scope::practice;
    else if (name == "read_fence")
      policies.read_fence = severity;
    else if (name == "tensor_fence")
      policies.tensor_fence = severity;
    else
      policies.async_across_ctas = severity;
    return {};
  }
  std::string known;
  for (const PolicyName& p : kPolicies) known.append(known.empty() ? "" : ", ").append(p.name);
  return "there is no policy '" + std::string(name) + "'; there are " + known;
}

}  // namespace turnstile
