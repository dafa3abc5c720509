// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <vector>

#include "model/launch/generate.h"
#include "model/launch/philox.h"

// The tables come from tests/model/data/generate_reference.py, which computes the same definition with exact
// rationals and rounds by comparing distances: `python3 tests/model/data/generate_reference.py` prints them.

namespace turnstile {
namespace {

struct Cell {
  size_t row, column;
};
constexpr Cell kCells[] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {2, 5}, {1000, 1023}, {77, 4095}, {70000, 3}};
constexpr uint64_t kSeed = 0x123456789ABCDEF0, kStream = 7;

struct KnownAnswer {
  Family family;
  ElementType type;
  uint64_t bits[8];
};
constexpr KnownAnswer kKnown[] = {
    {Family::normal, ElementType::bf16, {0xbf1e, 0x3ebe, 0xbefb, 0xbf30, 0x402b, 0x3f86, 0xbfa1, 0x3e9a}},
    {Family::normal, ElementType::f16, {0xb8ef, 0x35f0, 0xb7d7, 0xb97d, 0x4158, 0x3c34, 0xbd06, 0x34cd}},
    {Family::normal, ElementType::e4m3, {0xb2, 0x2c, 0xb0, 0xb3, 0x43, 0x38, 0xba, 0x2a}},
    {Family::normal, ElementType::e5m2, {0xb9, 0x36, 0xb8, 0xb9, 0x41, 0x3c, 0xbd, 0x35}},
    {Family::normal,
     ElementType::f32,
     {0xbf1dda43, 0x3ebdf327, 0xbefaedbc, 0xbf2fab3c, 0x402afa70, 0x3f8677ba, 0xbfa0b82b, 0x3e99ac07}},
    {Family::normal,
     ElementType::tf32,
     {0xbf1de000, 0x3ebe0000, 0xbefae000, 0xbf2fa000, 0x402b0000, 0x3f868000, 0xbfa0c000, 0x3e99a000}},
    {Family::normal,
     ElementType::f64,
     {0xbfe3bb485e15a000, 0x3fd7be64d6644000, 0xbfdf5db77275c000, 0xbfe5f56773edc000, 0x40055f4e0868f800,
      0x3ff0cef747dcc000, 0xbff4170550600000, 0x3fd33580e3808000}},
    {Family::normal, ElementType::s8, {0xec, 0xb, 0xf0, 0xea, 0x55, 0x21, 0xd7, 0x9}},
    {Family::normal, ElementType::u8, {0x6c, 0x8b, 0x70, 0x6a, 0xd5, 0xa1, 0x57, 0x89}},
    {Family::normal, ElementType::s16, {0xec44, 0xbdf, 0xf051, 0xea0a, 0x557d, 0x219d, 0xd7d1, 0x99a}},
    {Family::normal,
     ElementType::u32,
     {0x6c44b7a1, 0x8bdf326b, 0x70512446, 0x6a0a988c, 0xd57d3821, 0xa19dee8f, 0x57d1f55f, 0x899ac071}},
    {Family::wide, ElementType::bf16, {0xc6b8, 0x36c5, 0xbe15, 0xc95d, 0xbe3d, 0xc600, 0x4887, 0x439d}},
    {Family::wide, ElementType::f16, {0xddc5, 0x1229, 0xb4af, 0xeaed, 0xb5eb, 0xdc06, 0x6838, 0x4ceb}},
    {Family::wide, ElementType::e4m3, {0xdb, 0x14, 0xb1, 0xe5, 0xb3, 0xd0, 0x60, 0x49}},
    {Family::wide, ElementType::e5m2, {0xdd, 0x12, 0xb4, 0xea, 0xb5, 0xdc, 0x68, 0x4c}},
    {Family::wide,
     ElementType::f32,
     {0xc6b8a9b5, 0x36c5259a, 0xbe15f8a7, 0xc95dba81, 0xbe3d7ddf, 0xc600da41, 0x48870998, 0x439d7ade}},
    {Family::wide,
     ElementType::tf32,
     {0xc6b8a000, 0x36c52000, 0xbe15e000, 0xc95da000, 0xbe3d6000, 0xc600c000, 0x48870000, 0x439d6000}},
    {Family::wide,
     ElementType::f64,
     {0xc0d71536b7d573fe, 0x3ed8a4b3546e0cf9, 0xbfc2bf14f747340a, 0xc12bb7503045108c, 0xbfc7afbbef4b0998,
      0xc0c01b4834a6bf0d, 0x4110e1331a3a4661, 0x4073af5bdf9cc671}},
};

}  // namespace

TEST_CASE("Philox gives the published known answers") {
  // Random123 1.14, tests/kat_vectors, philox4x32 with 10 rounds.
  using W = std::array<uint32_t, 4>;
  CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) == W{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        W{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        W{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("generated elements have the bits of a second implementation") {
  for (const KnownAnswer& known : kKnown) {
    const size_t width = element_bytes(known.type);
    for (size_t i = 0; i < 8; ++i) {
      // The smallest matrix that has the cell, as its last element: its size must not matter.
      const Cell cell = kCells[i];
      std::vector<std::byte> bytes((cell.row + 1) * (cell.column + 1) * width);
      generate(known.family, known.type, kSeed, kStream, cell.row + 1, cell.column + 1, cell.column + 1,
               bytes);
      uint64_t bits = 0;
      std::memcpy(&bits, bytes.data() + bytes.size() - width, width);
      INFO(family_name(known.family), " ", element_name(known.type), " row ", cell.row, " column ",
           cell.column);
      CHECK(bits == known.bits[i]);
    }
  }
}

}  // namespace turnstile
