// SPDX-License-Identifier: Apache-2.0
#include "golden/gpu_runner/run_plan.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>
#include <system_error>
#include <thread>

namespace turnstile {
namespace {

constexpr uint64_t kModuleLimit = 256 << 20;
constexpr unsigned char kPoison = 0xA5;

/// Everything that a run holds on the device; given back on every way out but a lost context.
struct Held {
  const Driver& driver;
  std::vector<CUdeviceptr> memory;
  CUmodule module = nullptr;
  CUevent start = nullptr, stop = nullptr;
  bool lost = false;  ///< the context is unusable: calls could block for ever

  explicit Held(const Driver& d) : driver(d) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (lost) return;
    for (const CUdeviceptr pointer : memory) driver.free(pointer);
    if (start != nullptr) driver.event_destroy(start);
    if (stop != nullptr) driver.event_destroy(stop);
    if (module != nullptr) driver.module_unload(module);
  }
};

std::string hex64(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string milliseconds(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(value));
  return text;
}

uint64_t fnv1a64(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

/// The bytes that a buffer starts with; empty for zero and poison, which need no copy.
RunnerResult<std::string> initial_bytes(const Plan::Buffer& buffer) {
  if (buffer.fill == Plan::Fill::file) {
    auto bytes = read_file(buffer.file, buffer.bytes);
    if (const auto* text = std::get_if<std::string>(&bytes);
        text != nullptr && text->size() != buffer.bytes) {
      return usage_error(buffer.file.string() + ": has " + std::to_string(text->size()) + " bytes, buffer '" +
                         buffer.name + "' has " + std::to_string(buffer.bytes));
    }
    return bytes;
  }
  if (buffer.fill != Plan::Fill::generate) return std::string();
  std::string bytes(buffer.bytes, '\0');
  const uint64_t used = buffer.rows * buffer.pitch * element_bytes(buffer.type);
  generate(buffer.family, buffer.type, buffer.seed, buffer.stream, buffer.rows, buffer.columns, buffer.pitch,
           std::as_writable_bytes(std::span(bytes)).first(used));
  return bytes;
}

/// The kernel's arguments, kept at stable addresses.
struct Arguments {
  std::vector<CUtensorMap> maps;
  std::vector<uint64_t> numbers;  ///< little-endian: a u32 is its first four bytes
  std::vector<void*> pointers;
};

RunnerResult<Arguments> make_arguments(const Driver& driver, const Plan& plan,
                                       const std::vector<CUdeviceptr>& memory) {
  Arguments arguments;
  for (const Plan::TensorMap& t : plan.tensor_maps) {
    CUtensorMap map;
    // A map of rank 1 has no stride, but the driver wants a pointer all the same.
    const uint64_t* strides = t.strides.empty() ? t.dims.data() : t.strides.data();
    const CUresult result = driver.encode_tiled(
        &map, static_cast<CUtensorMapDataType>(t.type), static_cast<cuuint32_t>(t.dims.size()),
        reinterpret_cast<void*>(memory[t.buffer] + t.offset), t.dims.data(), strides, t.box.data(),
        t.element_strides.data(), static_cast<CUtensorMapInterleave>(t.interleave),
        static_cast<CUtensorMapSwizzle>(t.swizzle), static_cast<CUtensorMapL2promotion>(t.l2_promotion),
        static_cast<CUtensorMapFloatOOBfill>(t.fill));
    if (auto e = driver.check(result, "cuTensorMapEncodeTiled")) {
      return usage_error("tensor map '" + t.name + "': " + e->reason);
    }
    arguments.maps.push_back(map);
  }
  for (const Plan::Parameter& p : plan.parameters) {
    arguments.numbers.push_back(p.kind == Plan::Parameter::Kind::buffer ? memory[p.index] + p.value
                                                                        : p.value);
  }
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const Plan::Parameter& p = plan.parameters[i];
    const bool is_map = p.kind == Plan::Parameter::Kind::tensor_map;
    arguments.pointers.push_back(is_map ? static_cast<void*>(&arguments.maps[p.index])
                                        : &arguments.numbers[i]);
  }
  return arguments;
}

RunnerStatus launch(const Gpu& gpu, const Plan& plan, CUfunction function, Arguments& arguments) {
  CUlaunchConfig config{};
  config.gridDimX = plan.grid[0], config.gridDimY = plan.grid[1], config.gridDimZ = plan.grid[2];
  config.blockDimX = plan.block[0], config.blockDimY = plan.block[1], config.blockDimZ = plan.block[2];
  config.sharedMemBytes = plan.dynamic_shared;
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = plan.cluster[0];
  cluster.value.clusterDim.y = plan.cluster[1];
  cluster.value.clusterDim.z = plan.cluster[2];
  if (plan.cluster != std::array<uint32_t, 3>{1, 1, 1}) config.attrs = &cluster, config.numAttrs = 1;
  return gpu.driver.check(gpu.driver.launch(&config, function, arguments.pointers.data(), nullptr),
                          "cuLaunchKernelEx");
}

/// Waits for the event, never inside the driver: a kernel that hangs must not take the program with it.
RunnerStatus wait_for(const Driver& driver, CUevent event, double timeout_seconds) {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    const CUresult result = driver.event_query(event);
    if (result != CUDA_ERROR_NOT_READY) return driver.check(result, "kernel");
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (passed.count() > timeout_seconds) {
      return RunnerError{RunnerError::kTimeout, "timeout: the kernel did not end within " +
                                                    std::to_string(static_cast<int>(timeout_seconds)) +
                                                    " seconds"};
    }
    if (passed.count() > 0.01) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

RunnerStatus fill_buffers(const Driver& driver, const Plan& plan, const std::vector<std::string>& initial,
                          const std::vector<CUdeviceptr>& memory) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const uint64_t bytes = plan.buffers[i].bytes;
    const unsigned char value = plan.buffers[i].fill == Plan::Fill::poison ? kPoison : 0;
    const CUresult result = initial[i].empty() ? driver.fill(memory[i], value, bytes)
                                               : driver.copy_to_device(memory[i], initial[i].data(), bytes);
    if (auto e = driver.check(result, "filling buffer '" + plan.buffers[i].name + "'")) return e;
  }
  return driver.check(driver.synchronize(), "cuCtxSynchronize");
}

