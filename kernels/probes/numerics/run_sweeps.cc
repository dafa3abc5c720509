// SPDX-License-Identifier: Apache-2.0
// run_sweeps FOLDER OUT RAW   on a machine with a Hopper GPU: runs the kernels that make_sweeps.py wrote into
// FOLDER (assembled to sweeps_N.cubin), writes OUT/sweeps.sums (checksums of every form), OUT/tables.bin
// (every result of the 16-bit approximations) and RAW/*.u32 (dense results of the functions that want a
// model, for pack_dense.py).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "golden/gpu_runner/driver.h"
#include "golden/numerics/operands.h"

namespace {

using turnstile::Driver;
namespace probe = turnstile::numeric_probe;

struct Form {
  unsigned number = 0, part = 0, operands = 0;
  std::string domain, mnemonic, source;
};

constexpr uint64_t kTuples = uint64_t{1} << 20;

[[noreturn]] void fail(const std::string& reason) {
  std::fprintf(stderr, "run_sweeps: %s\n", reason.c_str());
  std::exit(1);
}

void need(const Driver& driver, CUresult result, const std::string& call) {
  if (const auto error = driver.check(result, call)) fail(error->reason);
}

std::vector<Form> read_list(const std::string& path) {
  std::ifstream file(path);
  std::vector<Form> forms;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Form f;
    if (!(words >> f.number >> f.part >> f.domain >> f.mnemonic >> f.operands >> f.source))
      fail("bad line " + line);
    forms.push_back(f);
  }
  return forms;
}

struct Domain {
  unsigned blocks, log2;
};
Domain domain_of(const std::string& name) {
  if (name == "all32" || name == "high32") return {4096, 20};
  if (name == "all16") return {16, 12};
  return {64, 14};  // random, global, shared, bulk
}

class Sweeper {
 public:
  Sweeper(const Driver& driver, std::string folder) : driver_(driver), folder_(std::move(folder)) {
    need(driver_, driver_.allocate(&sums_, 4096 * 16), "sums");
    need(driver_, driver_.allocate(&scratch_, 64 * 256 * 16), "scratch");
  }

  /// Checksums of blocks, two words each.
  std::vector<uint64_t> run(const Form& form, Domain domain, uint64_t first, uint64_t stride,
                            CUdeviceptr results) {
    need(driver_, driver_.fill(sums_, 0, 4096 * 16), "clearing");
    CUdeviceptr operands = needs_operands(form) ? operands_of(form.source) : 0;
    CUdeviceptr scratch = scratch_;
    uint32_t log2 = domain.log2;
    void* arguments[] = {&sums_, &results, &operands, &scratch, &first, &stride, &log2};
    CUlaunchConfig config{};
    config.gridDimX = domain.blocks;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 256;
    need(driver_, driver_.launch(&config, function(form), arguments, nullptr), form.mnemonic);
    need(driver_, driver_.synchronize(), form.mnemonic);
    std::vector<uint64_t> sums(size_t{2} * domain.blocks);
    need(driver_, driver_.copy_to_host(sums.data(), sums_, sums.size() * 8), form.mnemonic);
    return sums;
  }

 private:
  static bool needs_operands(const Form& f) {
    return f.domain == "random" || f.domain == "global" || f.domain == "shared" || f.domain == "bulk";
  }

  CUfunction function(const Form& form) {
    if (!modules_.contains(form.part)) {
      std::ifstream file(folder_ + "/sweeps_" + std::to_string(form.part) + ".cubin", std::ios::binary);
      std::string image((std::istreambuf_iterator<char>(file)), {});
      if (image.empty()) fail("no cubin " + std::to_string(form.part));
      need(driver_, driver_.module_load(&modules_[form.part], image.data(), 0, nullptr, nullptr),
           "cuModuleLoadData");
    }
    CUfunction f = nullptr;
    const std::string name = "form_" + std::to_string(form.number);
    need(driver_, driver_.module_get_function(&f, modules_.at(form.part), name.c_str()), name);
    return f;
  }

  CUdeviceptr operands_of(const std::string& type) {
    if (const auto found = operands_.find(type); found != operands_.end()) return found->second;
    std::vector<uint64_t> words(3 * kTuples);
    std::vector<std::thread> workers;
    for (unsigned w = 0; w < 16; ++w)
      workers.emplace_back([&, w] {
        for (uint64_t i = w; i < kTuples; i += 16)
          for (unsigned k = 0; k < 3; ++k) words[3 * i + k] = probe::register_operand(type, k, i);
      });
    for (std::thread& w : workers) w.join();
    CUdeviceptr& place = operands_[type];
    need(driver_, driver_.allocate(&place, words.size() * 8), "operands");
    need(driver_, driver_.copy_to_device(place, words.data(), words.size() * 8), "operands");
    return place;
  }

  Driver driver_;
  std::string folder_;
  CUdeviceptr sums_ = 0, scratch_ = 0;
  std::map<unsigned, CUmodule> modules_;
  std::map<std::string, CUdeviceptr> operands_;
};

/// A range of words whose results are wanted themselves.
struct Dense {
  const char* mnemonic;
  uint64_t first, stride, log2;
};

