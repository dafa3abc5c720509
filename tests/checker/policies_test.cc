// SPDX-License-Identifier: Apache-2.0
#include "checker/policies.h"

#include <doctest/doctest.h>

using namespace turnstile;

TEST_CASE("contested rules are set by name, and a wrong name or value is answered with what there is") {
  Policies p;
  CHECK(set_policy(p, "remote_scope", "strict").empty());
  CHECK(p.remote_scope == Policies::Scope::strict);
  CHECK(set_policy(p, "remote_scope", "practice").empty());
  CHECK(p.remote_scope == Policies::Scope::practice);
  CHECK(set_policy(p, "read_fence", "error").empty());
  CHECK(p.read_fence == Severity::error);
  CHECK(set_policy(p, "tensor_fence", "error").empty());
  CHECK(p.tensor_fence == Severity::error);
  CHECK(set_policy(p, "async_across_ctas", "error").empty());
  CHECK(p.async_across_ctas == Severity::error);
  CHECK(set_policy(p, "read_fence", "lint").empty());
  CHECK(p.read_fence == Severity::lint);
  CHECK(set_policy(p, "read_fence", "strict") == "policy read_fence: 'strict' is none of lint, error");
  CHECK(set_policy(p, "scope", "strict").find("remote_scope, read_fence") != std::string::npos);
  CHECK(policy_names().size() == 4);
  CHECK(strict_policies().remote_scope == Policies::Scope::strict);
}