struct Loaded {
  CUfunction function = nullptr;
  Info info;
};

/// Loads the module, finds the entry and asks what the assembler made of it.
RunnerResult<Loaded> load(const Driver& driver, const Plan& plan, Held& held) {
  auto text = read_file(plan.module, kModuleLimit);
  if (auto* error = std::get_if<RunnerError>(&text)) return std::move(*error);
  const std::string& module = std::get<std::string>(text);
  std::string log(8192, '\0'), errors(8192, '\0');
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1), errors.data(),
                    reinterpret_cast<void*>(errors.size() - 1)};
  // std::string ends in a zero byte, which PTX text needs.
  const CUresult result = driver.module_load(&held.module, module.c_str(), 4, options, values);
  if (auto e = driver.check(result, plan.module.string())) {
    std::string reason = e->reason + " " + errors.c_str();
    std::ranges::replace(reason, '\n', ' ');
    return usage_error(reason);
  }
  Loaded loaded;
  if (auto e = driver.check(driver.module_get_function(&loaded.function, held.module, plan.entry.c_str()),
                            "entry '" + plan.entry + "'")) {
    return usage_error(e->reason);
  }
  loaded.info = {{"entry", plan.entry}, {"ptx_fnv1a64", hex64(fnv1a64(module))}};
  const std::pair<const char*, CUfunction_attribute> attributes[] = {
      {"registers", CU_FUNC_ATTRIBUTE_NUM_REGS},
      {"local_bytes", CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
      {"static_shared_bytes", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES}};
  for (const auto& [key, attribute] : attributes) {
    int value = 0;
    if (auto e = driver.check(driver.function_get_attribute(&value, attribute, loaded.function),
                              "cuFuncGetAttribute"))
      return std::move(*e);
    loaded.info.emplace_back(key, std::to_string(value));
  }
  for (size_t begin = 0; log[begin] != '\0';) {
    const size_t end = std::min(log.find('\n', begin), log.find('\0', begin));
    if (end > begin) loaded.info.emplace_back("jit_log", log.substr(begin, end - begin));
    begin = end + (log[end] == '\n' ? 1 : 0);
  }
  if (plan.dynamic_shared > 0) {
    const auto attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    const CUresult set =
        driver.function_set_attribute(loaded.function, attribute, static_cast<int>(plan.dynamic_shared));
    if (auto e = driver.check(set, std::to_string(plan.dynamic_shared) + " bytes of dynamic shared memory"))
      return std::move(*e);
  }
  return loaded;
}

RunnerStatus read_outputs(const Driver& driver, const Plan& plan, const std::vector<CUdeviceptr>& memory,
                          std::vector<std::string>& to) {
  to.clear();
  for (const Plan::Output& o : plan.outputs) {
    to.emplace_back(plan.buffers[o.buffer].bytes, '\0');
    if (auto e = driver.check(driver.copy_to_host(to.back().data(), memory[o.buffer], to.back().size()),
                              "cuMemcpyDtoH"))
      return e;
  }
  return std::nullopt;
}

