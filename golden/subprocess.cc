// SPDX-License-Identifier: Apache-2.0
#include "golden/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

extern char** environ;

namespace turnstile::golden {

namespace {

constexpr size_t kept_bytes = size_t{1} << 20;

using Clock = std::chrono::steady_clock;

/// Both ends of a pipe, closed at the end; the ends are not inherited.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  bool ok() const { return ends_[0] >= 0; }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_writer() { close_end(1); }

 private:
  void close_end(size_t end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

/// Takes what a stream has; false at its end.
bool drain(int descriptor, std::string& into) {
  std::array<char, 4096> chunk;
  const ssize_t got = read(descriptor, chunk.data(), chunk.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got > 0 && into.size() < kept_bytes) into.append(chunk.data(), static_cast<size_t>(got));
  return got > 0;
}

int exit_code_of(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return 128 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

/// Waits for the end of the process without blocking beyond the deadline.
void reap(pid_t child, Clock::time_point deadline, Finished& finished) {
  int status = 0;
  for (;;) {
    const pid_t got = waitpid(child, &status, WNOHANG);
    if (got == child) break;
    if (got < 0 && errno != EINTR) return;
    if (Clock::now() >= deadline && !finished.timed_out) {
      finished.timed_out = true;
      kill(child, SIGKILL);
    }
    usleep(2000);
  }
  finished.exit_code = exit_code_of(status);
}

}  // namespace

Result<Finished> run_program(const std::vector<std::string>& arguments, double timeout_seconds) {
  Pipe output;
  Pipe errors;
  if (!output.ok() || !errors.ok()) return fail(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  SpawnActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), output.writer(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), errors.writer(), STDERR_FILENO);
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int failure = posix_spawn(&child, pointers[0], actions.get(), nullptr, pointers.data(), environ);
  if (failure != 0)
    return fail(arguments[0], 0, 0, fmt::format("cannot be started: {}", std::strerror(failure)));
  output.close_writer();
  errors.close_writer();

  Finished finished;
  const Clock::time_point deadline =
      Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(timeout_seconds * 1000));
  std::array<pollfd, 2> streams = {pollfd{output.reader(), POLLIN, 0}, pollfd{errors.reader(), POLLIN, 0}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    if (Clock::now() >= deadline) {
      finished.timed_out = true;
      kill(child, SIGKILL);
      break;
    }
    if (poll(streams.data(), streams.size(), 50) <= 0) continue;
    if (streams[0].revents != 0 && !drain(streams[0].fd, finished.output)) streams[0].fd = -1;
    if (streams[1].revents != 0 && !drain(streams[1].fd, finished.errors)) streams[1].fd = -1;
  }
  reap(child, deadline, finished);
  return finished;
}

Result<ScratchFolder> ScratchFolder::make(const std::string& parent, const std::string& prefix) {
  std::error_code failure;
  std::filesystem::create_directories(parent, failure);
  if (failure) return fail(parent, 0, 0, fmt::format("cannot make this folder: {}", failure.message()));
  std::string path = (std::filesystem::path(parent) / (prefix + "-XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr)
    return fail(path, 0, 0, fmt::format("cannot make this folder: {}", std::strerror(errno)));
  return ScratchFolder(path);
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace turnstile::golden
