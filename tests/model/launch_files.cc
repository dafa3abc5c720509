// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <variant>

#include "model/launch/launch.h"

namespace turnstile {
namespace {

const std::string kGemm = R"toml(kernel = "gemm.ptx"
entry = "gemm"
source = "src/gemm.cu"
[vars]
M = 512
N = 512
K = 1024
seed = 1
sms = 132
[launch]
grid = ["min(sms, ceil_div(M,128)*ceil_div(N,256))", 1, 1]
block = [384, 1, 1]
cluster = [1, 1, 1]
dynamic_shared_memory = 230400
registers_per_thread = 168
[[buffers]]
name = "A"
dtype = "bf16"
shape = ["M", "max(K,1)"]
row_pitch = "round_up(max(K,1),8)"
role = "in"
fill = "normal"
seed = "seed"
stream = 0
batch_axis = 0
[[buffers]]
name = "bias"
dtype = "f32"
shape = ["N"]
role = "in"
fill = "iota"
fixed_fill = true
[[buffers]]
name = "sizes"
dtype = "s32"
shape = [3]
role = "in"
values = "sizes.npy"
control_data = true
[[buffers]]
name = "C"
dtype = "bf16"
shape = ["M", "N"]
role = "out"
[[tensor_maps]]
name = "a_map"
buffer = "A"
dims = ["max(K,1)", "M"]
strides = ["round_up(max(K,1),8)*2"]
box = [64, 128]
swizzle = "128B"
l2_promotion = "128B"
[[tensor_maps]]
name = "c_map"
buffer = "C"
dims = ["N", "M"]
strides = ["N*2"]
box = [64, 64]
element_strides = [1, 1]
interleave = "none"
oob_fill = "nan"
[[params]]
tensor_map = "a_map"
[[params]]
buffer = "C"
offset = 16
[[params]]
u32 = "M"
[[params]]
s32 = -1
[[params]]
f32 = 0.5
[[params]]
u64 = "M*N"
[[shared]]
name = "A stage"
offset = 0
bytes = 16384
stages = 4
[roles]
"consumer 0" = [4, 5, 6, 7]
producer = [0]
[[cases]]
name = "ragged"
set = { M = 77, N = 264 }
[[cases]]
name = "wide"
fill = "wide"
)toml";

/// The launch file with one text replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = kGemm;
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

Launch read(const std::string& text, const LaunchOverrides& overrides = {}) {
  const Result<Launch> launch = parse_launch(text, "kernels/gemm.toml", overrides);
  REQUIRE_MESSAGE(launch.has_value(), launch.error().text());
  return *launch;
}

std::string error(const std::string& text, const LaunchOverrides& overrides = {}) {
  const Result<Launch> launch = parse_launch(text, "gemm.toml", overrides);
  REQUIRE_FALSE(launch.has_value());
  return launch.error().text();
}

bool mentions(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("the text was: ", text);
  return found;
}

/// "gemm.toml:LINE:" of the first line that holds `part`.
std::string place(const std::string& text, const std::string& part) {
  const size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return "gemm.toml:" +
         std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
         ":";
}

}  // namespace

