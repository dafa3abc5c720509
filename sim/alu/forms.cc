// SPDX-License-Identifier: Apache-2.0
#include "sim/alu/forms.h"

#include "sim/alu/bit_ops.h"
#include "sim/alu/compare_ops.h"
#include "sim/alu/convert_ops.h"
#include "sim/alu/float_ops.h"
#include "sim/alu/integer_ops.h"
#include "sim/alu/lane.h"

namespace turnstile::sim {

namespace {

using namespace lane;

constexpr FormFlags kPlain{};
constexpr FormFlags kCommutes{.commutative = true};
constexpr FormFlags kFloat{.floating = true};
constexpr FormFlags kFloatCommutes{.commutative = true, .floating = true};
constexpr FormFlags kFloatSub{.floating = true, .contracts = true};
constexpr FormFlags kFloatAdd{.commutative = true, .floating = true, .contracts = true};

constexpr std::string_view kSigned = "s16 s32 s64";
constexpr std::string_view kInteger = "u16 u32 u64 s16 s32 s64";
constexpr std::string_view kWords = "u32 u64 s32 s64";
constexpr std::string_view kIntegerOrPair = "u16 u32 u64 s16 s32 s64 u16x2 s16x2";
constexpr std::string_view kHalf = "f16 f16x2";
constexpr std::string_view kBrain = "bf16 bf16x2";
constexpr std::string_view kLogic = "pred b16 b32 b64";
constexpr std::string_view kAnyScalar = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64";
constexpr std::string_view kCompareFloat = "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor?";
constexpr std::string_view kCompareFloatFtz =
    "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor? ftz?";
constexpr std::string_view kCompareSigned = "eq|ne|lt|le|gt|ge and|or|xor?";
constexpr std::string_view kCompareUnsigned = "eq|ne|lt|le|gt|ge|lo|ls|hi|hs and|or|xor?";
constexpr std::string_view kCompareBits = "eq|ne and|or|xor?";
constexpr std::string_view kRoundFtzSat = "rn|rz|rm|rp? ftz? sat?";

// clang-format off
constexpr Form kForms[] = {
    // Integer arithmetic (9.7.1)
    {"add", "", kIntegerOrPair, "t=tt", each<add, 2>, nullptr, kCommutes},
    {"add", "sat", "s32", "t=tt", add_saturating, nullptr, kCommutes},
    {"sub", "", kInteger, "t=tt", sub, nullptr, kPlain},
    {"sub", "sat", "s32", "t=tt", sub_saturating, nullptr, kPlain},
    {"mul", "lo", kInteger, "t=tt", mul_low, nullptr, kCommutes},
    {"mul", "hi", kInteger, "t=tt", mul_high, nullptr, kCommutes},
    {"mul", "wide", "u16 u32 s16 s32", "w=tt", mul_wide, nullptr, kCommutes},
    {"mad", "lo", kInteger, "t=ttt", mad_low, nullptr, kCommutes},
    {"mad", "hi", kInteger, "t=ttt", mad_high, nullptr, kCommutes},
    {"mad", "hi sat", "s32", "t=ttt", mad_high, nullptr, kCommutes},
    {"mad", "wide", "u16 u32 s16 s32", "w=ttw", mad_wide, nullptr, kCommutes},
    {"add", "cc", kWords, "t=tt", add_carry<false>, add_carry_out<false>, kCommutes},
    {"addc", "cc?", kWords, "t=ttc", add_carry<true>, add_carry_out<true>, kCommutes},
    {"sub", "cc", kWords, "t=tt", sub_borrow<false>, sub_borrow_out<false>, kPlain},
    {"subc", "cc?", kWords, "t=ttc", sub_borrow<true>, sub_borrow_out<true>, kPlain},
    {"mad", "lo cc", kWords, "t=ttt", mad_low_carry<false>, mad_low_carry_out<false>, kCommutes},
    {"mad", "hi cc", kWords, "t=ttt", mad_high_carry<false>, mad_high_carry_out<false>, kCommutes},
    {"madc", "lo cc?", kWords, "t=tttc", mad_low_carry<true>, mad_low_carry_out<true>, kCommutes},
    {"madc", "hi cc?", kWords, "t=tttc", mad_high_carry<true>, mad_high_carry_out<true>, kCommutes},
    {"mul24", "lo", "u32 s32", "t=tt", mul24_low, nullptr, kCommutes},
    {"mul24", "hi", "u32 s32", "t=tt", mul24_high, nullptr, kCommutes},
    {"mad24", "lo", "u32 s32", "t=ttt", mad24_low, nullptr, kCommutes},
    {"mad24", "hi", "u32 s32", "t=ttt", mad24_high, nullptr, kCommutes},
    {"mad24", "hi sat", "s32", "t=ttt", mad24_high, nullptr, kCommutes},
    {"sad", "", kInteger, "t=ttt", sad, nullptr, kCommutes},
    {"div", "", kInteger, "t=tt", divide, nullptr, kPlain},
    {"rem", "", kInteger, "t=tt", lane::remainder, nullptr, kPlain},
    {"abs", "", kSigned, "t=t", absolute, nullptr, kPlain},
    {"neg", "", kSigned, "t=t", lane::negate, nullptr, kPlain},
    {"min", "", kIntegerOrPair, "t=tt", each<minimum, 2>, nullptr, kCommutes},
    {"min", "relu", "s32 s16x2", "t=tt", each<minimum, 2>, nullptr, kCommutes},
    {"max", "", kIntegerOrPair, "t=tt", each<maximum, 2>, nullptr, kCommutes},
    {"max", "relu", "s32 s16x2", "t=tt", each<maximum, 2>, nullptr, kCommutes},
    {"dp4a", "", "u32.u32 u32.s32 s32.u32 s32.s32", "i=iii", dp4a, nullptr, kPlain},
    {"dp2a", "lo", "u32.u32 u32.s32 s32.u32 s32.s32", "i=iii", dp2a_low, nullptr, kPlain},
    {"dp2a", "hi", "u32.u32 u32.s32 s32.u32 s32.s32", "i=iii", dp2a_high, nullptr, kPlain},

    // Logic, shifts, bit fields (9.7.8, 9.7.1)
    {"and", "", kLogic, "t=tt", bit_and, nullptr, kCommutes},
    {"or", "", kLogic, "t=tt", bit_or, nullptr, kCommutes},
    {"xor", "", kLogic, "t=tt", bit_xor, nullptr, kCommutes},
    {"not", "", kLogic, "t=t", bit_not, nullptr, kPlain},
    {"cnot", "", "b16 b32 b64", "t=t", lane::logical_not, nullptr, kPlain},
    {"lop3", "", "b32", "t=ttti", lop3, nullptr, kPlain},
    {"lop3", "or|and", "b32", "t=tttip", lop3, lop3_predicate, kPlain},
    {"shl", "", "b16 b32 b64", "t=ti", shift_left, nullptr, kPlain},
    {"shr", "", "b16 b32 b64 u16 u32 u64 s16 s32 s64", "t=ti", shift_right, nullptr, kPlain},
    {"shf", "l wrap|clamp", "b32", "t=tti", funnel_left, nullptr, kPlain},
    {"shf", "r wrap|clamp", "b32", "t=tti", funnel_right, nullptr, kPlain},
    {"bfe", "", "u32 u64 s32 s64", "t=tii", field_extract, nullptr, kPlain},
    {"bfi", "", "b32 b64", "t=ttii", field_insert, nullptr, kPlain},
    {"bfind", "shiftamt?", "u32 u64 s32 s64", "i=t", find_leading, nullptr, kPlain},
    {"fns", "", "b32", "t=tii", find_nth_set, nullptr, kPlain},
    {"brev", "", "b32 b64", "t=t", lane::reverse, nullptr, kPlain},
    {"popc", "", "b32 b64", "i=t", population, nullptr, kPlain},
    {"clz", "", "b32 b64", "i=t", leading_zeros, nullptr, kPlain},
    {"bmsk", "clamp|wrap", "b32", "t=ii", bit_mask, nullptr, kPlain},
    {"szext", "clamp|wrap", "u32 s32", "t=ti", extend_field, nullptr, kPlain},
    {"prmt", "f4e|b4e|rc8|ecl|ecr|rc16?", "b32", "t=tti", permute, nullptr, kPlain},

    // Comparison and selection (9.7.6, 9.7.7)
    {"setp", kCompareBits, "b16 b32 b64", "p=tt+", setp_integer, setp_integer_second, kPlain},
    {"setp", kCompareUnsigned, "u16 u32 u64", "p=tt+", setp_integer, setp_integer_second, kPlain},
    {"setp", kCompareSigned, kSigned, "p=tt+", setp_integer, setp_integer_second, kPlain},
    {"setp", kCompareFloatFtz, "f32 f16 f16x2", "p=tt+", setp_float, setp_float_second, kFloat},
    {"setp", kCompareFloat, "f64 bf16 bf16x2", "p=tt+", setp_float, setp_float_second, kFloat},
    {"set", kCompareBits, "u32.b16 u32.b32 u32.b64 s32.b16 s32.b32 s32.b64 f32.b16 f32.b32 f32.b64", "t=ss+",
     set_integer, nullptr, kPlain},
    {"set", kCompareUnsigned, "u32.u16 u32.u32 u32.u64 s32.u16 s32.u32 s32.u64 f32.u16 f32.u32 f32.u64", "t=ss+",
     set_integer, nullptr, kPlain},
    {"set", kCompareSigned, "u32.s16 u32.s32 u32.s64 s32.s16 s32.s32 s32.s64 f32.s16 f32.s32 f32.s64", "t=ss+",
     set_integer, nullptr, kPlain},
    {"set", kCompareFloatFtz, "u32.f32 s32.f32 f32.f32 u16.f16 s16.f16 u32.f16 s32.f16 f16.f16", "t=ss+",
     set_float, nullptr, kFloat},
    {"set", kCompareFloat, "u32.f64 s32.f64 f32.f64 u16.bf16 s16.bf16 u32.bf16 s32.bf16 bf16.bf16", "t=ss+",
     set_float, nullptr, kFloat},
    {"selp", "", kAnyScalar, "t=ttp", lane::select, nullptr, kPlain},
    {"slct", "", "b16.s32 b32.s32 b64.s32 u16.s32 u32.s32 u64.s32 s16.s32 s32.s32 s64.s32 f32.s32 f64.s32", "t=tts",
     select_by_sign, nullptr, kPlain},
    {"slct", "ftz?", "b16.f32 b32.f32 b64.f32 u16.f32 u32.f32 u64.f32 s16.f32 s32.f32 s64.f32 f32.f32 f64.f32",
     "t=tts", select_by_float, nullptr, kFloat},
    {"testp", "finite|infinite|number|notanumber|normal|subnormal", "f32 f64", "p=t", test_property, nullptr, kFloat},

    // Floating-point arithmetic (9.7.3 to 9.7.5)
    {"add", kRoundFtzSat, "f32", "t=tt", add_float, nullptr, kFloatAdd},
    {"add", "rn|rz|rm|rp? ftz?", "f32x2", "t=tt", each<add_float, 2>, nullptr, kFloatAdd},
    {"add", "rn|rz|rm|rp?", "f64", "t=tt", add_float, nullptr, kFloatAdd},
    {"add", "rn? ftz? sat?", kHalf, "t=tt", each<add_float, 2>, nullptr, kFloatAdd},
    {"add", "rn?", kBrain, "t=tt", each<add_float, 2>, nullptr, kFloatAdd},
    {"add", "rn|rz|rm|rp? sat?", "f32.f16 f32.bf16", "t=st", add_mixed, nullptr, kFloat},
    {"sub", kRoundFtzSat, "f32", "t=tt", sub_float, nullptr, kFloatSub},
    {"sub", "rn|rz|rm|rp? ftz?", "f32x2", "t=tt", each<sub_float, 2>, nullptr, kFloatSub},
    {"sub", "rn|rz|rm|rp?", "f64", "t=tt", sub_float, nullptr, kFloatSub},
    {"sub", "rn? ftz? sat?", kHalf, "t=tt", each<sub_float, 2>, nullptr, kFloatSub},
    {"sub", "rn?", kBrain, "t=tt", each<sub_float, 2>, nullptr, kFloatSub},
    {"sub", "rn|rz|rm|rp? sat?", "f32.f16 f32.bf16", "t=st", sub_mixed, nullptr, kFloat},
    {"mul", kRoundFtzSat, "f32", "t=tt", mul_float, nullptr, kFloatAdd},
    {"mul", "rn|rz|rm|rp? ftz?", "f32x2", "t=tt", each<mul_float, 2>, nullptr, kFloatAdd},
    {"mul", "rn|rz|rm|rp?", "f64", "t=tt", mul_float, nullptr, kFloatAdd},
    {"mul", "rn? ftz? sat?", kHalf, "t=tt", each<mul_float, 2>, nullptr, kFloatAdd},
    {"mul", "rn?", kBrain, "t=tt", each<mul_float, 2>, nullptr, kFloatAdd},
    {"fma", "rn|rz|rm|rp ftz? sat?", "f32", "t=ttt", fma_float, nullptr, kFloatCommutes},
    {"fma", "rn|rz|rm|rp ftz?", "f32x2", "t=ttt", each<fma_float, 3>, nullptr, kFloatCommutes},
    {"fma", "rn|rz|rm|rp", "f64", "t=ttt", fma_float, nullptr, kFloatCommutes},
    {"fma", "rn ftz? sat|relu?", kHalf, "t=ttt", each<fma_float, 3>, nullptr, kFloatCommutes},
    {"fma", "rn relu?", kBrain, "t=ttt", each<fma_float, 3>, nullptr, kFloatCommutes},
    {"fma", "rn|rz|rm|rp sat?", "f32.f16 f32.bf16", "t=sst", fma_mixed, nullptr, kFloatCommutes},
    {"mad", "rn|rz|rm|rp ftz? sat?", "f32", "t=ttt", fma_float, nullptr, kFloatCommutes},
    {"mad", "rn|rz|rm|rp", "f64", "t=ttt", fma_float, nullptr, kFloatCommutes},
    {"abs", "ftz?", "f32 f16 f16x2", "t=t", each<abs_float, 1>, nullptr, kFloat},
    {"abs", "", "f64 bf16 bf16x2", "t=t", each<abs_float, 1>, nullptr, kFloat},
    {"neg", "ftz?", "f32 f16 f16x2", "t=t", each<neg_float, 1>, nullptr, kFloat},
    {"neg", "", "f64 bf16 bf16x2", "t=t", each<neg_float, 1>, nullptr, kFloat},
    {"min", "ftz? NaN?", "f32 f16 f16x2", "t=tt", each<min_float, 2>, nullptr, kFloatCommutes},
    {"min", "ftz? NaN? xorsign abs", "f32 f16 f16x2", "t=tt", each<min_float, 2>, nullptr, kFloatCommutes},
    {"min", "NaN?", kBrain, "t=tt", each<min_float, 2>, nullptr, kFloatCommutes},
    {"min", "NaN? xorsign abs", kBrain, "t=tt", each<min_float, 2>, nullptr, kFloatCommutes},
    {"min", "", "f64", "t=tt", min_float, nullptr, kFloatCommutes},
    {"min", "ftz? NaN? abs?", "f32", "t=ttt", min3_float, nullptr, kFloatCommutes},
    {"max", "ftz? NaN?", "f32 f16 f16x2", "t=tt", each<max_float, 2>, nullptr, kFloatCommutes},
    {"max", "ftz? NaN? xorsign abs", "f32 f16 f16x2", "t=tt", each<max_float, 2>, nullptr, kFloatCommutes},
    {"max", "NaN?", kBrain, "t=tt", each<max_float, 2>, nullptr, kFloatCommutes},
    {"max", "NaN? xorsign abs", kBrain, "t=tt", each<max_float, 2>, nullptr, kFloatCommutes},
    {"max", "", "f64", "t=tt", max_float, nullptr, kFloatCommutes},
    {"max", "ftz? NaN? abs?", "f32", "t=ttt", max3_float, nullptr, kFloatCommutes},
    {"copysign", "", "f32 f64", "t=tt", copy_sign, nullptr, kFloat},
    {"div", "rn|rz|rm|rp ftz?", "f32", "t=tt", div_float, nullptr, kFloat},
    {"div", "rn|rz|rm|rp", "f64", "t=tt", div_float, nullptr, kFloat},
    {"div", "approx ftz?", "f32", "t=tt", div_approximate, nullptr, kFloat},
    {"div", "full ftz?", "f32", "t=tt", div_full_range, nullptr, kFloat},
    {"rcp", "rn|rz|rm|rp ftz?", "f32", "t=t", rcp_float, nullptr, kFloat},
    {"rcp", "rn|rz|rm|rp", "f64", "t=t", rcp_float, nullptr, kFloat},
    {"rcp", "approx ftz?", "f32", "t=t", rcp_approximate, nullptr, kFloat},
    {"sqrt", "rn|rz|rm|rp ftz?", "f32", "t=t", sqrt_float, nullptr, kFloat},
    {"sqrt", "rn|rz|rm|rp", "f64", "t=t", sqrt_float, nullptr, kFloat},
    {"rsqrt", "approx ftz?", "f32", "t=t", rsqrt_approximate, nullptr, kFloat},
    {"ex2", "approx ftz?", "f32", "t=t", ex2_approximate, nullptr, kFloat},
    {"lg2", "approx ftz?", "f32", "t=t", lg2_approximate, nullptr, kFloat},
    {"sqrt", "approx ftz?", "f32", "t=t", sqrt_approximate, nullptr, kFloat},
    {"sin", "approx ftz?", "f32", "t=t", sin_approximate, nullptr, kFloat},
    {"cos", "approx ftz?", "f32", "t=t", cos_approximate, nullptr, kFloat},
    {"tanh", "approx", "f32 f16 f16x2 bf16 bf16x2", "t=t", each<tanh_approximate, 1>, nullptr, kFloat},
    {"ex2", "approx", "f16 f16x2", "t=t", each<ex2_half, 1>, nullptr, kFloat},
    {"ex2", "approx ftz", "bf16 bf16x2", "t=t", each<ex2_half, 1>, nullptr, kFloat},
    {"rcp", "approx ftz", "f64", "t=t", rcp_high_half, nullptr, kFloat},
    {"rsqrt", "approx ftz", "f64", "t=t", rsqrt_high_half, nullptr, kFloat},
    // No exact model is known of this: what it gives is not predicted.
    {"rsqrt", "approx", "f64", "t=t", nullptr, nullptr, kFloat},

    // Conversion (9.7.9.21). PTX allows a rounding on the exact widening of bf16 only.
    {"cvt", "sat?", "INT.INT", "t=s", integer_to_integer, nullptr, kPlain},
    {"cvt", "rni|rzi|rmi|rpi sat? ftz?", "INT.f32", "t=s", float_to_integer, nullptr, kFloat},
    {"cvt", "rni|rzi|rmi|rpi sat?", "INT.f16 INT.f64", "t=s", float_to_integer, nullptr, kFloat},
    {"cvt", "rni|rzi|rmi|rpi", "INT.bf16", "t=s", float_to_integer, nullptr, kFloat},
    {"cvt", "rn|rz|rm|rp sat? ftz?", "f32.INT", "t=s", integer_to_float, nullptr, kFloat},
    {"cvt", "rn|rz|rm|rp sat?", "f16.INT f64.INT", "t=s", integer_to_float, nullptr, kFloat},
    {"cvt", "rn|rz|rm|rp", "bf16.INT", "t=s", integer_to_float, nullptr, kFloat},
    {"cvt", "rn|rz|rm|rp sat? ftz?", "f16.f32 f32.f64", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "rn|rz|rm|rp ftz?", "bf16.f32", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "rn|rz relu? satfinite?", "f16.f32 bf16.f32", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "rn|rz|rm|rp sat?", "f16.f64", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "rn|rz|rm|rp", "bf16.f64 bf16.f16 f16.bf16", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "sat? ftz?", "f32.f16 f64.f32", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "sat?", "f64.f16", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "rn|rz|rm|rp? ftz?", "f32.bf16", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "rn|rz|rm|rp?", "f64.bf16", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "sat? ftz?", "f32.f32", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "sat?", "f16.f16 f64.f64", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "", "bf16.bf16", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "rni|rzi|rmi|rpi sat? ftz?", "f32.f32", "t=s", float_to_integral, nullptr, kFloat},
    {"cvt", "rni|rzi|rmi|rpi sat?", "f16.f16 f64.f64", "t=s", float_to_integral, nullptr, kFloat},
    {"cvt", "rni|rzi|rmi|rpi", "bf16.bf16", "t=s", float_to_integral, nullptr, kFloat},
    {"cvt", "rn|rz relu? satfinite?", "f16x2.f32 bf16x2.f32", "t=ss", pack_pair, nullptr, kFloat},
    {"cvt", "rna", "tf32.f32", "t=s", tf32_nearest_away, nullptr, kFloat},
    {"cvt", "rn|rz relu? satfinite?", "tf32.f32", "t=s", float_to_float, nullptr, kFloat},
    {"cvt", "rn satfinite relu?", "e4m3x2.f32 e5m2x2.f32", "t=ss", pack_pair, nullptr, kFloat},
    {"cvt", "rn satfinite relu?", "e4m3x2.f16x2 e5m2x2.f16x2 e4m3x2.bf16x2 e5m2x2.bf16x2", "t=s", convert_pair,
     nullptr, kFloat},
    {"cvt", "rn relu?", "f16x2.e4m3x2 f16x2.e5m2x2", "t=s", convert_pair, nullptr, kFloat},
    {"cvt", "rn satfinite relu?", "e2m1x2.f32 e2m3x2.f32 e3m2x2.f32", "t=ss", pack_minifloat, nullptr, kFloat},
    {"cvt", "rn satfinite relu?",
     "e2m1x2.f16x2 e2m3x2.f16x2 e3m2x2.f16x2 e2m1x2.bf16x2 e2m3x2.bf16x2 e3m2x2.bf16x2", "t=s", convert_to_minifloat,
     nullptr, kFloat},
    {"cvt", "rn relu?", "f16x2.e2m1x2 f16x2.e2m3x2 f16x2.e3m2x2", "t=s", convert_from_minifloat, nullptr, kFloat},
    {"cvt", "rz|rp satfinite?", "ue8m0x2.f32", "t=ss", pack_scale, nullptr, kFloat},
    {"cvt", "rz|rp satfinite?", "ue8m0x2.bf16x2", "t=s", convert_to_scale, nullptr, kFloat},
    {"cvt", "rn", "bf16x2.ue8m0x2", "t=s", convert_from_scale, nullptr, kFloat},
};

constexpr Refusal kRefusals[] = {
    {"cvt", "rs", "stochastic rounding is not modelled"},
    {"cvt", "pack", "cvt.pack is not modelled"},
};
// clang-format on

}  // namespace

std::span<const Form> pure_forms() { return kForms; }
std::span<const Refusal> pure_refusals() { return kRefusals; }

}  // namespace turnstile::sim
