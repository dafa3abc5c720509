// SPDX-License-Identifier: Apache-2.0
#include "cli/tickets.h"

#include "cli/handed_over.h"
#include "cli/handovers.h"
#include "sim/grouping.h"
#include "sim/launch_run.h"

namespace turnstile::cli {

Result<TicketScheduler> find_tickets(const sim::Program& program, const Launch& launch, uint64_t traces) {
  TicketScheduler out;
  if (traces != clusters_of(program, launch)) return out;
  out.counter = sim::find_ticket_counter(program, launch);
  if (!out.counter || traces == 1) return out;
  // Who draws what is no tile may be told apart by it: the last one of all, for instance. The runs below draw
  // the first such value only.
  Result<HandedOver> handed_over = HandedOver::create(program, launch, &*out.counter);
  if (!handed_over) return tl::unexpected<Error>(handed_over.error());
  sim::RunOptions options;
  options.ctas = {sim::cta_of_trace(program, launch, 0)};
  options.follow_position = true;
  options.tickets = &*out.counter;
  const Result<sim::RunResult> run = sim::run_launch(program, launch, options);
  if (!run) return tl::unexpected<Error>(run.error());
  handed_over->add_refusal(run->traces.front(), run->tapes.front());
  out.why_not = handed_over->examine_refusals();
  if (out.why_not) out.counter.reset();
  return out;
}

}  // namespace turnstile::cli
