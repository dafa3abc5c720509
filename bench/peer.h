// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/result.h"

namespace turnstile::bench {

/// What SPIN says of a complete search of programs/ring.pml.
struct SpinRun {
  uint64_t states = 0;
  uint64_t transitions = 0;
  double cpu_seconds = 0;      ///< of `pan` alone
  double bytes_per_state = 0;  ///< as stored, with its overhead, without the hash table
};

/// Generates, compiles (gcc -O2 -DSAFETY, -DNOREDUCE if it is not to `reduce`) and runs the model. Error:
/// SPIN or gcc is missing, the search was not complete, or it found an error.
Result<SpinRun> run_spin(unsigned stages, unsigned consumers, unsigned trips, bool reduce);

/// CPU seconds (user) and peak memory of one run of a program.
struct ProcessCost {
  double cpu_seconds = 0;
  double peak_megabytes = 0;
  int exit_code = 0;
};

/// Starts `arguments[0]` with its output thrown away.
Result<ProcessCost> run_and_measure(const std::vector<std::string>& arguments);

}  // namespace turnstile::bench
