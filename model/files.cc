// SPDX-License-Identifier: Apache-2.0
#include "model/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace turnstile {
namespace {

tl::unexpected<Error> system_failure(const std::string& path, const char* what) {
  return fail(path, 0, 0, fmt::format("{}: {}", what, std::strerror(errno)));
}

/// Closes the descriptor when it goes.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

Result<std::string> read_file(const std::string& path, uint64_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return system_failure(path, "cannot open the file");
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return system_failure(path, "cannot read the file");
  if (S_ISDIR(info.st_mode)) return fail(path, 0, 0, "this is a folder; a file was expected");
  const auto too_long = [&] {
    return fail(path, 0, 0,
                fmt::format("the file is longer than {} bytes, the most that is read here", limit));
  };
  if (S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) > limit) return too_long();

  std::string bytes;
  if (S_ISREG(info.st_mode)) bytes.reserve(static_cast<size_t>(info.st_size));
  char chunk[1 << 16];
  for (;;) {
    const ssize_t n = ::read(file.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path, "cannot read the file");
    if (n == 0) return bytes;
    bytes.append(chunk, static_cast<size_t>(n));
    if (bytes.size() > limit) return too_long();  // also ends on pipes and devices that never end
  }
}

Result<void> write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  const std::string beside = fmt::format("{}.partial.{}", path, ::getpid());
  Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return system_failure(path, "cannot write the file");
  // Synced before the rename: after a power cut the name must not stand for an empty file.
  if (!write_all(file.get(), bytes) || ::fsync(file.get()) != 0 || !file.close() ||
      ::rename(beside.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    ::unlink(beside.c_str());
    errno = reason;
    return system_failure(path, "cannot write the file");
  }
  return {};
}

Result<void> write_file_atomically(const std::string& path, std::string_view text) {
  return write_file_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace turnstile
