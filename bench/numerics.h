// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace turnstile::bench {

/// Prints the table of the arithmetic models: products a second of the matrix unit, vectors beside the scalar
/// reference in the same run, and results a second of ex2. False: results of two implementations differ.
bool measure_numerics();

}  // namespace turnstile::bench
