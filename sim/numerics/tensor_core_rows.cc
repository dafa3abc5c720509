// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "sim/numerics/tensor_core.h"

namespace turnstile {

namespace {

using enum ElementType;
using enum TensorCoreUnit;
using enum TensorCoreRounding;
using enum Confidence;

// numerics.md section 4. e_zero is an H200's in the rows of Hopper (D1, D2), elsewhere it rests on one source
// and is disputed for f16 accumulators and Volta (D1, D3); `confidence` is about L, F and rho.
constexpr std::string_view mma_sim = "MMA-Sim";
constexpr std::string_view leeds = "MMA-Sim; Leeds captures (V1)";
constexpr std::string_view leeds_tf32 = "MMA-Sim; Leeds captures (V1) with 4 of the 8 elements of a group";
constexpr std::string_view measured = "H200 wgmma, 2 million outputs per type and family (H1)";
constexpr std::string_view deep_gemm = "MMA-Sim; DeepGEMM #176 saw 25 bits on B200";
constexpr std::string_view fp4_width = "MMA-Sim; DeepGEMM #176 saw 34 to 37 bits, unsure (D11)";
constexpr std::string_view h200 = "H200, kernels/probes/numerics";

constexpr std::array instruction_rows = {
    // id, unit, a, b, accumulator, L, F, rho, e_zero, confidence, source
    TensorCoreRow{"I1", volta_mma, f16, f16, f32, 4, 23, rz_f32, -131, captures, leeds},
    TensorCoreRow{"I2", volta_mma, f16, f16, f16, 4, 23, rne_f16, -20, captures, leeds},
    TensorCoreRow{"I3", turing_mma, f16, f16, f32, 8, 24, rz_f32, -132, one_source, mma_sim},
    TensorCoreRow{"I4", turing_mma, f16, f16, f16, 8, 24, rne_f16, -21, one_source, mma_sim},
    TensorCoreRow{"I5", ampere_mma, f16, f16, f32, 8, 24, rz_f32, -132, captures, leeds},
    TensorCoreRow{"I5", ampere_mma, bf16, bf16, f32, 8, 24, rz_f32, -132, captures, leeds},
    TensorCoreRow{"I5", ada_mma, f16, f16, f32, 8, 24, rz_f32, -132, captures, leeds},
    TensorCoreRow{"I5", ada_mma, bf16, bf16, f32, 8, 24, rz_f32, -132, captures, leeds},
    TensorCoreRow{"I6", ampere_mma, f16, f16, f16, 8, 24, rne_f16, -21, captures, leeds},
    TensorCoreRow{"I6", ada_mma, f16, f16, f16, 8, 24, rne_f16, -21, captures, leeds},
    TensorCoreRow{"I7", ampere_mma, tf32, tf32, f32, 4, 24, rz_f32, -132, captures, leeds},
    TensorCoreRow{"I7", ada_mma, tf32, tf32, f32, 4, 24, rz_f32, -132, captures, leeds},
    TensorCoreRow{"I8", ada_mma, e4m3, e4m3, f32, 16, 13, rz_e8m13, -132, captures, leeds},
    TensorCoreRow{"I8", ada_mma, e5m2, e5m2, f32, 16, 13, rz_e8m13, -132, captures, leeds},
    TensorCoreRow{"I9", ada_mma, e4m3, e4m3, f16, 16, 13, rne_f16, -21, captures, leeds},
    TensorCoreRow{"I9", ada_mma, e5m2, e5m2, f16, 16, 13, rne_f16, -21, captures, leeds},
    TensorCoreRow{"I10", hopper_mma, f16, f16, f32, 16, 25, rz_f32, -133, verified_on_h200, h200},
    TensorCoreRow{"I10", hopper_mma, bf16, bf16, f32, 16, 25, rz_f32, -133, verified_on_h200, h200},
    TensorCoreRow{"I11", hopper_mma, f16, f16, f16, 16, 25, rne_f16, -22, verified_on_h200, h200},
    TensorCoreRow{"I12", hopper_mma, tf32, tf32, f32, 8, 25, rz_f32, -133, verified_on_h200, h200},
    TensorCoreRow{"I13", hopper_wgmma, f16, f16, f32, 16, 25, rz_f32, -133, verified_on_h200, measured},
    TensorCoreRow{"I13", hopper_wgmma, bf16, bf16, f32, 16, 25, rz_f32, -133, verified_on_h200, measured},
    TensorCoreRow{"I14", hopper_wgmma, f16, f16, f16, 16, 25, rne_f16, -133, verified_on_h200, h200},
    TensorCoreRow{"I15", hopper_wgmma, tf32, tf32, f32, 8, 25, rz_f32, -133, verified_on_h200, measured},
    TensorCoreRow{"I16", hopper_wgmma, e4m3, e4m3, f32, 32, 13, rz_e8m13, -133, verified_on_h200, measured},
    TensorCoreRow{"I16", hopper_wgmma, e5m2, e5m2, f32, 32, 13, rz_e8m13, -133, verified_on_h200, measured},
    TensorCoreRow{"I16", hopper_wgmma, e4m3, e5m2, f32, 32, 13, rz_e8m13, -133, verified_on_h200, h200},
    TensorCoreRow{"I16", hopper_wgmma, e5m2, e4m3, f32, 32, 13, rz_e8m13, -133, verified_on_h200, h200},
    TensorCoreRow{"I17", hopper_wgmma, e4m3, e4m3, f16, 32, 13, rne_f16, -133, verified_on_h200, h200},
    TensorCoreRow{"I17", hopper_wgmma, e5m2, e5m2, f16, 32, 13, rne_f16, -133, verified_on_h200, h200},
    TensorCoreRow{"I17", hopper_wgmma, e4m3, e5m2, f16, 32, 13, rne_f16, -133, verified_on_h200, h200},
    TensorCoreRow{"I17", hopper_wgmma, e5m2, e4m3, f16, 32, 13, rne_f16, -133, verified_on_h200, h200},
    TensorCoreRow{"I19", blackwell_mma, f16, f16, f32, 16, 25, rz_f32, -133, captures, leeds},
    TensorCoreRow{"I19", blackwell_mma, bf16, bf16, f32, 16, 25, rz_f32, -133, captures, leeds},
    TensorCoreRow{"I19", blackwell_mma, f16, f16, f16, 16, 25, rne_f16, -22, captures, leeds},
    TensorCoreRow{"I20", blackwell_mma, tf32, tf32, f32, 8, 25, rz_f32, -133, captures, leeds_tf32},
    TensorCoreRow{"I19", rtx_blackwell_mma, f16, f16, f32, 16, 25, rz_f32, -133, one_source, mma_sim},
    TensorCoreRow{"I19", rtx_blackwell_mma, bf16, bf16, f32, 16, 25, rz_f32, -133, one_source, mma_sim},
    TensorCoreRow{"I19", rtx_blackwell_mma, f16, f16, f16, 16, 25, rne_f16, -22, one_source, mma_sim},
    TensorCoreRow{"I19", blackwell_tcgen05, f16, f16, f32, 16, 25, rz_f32, -133, one_source, mma_sim},
    TensorCoreRow{"I19", blackwell_tcgen05, bf16, bf16, f32, 16, 25, rz_f32, -133, one_source, mma_sim},
    TensorCoreRow{"I19", blackwell_tcgen05, f16, f16, f16, 16, 25, rne_f16, -133, one_source, mma_sim},
    TensorCoreRow{"I20", blackwell_tcgen05, tf32, tf32, f32, 8, 25, rz_f32, -133, one_source, mma_sim},
    TensorCoreRow{"I21", blackwell_tcgen05, e4m3, e4m3, f32, 32, 25, rz_f32, -133, two_sources, deep_gemm},
    TensorCoreRow{"I21", blackwell_tcgen05, e4m3, e4m3, f16, 32, 25, rne_f16, -133, two_sources, deep_gemm},
    TensorCoreRow{"I21", rtx_blackwell_mma, e4m3, e4m3, f32, 32, 25, rz_f32, -133, one_source, mma_sim},
    TensorCoreRow{"I21", rtx_blackwell_mma, e4m3, e4m3, f16, 32, 25, rne_f16, -22, one_source, mma_sim},
    TensorCoreRow{"I22", blackwell_scaled, e4m3, e4m3, f32, 32, 25, rz_f32, -133, one_source, mma_sim},
    TensorCoreRow{"I23", blackwell_fp4, e4m3, e4m3, f32, 64, 35, rz_f32, -139, one_source, fp4_width},
};

}  // namespace

std::span<const TensorCoreRow> tensor_core_rows() { return instruction_rows; }

const TensorCoreRow* find_tensor_core_row(TensorCoreUnit unit, ElementType a, ElementType b,
                                          ElementType accumulator) {
  for (const TensorCoreRow& row : instruction_rows)
    if (row.unit == unit && row.a == a && row.b == b && row.accumulator == accumulator) return &row;
  return nullptr;
}

}  // namespace turnstile
