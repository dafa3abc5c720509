// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/orchestration.h"
#include "model/protocol/async_groups.h"
#include "model/protocol/tensor_queue.h"

namespace turnstile {

/// What of an Orchestration stays the same while it runs, prepared for OrchestrationMachine: who takes part
/// in what, and how wide each number of a saved state has to be.
struct OrchestrationPlan {
  static constexpr uint32_t none = 0xffffffff;

  struct Op {
    uint32_t issues = 0;      ///< issue events; more than one for a wgmma of four warps (WG6)
    uint32_t reads_done = 0;  ///< phase from which its source has been read: READ_DONE (BK3)
    uint32_t phases = 0;      ///< issue and landing events together
    QueueOrder order = QueueOrder::free;
    TensorOperation tensor;
  };

  struct Barrier {
    bool lives = false;                ///< there are init or inval events: validity is part of the state
    bool resizes = false;              ///< inits with other counts, or drops: so is the expected count
    bool counts_tx = false;            ///< bytes are counted
    int32_t tx_unit = 1;               ///< divides all of them
    uint32_t expected = 0;             ///< if it does not resize
    uint32_t count_bits = 0;           ///< of expected and pending
    std::vector<uint32_t> same_place;  ///< other barriers at the same address (MB9)
  };

  struct Named {
    uint32_t object = 0;                 ///< cta * 16 + id
    uint32_t first = 0;                  ///< of its participants in Machine's contributions
    std::vector<uint32_t> participants;  ///< strands, sorted
    uint32_t count_bits = 0;
  };

  struct RegisterGroupInfo {
    uint32_t cta = 0;
    uint32_t members = 0;           ///< mask of the warps that exist
    std::vector<uint32_t> strands;  ///< that run on its warps
  };

  explicit OrchestrationPlan(const Orchestration& program);

  std::vector<Op> ops;
  std::vector<Barrier> barriers;
  std::vector<Named> named;        ///< by object
  std::vector<uint32_t> named_at;  ///< object -> index into `named`
  struct Strand {
    uint32_t length = 0;   ///< events
    unsigned pc_bits = 0;  ///< of a position
    uint16_t cta = 0;
    bool whole = true;
    bool passes = false;  ///< there are passes of named barriers
  };
  std::vector<Strand> strands;
  unsigned op_bits = 0, phase_bits = 0;
  uint32_t contributions = 0;  ///< of all named barriers together
  uint32_t ctas = 1;
  std::vector<uint32_t> strands_of_cta;  ///< how many
  bool exits_leave = false;              ///< there are exits that barriers notice
  bool uses_cluster = false, uses_registers = false, uses_tensor_memory = false;
  /// There is more to a state than positions, mbarriers and operations in flight.
  bool has_rest = false;
  std::vector<RegisterGroupInfo> register_groups;
  std::vector<uint32_t> register_group_of;  ///< by strand
  std::vector<uint32_t> register_warp_of;   ///< by strand: 0 to 3, in its group

 private:
  void plan_events(const Orchestration& program);
  void plan_ops(const Orchestration& program);
  void plan_barriers(const Orchestration& program);
  void plan_registers(const Orchestration& program);
};

}  // namespace turnstile
