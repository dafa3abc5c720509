// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "golden/digest.h"

using namespace turnstile;
using namespace turnstile::golden;

TEST_CASE("SHA-256 gives the digests of FIPS 180-4 and of the NIST example vectors") {
  CHECK(sha256_hex(std::string_view("")) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex(std::string_view("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(std::string_view("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string_view(
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
            "klmnopqrlmnopqrsmnopqrstnopqrstu")) ==
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 does not depend on how the bytes are cut into updates") {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  const auto bytes = std::as_bytes(std::span(text));
  const std::string whole = sha256_hex(bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    Sha256 hash;
    hash.update(bytes.first(cut));
    hash.update({});
    hash.update(bytes.subspan(cut));
    CHECK(to_hex(hash.finish()) == whole);
  }
}

TEST_CASE("digests of a matrix ignore what lies between the rows") {
  // Two rows of three u8 elements, row pitch 4.
  const std::string text = "abcXdefY";
  const MatrixView padded{ElementType::u8, 2, 3, 4, std::as_bytes(std::span(text))};
  const std::string dense_text = "abcdef";
  const MatrixView dense{ElementType::u8, 2, 3, 3, std::as_bytes(std::span(dense_text))};
  CHECK(matrix_sha256(padded) == sha256_hex(std::string_view("abcdef")));
  CHECK(row_digests(padded) == row_digests(dense));
  // First 8 bytes of SHA-256("abc").
  CHECK(row_digests(padded)[0] == 0xba7816bf8f01cfeaull);
}

TEST_CASE("hex text that is not hex is refused") {
  CHECK(from_hex("0aFf") == std::vector<std::byte>{std::byte{0x0a}, std::byte{0xff}});
  CHECK_FALSE(from_hex("abc"));
  CHECK_FALSE(from_hex("zz"));
  CHECK(from_hex("")->empty());
}
