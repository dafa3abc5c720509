// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <string>

#include "golden/gpu_runner/error.h"

namespace turnstile {

/// The driver's functions, found at run time: the program links and starts on a machine without a driver, and
/// says so. Names carry the versions that cuda.h maps them to.
struct Driver {
  decltype(&cuInit) init;
  decltype(&cuDriverGetVersion) driver_get_version;
  decltype(&cuDeviceGetCount) device_get_count;
  decltype(&cuDeviceGet) device_get;
  decltype(&cuDeviceGetName) device_get_name;
  decltype(&cuDeviceGetAttribute) device_get_attribute;
  decltype(&cuDevicePrimaryCtxRetain) primary_context_retain;
  decltype(&cuCtxSetCurrent) context_set_current;
  decltype(&cuGetErrorName) get_error_name;
  decltype(&cuModuleLoadDataEx) module_load;
  decltype(&cuModuleUnload) module_unload;
  decltype(&cuModuleGetFunction) module_get_function;
  decltype(&cuFuncGetAttribute) function_get_attribute;
  decltype(&cuFuncSetAttribute) function_set_attribute;
  decltype(&cuMemAlloc) allocate;
  decltype(&cuMemFree) free;
  decltype(&cuMemsetD8) fill;
  decltype(&cuMemcpyHtoD) copy_to_device;
  decltype(&cuMemcpyDtoH) copy_to_host;
  decltype(&cuTensorMapEncodeTiled) encode_tiled;
  decltype(&cuLaunchKernelEx) launch;
  decltype(&cuEventCreate) event_create;
  decltype(&cuEventRecord) event_record;
  decltype(&cuEventQuery) event_query;
  decltype(&cuEventElapsedTime) event_elapsed;
  decltype(&cuEventDestroy) event_destroy;
  decltype(&cuCtxSynchronize) synchronize;

  /// Empty on success; else an error of code `kGpu` that names the call.
  RunnerStatus check(CUresult result, const std::string& call) const;
};

/// One GPU, its primary context current in this thread.
struct Gpu {
  Driver driver;
  CUdevice device = 0;
  std::string name, driver_version;
  int api_version = 0;  ///< 13000 for 13.0
  int capability_major = 0, capability_minor = 0, multiprocessors = 0;
};

RunnerResult<Gpu> open_gpu(int ordinal);

/// "13.0" for 13000.
std::string version_text(int version);

}  // namespace turnstile