/// One repetition: fill, launch, wait, read back; gives the milliseconds between the events around the
/// launch.
RunnerResult<float> run_once(const Gpu& gpu, const Plan& plan, const Loaded& loaded, Arguments& arguments,
                             Held& held, const std::vector<std::string>& initial, double timeout_seconds,
                             std::vector<std::string>& outputs) {
  const Driver& driver = gpu.driver;
  if (auto e = fill_buffers(driver, plan, initial, held.memory)) return std::move(*e);
  if (auto e = driver.check(driver.event_record(held.start, nullptr), "cuEventRecord")) return std::move(*e);
  if (auto e = launch(gpu, plan, loaded.function, arguments)) return std::move(*e);
  if (auto e = driver.check(driver.event_record(held.stop, nullptr), "cuEventRecord")) return std::move(*e);
  if (auto e = wait_for(driver, held.stop, timeout_seconds)) {
    held.lost = true;
    return std::move(*e);
  }
  float elapsed = 0;
  if (auto e = driver.check(driver.event_elapsed(&elapsed, held.start, held.stop), "cuEventElapsedTime"))
    return std::move(*e);
  if (auto e = read_outputs(driver, plan, held.memory, outputs)) return std::move(*e);
  return elapsed;
}

}  // namespace

Info describe(const Gpu& gpu) {
  return {{"gpu", gpu.name},
          {"compute_capability",
           std::to_string(gpu.capability_major) + "." + std::to_string(gpu.capability_minor)},
          {"driver", gpu.driver_version},
          {"cuda_driver_api", version_text(gpu.api_version)},
          {"cuda_toolkit", version_text(CUDA_VERSION)},
          {"sms", std::to_string(gpu.multiprocessors)}};
}

RunnerResult<RunOutput> run_plan(const Gpu& gpu, const Plan& plan, double timeout_seconds) {
  const Driver& driver = gpu.driver;
  std::vector<std::string> initial;
  for (const Plan::Buffer& b : plan.buffers) {
    auto bytes = initial_bytes(b);
    if (auto* error = std::get_if<RunnerError>(&bytes)) return std::move(*error);
    initial.push_back(std::move(std::get<std::string>(bytes)));
  }
  Held held(driver);
  auto loaded = load(driver, plan, held);
  if (auto* error = std::get_if<RunnerError>(&loaded)) return std::move(*error);
  for (const Plan::Buffer& b : plan.buffers) {
    CUdeviceptr pointer = 0;
    if (auto e = driver.check(driver.allocate(&pointer, b.bytes), "memory for buffer '" + b.name + "'"))
      return std::move(*e);
    held.memory.push_back(pointer);
  }
  if (auto e = driver.check(driver.event_create(&held.start, CU_EVENT_DEFAULT), "cuEventCreate"))
    return std::move(*e);
  if (auto e = driver.check(driver.event_create(&held.stop, CU_EVENT_DEFAULT), "cuEventCreate"))
    return std::move(*e);
  auto arguments = make_arguments(driver, plan, held.memory);
  if (auto* error = std::get_if<RunnerError>(&arguments)) return std::move(*error);

  RunOutput output;
  std::vector<float> times;
  bool identical = true;
  for (uint32_t i = 0; i < plan.repeat; ++i) {
    std::vector<std::string> outputs;
    const auto elapsed = run_once(gpu, plan, std::get<Loaded>(loaded), std::get<Arguments>(arguments), held,
                                  initial, timeout_seconds, i == 0 ? output.buffers : outputs);
    if (const auto* error = std::get_if<RunnerError>(&elapsed)) return *error;
    times.push_back(std::get<float>(elapsed));
    if (i > 0) identical = identical && outputs == output.buffers;
  }
  std::ranges::sort(times);
  output.info = std::move(std::get<Loaded>(loaded).info);
  output.info.emplace_back("repeat", std::to_string(plan.repeat));
  output.info.emplace_back("identical", plan.repeat == 1 ? "single" : identical ? "yes" : "no");
  output.info.emplace_back("kernel_ms_median", milliseconds(times[times.size() / 2]));
  output.info.emplace_back("kernel_ms_min", milliseconds(times.front()));
  return output;
}

RunnerStatus write_output(const std::filesystem::path& folder, const Plan& plan, const Gpu& gpu,
                          const RunOutput& output) {
  std::error_code error;
  const std::filesystem::path partial = folder.string() + ".partial";
  std::filesystem::remove_all(partial, error);
  if (!std::filesystem::create_directories(partial, error))
    return usage_error(partial.string() + ": cannot be made");
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    std::ofstream out(partial / plan.outputs[i].file, std::ios::binary);
    out.write(output.buffers[i].data(), static_cast<std::streamsize>(output.buffers[i].size()));
    if (!out.flush()) return usage_error((partial / plan.outputs[i].file).string() + ": cannot be written");
  }
  std::ofstream out(partial / "info.txt");
  out << "turnstile-info 1\n";
  for (const auto& [key, value] : describe(gpu)) out << key << ' ' << value << '\n';
  for (const auto& [key, value] : output.info) out << key << ' ' << value << '\n';
  if (!out.flush()) return usage_error((partial / "info.txt").string() + ": cannot be written");
  out.close();
  std::filesystem::rename(partial, folder, error);
  if (error) return usage_error(folder.string() + ": " + error.message());
  return std::nullopt;
}

}  // namespace turnstile
