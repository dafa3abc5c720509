// SPDX-License-Identifier: Apache-2.0
#include "golden/gpu_runner/driver.h"

#include <dlfcn.h>

#include <array>
#include <fstream>

namespace turnstile {
namespace {

constexpr const char* kPlaces[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                   "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                                   "/usr/lib/aarch64-linux-gnu/libcuda.so.1"};

/// Finds `name`, or remembers the first that is missing.
template <typename Function>
void find(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr && missing.empty()) missing = name;
}

RunnerResult<Driver> load_driver() {
  void* library = nullptr;
  for (const char* place : kPlaces) {
    if (library == nullptr) library = dlopen(place, RTLD_NOW | RTLD_GLOBAL);
  }
  if (library == nullptr) return usage_error("no NVIDIA driver: libcuda.so.1 not found");
  Driver d{};
  std::string missing;
  find(library, "cuInit", d.init, missing);
  find(library, "cuDriverGetVersion", d.driver_get_version, missing);
  find(library, "cuDeviceGetCount", d.device_get_count, missing);
  find(library, "cuDeviceGet", d.device_get, missing);
  find(library, "cuDeviceGetName", d.device_get_name, missing);
  find(library, "cuDeviceGetAttribute", d.device_get_attribute, missing);
  find(library, "cuDevicePrimaryCtxRetain", d.primary_context_retain, missing);
  find(library, "cuCtxSetCurrent", d.context_set_current, missing);
  find(library, "cuGetErrorName", d.get_error_name, missing);
  find(library, "cuModuleLoadDataEx", d.module_load, missing);
  find(library, "cuModuleUnload", d.module_unload, missing);
  find(library, "cuModuleGetFunction", d.module_get_function, missing);
  find(library, "cuFuncGetAttribute", d.function_get_attribute, missing);
  find(library, "cuFuncSetAttribute", d.function_set_attribute, missing);
  find(library, "cuMemAlloc_v2", d.allocate, missing);
  find(library, "cuMemFree_v2", d.free, missing);
  find(library, "cuMemsetD8_v2", d.fill, missing);
  find(library, "cuMemcpyHtoD_v2", d.copy_to_device, missing);
  find(library, "cuMemcpyDtoH_v2", d.copy_to_host, missing);
  find(library, "cuTensorMapEncodeTiled", d.encode_tiled, missing);
  find(library, "cuLaunchKernelEx", d.launch, missing);
  find(library, "cuEventCreate", d.event_create, missing);
  find(library, "cuEventRecord", d.event_record, missing);
  find(library, "cuEventQuery", d.event_query, missing);
  find(library, "cuEventElapsedTime", d.event_elapsed, missing);
  find(library, "cuEventDestroy_v2", d.event_destroy, missing);
  find(library, "cuCtxSynchronize", d.synchronize, missing);
  if (!missing.empty()) return usage_error("the NVIDIA driver is too old: it lacks " + missing);
  return d;
}

/// The driver's own version, as nvidia-smi prints it: from the management library, or from the kernel module.
std::string find_driver_version() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) library = dlopen("/usr/local/nvidia/lib64/libnvidia-ml.so.1", RTLD_NOW);
  if (library != nullptr) {
    const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    const auto version =
        reinterpret_cast<int (*)(char*, unsigned)>(dlsym(library, "nvmlSystemGetDriverVersion"));
    std::array<char, 96> text{};
    if (init != nullptr && version != nullptr && init() == 0 && version(text.data(), text.size() - 1) == 0)
      return text.data();
  }
  std::ifstream in("/sys/module/nvidia/version");
  std::string line;
  if (std::getline(in, line) && !line.empty()) return line;
  return "unknown";
}

}  // namespace

RunnerStatus Driver::check(CUresult result, const std::string& call) const {
  if (result == CUDA_SUCCESS) return std::nullopt;
  const char* name = nullptr;
  if (get_error_name(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  return RunnerError{RunnerError::kGpu,
                     call + ": " + name + " (" + std::to_string(static_cast<int>(result)) + ")"};
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

RunnerResult<Gpu> open_gpu(int ordinal) {
  auto loaded = load_driver();
  if (auto* error = std::get_if<RunnerError>(&loaded)) return std::move(*error);
  Gpu gpu;
  gpu.driver = std::get<Driver>(loaded);
  const Driver& d = gpu.driver;
  // Until a context stands, a failure means that this machine has no usable GPU: code 2.
  const auto unusable = [&](CUresult result, const char* call) -> RunnerStatus {
    auto status = d.check(result, call);
    if (status) status = usage_error("no usable GPU: " + status->reason);
    return status;
  };
  int count = 0;
  if (auto e = unusable(d.init(0), "cuInit")) return std::move(*e);
  if (auto e = unusable(d.device_get_count(&count), "cuDeviceGetCount")) return std::move(*e);
  if (ordinal >= count)
    return usage_error("no GPU " + std::to_string(ordinal) + ": the driver sees " + std::to_string(count));
  if (auto e = unusable(d.device_get(&gpu.device, ordinal), "cuDeviceGet")) return std::move(*e);
  std::array<char, 256> name{};
  if (auto e = unusable(d.device_get_name(name.data(), static_cast<int>(name.size()) - 1, gpu.device),
                        "cuDeviceGetName")) {
    return std::move(*e);
  }
  gpu.name = name.data();
  const std::pair<int*, CUdevice_attribute> attributes[] = {
      {&gpu.capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&gpu.capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {&gpu.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT}};
  for (const auto& [value, attribute] : attributes) {
    if (auto e = unusable(d.device_get_attribute(value, attribute, gpu.device), "cuDeviceGetAttribute"))
      return std::move(*e);
  }
  if (auto e = unusable(d.driver_get_version(&gpu.api_version), "cuDriverGetVersion")) return std::move(*e);
  CUcontext context = nullptr;
  if (auto e = unusable(d.primary_context_retain(&context, gpu.device), "cuDevicePrimaryCtxRetain"))
    return std::move(*e);
  if (auto e = unusable(d.context_set_current(context), "cuCtxSetCurrent")) return std::move(*e);
  gpu.driver_version = find_driver_version();
  return gpu;
}

}  // namespace turnstile
