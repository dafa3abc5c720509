// SPDX-License-Identifier: Apache-2.0
#include "cli/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace turnstile::cli {

size_t run_parallel(size_t count, const std::function<void(size_t)>& work,
                    const std::function<void(size_t)>& tick, const std::function<bool()>& stop) {
  std::atomic<size_t> next = 0, done = 0;
  std::mutex mutex;
  std::condition_variable changed;
  size_t running = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (size_t t = running; t > 0; --t)
    threads.emplace_back([&] {
      while (!stop()) {
        const size_t i = next.fetch_add(1);
        if (i >= count) break;
        work(i);
        done.fetch_add(1);
      }
      const std::lock_guard lock(mutex);
      --running;
      changed.notify_one();
    });
  {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(200), [&] { return running == 0; })) tick(done);
  }
  for (std::thread& thread : threads) thread.join();
  tick(done);
  return done;
}

size_t run_in_order(size_t count, const std::function<void(size_t)>& work,
                    const std::function<void(size_t)>& ready, const std::function<void(size_t)>& tick,
                    const std::function<bool()>& stop) {
  std::vector<std::atomic<bool>> done(count);
  size_t next = 0;
  return run_parallel(
      count,
      [&](size_t i) {
        work(i);
        done[i] = true;
      },
      [&](size_t n) {
        for (; next < count && done[next]; ++next) ready(next);
        tick(n);
      },
      stop);
}

}  // namespace turnstile::cli
