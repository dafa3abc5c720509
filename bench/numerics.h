// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace turnstile::bench {

/// Prints the table of the arithmetic models: products a second of the matrix unit, vectors beside the scalar
/// reference in the same run, and results a second of ex2. False: results of two implementations differ, or a
/// file could not be written. With a folder, the operands and the result of each row are left there, as
/// ROW.a, ROW.b (256 lines of k elements each) and ROW.d (256 x 256 words), for a peer to be given the same
/// (bench/emulator.py).
bool measure_numerics(const std::string& folder = "");

}  // namespace turnstile::bench
