// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "checker/register_grants.h"
#include "checker/run_state.h"

namespace turnstile::checker {

/// The register pool of setmaxnreg (semantics.md section 8). Grants compete, so one run stands for all only
/// if every order of grants can be satisfied (K7): the largest requests together fit (RG8) and no warp gives
/// its registers back only after another got some (RG7), or no set of requests can wait for ever
/// (register_grants.h).
class Registers {
 public:
  explicit Registers(RunState& run);

  void release(const Event& e);
  void acquire(const Event& e);
  void finish();

 private:
  void request(AgentId agent, uint32_t count);
  void turn(const Event& e);
  void note(const Event& e);

  RunState& run_;
  std::map<uint16_t, std::vector<uint32_t>> wanted_;  ///< by CTA and warp, largest request; 0: none
  std::map<uint32_t, std::vector<std::vector<Epoch>>>
      turns_;  ///< by CTA and warp group: of each warp in turn
  std::vector<Epoch> grants_;
  std::vector<RegisterRequest> requests_;
  bool late_release_ = false, told_unmet_ = false;
};

/// Registers held and left in one CTA, per thread and warp, when the run ended.
struct RegisterPool {
  std::vector<uint32_t> held;  ///< per warp
  uint64_t total = 0;          ///< sum at entry
  uint64_t used = 0;           ///< sum now
};
RegisterPool register_pool(const Trace& trace, uint16_t cta);

}  // namespace turnstile::checker