TEST_CASE("a launch file gives everything that a launch needs") {
  const Launch launch = read(kGemm);
  CHECK(launch.kernel_path == "kernels/gemm.ptx");
  CHECK(launch.source_path == "kernels/src/gemm.cu");
  CHECK(launch.entry == "gemm");
  CHECK(launch.grid == Dim3{8, 1, 1});  // 4 times 2 tiles, fewer than the SMs
  CHECK(launch.block == Dim3{384, 1, 1});
  CHECK(launch.dynamic_shared_bytes == 230400);
  CHECK(launch.registers_per_thread == 168u);
  CHECK(launch.vars.at("sms") == 132);

  REQUIRE(launch.buffers.size() == 4);
  const Buffer& a = launch.buffers[0];
  CHECK(a.type == ElementType::bf16);
  CHECK(a.shape == std::vector<uint64_t>{512, 1024});
  CHECK(a.bytes == 512 * 1024 * 2);
  CHECK(a.fill == Family::normal);
  CHECK(a.seed == 1);
  CHECK(a.batch_axis == 0u);
  CHECK(launch.buffers[1].stream == 1);  // by default its place, so that no two buffers are equal
  CHECK(launch.buffers[1].rows() == 1);
  CHECK(launch.buffers[2].values_path == "kernels/sizes.npy");
  CHECK(launch.buffers[2].control_data);
  CHECK(launch.buffers[3].role == BufferRole::out);

  REQUIRE(launch.tensor_maps.size() == 2);
  const TensorMap& map = launch.tensor_maps[0];
  CHECK(map.type == ElementType::bf16);
  CHECK(map.dims == std::vector<uint64_t>{1024, 512});
  CHECK(map.strides == std::vector<uint64_t>{2048});
  CHECK(map.element_strides == std::vector<uint32_t>{1, 1});
  CHECK(map.swizzle == Swizzle::b128);
  CHECK(map.l2_promotion_bytes == 128);
  CHECK(map.box_bytes() == 64 * 128 * 2);
  CHECK(launch.tensor_maps[1].buffer == 3);
  CHECK(launch.tensor_maps[1].fill == OutOfBoundsFill::nan);

  REQUIRE(launch.params.size() == 6);
  CHECK(std::get<TensorMapParameter>(launch.params[0]).map == 0);
  CHECK(std::get<BufferParameter>(launch.params[1]).offset == 16);
  CHECK(std::get<ScalarParameter>(launch.params[2]).bits == 512);
  CHECK(std::get<ScalarParameter>(launch.params[3]).bits == 0xFFFFFFFF);
  CHECK(std::get<ScalarParameter>(launch.params[4]).bits == 0x3F000000);
  CHECK(std::get<ScalarParameter>(launch.params[5]).bits == 512 * 512);
  CHECK(std::get<ScalarParameter>(launch.params[5]).bytes == 8);

  CHECK(launch.shared_names[0].stages == 4);
  CHECK(launch.warp_roles.at(5) == "consumer 0");
  CHECK(launch.warp_roles.at(0) == "producer");
}

TEST_CASE("cases and --set change variables, --set last; K = 0 keeps a legal map") {
  LaunchOverrides overrides;
  overrides.case_name = "ragged";
  Launch launch = read(kGemm, overrides);
  CHECK(launch.case_name == "ragged");
  CHECK(launch.buffers[0].shape == std::vector<uint64_t>{77, 1024});
  CHECK(launch.grid[0] == 2);
  overrides.vars = {{"M", 300}, {"K", 0}};
  launch = read(kGemm, overrides);
  CHECK(launch.vars.at("M") == 300);
  CHECK(launch.vars.at("N") == 264);
  CHECK(launch.buffers[0].shape == std::vector<uint64_t>{300, 1});
  CHECK(launch.buffers[0].row_pitch == 8);
  CHECK(launch.tensor_maps[0].strides[0] == 16);
}

TEST_CASE("a case's fill and --fill replace families, except where they are fixed or there are none") {
  LaunchOverrides overrides;
  overrides.case_name = "wide";
  Launch launch = read(kGemm, overrides);
  CHECK(launch.buffers[0].fill == Family::wide);
  CHECK(launch.buffers[1].fill == Family::iota);
  CHECK(launch.buffers[2].values_path == "kernels/sizes.npy");
  CHECK(launch.buffers[3].fill == Family::zeros);
  overrides.fill = Family::special;
  CHECK(read(kGemm, overrides).buffers[0].fill == Family::special);
}

TEST_CASE("another PTX can be run in the kernel's place") {
  LaunchOverrides overrides;
  overrides.kernel_path = "/tmp/mutant.ptx";
  CHECK(read(kGemm, overrides).kernel_path == "/tmp/mutant.ptx");
  CHECK(read(with("\"gemm.ptx\"", "\"/abs/gemm.ptx\"")).kernel_path == "/abs/gemm.ptx");
}

