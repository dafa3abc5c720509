// SPDX-License-Identifier: Apache-2.0
#include "model/must.h"

#include <cstdio>
#include <cstdlib>

namespace turnstile {

void must_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr,
               "turnstile: internal error (this is a bug in Turnstile, not in your kernel): %s\n  at %s:%d\n",
               what, file, line);
  std::abort();
}

}  // namespace turnstile
