// SPDX-License-Identifier: Apache-2.0
#include "model/must.h"

#include <cstdio>
#include <cstdlib>

namespace turnstile {

void must_failed(const char* what, const std::source_location& where) {
  std::fprintf(stderr, "turnstile: internal error (this is a bug in Turnstile, not in your kernel): %s\n  at %s:%u\n",
               what, where.file_name(), static_cast<unsigned>(where.line()));
  std::abort();
}

}  // namespace turnstile
