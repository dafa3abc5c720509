// SPDX-License-Identifier: Apache-2.0
#include "golden/digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace turnstile::golden {

namespace {

// FIPS 180-4 section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64
// primes.
constexpr std::array<uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr char hex_digits[] = "0123456789abcdef";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Sha256::compress(const std::byte* block) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i)
    w[i] = std::to_integer<uint32_t>(block[4 * i]) << 24 | std::to_integer<uint32_t>(block[4 * i + 1]) << 16 |
           std::to_integer<uint32_t>(block[4 * i + 2]) << 8 | std::to_integer<uint32_t>(block[4 * i + 3]);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<uint32_t, 8> sum = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += sum[i];
}

void Sha256::update(std::span<const std::byte> bytes) {
  size_t held = total_ % 64;
  total_ += bytes.size();
  if (held != 0) {
    const size_t taken = std::min(64 - held, bytes.size());
    std::copy_n(bytes.begin(), taken, pending_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(taken);
    held += taken;
    if (held < 64) return;
    compress(pending_.data());
  }
  while (bytes.size() >= 64) {
    compress(bytes.data());
    bytes = bytes.subspan(64);
  }
  std::copy(bytes.begin(), bytes.end(), pending_.begin());
}

std::array<std::byte, 32> Sha256::finish() {
  const uint64_t bits = total_ * 8;
  size_t held = total_ % 64;
  pending_[held++] = std::byte{0x80};
  if (held > 56) {
    std::fill(pending_.begin() + static_cast<std::ptrdiff_t>(held), pending_.end(), std::byte{0});
    compress(pending_.data());
    held = 0;
  }
  std::fill(pending_.begin() + static_cast<std::ptrdiff_t>(held), pending_.end(), std::byte{0});
  for (size_t i = 0; i < 8; ++i) pending_[56 + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  compress(pending_.data());
  std::array<std::byte, 32> digest;
  for (size_t i = 0; i < 32; ++i) digest[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::byte b : bytes) {
    text += hex_digits[std::to_integer<size_t>(b >> 4)];
    text += hex_digits[std::to_integer<size_t>(b & std::byte{15})];
  }
  return text;
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes(text.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_value(text[2 * i]);
    const int low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return bytes;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return to_hex(hash.finish());
}

std::string sha256_hex(std::string_view text) { return sha256_hex(std::as_bytes(std::span(text))); }

std::string matrix_sha256(const MatrixView& matrix) {
  Sha256 hash;
  for (uint64_t r = 0; r < matrix.rows; ++r) hash.update(matrix.row(r));
  return to_hex(hash.finish());
}

std::vector<uint64_t> row_digests(const MatrixView& matrix) {
  std::vector<uint64_t> digests(matrix.rows);
  for (uint64_t r = 0; r < matrix.rows; ++r) {
    Sha256 hash;
    hash.update(matrix.row(r));
    const std::array<std::byte, 32> full = hash.finish();
    for (size_t i = 0; i < 8; ++i) digests[r] = digests[r] << 8 | std::to_integer<uint64_t>(full[i]);
  }
  return digests;
}

}  // namespace turnstile::golden
