// SPDX-License-Identifier: Apache-2.0
// run_matrix FOLDER OUT   on a machine with a Hopper GPU: runs the kernels that make_matrix.py wrote into
// FOLDER (compiled to matrix_N.cubin) on the tiles of golden/numerics/matrix_operands.h and writes
// OUT/matrix.sums: one checksum a tile.
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
#include "golden/numerics/matrix_operands.h"

namespace {

using turnstile::Driver;
namespace probe = turnstile::numeric_probe;

struct Line {
  unsigned number = 0, part = 0, threads = 0, tiles = 0, m = 0, n = 0, k = 0;
  std::string kind, a, b, c, flags;
};

[[noreturn]] void fail(const std::string& reason) {
  std::fprintf(stderr, "run_matrix: %s\n", reason.c_str());
  std::exit(1);
}

void need(const Driver& driver, CUresult result, const std::string& call) {
  if (const auto error = driver.check(result, call)) fail(error->reason);
}

unsigned bits_of(const std::string& type) {
  const int integer = probe::integer_bits(type);
  return static_cast<unsigned>(integer != 0 ? integer : type == "tf32" ? 32 : probe::format_of(type).width());
}

using Bytes = std::vector<unsigned char>;

void put(Bytes& bytes, size_t bit, unsigned width, uint64_t word) {
  if (width < 8) {
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] | word << (bit % 8));
    return;
  }
  for (unsigned i = 0; i < width / 8; ++i) bytes[bit / 8 + i] = static_cast<unsigned char>(word >> (8 * i));
}

template <typename Work>
void in_parallel(unsigned tiles, const Work& work) {
  std::vector<std::thread> workers;
  for (unsigned w = 0; w < 16; ++w)
    workers.emplace_back([&, w] {
      for (unsigned t = w; t < tiles; t += 16) work(t);
    });
  for (std::thread& worker : workers) worker.join();
}

/// Operand tiles one after the other, their elements packed.
Bytes operand_tiles(const Line& line, const probe::MatrixForm& form, const char* role) {
  const unsigned lines = role[0] == 'a' ? line.m : line.n;
  const unsigned width = bits_of(role[0] == 'a' ? line.a : line.b);
  Bytes bytes(size_t{line.tiles} * lines * line.k * width / 8);
  in_parallel(line.tiles, [&](unsigned t) {
    for (unsigned i = 0; i < lines; ++i)
      for (unsigned k = 0; k < line.k; ++k)
        put(bytes, ((size_t{t} * lines + i) * line.k + k) * width, width,
            probe::matrix_operand(form, role, t, i, k));
  });
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) fail("usage: run_matrix FOLDER OUT");
  const std::string folder = argv[1], out = argv[2];
  auto opened = turnstile::open_gpu(0);
  if (auto* error = std::get_if<turnstile::RunnerError>(&opened)) fail(error->reason);
  const turnstile::Gpu& gpu = std::get<turnstile::Gpu>(opened);
  const Driver& driver = gpu.driver;
  std::ofstream sums(out + "/matrix.sums");
  sums << "gpu " << gpu.name << "\ndriver " << gpu.driver_version << "\n";
  // A few results in full, to look at when a checksum differs: the first tile of every family.
  std::ofstream words(out + "/matrix_words.txt");
  std::map<unsigned, CUmodule> modules;
  std::ifstream list(folder + "/matrix.list");
  unsigned forms = 0;
  for (std::string text; std::getline(list, text); ++forms) {
    std::istringstream in(text);
    Line line;
    if (!(in >> line.number >> line.part >> line.threads >> line.tiles >> line.kind >> line.m >> line.n >>
          line.k >> line.a >> line.b >> line.c >> line.flags))
      fail("bad line " + text);
    const probe::MatrixForm form{line.m, line.n, line.k, line.a, line.b, line.c};
    const Bytes a = operand_tiles(line, form, "a"), b = operand_tiles(line, form, "b");
    const unsigned element = line.c == "f64" ? 8 : 4;
    const size_t area = size_t{line.m} * line.n;
    Bytes c(line.tiles * area * element), d(c.size());
    in_parallel(line.tiles, [&](unsigned t) {
      for (unsigned i = 0; i < area; ++i)
        put(c, (t * area + i) * element * 8, element * 8,
            probe::matrix_accumulator(form, t, i / line.n, i % line.n));
    });
    if (!modules.contains(line.part)) {
      std::ifstream file(folder + "/matrix_" + std::to_string(line.part) + ".cubin", std::ios::binary);
      std::string image((std::istreambuf_iterator<char>(file)), {});
      if (image.empty()) fail("no cubin " + std::to_string(line.part));
      need(driver, driver.module_load(&modules[line.part], image.data(), 0, nullptr, nullptr),
           "cuModuleLoadData");
    }
    CUfunction function = nullptr;
    const std::string name = "matrix_" + std::to_string(line.number);
    need(driver, driver.module_get_function(&function, modules.at(line.part), name.c_str()), name);
    CUdeviceptr memory[4];
    const Bytes* host[] = {&a, &b, &c, nullptr};
    for (int i = 0; i < 4; ++i) {
      const size_t size = i == 3 ? d.size() : host[i]->size();
      need(driver, driver.allocate(&memory[i], size), name);
      if (i < 3) need(driver, driver.copy_to_device(memory[i], host[i]->data(), size), name);
      if (i == 3) need(driver, driver.fill(memory[i], 0xa5, size), name);
    }
    void* arguments[] = {&memory[0], &memory[1], &memory[2], &memory[3]};
    CUlaunchConfig config{};
    config.gridDimX = line.tiles;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = line.threads;
    need(driver, driver.launch(&config, function, arguments, nullptr), name);
    need(driver, driver.synchronize(), name);
    need(driver, driver.copy_to_host(d.data(), memory[3], d.size()), name);
    for (const CUdeviceptr m : memory) need(driver, driver.free(m), name);

    sums << line.kind << ' ' << line.m << ' ' << line.n << ' ' << line.k << ' ' << line.a << ' ' << line.b
         << ' ' << line.c << ' ' << line.flags << ' ' << line.tiles << '\n';
    for (unsigned t = 0; t < line.tiles; ++t) {
      uint64_t sum = 0;
      for (size_t i = 0; i < area; ++i) {
        uint64_t word = 0;
        for (unsigned byte = 0; byte < element; ++byte)
          word |= static_cast<uint64_t>(d[(t * area + i) * element + byte]) << (8 * byte);
        sum += probe::checksum_term(word, i);
        char digits[24];
        std::snprintf(digits, sizeof digits, "%llx", static_cast<unsigned long long>(word));
        if (t < probe::kMatrixFamilies && i < 256) words << digits << (i % 32 == 31 ? '\n' : ' ');
      }
      char digits[24];
      std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(sum ^ sum >> 32));
      sums << digits << (t % 16 == 15 || t + 1 == line.tiles ? '\n' : ' ');
    }
  }
  std::printf("%u matrix forms\n", forms);
  return 0;
}
