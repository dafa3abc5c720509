// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "golden/compare.h"
#include "golden/digest.h"
#include "golden/matrix.h"

using namespace turnstile;
using namespace turnstile::golden;

namespace {

/// Little-endian 16-bit words as bytes.
std::vector<std::byte> words(std::initializer_list<unsigned> values) {
  std::vector<std::byte> out;
  for (unsigned v : values) {
    out.push_back(static_cast<std::byte>(v));
    out.push_back(static_cast<std::byte>(v >> 8));
  }
  return out;
}

}  // namespace

TEST_CASE("values are printed as the format says") {
  CHECK(value_text(ElementType::bf16, 0x3f80) == "1");
  CHECK(value_text(ElementType::bf16, 0xc040) == "-3");
  CHECK(value_text(ElementType::bf16, 0x8000) == "-0");
  CHECK(value_text(ElementType::bf16, 0x7f80) == "inf");
  CHECK(value_text(ElementType::bf16, 0x7fff) == "nan");
  CHECK(value_text(ElementType::f16, 0x0001) == "5.96046448e-08");  // 2^-24, the smallest subnormal
  CHECK(value_text(ElementType::f16, 0x7bff) == "65504");
  CHECK(value_text(ElementType::f32, 0x3dcccccd) == "0.100000001");
  CHECK(value_text(ElementType::f64, 0x7ff0000000000000) == "inf");
  CHECK(value_text(ElementType::e4m3, 0x7e) ==
        "448");  // the largest e4m3; 0x7f is its NaN, and there is no infinity
  CHECK(value_text(ElementType::e4m3, 0x7f) == "nan");
  CHECK(value_text(ElementType::e5m2, 0x7c) == "inf");
  CHECK(value_text(ElementType::s8, 0xff) == "-1");
  CHECK(value_text(ElementType::u32, 0xffffffff) == "4294967295");
  CHECK(value_text(ElementType::s64, 0x8000000000000000) == "-9223372036854775808");
  CHECK(bits_text(ElementType::bf16, 0x7f) == "0x007f");
}

TEST_CASE("a comparison counts bits, not values: zeros of both signs and NaN payloads differ") {
  const auto a = words({0x0000, 0x7fff, 0x3f80, 0xdead, 0x4000, 0x4000, 0x4000, 0xdead});
  const auto b = words({0x8000, 0x7fc0, 0x3f80, 0xbeef, 0x4000, 0x4000, 0x4000, 0xbeef});
  // 2 rows of 3 bf16; the fourth word of each row is padding and must not count.
  const auto result =
      compare(MatrixView{ElementType::bf16, 2, 3, 4, a}, MatrixView{ElementType::bf16, 2, 3, 4, b});
  REQUIRE(result);
  CHECK(result->elements == 6);
  CHECK(result->differing == 2);
  CHECK(result->differing_rows == 1);
  REQUIRE(result->first);
  CHECK(result->first->row == 0);
  CHECK(result->first->column == 0);
  CHECK(result->first->left == 0x0000);
  CHECK(result->first->right == 0x8000);
}

TEST_CASE("matrices of other shapes or types are not compared") {
  const auto a = words({1, 2, 3, 4});
  CHECK_FALSE(compare(MatrixView{ElementType::bf16, 2, 2, 2, a}, MatrixView{ElementType::f16, 2, 2, 2, a}));
  const auto r =
      compare(MatrixView{ElementType::bf16, 2, 2, 2, a}, MatrixView{ElementType::bf16, 1, 4, 4, a});
  REQUIRE_FALSE(r);
  CHECK(r.error().text() == "not the same shape: bf16 [2, 2] against bf16 [1, 4]");
}

TEST_CASE("where the record holds digests only, rows are compared") {
  const auto a = words({1, 2, 3, 4, 5, 6});
  const auto b = words({1, 2, 3, 9, 5, 6});
  const MatrixView left{ElementType::u16, 3, 2, 2, a};
  const MatrixView right{ElementType::u16, 3, 2, 2, b};
  RecordedOutput recorded{"C", ElementType::u16, 3, 2, matrix_sha256(right), row_digests(right), {}};
  const auto result = compare(left, recorded);
  REQUIRE(result);
  CHECK(result->by_digest);
  CHECK(result->differing_rows == 1);
  CHECK(result->first_differing_row == 1);
  CHECK(result->differing == 2);  // the row is known to differ, not which element
  CHECK(compare(right, recorded)->equal());
  recorded.elements = packed(right);
  const auto exact = compare(left, recorded);
  REQUIRE(exact);
  CHECK(exact->differing == 1);
  CHECK(exact->first->column == 1);
}

TEST_CASE("a buffer that is shorter than its shape is an error, not a crash") {
  Buffer buffer;
  buffer.name = "C";
  buffer.type = ElementType::f32;
  buffer.shape = {2, 4};
  buffer.row_pitch = 8;
  const std::vector<std::byte> enough(48);  // the last row needs no padding
  CHECK(view_of(buffer, enough));
  const auto short_one = view_of(buffer, std::span(enough).first(47));
  REQUIRE_FALSE(short_one);
  CHECK(short_one.error().text() == "buffer C: 2 rows of 4 f32 need 48 bytes, but there are 47");
}
