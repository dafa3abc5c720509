// SPDX-License-Identifier: Apache-2.0

// run_probes --list | --info | --sanity | --hold SECONDS | PROBE VARIANT
// Runs one variant of one probe (semantics.md section 17) and prints one line of JSON. Exit code 0 also when
// the kernel faulted or hung: that is then the observation. 2: no such variant.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "probe.h"

namespace probes {
namespace {

constexpr const Probe* all[] = {&p01, &p02, &p03, &p04, &p05, &p06, &p07, &p08, &p09, &p10,
                                &p11, &p12, &p13, &p14, &p15, &p16, &p17, &p18, &p19};

__global__ void add_one(uint64_t* cells) { cells[cell_first] += 1; }

std::string quoted(const char* text) { return std::string("\"") + text + "\""; }

void list() {
  for (const Probe* p : all)
    for (const Variant& v : p->variants) std::printf("%s %s\n", p->id, v.name);
}

/// Name and versions of the GPU, without its unique ids.
int info() {
  cudaDeviceProp gpu{};
  int driver = 0, runtime = 0;
  const cudaError_t result = cudaGetDeviceProperties(&gpu, 0);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::printf(
      "{\"gpu\":\"%s\",\"compute_capability\":\"%d.%d\",\"multiprocessors\":%d,\"registers_per_sm\":%d,"
      "\"cuda_driver_api\":\"%d.%d\",\"cuda_runtime\":\"%d.%d\",\"nvcc\":\"%d.%d.%d\"}\n",
      gpu.name, gpu.major, gpu.minor, gpu.multiProcessorCount, gpu.regsPerMultiprocessor, driver / 1000,
      driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__,
      __CUDACC_VER_BUILD__);
  return result == cudaSuccess ? 0 : 1;
}

/// Whether the GPU still runs a trivial kernel: asked after each fault and hang.
int sanity() {
  Bench bench;
  bench.run(add_one, Shape{1, 1}, bench.cells);
  const bool good = bench.ended() && bench.cells[cell_first] == 1;
  std::printf("%s\n", good ? "usable" : "NOT USABLE");
  return good ? 0 : 1;
}

/// Keeps a context open so that the driver does not set the GPU up anew for every process.
int hold(unsigned seconds) {
  if (cudaFree(nullptr) != cudaSuccess) return 1;
  sleep(seconds);
  return 0;
}

int run(const char* probe, const char* variant) {
  for (const Probe* p : all) {
    if (std::strcmp(p->id, probe) != 0) continue;
    for (const Variant& v : p->variants) {
      if (std::strcmp(v.name, variant) != 0) continue;
      Bench bench;
      v.run(bench, v);
      std::printf("%s\n", bench.line(p->id, v.name, v.control, v.what).c_str());
      std::fflush(stdout);
      _exit(0);  // a stuck kernel would make the runtime's own clean-up wait for ever
    }
  }
  std::fprintf(stderr, "run_probes: no variant %s %s (see --list)\n", probe, variant);
  return 2;
}

}  // namespace

Bench::Bench() {
  check(cudaSetDevice(0), "cudaSetDevice");
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, cell_count * sizeof(uint64_t), cudaHostAllocMapped), "cudaHostAlloc");
  cells = static_cast<uint64_t*>(memory != nullptr ? memory : std::calloc(cell_count, sizeof(uint64_t)));
  std::memset(cells, 0, cell_count * sizeof(uint64_t));
  if (ended())
    check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0), "attribute");
}

void Bench::check(cudaError_t result, const char* call) {
  if (result == cudaSuccess || !ended()) return;
  status_ = "error";
  error_ = std::string(call) + ": " + cudaGetErrorName(result);
}

void* Bench::device_memory(size_t bytes, int byte) {
  void* p = nullptr;
  if (ended()) check(cudaMalloc(&p, bytes), "cudaMalloc");
  if (ended()) check(cudaMemset(p, byte, bytes), "cudaMemset");
  if (ended()) check(cudaDeviceSynchronize(), "cudaMemset");
  return ended() ? p : nullptr;
}

CUtensorMap Bench::tensor_map(void* base, CUtensorMapDataType type, std::array<uint64_t, 2> dims,
                              uint64_t pitch_bytes, std::array<uint32_t, 2> box, CUtensorMapSwizzle swizzle,
                              CUtensorMapFloatOOBfill fill) {
  CUtensorMap map{};
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (ended()) {
    check(
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found),
        "cuTensorMapEncodeTiled");
  }
  if (!ended() || entry == nullptr) {
    check(cudaErrorSymbolNotFound, "cuTensorMapEncodeTiled");
    return map;
  }
  const std::array<cuuint64_t, 2> extents = {dims[0], dims[1]};
  const std::array<cuuint64_t, 1> pitches = {pitch_bytes};
  const std::array<cuuint32_t, 2> steps = {1, 1};
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  const CUresult result =
      encode(&map, type, 2, base, extents.data(), pitches.data(), box.data(), steps.data(),
             CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
  if (result != CUDA_SUCCESS) {
    number("encode_result", result);
    check(cudaErrorInvalidValue, "cuTensorMapEncodeTiled");
  }
  return map;
}

void Bench::wait() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  cudaError_t result = cudaStreamQuery(nullptr);
  while (result == cudaErrorNotReady && std::chrono::steady_clock::now() < end) {
    usleep(200);
    result = cudaStreamQuery(nullptr);
  }
  if (result == cudaErrorNotReady) {
    status_ = "hang";
    error_ = "the kernel had not ended after 4 s";
    return;
  }
  check(result, "kernel");
  if (cells[cell_watchdog] == 1) {
    status_ = "hang";
    error_ = "stuck: the watchdog CTA ended the kernel";
  }
}

std::string Bench::hex_text(uint64_t value) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

std::string Bench::line(const char* probe, const char* variant, bool control, const char* what) const {
  return std::string("{\"probe\":") + quoted(probe) + ",\"variant\":" + quoted(variant) +
         ",\"control\":" + (control ? "true" : "false") + ",\"what\":" + quoted(what) +
         ",\"status\":" + quoted(status_.c_str()) + ",\"error\":" + quoted(error_.c_str()) +
         ",\"reached\":" + std::to_string(cells[cell_reached]) + fields_ + "}";
}

}  // namespace probes

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--list") return probes::list(), 0;
  if (first == "--info") return probes::info();
  if (first == "--sanity") return probes::sanity();
  if (first == "--hold" && argc > 2) return probes::hold(static_cast<unsigned>(std::atoi(argv[2])));
  if (argc == 3) return probes::run(argv[1], argv[2]);
  std::fprintf(stderr, "usage: run_probes --list | --info | --sanity | --hold SECONDS | PROBE VARIANT\n");
  return 2;
}
