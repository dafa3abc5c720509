// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "model/files.h"
#include "model/launch/npy.h"

namespace turnstile {
namespace {

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A file as the format's text describes it, put together by hand.
std::string file(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  if (version == 2) bytes += std::string(2, '\0');
  return bytes + header + data;
}

std::string error(const std::string& bytes) {
  const Result<NpyArray> array = parse_npy(bytes, "x.npy");
  REQUIRE_FALSE(array.has_value());
  CHECK(array.error().file == "x.npy");
  return array.error().message;
}

const std::string kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n";

}  // namespace

TEST_CASE("reads what numpy.save writes") {
  // The bytes that numpy 1.26 writes for numpy.save(f, numpy.arange(6, dtype='<i2').reshape(2, 3)): a header
  // padded to 128 bytes.
  std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  header += '\n';
  const std::string data("\0\0\1\0\2\0\3\0\4\0\5\0", 12);
  const Result<NpyArray> array = parse_npy(file(header, data), "a.npy");
  REQUIRE(array.has_value());
  CHECK(array->kind == 'i');
  CHECK(array->item_bytes == 2);
  CHECK(array->shape == std::vector<uint64_t>{2, 3});
  CHECK(array->data == data);
  CHECK(npy_holds(*array, ElementType::s16));
  CHECK(npy_holds(*array, ElementType::b16));
  CHECK_FALSE(npy_holds(*array, ElementType::u16));
  CHECK_FALSE(npy_holds(*array, ElementType::bf16));
  CHECK_FALSE(npy_holds(*array, ElementType::s32));
}

TEST_CASE("reads version 2, one dimension, scalars, empty arrays and bf16 as V2 or u2") {
  CHECK(parse_npy(file(kHeader, std::string(24, 'x'), 2), "a").has_value());
  CHECK(parse_npy(file("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n", "abc"), "a")->shape ==
        std::vector<uint64_t>{3});
  CHECK(parse_npy(file("{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", "12345678"), "a")
            ->count() == 1);
  CHECK(parse_npy(file("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 7), }\n", ""), "a")->count() ==
        0);
  for (const char* type : {"<V2", "|V2", "<u2"}) {
    const auto array = parse_npy(
        file("{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (1,)}", "ab"), "a");
    REQUIRE(array.has_value());
    CHECK(npy_holds(*array, ElementType::bf16));
    CHECK(npy_holds(*array, ElementType::f16));
    CHECK_FALSE(npy_holds(*array, ElementType::s16));
  }
}

TEST_CASE("what is not read is an error that says why") {
  CHECK(mentions(error("hello"), "not a .npy file"));
  CHECK(mentions(error(""), "not a .npy file"));
  CHECK(mentions(error(file(kHeader, std::string(24, 'x'), 3)), "version 3"));
  CHECK(mentions(error(file(kHeader, std::string(23, 'x'))), "announces 24 bytes of data, but 23 follow"));
  CHECK(mentions(error(file(kHeader, std::string(25, 'x'))), "25 follow"));
  CHECK(mentions(error(file("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "abcd")),
                 "big endian"));
  CHECK(mentions(error(file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "abcd")),
                 "ascontiguousarray"));
  CHECK(mentions(error(file("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "abcd")),
                 "a type such as"));
  CHECK(mentions(error(file("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "abcdefgh")),
                 "is not read"));
  CHECK(mentions(error(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd")),
                 "records"));
  CHECK(mentions(
      error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999, 999999999999), }", "")),
      "too large"));
  CHECK(mentions(
      error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "")),
      "a shape"));
  CHECK(mentions(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "")), "a shape"));
  CHECK(mentions(error(file("{'descr': '<f4', 'fortran_order': False, }", "")), "are needed"));
  CHECK(mentions(error(file("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "abcd")),
                 "comes twice"));
  CHECK(mentions(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "abcd")),
                 "nothing was expected"));
}

TEST_CASE("a .npy file cut anywhere is an error") {
  const std::string whole = file(kHeader, std::string(24, 'x'));
  REQUIRE(parse_npy(whole, "a").has_value());
  for (size_t length = 0; length < whole.size(); ++length)
    CHECK_FALSE(parse_npy(whole.substr(0, length), "a").has_value());
}

TEST_CASE("a .npy file with any byte changed is read or refused, never trusted") {
  const std::string whole = file(kHeader, std::string(24, 'x'));
  std::mt19937 random(5);
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int i = 0; i < 64; ++i) {
      std::string changed = whole;
      changed[at] = static_cast<char>(random());
      const Result<NpyArray> array = parse_npy(changed, "a");
      if (array) CHECK(array->data.size() == array->count() * array->item_bytes);
    }
  }
}

TEST_CASE("written arrays come back, with data at a multiple of 64 bytes") {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const auto bytes = std::as_bytes(std::span(values));
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{6}, {2, 3}, {1, 1, 6}}) {
    const std::string text = npy_bytes(ElementType::f32, shape, bytes);
    CHECK((text.size() - bytes.size()) % 64 == 0);
    const Result<NpyArray> array = parse_npy(text, "a");
    REQUIRE(array.has_value());
    CHECK(array->shape == shape);
    CHECK(array->kind == 'f');
    CHECK(std::memcmp(array->data.data(), values.data(), bytes.size()) == 0);
  }
  const uint64_t one = 1;
  CHECK(mentions(npy_bytes(ElementType::f32, {&one, 1}, bytes.first(4)), "'shape': (1, ), }"));
  CHECK(mentions(npy_bytes(ElementType::bf16, {&one, 1}, bytes.first(2)), "'descr': '<u2'"));
  CHECK(mentions(npy_bytes(ElementType::s8, {&one, 1}, bytes.first(1)), "'descr': '|i1'"));
}

TEST_CASE("files are written whole or not at all") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "turnstile_npy_files";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "a.npy").string();
  const std::vector<std::byte> data(8, std::byte{7});
  const std::vector<uint64_t> shape = {8};
  REQUIRE(write_npy(path, ElementType::u8, shape, data).has_value());
  CHECK(read_npy(path, 1000)->data == std::string(8, '\7'));
  CHECK(mentions(read_npy(path, 10).error().text(), "longer than 10 bytes"));
  CHECK(mentions(read_npy((folder / "b.npy").string(), 10).error().text(),
                 "b.npy: cannot open the file: No such file"));
  CHECK(mentions(read_file(folder.string(), 10).error().text(), "this is a folder"));
  CHECK(mentions(read_file("/dev/zero", 1 << 20).error().text(), "longer than"));

  const std::string missing = (folder / "none" / "a.npy").string();
  CHECK(mentions(write_file_atomically(missing, "x").error().text(), "cannot write the file"));
  std::filesystem::create_directories(folder / "taken" / "inside");
  CHECK_FALSE(
      write_file_atomically((folder / "taken").string(), "x").has_value());  // a folder cannot be replaced
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++entries;
  CHECK(entries == 2);  // a.npy and taken: nothing is left behind
  std::filesystem::remove_all(folder);
}

}  // namespace turnstile