// One binade is 2^23 words. Whole binades where the shape of the function shows, samples elsewhere.
std::vector<Dense> dense_ranges() {
  std::vector<Dense> ranges;
  const auto whole = [&](const char* name, uint64_t from, uint64_t to) {
    for (uint64_t e = from; e < to; ++e) ranges.push_back({name, e << 23, 1, 23});
  };
  const auto sampled = [&](const char* name, uint64_t from, uint64_t to) {
    for (uint64_t e = from; e < to; e += 64) ranges.push_back({name, e << 23, 1 << 9, 20});  // 64 binades
  };
  whole("sqrt.approx.ftz.f32", 127, 129);
  whole("sin.approx.ftz.f32", 123, 130);
  whole("cos.approx.ftz.f32", 129, 130);
  whole("tanh.approx.f32", 118, 131);
  sampled("sin.approx.ftz.f32", 0, 256);
  sampled("cos.approx.ftz.f32", 0, 256);
  sampled("tanh.approx.f32", 0, 256);
  sampled("tanh.approx.f32", 256, 512);
  sampled("sin.approx.ftz.f32", 256, 512);
  ranges.push_back({"rcp.approx.ftz.f64", uint64_t{1023} << 20, 1, 20});
  ranges.push_back({"rsqrt.approx.ftz.f64", uint64_t{1023} << 20, 1, 21});
  return ranges;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: run_sweeps FOLDER OUT RAW");
  const std::string folder = argv[1], out = argv[2], raw = argv[3];
  auto opened = turnstile::open_gpu(0);
  if (auto* error = std::get_if<turnstile::RunnerError>(&opened)) fail(error->reason);
  const turnstile::Gpu& gpu = std::get<turnstile::Gpu>(opened);
  const std::vector<Form> forms = read_list(folder + "/sweeps.list");
  Sweeper sweeper(gpu.driver, folder);

  std::ofstream sums(out + "/sweeps.sums");
  sums << "gpu " << gpu.name << "\ndriver " << gpu.driver_version << "\n";
  std::ofstream tables(out + "/tables.bin", std::ios::binary);
  // The first results of each form in full, to look at when a checksum differs.
  std::ofstream first_words(out + "/words.bin", std::ios::binary);
  CUdeviceptr results = 0;
  need(gpu.driver, gpu.driver.allocate(&results, (uint64_t{1} << 26) * 8), "results");
  std::map<std::string, Form> named;
  for (const Form& form : forms) {
    named.emplace(form.mnemonic, form);
    const Domain domain = domain_of(form.domain);
    const bool table = form.domain == "all16" && form.mnemonic.find("approx") != std::string::npos;
    const std::vector<uint64_t> words = sweeper.run(form, domain, 0, 1, table ? results : 0);
    uint64_t weighted = 0;
    for (size_t b = 0; b < domain.blocks; ++b) weighted += words[2 * b + 1];
    char text[32];
    std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(weighted));
    sums << form.domain << ' ' << form.mnemonic << ' ' << form.operands << text << '\n';
    for (size_t b = 0; b < domain.blocks; ++b) {
      std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(words[2 * b]));
      sums << text << (b % 8 == 7 || b + 1 == domain.blocks ? '\n' : ' ');
    }
    if (form.domain != "all32" && form.domain != "high32") {
      const unsigned log2 = 11;
      sweeper.run(form, {1, log2}, 0, 1, results);
      std::vector<uint64_t> some(size_t{1} << log2);
      need(gpu.driver, gpu.driver.copy_to_host(some.data(), results, some.size() * 8), "words");
      first_words.write(reinterpret_cast<const char*>(some.data()),
                        static_cast<std::streamsize>(some.size() * 8));
      sums << "# words of " << form.mnemonic << '\n';
    }
    if (table) {
      std::vector<uint64_t> all(65536);
      need(gpu.driver, gpu.driver.copy_to_host(all.data(), results, all.size() * 8), "table");
      std::vector<uint32_t> narrow(all.begin(), all.end());
      tables.write(reinterpret_cast<const char*>(narrow.data()),
                   static_cast<std::streamsize>(narrow.size() * 4));
      sums << "# " << form.mnemonic << " is the next 65536 words of tables.bin\n";
    }
  }
  sums.flush();
  std::printf("%zu forms\n", forms.size());

  std::ofstream manifest(raw + "/dense.txt");
  std::vector<uint64_t> wide;
  unsigned number = 0;
  for (const Dense& range : dense_ranges()) {
    const uint64_t count = uint64_t{1} << range.log2;
    sweeper.run(named.at(range.mnemonic), {static_cast<unsigned>(count >> 12), 12}, range.first, range.stride,
                results);
    wide.resize(count);
    need(gpu.driver, gpu.driver.copy_to_host(wide.data(), results, count * 8), "dense");
    std::vector<uint32_t> narrow(count);
    const bool high = std::string(range.mnemonic).ends_with("f64");
    for (size_t i = 0; i < count; ++i) narrow[i] = static_cast<uint32_t>(high ? wide[i] >> 32 : wide[i]);
    if (high &&
        std::any_of(wide.begin(), wide.end(), [](uint64_t w) { return static_cast<uint32_t>(w) != 0; }))
      manifest << "# some low words are not zero\n";
    const std::string name = "dense_" + std::to_string(number++) + ".u32";
    std::ofstream(raw + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(narrow.data()), static_cast<std::streamsize>(count * 4));
    manifest << name << ' ' << range.mnemonic << ' ' << range.first << ' ' << range.stride << ' ' << count
             << '\n';
  }
  std::printf("%u dense ranges\n", number);
  return 0;
}
