// SPDX-License-Identifier: Apache-2.0

// latency FAMILY [FOLDER]   measures one family on the GPU and prints a line of JSON a figure. --info names
// the machine.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "measure.h"

namespace latency {
namespace {

__global__ void fill_random(uint16_t* to, size_t count, uint32_t seed) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x) {
    uint32_t h = static_cast<uint32_t>(i) * 2654435761u ^ static_cast<uint32_t>(i >> 32) * 40503u ^ seed;
    h ^= h >> 15, h *= 0x2c1b3c6du, h ^= h >> 12, h *= 0x297a2d39u, h ^= h >> 15;
    // Sign, an exponent from 2^-3 to 2^0, all seven fraction bits.
    to[i] = static_cast<uint16_t>((h & 0x8000u) | (124 + (h >> 16 & 3)) << 7 | (h & 0x7fu));
  }
}

int info() {
  cudaDeviceProp gpu{};
  int driver = 0, runtime = 0, clock_khz = 0;
  const cudaError_t result = cudaGetDeviceProperties(&gpu, 0);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0);
  std::printf(
      "{\"gpu\":\"%s\",\"compute_capability\":\"%d.%d\",\"multiprocessors\":%d,\"l2_bytes\":%d,\"clock_limit_"
      "mhz\":%d,"
      "\"cuda_driver_api\":\"%d.%d\",\"cuda_runtime\":\"%d.%d\",\"nvcc\":\"%d.%d.%d\"}\n",
      gpu.name, gpu.major, gpu.minor, gpu.multiProcessorCount, gpu.l2CacheSize, clock_khz / 1000,
      driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, __CUDACC_VER_MAJOR__,
      __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__);
  return result == cudaSuccess ? 0 : 1;
}

}  // namespace

double Samples::best() const { return values.empty() ? 0 : *std::min_element(values.begin(), values.end()); }

double Samples::median() const {
  if (values.empty()) return 0;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

Bench::Bench() {
  check(cudaSetDevice(0), "cudaSetDevice");
  check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0), "attribute");
}

void Bench::check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  std::printf("{\"error\":\"%s: %s\"}\n", call, cudaGetErrorName(result));
  std::fflush(stdout);
  std::exit(1);
}

void Bench::figure(const std::string& name, const char* unit, const Samples& samples,
                   const std::string& how) {
  const bool rate = std::strcmp(unit, "bytes/cycle") == 0;
  const double best = rate ? *std::max_element(samples.values.begin(), samples.values.end()) : samples.best();
  std::printf(
      "{\"name\":\"%s\",\"unit\":\"%s\",\"best\":%.3f,\"median\":%.3f,\"samples\":%zu,\"how\":\"%s\"}\n",
      name.c_str(), unit, best, samples.median(), samples.values.size(), how.c_str());
  std::fflush(stdout);
}

void Bench::line(const std::string& json) {
  std::printf("%s\n", json.c_str());
  std::fflush(stdout);
}

uint16_t* Bench::random_bf16(size_t count, uint32_t seed) {
  uint16_t* memory = device<uint16_t>(count);
  launch(fill_random, {static_cast<unsigned>(multiprocessors_) * 8, 256}, memory, count, seed);
  return memory;
}

CUtensorMap Bench::tensor_map(void* base, std::array<uint64_t, 2> dims, uint64_t pitch_bytes,
                              std::array<uint32_t, 2> box, bool swizzled) {
  CUtensorMap map{};
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found),
        "cuTensorMapEncodeTiled");
  if (entry == nullptr) check(cudaErrorSymbolNotFound, "cuTensorMapEncodeTiled");
  const std::array<cuuint64_t, 2> extents = {dims[0], dims[1]};
  const std::array<cuuint64_t, 1> pitches = {pitch_bytes};
  const std::array<cuuint32_t, 2> steps = {1, 1};
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, base, extents.data(),
                                 pitches.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) check(cudaErrorInvalidValue, "cuTensorMapEncodeTiled");
  return map;
}

void Bench::start_with(const void* kernel, Shape shape, cudaStream_t stream, void** arguments) {
  if (shape.shared > 48 * 1024) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shape.shared)),
          "shared memory");
  }
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = shape.cluster;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.grid);
  config.blockDim = dim3(shape.block);
  config.dynamicSmemBytes = shape.shared;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = shape.cluster > 1 ? 1 : 0;
  check(cudaLaunchKernelExC(&config, kernel, arguments), "launch");
}

Samples Bench::cycles(const uint64_t* out, double scale, unsigned ctas, double minus) {
  Samples samples;
  const std::vector<uint64_t> all = host(out, size_t{ctas} * rounds);
  for (size_t i = 0; i < all.size(); ++i)
    if (i % rounds != 0) samples.values.push_back((static_cast<double>(all[i]) - minus) / scale);
  return samples;
}

}  // namespace latency

int main(int argc, char** argv) {
  const std::string family = argc > 1 ? argv[1] : "";
  if (family == "--info") return latency::info();
  using Family = void (*)(latency::Bench&);
  const std::pair<const char*, Family> families[] = {
      {"clocks", latency::clocks},     {"instructions", latency::instructions},
      {"memory", latency::memory},     {"barriers", latency::barriers},
      {"copies", latency::copies},     {"tensor", latency::tensor},
      {"launches", latency::launches}, {"load", latency::load}};
  for (const auto& [name, measure] : families) {
    if (family != name) continue;
    latency::Bench bench;
    measure(bench);
    return 0;
  }
  if (family == "gemm" && argc == 3) {
    latency::Bench bench;
    latency::gemm(bench, argv[2]);
    return 0;
  }
  std::fprintf(stderr, "usage: latency FAMILY [FOLDER] | --info\n");
  return 2;
}