TEST_CASE("unknown names are errors with the place and the nearest known name") {
  std::string text = with("box = [64, 128]", "boxx = [64, 128]");
  CHECK(error(text).starts_with(place(text, "boxx") +
                                "1: unknown key 'boxx' in [[tensor_maps]] 'a_map'; did you mean 'box'?"));
  text = with("entry = ", "entri = ");
  CHECK(mentions(error(text), "unknown key 'entri' in the launch file; did you mean 'entry'?"));
  text = with("block = [384", "blocks = [384");
  CHECK(error(text).starts_with(place(text, "blocks") +
                                "1: unknown key 'blocks' in [launch]; did you mean 'block'?"));
  text = with("buffer = \"A\"", "buffer = \"B\"");
  CHECK(error(text).starts_with(
      place(text, "buffer = \"B\"") +
      "10: 'buffer' in [[tensor_maps]] 'a_map' is \"B\", which is not one of the buffers"));
  text = with("tensor_map = \"a_map\"", "tensor_map = \"a_mpa\"");
  CHECK(mentions(error(text), "did you mean 'a_map'?"));
  text = with("dtype = \"bf16\"", "dtype = \"bf61\"");
  CHECK(mentions(error(text), "'dtype' in [[buffers]] 'A' is \"bf61\"; did you mean 'bf16'?"));
  CHECK(mentions(error(with("fill = \"normal\"", "fill = \"normale\"")), "did you mean 'normal'?"));
  CHECK(mentions(error(with("swizzle = \"128B\"", "swizzle = \"128\"")), "did you mean '128B'?"));
  CHECK(mentions(error(with("role = \"in\"", "role = \"write\"")), "known values: in, out, in_out"));
  text = with("M = 77", "MM = 77");
  CHECK(mentions(error(text), "unknown variable 'MM' in 'set' of the case 'ragged'; did you mean 'M'?"));
  LaunchOverrides overrides;
  overrides.vars = {{"X", 1}};
  CHECK(mentions(
      error(kGemm, overrides),
      "--set X=1: the launch file has no variable 'X' in [vars]; known variables: K, M, N, seed, sms"));
  overrides = {};
  overrides.case_name = "regged";
  CHECK(mentions(error(kGemm, overrides), "no case is named 'regged'; did you mean 'ragged'?"));
}

TEST_CASE("an expression's error stands at its place in the file") {
  const std::string text = with("\"min(sms, ceil_div(M,128)", "\"min(sms, ceil_div(P,128)");
  // grid = ["min(sms, ceil_div(P,... : the opening quote is at column 9, P is the 19th character after it.
  CHECK(error(text).starts_with(place(text, "grid") +
                                "28: 'grid[0]' in [launch]: in the expression \"min(sms, ceil_div(P,128)"));
  CHECK(mentions(error(with("u32 = \"M\"", "u32 = \"M +\"")), "the expression ends here"));
}

TEST_CASE("missing keys, wrong types and doubled names") {
  CHECK(error(with("entry = \"gemm\"\n", "")) == "gemm.toml:1:1: the launch file lacks the key 'entry'");
  CHECK(mentions(error(with("dtype = \"f32\"\n", "")), "[[buffers]] 'bias' lacks the key 'dtype'"));
  CHECK(mentions(error(with("fill = \"iota\"\n", "")), "[[buffers]] 'bias' lacks 'fill'"));
  CHECK(mentions(error(with("values = ", "fill = \"ones\"\nvalues = ")), "has both 'fill' and 'values'"));
  CHECK(mentions(error(with("role = \"out\"", "role = \"out\"\nfill = \"ones\"")),
                 "drop 'fill' or make it \"in_out\""));
  CHECK(mentions(error(with("M = 512", "M = \"512\"")), "'M' in [vars] is a string; variables are integers"));
  CHECK(mentions(error(with("M = 512", "min = 512")), "cannot be a variable"));
  CHECK(mentions(error(with("block = [384, 1, 1]", "block = 384")),
                 "'block' in [launch] is an integer; an array was expected"));
  CHECK(mentions(error(with("box = [64, 128]", "box = [64.0, 128]")),
                 "'box[0]' in [[tensor_maps]] 'a_map' is a floating-point number"));
  CHECK(mentions(error(with("control_data = true", "control_data = 1")), "a boolean was expected"));
  CHECK(
      mentions(error(with("name = \"C\"", "name = \"A\"")), "the name of [[buffers]] 'A' is already taken"));
  CHECK(mentions(error(with("name = \"c_map\"", "name = \"a_map\"")),
                 "the name of [[tensor_maps]] 'a_map' is already taken"));
  CHECK(mentions(error(with("name = \"wide\"", "name = \"ragged\"")), "two cases 'ragged'"));
  CHECK(mentions(error(with("name = \"wide\"", "name = \"../wide\"")), "may hold only"));
  CHECK(mentions(error(with("[[params]]\nu32 = \"M\"", "[[params]]")), "[[params]] number 3 has 0 values"));
  CHECK(mentions(error(with("u32 = \"M\"", "u32 = \"M\"\nu64 = 1")), "has 2 values"));
  CHECK(mentions(error(with("u32 = \"M\"", "u32 = \"M\"\noffset = 1")), "goes with 'buffer' only"));
  CHECK(mentions(error(with("[launch]", "[launched]")), "did you mean 'launch'?"));
  CHECK(mentions(error("buffers = 3\nkernel=\"a\"\nentry=\"b\"\n[launch]\ngrid=[1]\nblock=[1]"),
                 "write [[buffers]]"));
  CHECK(
      mentions(error(with("strides = [\"N*2\"]\n", "")), "[[tensor_maps]] 'c_map' lacks the key 'strides'"));
  CHECK(mentions(error(with("strides = [\"N*2\"]", "strides = [2, \"N*2\"]")),
                 "has 2 numbers; rank 2 (the number of dims) needs 1"));
  CHECK(mentions(error(with("box = [64, 64]", "box = [64]")), "needs 2"));
}

