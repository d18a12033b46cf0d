// Runs a fuzzer's function on its corpus and on every prefix of each input: without libFuzzer, with any compiler, among the tests. So the
// tests ensure that the fuzzers compile and that fixed faults stay fixed.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

/// Prefixes of longer inputs would take too long.
constexpr std::size_t kBeginnings = 2048;

void run(const std::string& bytes, std::size_t size) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), size); }

std::size_t run_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  run(bytes, bytes.size());
  if (bytes.size() > kBeginnings) return 1;
  for (std::size_t size = 0; size < bytes.size(); ++size) run(bytes, size);
  return 1 + bytes.size();
}

}  // namespace

int main(int count, char** words) {
  std::size_t inputs = 0;
  if (count == 2) {
    for (const auto& entry : std::filesystem::directory_iterator(words[1])) inputs += run_file(entry.path());
  }
  std::printf("%zu inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
