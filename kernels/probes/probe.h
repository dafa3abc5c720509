// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// What the silicon probes share on the host side. One process runs one variant of one probe and prints one
/// line of JSON, so that a variant that faults or hangs cannot spoil another.
namespace probes {

/// Layout of the memory that kernel and host both see.
enum Cell : int {
  cell_watchdog = 0,  ///< 1: the watchdog CTA found the others stuck and ended the kernel with a trap
  cell_reached = 1,   ///< how far the kernel got; its meaning is the probe's
  cell_first = 16,    ///< the probe's own cells start here
  cell_count = 1 << 14,
};

struct Shape {
  unsigned grid = 1, block = 32, cluster = 1;
  size_t shared = 0;  ///< dynamic shared memory, bytes
};

/// One launch on the GPU and what came of it.
class Bench {
 public:
  Bench();

  /// Pinned host memory, zeroed, that kernels write: what was written before a fault or a hang is still read.
  uint64_t* cells = nullptr;

  /// Device memory, filled with `byte`. Null after a failure (the status then says so).
  void* device_memory(size_t bytes, int byte);
  template <typename T>
  T* device_array(size_t count, int byte = 0) {
    return static_cast<T*>(device_memory(count * sizeof(T), byte));
  }
  template <typename T>
  T* upload(const std::vector<T>& values) {
    T* p = device_array<T>(values.size());
    if (p != nullptr)
      check(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyDefault), "copy in");
    return p;
  }
  /// Zeros when the kernel failed: its memory cannot be read any more.
  template <typename T>
  std::vector<T> download(const T* from, size_t count) {
    std::vector<T> values(count);
    if (ended()) check(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDefault), "copy out");
    return values;
  }

  /// A two-dimensional tiled map without interleave. `dims`, `box`: innermost first, in elements.
  CUtensorMap tensor_map(void* base, CUtensorMapDataType type, std::array<uint64_t, 2> dims,
                         uint64_t pitch_bytes, std::array<uint32_t, 2> box,
                         CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE,
                         CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);

  /// Launches and waits, at most `limit_ms`.
  template <typename... P, typename... A>
  void run(void (*kernel)(P...), Shape shape, A&&... arguments) {
    if (!ended()) return;
    if (shape.shared > 0) {
      check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared)),
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
    config.attrs = &cluster;
    config.numAttrs = shape.cluster > 1 ? 1 : 0;
    if (ended()) check(cudaLaunchKernelEx(&config, kernel, P(std::forward<A>(arguments))...), "launch");
    if (ended()) wait();
  }

  bool ended() const { return status_ == "ended"; }
  int multiprocessors() const { return multiprocessors_; }

  void number(const std::string& name, uint64_t value) {
    fields_ += ",\"" + name + "\":" + std::to_string(value);
  }
  void hex(const std::string& name, uint64_t value) {
    fields_ += ",\"" + name + "\":\"" + hex_text(value) + "\"";
  }
  void json(const std::string& name, const std::string& value) { fields_ += ",\"" + name + "\":" + value; }
  static std::string hex_text(uint64_t value);

  /// The line of this variant.
  std::string line(const char* probe, const char* variant, bool control, const char* what) const;
  void check(cudaError_t result, const char* call);

 private:
  void wait();

  static constexpr int limit_ms = 4000;
  std::string status_ = "ended", error_, fields_;
  int multiprocessors_ = 0;
};

/// One way to run a probe.
struct Variant {
  const char* name;
  bool control;      ///< its result is known: if it does not come, the probe is broken
  const char* what;  ///< what is done, for the reader of the record
  void (*run)(Bench&, const Variant&);
  int parameter = 0;  ///< an index into the probe's own table
};

struct Probe {
  const char* id;
  std::span<const Variant> variants;
};

extern const Probe p01, p02, p03, p04, p05, p06, p07, p08, p09, p10, p11, p12, p13, p14, p15, p16, p17, p18,
    p19;

}  // namespace probes
