// SPDX-License-Identifier: Apache-2.0
#include "sim/numerics/fp8_emulation.h"

#include <array>

#include "model/must.h"
#include "sim/numerics/conversions.h"
#include "sim/numerics/scalar.h"
#include "sim/numerics/tensor_core.h"

namespace turnstile {

std::uint32_t fp8_as_f16_dot_add(ElementType a_type, ElementType b_type, ElementType accumulator,
                                 std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                 std::uint32_t c) {
  must(a.size() == b.size() && (a.size() == 16 || a.size() == 32), "FP8 mma.sync has k = 16 or k = 32");
  const TensorCoreRow* half =
      find_tensor_core_row(TensorCoreUnit::hopper_mma, ElementType::f16, ElementType::f16, accumulator);
  must(half != nullptr, "FP8 mma.sync accumulates in f32 or f16");
  std::uint32_t partial = 0;
  for (std::size_t phase = 0; phase < 4; phase += 2) {
    std::array<std::uint32_t, 16> half_a{};
    std::array<std::uint32_t, 16> half_b{};
    std::size_t count = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (k % 4 != phase && k % 4 != phase + 1) continue;
      half_a[count] = static_cast<std::uint32_t>(convert_float(a[k], a_type, ElementType::f16));
      half_b[count] = static_cast<std::uint32_t>(convert_float(b[k], b_type, ElementType::f16));
      ++count;
    }
    partial = fused_dot_add(*half, std::span<const std::uint32_t>(half_a).first(count),
                            std::span<const std::uint32_t>(half_b).first(count), partial);
  }
  return static_cast<std::uint32_t>(float_add(accumulator, c, partial));
}

}  // namespace turnstile
