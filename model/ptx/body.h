// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/ptx/context.h"

namespace turnstile::ptx {

/// The body of an entry behind its `{`, including the `}`: fills registers, symbols and instructions of the
/// entry and resolves all labels. `names` has a scope for the body open already.
bool parse_body(Context& context);

}  // namespace turnstile::ptx
