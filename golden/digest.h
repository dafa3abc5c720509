// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "golden/matrix.h"

namespace turnstile::golden {

/// SHA-256 (FIPS 180-4). Written here rather than linked, so that the static program needs no crypto library;
/// about 250 MB/s.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  /// The digest of all bytes so far. The object must not be used afterwards.
  std::array<std::byte, 32> finish();

 private:
  void compress(const std::byte* block);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  uint64_t total_ = 0;  ///< bytes
};

/// 64 lower-case hex digits.
std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);

/// Digest of the elements of a matrix in row-major order; bytes between the rows do not count.
std::string matrix_sha256(const MatrixView& matrix);

/// One digest a row: the first 8 bytes of the row's SHA-256, read as a big-endian number. Two rows of other
/// bits get equal digests with probability 2^-64; the digest of the whole matrix decides.
std::vector<uint64_t> row_digests(const MatrixView& matrix);

/// Lower-case hex of bytes, and back; nullopt if the text is not an even number of hex digits.
std::string to_hex(std::span<const std::byte> bytes);
std::optional<std::vector<std::byte>> from_hex(std::string_view text);

}  // namespace turnstile::golden
