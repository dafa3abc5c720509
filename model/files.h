// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/result.h"

namespace turnstile {

/// The whole file, which must not be longer than `limit` bytes. Errors name the path and the system's reason.
Result<std::string> read_file(const std::string& path, uint64_t limit);

/// Writes beside the path and renames, so that the path never holds half a file; on error the old file, if
/// any, is untouched and nothing is left behind.
Result<void> write_file_atomically(const std::string& path, std::span<const std::byte> bytes);
Result<void> write_file_atomically(const std::string& path, std::string_view text);

}  // namespace turnstile
