// SPDX-License-Identifier: Apache-2.0
#include "golden/numerics/record_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "golden/numerics/matrix_sums.h"
#include "golden/numerics/sweeps.h"

namespace turnstile::golden {

namespace {

struct DomainName {
  std::string_view domain, operands;
};
// kernels/probes/numerics/forms.txt says what an index means in each.
constexpr DomainName domain_names[] = {
    {"all16", "all 2^16 words"}, {"all32", "all 2^32 words"},    {"high32", "all 2^32 high halves"},
    {"random", "tuples"},        {"global", "in global memory"}, {"shared", "in shared memory"},
    {"bulk", "bulk copies"}};

std::string operands_of(const std::string& domain) {
  for (const DomainName& n : domain_names)
    if (n.domain == domain) return std::string(n.operands);
  return domain;
}

/// One checksum to be made: a block of a sweep or a tile of a matrix instruction.
struct Job {
  size_t family = 0;
  const SweepRecord* sweep = nullptr;
  const SweepModel* model = nullptr;
  const MatrixRecord* matrix = nullptr;
  uint64_t index = 0;  ///< of the block or tile

  uint64_t results() const {
    return sweep != nullptr ? uint64_t{1} << sweep->log2 : uint64_t{matrix->m} * matrix->n;
  }
  bool agrees_with_model() const {
    if (sweep != nullptr) return agrees(*sweep, index, sweep_block(*model, sweep->log2, index).mixed);
    const auto words = predicted_tile(*matrix, static_cast<unsigned>(index));
    return words && tile_sum(*words) == matrix->sums[index];
  }
  std::string name() const {
    return sweep != nullptr ? fmt::format("{}, block {} of 2^{}", sweep->mnemonic, index, sweep->log2)
                            : fmt::format("{}, tile {}", matrix->name(), index);
  }
};

/// Blocks of a form that a sample takes: of 16-bit words four, of functions that are tables three, else one,
/// and of each form other ones.
uint64_t sampled_blocks(const SweepRecord& record) {
  if (record.domain == "all16") return 4;
  return record.mnemonic.find("approx") != std::string::npos ? 3 : 1;
}

class Families {
 public:
  size_t index_of(const std::string& operation, const std::string& operands) {
    const auto [at, fresh] = places_.try_emplace({operation, operands}, all.size());
    if (fresh) {
      all.emplace_back();
      all.back().operation = operation;
      all.back().operands = operands;
    }
    return at->second;
  }
  std::vector<RecordFamily> all;

 private:
  std::map<std::pair<std::string, std::string>, size_t> places_;
};

void add_sweep(const SweepRecord& record, Extent extent, const SweepModel* model, const std::string& why,
               Families& families, std::vector<Job>& jobs) {
  const std::string operation = record.mnemonic.substr(0, record.mnemonic.find('.'));
  const size_t family = families.index_of(operation, operands_of(record.domain));
  if (model == nullptr) {
    families.all[family].not_predicted.push_back(why);
    return;
  }
  ++families.all[family].forms;
  const uint64_t count = record.sums.size();
  const uint64_t taken = extent == Extent::whole ? count : std::min(sampled_blocks(record), count);
  uint64_t start = 0;
  for (const char c : record.mnemonic) start = start * 31 + static_cast<unsigned char>(c);
  for (uint64_t i = 0; i < taken; ++i)
    jobs.push_back({family, &record, model, nullptr, (start % count + i * count / taken) % count});
}

void add_matrix(const MatrixRecord& record, Extent extent, Families& families, std::vector<Job>& jobs) {
  const std::string operation =
      fmt::format("{} {}", record.kind == "mma" ? "mma.sync" : record.kind, record.c);
  const size_t family = families.index_of(operation, fmt::format("tiles of {}", record.a));
  const size_t all = record.sums.size(), families_of_tiles = 8;
  ++families.all[family].forms;
  // Wide tiles take longest and differ from narrow ones in the layout alone.
  const size_t taken = extent == Extent::whole ? all : record.n <= 64 ? families_of_tiles : 1;
  for (size_t tile = 0; tile < std::min(taken, all); ++tile)
    jobs.push_back({family, nullptr, nullptr, &record, tile});
}

}  // namespace

Result<std::vector<RecordFamily>> compare_records(
    const std::string& folder, const RecordSelection& selection,
    const std::function<void(uint64_t done, uint64_t all)>& progress) {
  const auto sweeps = read_sweeps(folder + "/sweeps.txt");
  if (!sweeps) return tl::unexpected(sweeps.error());
  const auto matrices = read_matrix_sums(folder + "/matrix.txt");
  if (!matrices) return tl::unexpected(matrices.error());

  Families families;
  std::vector<Job> jobs;
  std::vector<std::optional<SweepModel>> models(sweeps->size());
  const auto selected = [&](std::string_view name) {
    return name.substr(0, selection.only.size()) == selection.only;
  };
  for (const MatrixRecord& record : *matrices)
    if (selected(record.kind)) add_matrix(record, selection.extent, families, jobs);
  for (size_t i = 0; i < sweeps->size(); ++i) {
    if (!selected((*sweeps)[i].mnemonic)) continue;
    std::string why;
    models[i] = SweepModel::of((*sweeps)[i], why);
    add_sweep((*sweeps)[i], selection.extent, models[i] ? &*models[i] : nullptr, why, families, jobs);
  }

  std::atomic<size_t> next{0};
  std::mutex lock;
  uint64_t done = 0;
  std::vector<bool> differs(jobs.size());
  const auto work = [&] {
    for (size_t at = next++; at < jobs.size(); at = next++) {
      const bool good = jobs[at].agrees_with_model();
      const std::lock_guard<std::mutex> held(lock);
      differs[at] = !good;
      if (progress) progress(++done, jobs.size());
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();

  for (size_t i = 0; i < jobs.size(); ++i) {
    RecordFamily& family = families.all[jobs[i].family];
    family.results += jobs[i].results();
    if (!differs[i]) continue;
    if (family.differing++ == 0) family.first = jobs[i].name();
  }
  return families.all;
}

}  // namespace turnstile::golden
