// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "model/launch/launch.h"

// Each rule of semantics.md 6.3 that the arguments can break: obeyed at its edge, and broken by one step.

namespace turnstile {
namespace {

constexpr uint64_t kBufferBytes = uint64_t{1} << 45;

TensorMap legal() {
  TensorMap map;
  map.name = "map";
  map.type = ElementType::bf16;
  map.dims = {1024, 512};
  map.strides = {2048};
  map.box = {64, 128};
  map.element_strides = {1, 1};
  map.swizzle = Swizzle::b128;
  return map;
}

TensorMap legal_3d() {
  TensorMap map = legal();
  map.dims = {1024, 512, 4};
  map.strides = {2048, 2048 * 512};
  map.box = {8, 8, 1};
  map.element_strides = {1, 1, 1};
  map.swizzle = Swizzle::none;
  return map;
}

template <typename Change>
std::string changed(TensorMap map, Change change, uint64_t bytes = kBufferBytes) {
  change(map);
  return tensor_map_violation(map, bytes);
}

bool cites(const std::string& text, const std::string& rule) {
  if (!text.starts_with(rule)) MESSAGE("the text was: ", text);
  return text.starts_with(rule);
}

}  // namespace

TEST_CASE("legal maps are legal [BS5 BS6 BS7 BS8 BS9 BS10 BS11 BS12 BS17 obeys]") {
  CHECK(tensor_map_violation(legal(), 1024 * 512 * 2).empty());
  CHECK(tensor_map_violation(legal_3d(), kBufferBytes).empty());
}

TEST_CASE("BS5: rank 1 to 5, 3 or more with an interleave, one stride fewer than dims [BS5 violates]") {
  const auto rank = [](size_t n) {
    return [n](TensorMap& m) {
      m.dims.assign(n, 1);
      m.strides.clear();
      for (size_t i = 1; i < n; ++i) m.strides.push_back(16);
      m.box.assign(n, 1);
      if (n > 0) m.box[0] = 8;
      m.element_strides.assign(n, 1);
    };
  };
  CHECK(cites(changed(legal(), rank(0)), "BS5"));
  for (size_t n = 1; n <= 5; ++n) CHECK(changed(legal(), rank(n)).empty());
  CHECK(cites(changed(legal(), rank(6)), "BS5"));
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.interleave = Interleave::b16; }), "BS5"));
  CHECK(changed(legal_3d(), [](TensorMap& m) { m.interleave = Interleave::b16; }).empty());
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.strides = {}; }), "BS5"));
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.box = {64}; }), "BS5"));
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.element_strides = {1}; }), "BS5"));
}

TEST_CASE("BS6: the global address is a multiple of 16 bytes, of 32 with interleave 32B [BS6 violates]") {
  CHECK(changed(legal(), [](TensorMap& m) { m.offset = 16; }).empty());
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.offset = 8; }), "BS6"));
  const auto interleaved = [](uint64_t offset) {
    return [offset](TensorMap& m) {
      m.interleave = Interleave::b32;
      m.swizzle = Swizzle::b32;
      m.offset = offset;
    };
  };
  CHECK(changed(legal_3d(), interleaved(32)).empty());
  CHECK(cites(changed(legal_3d(), interleaved(16)), "BS6"));
}

TEST_CASE("BS7: dims are 1 to 2^32 [BS7 violates]") {
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.dims[1] = 0; }), "BS7"));
  CHECK(changed(legal(), [](TensorMap& m) { m.dims[1] = uint64_t{1} << 32; }).empty());
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.dims[1] = (uint64_t{1} << 32) + 1; }), "BS7"));
}

TEST_CASE("BS8: strides are multiples of 16 (32), below 2^40, and rows do not overlap [BS8 BS17 violates]") {
  CHECK(changed(legal(), [](TensorMap& m) { m.strides[0] = 2064; }).empty());
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.strides[0] = 2056; }), "BS8"));
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.strides[0] = 2032; }), "BS8"));
  CHECK(
      changed(legal(), [](TensorMap& m) { m.strides[0] = (uint64_t{1} << 40) - 16, m.dims[1] = 2; }).empty());
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.strides[0] = uint64_t{1} << 40; }), "BS8"));
  CHECK(cites(changed(legal_3d(), [](TensorMap& m) { m.strides[1] = 2048 * 511; }), "BS8"));
  const auto interleaved = [](uint64_t stride) {
    return [stride](TensorMap& m) {
      m.interleave = Interleave::b32;
      m.swizzle = Swizzle::b32;
      m.strides = {stride, 4096 * 512};
    };
  };
  CHECK(changed(legal_3d(), interleaved(2080)).empty());
  CHECK(cites(changed(legal_3d(), interleaved(2064)), "BS8"));
}

