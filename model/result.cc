// SPDX-License-Identifier: Apache-2.0
#include "model/result.h"

namespace turnstile {

std::string Error::text() const {
  std::string out = file;
  if (line != 0) {
    out += ":" + std::to_string(line);
    if (column != 0) out += ":" + std::to_string(column);
  }
  return out.empty() ? message : out + ": " + message;
}

}  // namespace turnstile
