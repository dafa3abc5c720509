// SPDX-License-Identifier: Apache-2.0
// run_tensor_maps FOLDER OUT   on a machine with a Hopper GPU: loads, stores and reductions through tensor
// maps of every element type (tensor_maps.cu, compiled to tensor_maps.cubin); OUT/tensor_maps.txt gets the
// 1024 bytes of each.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "golden/gpu_runner/driver.h"
#include "golden/numerics/operands.h"

namespace {

using turnstile::Driver;
namespace probe = turnstile::numeric_probe;

struct Type {
  const char* name;
  const char* operand;  ///< whose edges the words are made of
  CUtensorMapDataType type;
  unsigned bytes;
};

constexpr Type kTypes[] = {
    {"u8", "u8", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},
    {"u16", "u16", CU_TENSOR_MAP_DATA_TYPE_UINT16, 2},
    {"u32", "u32", CU_TENSOR_MAP_DATA_TYPE_UINT32, 4},
    {"s32", "s32", CU_TENSOR_MAP_DATA_TYPE_INT32, 4},
    {"u64", "u64", CU_TENSOR_MAP_DATA_TYPE_UINT64, 8},
    {"s64", "s64", CU_TENSOR_MAP_DATA_TYPE_INT64, 8},
    {"f16", "f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2},
    {"bf16", "bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2},
    {"f32", "f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4},
    {"f64", "f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8},
    {"f32_ftz", "f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 4},
    {"tf32", "f32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4},
    {"tf32_ftz", "f32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, 4},
};
constexpr const char* kOperations[] = {"store", "add", "min", "max", "inc", "dec", "and", "or", "xor"};

[[noreturn]] void fail(const std::string& reason) {
  std::fprintf(stderr, "run_tensor_maps: %s\n", reason.c_str());
  std::exit(1);
}
void need(const Driver& driver, CUresult result, const std::string& call) {
  if (const auto error = driver.check(result, call)) fail(error->reason);
}

/// 1024 bytes: operand `position` of tuples 0 and up.
std::vector<uint32_t> words_of(const Type& type, unsigned position) {
  std::vector<uint32_t> words(256);
  for (unsigned i = 0; i < 1024 / type.bytes; ++i) {
    const uint64_t word = probe::element_operand(type.operand, position, i);
    std::memcpy(reinterpret_cast<unsigned char*>(words.data()) + i * type.bytes, &word, type.bytes);
  }
  return words;
}

bool defined(const Type& type, int operation) {
  const std::string name = type.name;
  const bool integer = name == "u32" || name == "s32" || name == "u64" || name == "s64";
  const bool half = name == "f16" || name == "bf16";
  if (operation == 0) return true;
  if (operation == 1) return (integer && name != "s64") || half || type.operand[0] == 'f';
  if (operation == 2 || operation == 3) return integer || half;
  if (operation == 4 || operation == 5) return name == "u32";
  // Bit operations through a map of s64 are an illegal instruction on an H200, though s32 is not.
  return integer && name != "s64";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) fail("usage: run_tensor_maps FOLDER OUT");
  const std::string folder = argv[1], out = argv[2];
  auto opened = turnstile::open_gpu(0);
  if (auto* error = std::get_if<turnstile::RunnerError>(&opened)) fail(error->reason);
  const turnstile::Gpu& gpu = std::get<turnstile::Gpu>(opened);
  const Driver& driver = gpu.driver;
  std::ifstream file(folder + "/tensor_maps.cubin", std::ios::binary);
  const std::string image((std::istreambuf_iterator<char>(file)), {});
  if (image.empty()) fail("no tensor_maps.cubin");
  CUmodule module = nullptr;
  need(driver, driver.module_load(&module, image.data(), 0, nullptr, nullptr), "cuModuleLoadData");
  CUfunction load = nullptr, reduce = nullptr;
  need(driver, driver.module_get_function(&load, module, "tensor_load"), "tensor_load");
  need(driver, driver.module_get_function(&reduce, module, "tensor_reduce"), "tensor_reduce");
  CUdeviceptr memory = 0, other = 0;
  need(driver, driver.allocate(&memory, 1024), "memory");
  need(driver, driver.allocate(&other, 1024), "memory");
  std::ofstream lines(out + "/tensor_maps.txt");
  lines << "gpu " << gpu.name << "\ndriver " << gpu.driver_version << "\n";
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 256;
  const auto write = [&](const std::string& what, CUdeviceptr place) {
    std::vector<uint32_t> words(256);
    need(driver, driver.synchronize(), what);
    need(driver, driver.copy_to_host(words.data(), place, 1024), what);
    lines << what << '\n';
    for (unsigned i = 0; i < 256; ++i) {
      char text[16];
      std::snprintf(text, sizeof text, "%08x", words[i]);
      lines << text << (i % 16 == 15 ? '\n' : ' ');
    }
    lines.flush();
  };
  for (const Type& type : kTypes) {
    const unsigned elements = 1024 / type.bytes;
    for (const bool nan : {false, true}) {
      if (nan && type.operand[0] != 'f' && type.operand[0] != 'b') continue;
      CUtensorMap map;
      // A quarter of the elements lies outside; boxes have at most 256 elements.
      const unsigned box = elements > 256 ? 256 : elements;
      int bytes = static_cast<int>(box * type.bytes);
      cuuint64_t dims[] = {box * 3 / 4};
      cuuint64_t strides[] = {1024};
      cuuint32_t boxes[] = {box};
      cuuint32_t steps[] = {1};
      const CUresult encoded = driver.encode_tiled(
          &map, type.type, 1, reinterpret_cast<void*>(memory), dims, strides, boxes, steps,
          CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
          nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
      if (encoded != CUDA_SUCCESS) {
        lines << "# no map of " << type.name << (nan ? " with nan" : "") << '\n';
        continue;
      }
      const std::vector<uint32_t> first = words_of(type, 0), second = words_of(type, 1);
      int x = static_cast<int>(box / 8);
      need(driver, driver.copy_to_device(memory, first.data(), 1024), "memory");
      void* load_arguments[] = {&map, &other, &x, &bytes};
      need(driver, driver.launch(&config, load, load_arguments, nullptr), type.name);
      write(std::string("load ") + (nan ? "nan " : "zero ") + type.name, other);
      if (nan) continue;
      if (std::string(type.name).starts_with("tf32")) {  // words halfway between two of tf32
        std::vector<uint32_t> ties = first;
        for (uint32_t& word : ties) word = (word & ~0x1fffu) | 0x1000u;
        need(driver, driver.copy_to_device(memory, ties.data(), 1024), "memory");
        need(driver, driver.launch(&config, load, load_arguments, nullptr), type.name);
        write(std::string("load ties ") + type.name, other);
      }
      for (int operation = 0; operation < 9; ++operation) {
        if (!defined(type, operation)) continue;
        x = 0;
        need(driver, driver.copy_to_device(memory, first.data(), 1024), "memory");
        need(driver, driver.copy_to_device(other, second.data(), 1024), "memory");
        void* arguments[] = {&map, &other, &x, &operation};
        need(driver, driver.launch(&config, reduce, arguments, nullptr), type.name);
        write(std::string(kOperations[operation]) + " " + type.name, memory);
      }
    }
  }
  return 0;
}