TEST_CASE("sizes have limits") {
  CHECK(mentions(error(with("block = [384, 1, 1]", "block = [384, 3, 1]")),
                 "'block' has 1152 threads; a CTA has at most 1024"));
  CHECK(mentions(error(with("block = [384, 1, 1]", "block = [1, 1, 65]")), "it must be 1 to 64"));
  CHECK(mentions(error(with("ceil_div(N,256))\", 1, 1]", "ceil_div(N,256))\", 65536, 1]")),
                 "'grid[1]' in [launch] is 65536; it must be 1 to 65535"));
  CHECK(mentions(error(with("\"min(sms, ceil_div(M,128)*ceil_div(N,256))\"", "\"M-512\"")),
                 "'grid[0]' in [launch] is 0 (from \"M-512\"); it must be 1 to 2147483647"));
  CHECK(mentions(error(with("cluster = [1, 1, 1]", "cluster = [3, 1, 1]")),
                 "'cluster[0]' = 3 does not divide 'grid[0]' = 8"));
  CHECK(mentions(error(with("cluster = [1, 1, 1]", "cluster = [16, 2, 1]")),
                 "'cluster' has 32 CTAs; at most 16"));
  CHECK(mentions(error(with("= 230400", "= 300000")), "it must be 0 to 232448"));
  CHECK(mentions(error(with("= 230400", "= -1")), "it must be 0 to 232448"));
  CHECK(mentions(error(with("shape = [\"N\"]", "shape = [0]")),
                 "'shape[0]' in [[buffers]] 'bias' is 0; it must be 1 to"));
  CHECK(mentions(error(with("shape = [\"N\"]", "shape = []")), "has 0 numbers"));
  CHECK(mentions(error(with("shape = [\"N\"]", "shape = [1000000, 1000000]")), "larger than 64 GiB"));
  CHECK(mentions(error(with("shape = [\"N\"]", "shape = [60000000000, 60000000000, 60000000000]")),
                 "larger than 64 GiB"));
  CHECK(mentions(error(with("shape = [\"N\"]", "shape = [17179869184]")),
                 "the buffers up to here are larger than 64 GiB"));
  CHECK(mentions(error(with("row_pitch = \"round_up(max(K,1),8)\"", "row_pitch = 1023")),
                 "'row_pitch' in [[buffers]] 'A' is 1023; it must be 1024 to"));
  CHECK(mentions(error(with("batch_axis = 0", "batch_axis = 2")), "it must be 0 to 1"));
  CHECK(mentions(error(with("offset = 16", "offset = 524289")), "it must be 0 to 524288"));
  CHECK(mentions(error(with("u32 = \"M\"", "u32 = -1")), "it must be 0 to 4294967295"));
  CHECK(mentions(error(with("f32 = 0.5", "f32 = 1e39")), "beyond the range of f32"));
  CHECK(mentions(error(with("stages = 4", "stages = 15")),
                 "[[shared]] 'A stage' ends at byte 245760, but dynamic_shared_memory is 230400"));
  CHECK(mentions(error(with("producer = [0]", "producer = [12]")), "it must be 0 to 11"));
  CHECK(mentions(error(with("producer = [0]", "producer = [4]")),
                 "warp 4 has two roles, 'consumer 0' and 'producer'"));
}

TEST_CASE("illegal tensor maps are refused with rule, name and line") {
  const std::string text = with("box = [64, 128]", "box = [128, 128]");
  CHECK(error(text) == place(text, "[[tensor_maps]]") +
                           "1: tensor map 'a_map' of buffer 'A' is not legal: BS10: the inner row of the box "
                           "is 256 bytes, wider than the swizzle of 128 bytes");
  CHECK(mentions(error(with("dims = [\"N\", \"M\"]", "dims = [\"N\", \"M+1\"]")), "reaches past its buffer"));
}

TEST_CASE("text that is not TOML is an error with its place") {
  CHECK(error("kernel = \"a\nentry = 3").starts_with("gemm.toml:1:"));
  CHECK(mentions(error("kernel = \"a\nentry = 3"), "not TOML"));
  CHECK(mentions(error("a = 1\na = 2"), "not TOML"));
  CHECK(mentions(error(std::string("a = \"\xff\"")), "not TOML"));
}