TEST_CASE("BS9: the box is 1 to 256, its inner row a multiple of 16 bytes [BS9 violates]") {
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.box[1] = 0; }), "BS9"));
  CHECK(changed(legal(), [](TensorMap& m) { m.box[1] = 256; }).empty());
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.box[1] = 257; }), "BS9"));
  CHECK(changed(legal(), [](TensorMap& m) { m.box[0] = 8; }).empty());
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.box[0] = 12; }), "BS9"));
  CHECK(changed(legal_3d(), [](TensorMap& m) { m.interleave = Interleave::b16, m.box[0] = 12; }).empty());
}

TEST_CASE("BS10: the inner row of the box is not wider than the swizzle [BS10 violates]") {
  const auto set = [](Swizzle swizzle, uint32_t elements) {
    return [=](TensorMap& m) { m.swizzle = swizzle, m.box[0] = elements; };
  };
  for (const auto& [swizzle, elements] :
       {std::pair{Swizzle::b32, 16u}, {Swizzle::b64, 32u}, {Swizzle::b128, 64u}}) {
    CHECK(changed(legal(), set(swizzle, elements)).empty());
    CHECK(cites(changed(legal(), set(swizzle, elements + 8)), "BS10"));
  }
  CHECK(changed(legal(), set(Swizzle::none, 256)).empty());
}

TEST_CASE(
    "BS11: element strides are 1 to 8; the innermost is ignored without an interleave [BS11 violates]") {
  CHECK(changed(legal(), [](TensorMap& m) { m.element_strides = {1, 8}; }).empty());
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.element_strides = {1, 9}; }), "BS11"));
  CHECK(cites(changed(legal(), [](TensorMap& m) { m.element_strides = {1, 0}; }), "BS11"));
  CHECK(changed(legal(), [](TensorMap& m) { m.element_strides = {9, 1}; }).empty());
  CHECK(cites(
      changed(legal_3d(), [](TensorMap& m) { m.interleave = Interleave::b16, m.element_strides[0] = 9; }),
      "BS11"));
  TensorMap map = legal();
  map.element_strides = {2, 3};
  CHECK(map.box_bytes() == 64 * 43 * 2);  // ceil(128 / 3) rows; [0] is ignored
}

TEST_CASE("BS12: interleave 32B needs swizzle 32B [BS12 violates]") {
  CHECK(cites(changed(legal_3d(), [](TensorMap& m) { m.interleave = Interleave::b32; }), "BS12"));
  CHECK(changed(legal_3d(), [](TensorMap& m) {
          m.interleave = Interleave::b32, m.swizzle = Swizzle::b32;
        }).empty());
}

TEST_CASE("NaN fill needs a floating-point type") {
  CHECK(changed(legal(), [](TensorMap& m) { m.fill = OutOfBoundsFill::nan; }).empty());
  CHECK_FALSE(changed(legal(), [](TensorMap& m) {
                m.fill = OutOfBoundsFill::nan, m.type = ElementType::u16;
              }).empty());
}

TEST_CASE("a map stays inside its buffer") {
  CHECK(changed(
            legal(), [](TensorMap&) {}, 1024 * 512 * 2)
            .empty());
  CHECK(cites(changed(
                  legal(), [](TensorMap&) {}, 1024 * 512 * 2 - 1),
              "the map reaches past its buffer"));
  CHECK(cites(changed(
                  legal(), [](TensorMap& m) { m.offset = 16; }, 1024 * 512 * 2),
              "the map reaches past its buffer"));
  // The last row need not be padded to its stride.
  CHECK(changed(
            legal(), [](TensorMap& m) { m.strides[0] = 4096; }, 4096 * 511 + 2048)
            .empty());
  // 2^32 rows of almost 2^40 bytes overflow 64 bits.
  CHECK(cites(
      changed(legal(),
              [](TensorMap& m) { m.strides[0] = (uint64_t{1} << 40) - 16, m.dims[1] = uint64_t{1} << 32; }),
      "the map reaches past its buffer"));
}

}  // namespace turnstile
