// SPDX-License-Identifier: Apache-2.0
#include "sim/forked.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

namespace turnstile::sim {

namespace {

std::vector<uint64_t> receive(int from) {
  constexpr size_t most_words = 4096;
  std::vector<uint64_t> words(most_words);
  size_t bytes = 0;
  while (bytes < most_words * sizeof(uint64_t)) {
    const ssize_t n =
        read(from, reinterpret_cast<char*>(words.data()) + bytes, most_words * sizeof(uint64_t) - bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes += static_cast<size_t>(n);
  }
  words.resize(bytes / sizeof(uint64_t));
  return words;
}

}  // namespace

std::optional<std::vector<uint64_t>> Forked::fork_here() {
  int ends[2] = {-1, -1};
  const pid_t child = pipe(ends) == 0 ? fork() : -1;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    answer_to_ = ends[1];
    return std::nullopt;
  }
  failed_ = failed_ || child < 0;
  if (ends[1] >= 0) close(ends[1]);
  std::vector<uint64_t> words;
  if (child > 0) {
    words = receive(ends[0]);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (ends[0] >= 0) close(ends[0]);
  return words;
}

void Forked::answer(const std::vector<uint64_t>& words) const {
  const char* at = reinterpret_cast<const char*>(words.data());
  for (size_t left = words.size() * sizeof(uint64_t); left != 0;) {
    const ssize_t n = write(answer_to_, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    at += n;
    left -= static_cast<size_t>(n);
  }
  _exit(0);
}

}  // namespace turnstile::sim
