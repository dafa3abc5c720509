// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "model/files.h"
#include "model/launch/launch.h"
#include "model/launch/npy.h"

namespace turnstile {
namespace {

Buffer buffer_of(ElementType type, std::vector<uint64_t> shape, uint64_t pitch) {
  Buffer buffer;
  buffer.name = std::string("x");  // g++ 12 warns wrongly of an overlap where the literal is assigned
  buffer.type = type;
  buffer.shape = std::move(shape);
  buffer.row_pitch = pitch;
  buffer.bytes = buffer.rows() * pitch * element_bytes(type);
  return buffer;
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// A folder of its own, gone at the end.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "turnstile_launch_contents";
  Folder() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("generated contents are what the generator makes, all outer dimensions being rows") {
  Buffer buffer = buffer_of(ElementType::f32, {2, 3, 5}, 8);
  buffer.fill = Family::normal;
  buffer.seed = 4;
  buffer.stream = 9;
  const auto contents = initial_contents(buffer);
  REQUIRE(contents.has_value());
  std::vector<std::byte> expected(6 * 8 * 4);
  generate(Family::normal, ElementType::f32, 4, 9, 6, 5, 8, expected);
  CHECK(*contents == expected);
}

TEST_CASE("out buffers start as zeros, padding too") {
  Buffer buffer = buffer_of(ElementType::f32, {4, 3}, 4);
  buffer.role = BufferRole::out;
  buffer.fill = Family::ones;
  CHECK(*initial_contents(buffer) == std::vector<std::byte>(64));
}

TEST_CASE("contents from a .npy file are laid out with the row pitch, NaN between the rows") {
  const Folder folder;
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  Buffer buffer = buffer_of(ElementType::f32, {2, 3}, 4);
  buffer.values_path = (folder.path / "x.npy").string();
  const std::vector<uint64_t> shape = {2, 3};
  REQUIRE(
      write_npy(buffer.values_path, ElementType::f32, shape, std::as_bytes(std::span(values))).has_value());
  const auto contents = initial_contents(buffer);
  REQUIRE(contents.has_value());
  const std::vector<float> read = floats(*contents);
  for (size_t row = 0; row < 2; ++row) {
    for (size_t column = 0; column < 3; ++column) CHECK(read[row * 4 + column] == values[row * 3 + column]);
    CHECK(std::isnan(read[row * 4 + 3]));
  }

  Buffer other = buffer;
  other.shape = {3, 2};
  CHECK(initial_contents(other).error().message ==
        "the array has the shape (2, 3), but buffer 'x' has (3, 2)");
  other = buffer;
  other.type = ElementType::s32;
  CHECK(initial_contents(other).error().message ==
        "the array holds f4, which cannot be the s32 of buffer 'x'");
  other.values_path = (folder.path / "none.npy").string();
  CHECK(initial_contents(other).error().text().find("none.npy: cannot open the file") != std::string::npos);
}

TEST_CASE("launch files are read from disk, and their cases listed") {
  const Folder folder;
  const std::string path = (folder.path / "k.toml").string();
  const std::string text =
      "kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\ngrid = [1]\nblock = [32]\n"
      "[[cases]]\nname = \"one\"\n[[cases]]\nname = \"two\"\n";
  REQUIRE(write_file_atomically(path, text).has_value());
  const Result<Launch> launch = read_launch(path, {});
  REQUIRE(launch.has_value());
  CHECK(launch->kernel_path == (folder.path / "k.ptx").string());
  CHECK(*list_cases(path) == std::vector<std::string>{"one", "two"});
  CHECK(list_cases(path + "x").error().message.starts_with("cannot open the file"));
  CHECK(read_launch(folder.path.string(), {}).error().message == "this is a folder; a file was expected");
}

}  // namespace turnstile
