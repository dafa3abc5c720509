// SPDX-License-Identifier: Apache-2.0
#include "sim/deferred_arrival.h"

#include <fmt/format.h>

#include "sim/barrier_operand.h"

namespace turnstile::sim {

void land_arrival(Cta& cta, uint32_t op, BarrierObject& barrier, const Cta& owner) {
  const AgentId issuer = cta.recorder.trace().ops[op].issuer;
  const uint32_t place = cta.recorder.trace().ops[op].place;
  if (&owner != &cta && owner.ended()) {
    cta.recorder.fault(
        issuer, place, "D2",
        fmt::format("an asynchronous arrival reaches {} of the CTA of rank {}, which has ended",
                    cta.recorder.trace().barriers[barrier.number].name, owner.rank),
        "keep every CTA alive until its peers are done with it: a cluster barrier before the exit");
    return cta.halt();
  }
  cta.recorder.add(EventKind::async_complete, issuer, place).object = op;
  const Mbarrier::Outcome outcome = barrier.state.arrive(1);
  const std::string_view rule = broken_rule(outcome);
  if (rule.empty()) return;
  cta.recorder.fault(issuer, place, std::string(rule),
                     outcome_text(outcome, cta.recorder.trace().barriers[barrier.number].name, barrier.state),
                     outcome_help(outcome));
  cta.halt();
}

}  // namespace turnstile::sim
