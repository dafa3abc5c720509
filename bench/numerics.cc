// SPDX-License-Identifier: Apache-2.0
#include "bench/numerics.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "model/launch/generate.h"
#include "sim/numerics/matrix_product.h"
#include "sim/numerics/mufu.h"
#include "sim/numerics/tensor_core.h"

namespace turnstile::bench {

namespace {

constexpr size_t edge = 256;  // a tile of edge x edge x edge

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <typename Act>
double best_seconds(double at_least, const Act& act) {
  double best = 1e9;
  for (double spent = 0; spent < at_least;) {
    const double start = thread_seconds();
    act();
    const double took = thread_seconds() - start;
    best = std::min(best, took);
    spent += std::max(took, 1e-4);
  }
  return best;
}

/// N(0,1) elements of one operand, packed.
std::vector<uint8_t> operand(ElementType type, uint64_t stream) {
  std::vector<std::byte> bytes(edge * edge * element_bytes(type));
  generate(Family::normal, type, 7, stream, edge, edge, edge, bytes);
  std::vector<uint8_t> out(bytes.size());
  std::transform(bytes.begin(), bytes.end(), out.begin(),
                 [](std::byte b) { return std::to_integer<uint8_t>(b); });
  return out;
}

struct PathName {
  TilePath path;
  const char* name;
};

struct MeasuredRow {
  TensorCoreUnit unit;
  ElementType type, accumulator;
  const char* title;
  double bar = 0;         ///< products a second that AVX2 has to reach; 0: none
  const char* file = "";  ///< name of what is left for a peer; empty: nothing is
};

template <typename T>
bool leave(const std::string& path, const std::vector<T>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
  return static_cast<bool>(file.flush());
}

bool measure_row(const MeasuredRow& measured, const std::string& folder) {
  const auto& [unit, type, accumulator, title, bar, file] = measured;
  const TensorCoreRow* row = find_tensor_core_row(unit, type, type, accumulator);
  if (row == nullptr) return false;
  const std::vector<uint8_t> a = operand(type, 1), b = operand(type, 2);
  const size_t bytes = edge * element_bytes(type);
  std::vector<uint32_t> reference, d(edge * edge);
  const auto rate = [&](TilePath path, double seconds) {
    return static_cast<double>(edge * edge * edge) / best_seconds(seconds, [&] {
             std::fill(d.begin(), d.end(), 0u);
             multiply_accumulate(*row, edge, edge, edge, a.data(), bytes, b.data(), bytes, d.data(), edge,
                                 path);
           });
  };
  const double scalar = rate(TilePath::reference, 0.2);
  reference = d;
  fmt::print("| {} | reference | {:.3g} | | |\n", title, scalar);
  bool equal = true;
  static constexpr PathName paths[] = {
      {TilePath::portable, "128 bits"}, {TilePath::avx2, "AVX2"}, {TilePath::avx512, "AVX-512"}};
  for (const PathName& p : paths) {
    if (!tile_path_available(*row, p.path)) {
      fmt::print("| | {} | not on this processor | | |\n", p.name);
      continue;
    }
    const double fast = rate(p.path, 1);
    equal = equal && d == reference;
    const bool judged = p.path == TilePath::avx2 && measured.bar > 0;
    fmt::print("| | {} | {:.3g} | {:.0f} x | {} |\n", p.name, fast, fast / scalar,
               !judged ? "–" : fmt::format("{} {:.2g}", fast >= bar ? "met" : "NOT MET", bar));
  }
  if (folder.empty() || *file == 0) return equal;
  const std::string name = folder + "/" + file;
  return leave(name + ".a", a) && leave(name + ".b", b) && leave(name + ".d", d) && equal;
}

void measure_integers() {
  const std::vector<uint8_t> a = operand(ElementType::s8, 1), b = operand(ElementType::s8, 2);
  std::vector<uint32_t> d(edge * edge);
  const double seconds = best_seconds(
      0.5, [&] { multiply_matrices(integer_arithmetic(8, true, true, false), edge, edge, edge, a, b, d); });
  fmt::print("| s8 to s32 | the compiler's | {:.3g} | | – |\n",
             static_cast<double>(edge * edge * edge) / seconds);
}

void measure_ex2() {
  constexpr double bar = 3e8;
  std::vector<uint32_t> words(1 << 16);
  std::mt19937 random(3);
  // -16 to 16, as in softmax: everything else is decided without the table.
  for (uint32_t& w : words) w = static_cast<uint32_t>((random() & 0x807fffffu) | (112 + random() % 19) << 23);
  std::vector<uint32_t> results(words.size());
  const double seconds = best_seconds(1, [&] { mufu_ex2_many(words, results.data()); });
  const double rate = static_cast<double>(words.size()) / seconds;
  fmt::print("| ex2 (results, not products) | table model | {:.3g} | | {} {:.2g} |\n", rate,
             rate >= bar ? "met" : "NOT MET", bar);
}

}  // namespace

bool measure_numerics(const std::string& folder) {
  fmt::print("\n### Models of arithmetic, one core\n\n");
  fmt::print("A tile of {0} x {0} x {0}, N(0,1); packing included.\n\n", edge);
  fmt::print("| model | implementation | products/s | reference x | bars |\n|---|---|--:|--:|---|\n");
  using enum ElementType;
  using enum TensorCoreUnit;
  static constexpr MeasuredRow rows[] = {
      {hopper_wgmma, f16, f32, "wgmma f16 to f32 (I13)", 1.2e9, "f16"},
      {hopper_wgmma, bf16, f32, "wgmma bf16 to f32 (I13)", 1.2e9, "bf16"},
      {hopper_wgmma, f16, f16, "wgmma f16 to f16 (I14)"},
      {hopper_wgmma, tf32, f32, "wgmma tf32 to f32 (I15)"},
      {hopper_wgmma, e4m3, f32, "wgmma e4m3 to f32 (I16)", 1e9, "e4m3"},
      {hopper_wgmma, e5m2, f32, "wgmma e5m2 to f32 (I16)", 1e9, "e5m2"},
      {ampere_mma, bf16, f32, "Ampere mma bf16 to f32 (I5)"},
      {blackwell_tcgen05, e4m3, f32, "tcgen05 e4m3 to f32 (I21)"},
  };
  bool good = true;
  for (const MeasuredRow& row : rows) good &= measure_row(row, folder);
  measure_integers();
  measure_ex2();
  return good;
}

}  // namespace turnstile::bench
