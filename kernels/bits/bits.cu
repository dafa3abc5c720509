// SPDX-License-Identifier: Apache-2.0
// Small kernels of a transformer, written so that every bit of their results is fixed: reductions are
// butterflies in a known order, nothing is left to the compiler's contraction (-fmad=false). bits.toml and
// its neighbours launch them.
#include <cuda_bf16.h>

#include <cstdint>

namespace {

constexpr int kThreads = 256;
constexpr unsigned kAll = 0xffffffffu;

__device__ inline float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float rsqrt_approx(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float rcp_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float tanh_approx(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

struct Sum {
  __device__ static float of(float a, float b) { return __fadd_rn(a, b); }
  static constexpr float identity = 0.0f;
};
struct Maximum {
  __device__ static float of(float a, float b) { return fmaxf(a, b); }
  static constexpr float identity = -INFINITY;
};

/// The same value in all threads of the CTA.
template <typename Operation>
__device__ float reduced(float value, float* room) {
  for (int lane = 16; lane > 0; lane /= 2) value = Operation::of(value, __shfl_xor_sync(kAll, value, lane));
  __syncthreads();
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < kThreads / 32 ? room[threadIdx.x % 32] : Operation::identity;
  for (int lane = 16; lane > 0; lane /= 2) value = Operation::of(value, __shfl_xor_sync(kAll, value, lane));
  return value;
}

__device__ inline float wide(__nv_bfloat16 x) { return __bfloat162float(x); }

}  // namespace

/// y = x / rms(x) * w, a row a CTA.
extern "C" __global__ void __launch_bounds__(kThreads)
    rmsnorm(const __nv_bfloat16* x, const float* w, __nv_bfloat16* y, int columns) {
  __shared__ float room[32];
  const size_t row = size_t{blockIdx.x} * columns;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < columns; i += kThreads)
    squares = __fmaf_rn(wide(x[row + i]), wide(x[row + i]), squares);
  const float scale =
      rsqrt_approx(__fadd_rn(__fdiv_rn(reduced<Sum>(squares, room), static_cast<float>(columns)), 1e-6f));
  for (int i = threadIdx.x; i < columns; i += kThreads)
    y[row + i] = __float2bfloat16_rn(__fmul_rn(__fmul_rn(wide(x[row + i]), scale), w[i]));
}

/// A row of softmax a CTA.
extern "C" __global__ void __launch_bounds__(kThreads) softmax(const float* x, float* y, int columns) {
  __shared__ float room[32];
  const size_t row = size_t{blockIdx.x} * columns;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += kThreads) most = fmaxf(most, x[row + i]);
  most = __fmul_rn(reduced<Maximum>(most, room), 1.4426950408889634f);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += kThreads)
    sum = __fadd_rn(sum, ex2(__fmaf_rn(x[row + i], 1.4426950408889634f, -most)));
  const float part = rcp_approx(reduced<Sum>(sum, room));
  for (int i = threadIdx.x; i < columns; i += kThreads)
    y[row + i] = __fmul_rn(ex2(__fmaf_rn(x[row + i], 1.4426950408889634f, -most)), part);
}

/// GELU by tanh, elementwise.
extern "C" __global__ void __launch_bounds__(kThreads) gelu(const __nv_bfloat16* x, __nv_bfloat16* y) {
  const size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x;
  const float v = wide(x[i]);
  const float inner = __fmul_rn(0.7978845608f, __fmaf_rn(__fmul_rn(__fmul_rn(v, v), v), 0.044715f, v));
  const float half = __fmul_rn(0.5f, v);
  y[i] = __float2bfloat16_rn(__fmaf_rn(half, tanh_approx(inner), half));
}

constexpr int kHead = 128, kKeys = 128;

/// Split-KV decode, first half: one query, kKeys keys of one split of one head. partial: the maximum, the sum
/// and the weighted values of each (head, split).
extern "C" __global__ void __launch_bounds__(kKeys)
    decode_split(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, float* partial,
                 int tokens, float scale) {
  __shared__ float query[kHead], weight[kKeys], room[8];
  const int head = blockIdx.y, first = blockIdx.x * kKeys, t = threadIdx.x;
  query[t] = wide(q[head * kHead + t]);
  __syncthreads();
  const __nv_bfloat16* keys = k + (size_t{static_cast<unsigned>(head)} * tokens + first) * kHead;
  const __nv_bfloat16* values = v + (size_t{static_cast<unsigned>(head)} * tokens + first) * kHead;
  float score = 0.0f;
  for (int d = 0; d < kHead; ++d) score = __fmaf_rn(query[d], wide(keys[t * kHead + d]), score);
  score = __fmul_rn(score, scale);
  float most = score;
  for (int lane = 16; lane > 0; lane /= 2) most = fmaxf(most, __shfl_xor_sync(kAll, most, lane));
  if (t % 32 == 0) room[t / 32] = most;
  __syncthreads();
  most = fmaxf(fmaxf(room[0], room[1]), fmaxf(room[2], room[3]));
  const float p = ex2(__fsub_rn(score, most));
  weight[t] = p;
  float sum = p;
  for (int lane = 16; lane > 0; lane /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(kAll, sum, lane));
  if (t % 32 == 0) room[4 + t / 32] = sum;
  __syncthreads();
  sum = __fadd_rn(__fadd_rn(room[4], room[5]), __fadd_rn(room[6], room[7]));
  float value = 0.0f;
  for (int key = 0; key < kKeys; ++key) value = __fmaf_rn(weight[key], wide(values[key * kHead + t]), value);
  float* out = partial + (size_t{static_cast<unsigned>(head)} * gridDim.x + blockIdx.x) * (kHead + 2);
  out[2 + t] = value;
  if (t == 0) out[0] = most, out[1] = sum;
}

/// Second half: the splits of a head become one row of o.
extern "C" __global__ void __launch_bounds__(kHead)
    decode_combine(const float* partial, __nv_bfloat16* o, int splits) {
  const int head = blockIdx.x, t = threadIdx.x;
  const float* parts = partial + size_t{static_cast<unsigned>(head)} * splits * (kHead + 2);
  float most = -INFINITY;
  for (int s = 0; s < splits; ++s) most = fmaxf(most, parts[s * (kHead + 2)]);
  float sum = 0.0f, value = 0.0f;
  for (int s = 0; s < splits; ++s) {
    const float scale = ex2(__fsub_rn(parts[s * (kHead + 2)], most));
    sum = __fmaf_rn(scale, parts[s * (kHead + 2) + 1], sum);
    value = __fmaf_rn(scale, parts[s * (kHead + 2) + 2 + t], value);
  }
  o[head * kHead + t] = __float2bfloat16_rn(__fmul_rn(value, rcp_approx(sum)));
}
