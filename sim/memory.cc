// SPDX-License-Identifier: Apache-2.0
#include "sim/memory.h"

#include <algorithm>
#include <cstring>

#include "sim/execution_log.h"
#include "sim/program.h"

namespace turnstile::sim {

void WindowMemory::read(uint64_t address, size_t bytes, ByteRun& out) const {
  out.resize(bytes, !cells_.empty());
  std::memcpy(out.value.data(), &value_[address], bytes);
  std::memcpy(out.known.data(), &known_[address], bytes);
  if (!cells_.empty())
    std::copy_n(cells_.begin() + static_cast<ptrdiff_t>(address), bytes, out.cells.begin());
  if (log_ != nullptr) log_->read(number_, address, bytes, ExecutionLog::follow);
  if (marks_.empty()) return;
  for (uint64_t at = address; at < address + bytes; ++at)
    if (marks_[at] != 0 && (marks_read_.empty() || marks_read_.back() != marks_[at]))
      marks_read_.push_back(marks_[at]);
}

void WindowMemory::write(uint64_t address, size_t from, size_t bytes, const ByteRun& in) {
  std::memcpy(&value_[address], &in.value[from], bytes);
  std::memcpy(&known_[address], &in.known[from], bytes);
  for (uint64_t block = address / block_bytes; block <= (address + bytes - 1) / block_bytes; ++block)
    block_known_[block] = 1;
  if (!cells_.empty())
    std::copy_n(in.cells.begin() + static_cast<ptrdiff_t>(from), bytes,
                cells_.begin() + static_cast<ptrdiff_t>(address));
  if (!marks_.empty()) set_mark(address, bytes, 0);
  if (log_ != nullptr) log_->wrote(number_, address, bytes, from);
}

bool WindowMemory::all_marked(uint64_t address, size_t bytes, uint32_t mark) const {
  const auto first = marks_.begin() + static_cast<ptrdiff_t>(address);
  return std::all_of(first, first + static_cast<ptrdiff_t>(bytes), [&](uint32_t m) { return m == mark; });
}

void WindowMemory::set_mark(uint64_t address, size_t bytes, uint32_t mark) {
  std::fill_n(marks_.begin() + static_cast<ptrdiff_t>(address), bytes, mark);
  for (uint64_t block = address / block_bytes; mark != 0 && block * block_bytes < address + bytes; ++block)
    block_known_[block] = 1;
}

void WindowMemory::forget(uint64_t address, size_t bytes) {
  if (log_ != nullptr) log_->wrote(number_, address, bytes, 0);
  if (!cells_.empty()) std::fill_n(cells_.begin() + static_cast<ptrdiff_t>(address), bytes, undefined_byte);
  const uint64_t end = address + bytes;
  for (uint64_t block = address / block_bytes; block * block_bytes < end; ++block) {
    if (block_known_[block] == 0) continue;
    const uint64_t first = std::max(address, block * block_bytes);
    const uint64_t last = std::min(end, (block + 1) * block_bytes);
    std::memset(&known_[first], 0, last - first);
    if (!marks_.empty()) set_mark(first, last - first, 0);
    if (last - first == block_bytes) block_known_[block] = 0;
  }
}

bool WindowMemory::all_known(uint64_t address, size_t bytes) const {
  return std::memchr(&known_[address], 0, bytes) == nullptr;
}

Result<GlobalMemory> GlobalMemory::create(const Launch& launch,
                                          const std::vector<std::vector<std::byte>>& variables, Domain domain,
                                          RowUnderTest row) {
  GlobalMemory memory;
  memory.domain_ = domain;
  memory.row_ = row;
  for (const turnstile::Buffer& b : launch.buffers) {
    Buffer out;
    out.name = b.name;
    out.bytes = b.bytes;
    out.element_bytes = element_bytes(b.type);
    out.pitch = std::max<uint64_t>(b.row_pitch, 1);
    out.columns = b.columns();
    out.shape = b.shape;
    if (b.batch_axis && domain == Domain::provenance) out.batch_axis = static_cast<int>(*b.batch_axis);
    const bool contents = domain == Domain::bits || b.control_data;
    out.opaque = domain == Domain::control && !b.control_data;
    out.leaves = (domain == Domain::provenance || domain == Domain::names) && !b.control_data;
    if (contents) {
      auto initial = initial_contents(b);
      if (!initial) return tl::unexpected<Error>(initial.error());
      out.value.resize(initial->size());
      std::memcpy(out.value.data(), initial->data(), initial->size());
      for (const BufferAddress& a : b.addresses) {
        const uint64_t address = AddressMap::buffer_base(a.buffer) + a.offset;
        std::memcpy(&out.value[a.element * 8], &address, 8);
      }
      if (domain != Domain::bits) out.known.assign(out.value.size(), 1);
    }
    memory.buffers_.push_back(std::move(out));
  }
  for (const auto& v : variables) {
    Buffer out;
    out.name = "variable";
    out.bytes = v.size();
    out.value.resize(v.size());
    std::memcpy(out.value.data(), v.data(), v.size());
    if (domain != Domain::bits) out.known.assign(v.size(), 1);
    memory.buffers_.push_back(std::move(out));
  }
  return memory;
}

Hash128 GlobalMemory::group_name(uint32_t buffer, uint64_t offset) {
  return combine(hash_number(51, buffer), hash_number(52, offset / group_bytes));
}

Hash128 GlobalMemory::leaf(uint32_t buffer, uint64_t offset) const {
  const Buffer& b = buffers_[buffer];
  if (domain_ == Domain::names)
    return byte_of(group_name(buffer, offset), static_cast<unsigned>(offset % group_bytes));
  const uint64_t element = offset / b.element_bytes;
  uint64_t rest = element / b.pitch;
  const uint64_t column = element % b.pitch;
  // Coordinates from the innermost dimension outwards; the batch coordinate is left out of the name of the
  // row under test.
  Hash128 h = hash_number(20, column);
  uint64_t batch_row = 0;
  bool has_row = false;
  for (int axis = static_cast<int>(b.shape.size()) - 2; axis >= 0; --axis) {
    const uint64_t extent = b.shape[static_cast<size_t>(axis)];
    const uint64_t coordinate = axis == 0 ? rest : rest % std::max<uint64_t>(extent, 1);
    rest /= std::max<uint64_t>(extent, 1);
    if (axis == b.batch_axis) {
      batch_row = coordinate;
      has_row = true;
    } else {
      h = combine(h, hash_number(21, coordinate));
    }
  }
  h = combine(hash_text(b.name), h);
  if (has_row && batch_row != row_.row) {
    h = combine(h, hash_number(22, batch_row));
    h.lo |= 1;
  }
  return byte_of(h, static_cast<unsigned>(offset % b.element_bytes));
}

void GlobalMemory::read(uint32_t buffer, uint64_t offset, size_t bytes, ByteRun& out, size_t at) const {
  const Buffer& b = buffers_[buffer];
  if (b.opaque) {
    std::memset(&out.known[at], 0, bytes);
    return;
  }
  if (log_ != nullptr) log_->read(buffer, offset, bytes, at);
  if (!b.leaves) {
    std::memcpy(&out.value[at], &b.value[offset], bytes);
    if (b.known.empty())
      std::memset(&out.known[at], 1, bytes);
    else
      std::memcpy(&out.known[at], &b.known[offset], bytes);
    if (domain_ == Domain::provenance || domain_ == Domain::names)  // such a buffer keeps values only
      for (size_t i = 0; i < bytes; ++i)
        if (out.known[at + i] == 0) out.cells[at + i] = undefined_byte;
    return;
  }
  std::memset(&out.known[at], 0, bytes);
  for (size_t i = 0; i < bytes;) {
    const uint64_t where = offset + i;
    const size_t here = std::min<size_t>(bytes - i, group_bytes - where % group_bytes);
    const auto page = b.pages.find(where / page_bytes);
    if (page != b.pages.end()) {
      for (size_t k = 0; k < here; ++k)
        out.cells[at + i + k] = page->second.written[(where + k) % page_bytes]
                                    ? page->second.cells[(where + k) % page_bytes]
                                    : leaf(buffer, where + k);
    } else if (domain_ == Domain::names) {
      const Hash128 group = group_name(buffer, where);
      for (size_t k = 0; k < here; ++k)
        out.cells[at + i + k] = byte_of(group, static_cast<unsigned>((where + k) % group_bytes));
    } else {
      for (size_t k = 0; k < here; ++k) out.cells[at + i + k] = leaf(buffer, where + k);
    }
    i += here;
  }
}

void GlobalMemory::write(uint32_t buffer, uint64_t offset, size_t bytes, const ByteRun& in, size_t from) {
  Buffer& b = buffers_[buffer];
  if (b.opaque) return;
  if (log_ != nullptr) log_->wrote(buffer, offset, bytes, from);
  if (!b.leaves) {
    std::memcpy(&b.value[offset], &in.value[from], bytes);
    // In the bits domain, kept only once something without defined bits was written.
    if (b.known.empty() && std::memchr(&in.known[from], 0, bytes) != nullptr)
      b.known.assign(b.value.size(), 1);
    if (!b.known.empty()) std::memcpy(&b.known[offset], &in.known[from], bytes);
    return;
  }
  for (size_t i = 0; i < bytes; ++i) {
    const uint64_t where = offset + i;
    Page& page = b.pages[where / page_bytes];
    page.cells[where % page_bytes] =
        in.known[from + i] ? hash_constant_byte(in.value[from + i]) : in.cells[from + i];
    page.written[where % page_bytes] = true;
  }
}

void GlobalMemory::forget(uint32_t buffer, uint64_t offset, size_t bytes) {
  Buffer& b = buffers_[buffer];
  if (b.opaque) return;
  if (log_ != nullptr) log_->wrote(buffer, offset, bytes, 0);
  for (uint64_t where = offset; b.leaves && where < offset + bytes; ++where) {
    Page& page = b.pages[where / page_bytes];
    page.cells[where % page_bytes] = undefined_byte;
    page.written[where % page_bytes] = true;
  }
  if (b.leaves) return;
  if (b.known.empty()) b.known.assign(b.value.size(), 1);
  std::memset(&b.known[offset], 0, bytes);
}

std::vector<std::vector<std::byte>> GlobalMemory::take_contents(size_t launch_buffers) {
  std::vector<std::vector<std::byte>> out(launch_buffers);
  for (size_t i = 0; i < launch_buffers; ++i) {
    out[i].resize(buffers_[i].value.size());
    std::memcpy(out[i].data(), buffers_[i].value.data(), out[i].size());
  }
  return out;
}

Hash128 GlobalMemory::element(uint32_t buffer, uint64_t offset, unsigned bytes) const {
  ByteRun run;
  run.resize(bytes, true);
  read(buffer, offset, bytes, run, 0);
  for (unsigned i = 0; i < bytes; ++i)
    if (run.known[i]) run.cells[i] = hash_constant_byte(run.value[i]);
  return value_of({run.cells.data(), bytes});
}

bool GlobalMemory::written(uint32_t buffer, uint64_t offset) const {
  const Buffer& b = buffers_[buffer];
  auto page = b.pages.find(offset / page_bytes);
  return page != b.pages.end() && page->second.written[offset % page_bytes];
}

}  // namespace turnstile::sim
