// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/program.h"

namespace turnstile::sim {

/// What is wrong with the operands of a decoded instruction ("operand 2 must be an address in brackets"), or
/// empty. Semantic functions index their operands without looking, so no instruction runs that this has not
/// passed. It is also the only place that knows which registers must be predicates and how wide others are.
std::string operand_problem(const Decoded& decoded, const ptx::Entry& entry);

}  // namespace turnstile::sim