TEST_CASE("a table header without a name is an error (toml++ 3.3 has an assertion there)") {
  for (const char* text : {"[.", "[=]", "[[.a]]", "[", "[[", "[]", "[a.]", "[a..b]"})
    CHECK(mentions(error(text), "not TOML"));
}

TEST_CASE("deeply nested TOML is refused, not recursed into") {
  CHECK(mentions(error("a = " + std::string(100000, '[')), "not TOML"));
  std::string inline_tables;
  for (int i = 0; i < 50000; ++i) inline_tables += "{a = ";
  CHECK(mentions(error("a = " + inline_tables), "not TOML"));
  std::string dotted = "a";
  for (int i = 0; i < 100000; ++i) dotted += ".a";
  CHECK(mentions(error(dotted + " = 1"), "more than 64 dots"));
  CHECK(mentions(error("[" + dotted + "]"), "more than 64 dots"));
}

TEST_CASE("a launch file cut at any byte is read or refused, never a crash") {
  for (size_t length = 0; length < kGemm.size(); ++length) {
    const Result<Launch> launch = parse_launch(kGemm.substr(0, length), "gemm.toml", {});
    if (!launch) CHECK_FALSE(launch.error().message.empty());
  }
}

TEST_CASE("a launch file with random damage is read or refused, never a crash") {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    std::string text = kGemm;
    for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 20);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        default:
          text[at] = "0123456789-\"[]{}=#.\n"[random() % 20];
          break;
      }
    }
    const Result<Launch> launch = parse_launch(text, "gemm.toml", {});
    if (!launch) CHECK_FALSE(launch.error().message.empty());
  }
}

TEST_CASE("scalars of every width keep their bits") {
  const auto bits = [](const std::string& line) {
    const Launch launch = read(with("u32 = \"M\"", line));
    return std::get<ScalarParameter>(launch.params[2]);
  };
  CHECK(bits("u8 = 255").bits == 0xFF);
  CHECK(bits("u8 = 255").bytes == 1);
  CHECK(bits("s8 = -2").bits == 0xFE);
  CHECK(bits("s16 = -2").bits == 0xFFFE);
  CHECK(bits("u16 = 40000").bytes == 2);
  CHECK(bits("s32 = -2").bits == 0xFFFFFFFE);
  CHECK(bits("s64 = -2").bits == 0xFFFFFFFFFFFFFFFE);
  CHECK(bits("f64 = 0.5").bits == 0x3FE0000000000000);
  CHECK(bits("f64 = 1").bits == 0x3FF0000000000000);
  CHECK(bits("f64 = 0.5").bytes == 8);
  CHECK(mentions(error(with("u32 = \"M\"", "u8 = 256")), "it must be 0 to 255"));
  CHECK(mentions(error(with("u32 = \"M\"", "s16 = 32768")), "it must be -32768 to 32767"));
  CHECK(mentions(error(with("u32 = \"M\"", "f16 = 1")), "unknown key 'f16' in [[params]] number 3"));
}

TEST_CASE("a table of pointers names buffers, also those behind it") {
  const std::string table =
      "[[buffers]]\nname = \"table\"\ndtype = \"s64\"\nshape = [2]\nrole = \"in\"\nfill = \"zeros\"\n"
      "control_data = true\naddresses = [{ element = 1, buffer = \"C\", offset = 64 }]\n";
  const auto with_table = [&](const std::string& from, const std::string& to) {
    std::string text = table;
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    return with("[[buffers]]\nname = \"A\"", text + "[[buffers]]\nname = \"A\"");
  };
  const Launch launch = read(with_table("", ""));
  REQUIRE(launch.buffers[0].addresses.size() == 1);
  const BufferAddress& address = launch.buffers[0].addresses[0];
  CHECK(address.element == 1);
  CHECK(launch.buffers[address.buffer].name == "C");
  CHECK(address.offset == 64);
  CHECK(mentions(error(with_table("element = 1", "element = 2")), "it must be 0 to 1"));
  CHECK(mentions(error(with_table("\"C\"", "\"D\"")), "is \"D\", which is not one of the buffers"));
  CHECK(mentions(error(with_table("s64", "s32")), "needs a dtype of 8 bytes, not s32"));
  CHECK(mentions(error(with_table("control_data = true\n", "")), "needs 'control_data = true' and contents"));
  CHECK(mentions(error(with_table("offset = 64", "offset = 1000000000")), "it must be 0 to "));
  CHECK(mentions(error(with_table("offset", "ofset")), "unknown key 'ofset'"));
}

}  // namespace turnstile
