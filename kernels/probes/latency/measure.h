// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// What the families of the latency probe share on the host side. One process measures one family and prints
/// one line of JSON a figure, so that a family that faults or is killed costs its own lines only.
namespace latency {

/// Clock cycles of one SM per round, as kernels leave them.
constexpr int rounds = 33;  ///< of which the first, with cold caches, is not looked at

struct Samples {
  std::vector<double> values;
  double best() const;
  double median() const;
};

class Bench {
 public:
  Bench();

  /// Prints the line of one figure: `unit` is "cycles", "bytes/cycle", "MHz" or "us".
  void figure(const std::string& name, const char* unit, const Samples& samples, const std::string& how);
  /// A line with fields of its own.
  void line(const std::string& json);

  template <typename T>
  T* device(size_t count) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
    check(cudaMemset(memory, 0, count * sizeof(T)), "cudaMemset");
    return static_cast<T*>(memory);
  }
  template <typename T>
  std::vector<T> host(const T* from, size_t count) {
    std::vector<T> values(count);
    check(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDefault), "cudaMemcpy");
    return values;
  }
  /// Random finite bf16 values: zeros would draw less power than real data.
  uint16_t* random_bf16(size_t count, uint32_t seed);

  /// A two-dimensional bf16 map with SWIZZLE_128B. `dims`, `box`: innermost first, in elements.
  CUtensorMap tensor_map(void* base, std::array<uint64_t, 2> dims, uint64_t pitch_bytes,
                         std::array<uint32_t, 2> box, bool swizzled = true);

  struct Shape {
    unsigned grid = 1, block = 32, cluster = 1;
    size_t shared = 0;
  };
  template <typename... P, typename... A>
  void launch(void (*kernel)(P...), Shape shape, A&&... arguments) {
    start(reinterpret_cast<const void*>(kernel), shape, {}, P(std::forward<A>(arguments))...);
    check(cudaDeviceSynchronize(), "kernel");
  }
  /// Launches without waiting, for what is timed by events.
  template <typename... P>
  void start(const void* kernel, Shape shape, cudaStream_t stream, P... arguments) {
    std::array<void*, sizeof...(P) + 1> pointers{static_cast<void*>(&arguments)..., nullptr};
    start_with(kernel, shape, stream, pointers.data());
  }

  /// One sample a round from `out[cta * rounds + round]`, each divided by `scale`. `ctas` many; the first
  /// round is left out.
  Samples cycles(const uint64_t* out, double scale, unsigned ctas = 1, double minus = 0);

  int multiprocessors() const { return multiprocessors_; }
  void check(cudaError_t result, const char* call);

 private:
  void start_with(const void* kernel, Shape shape, cudaStream_t stream, void** arguments);
  int multiprocessors_ = 0;
};

void clocks(Bench& bench);
void instructions(Bench& bench);
void memory(Bench& bench);
void barriers(Bench& bench);
void copies(Bench& bench);
void tensor(Bench& bench);
void launches(Bench& bench);
void load(Bench& bench);
/// `folder` holds gemm.cubin and gemm_timed.cubin (run.sh).
void gemm(Bench& bench, const std::string& folder);

}  // namespace latency
