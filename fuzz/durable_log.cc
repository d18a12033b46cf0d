// Fuzzes an entry of the durable log, as damage may leave it: the reader must not read beyond the entry, and a decoded entry must decode
// equally after it is encoded again.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/assert.h"
#include "store/durable/log_content.h"

namespace {

std::vector<std::string> entries_of(const rondo::store::durable::LogContent& content) {
  std::vector<std::string> all;
  const rondo::Status written = content.write_to([&all](std::span<const std::string> entries) {
    all.insert(all.end(), entries.begin(), entries.end());
    return rondo::Status{};
  });
  RONDO_ASSERT(written.ok());
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rondo;
  using namespace rondo::store::durable;
  const std::vector<char> copy(data, data + size);  // A copy of exact length, so that a read beyond it is detected.
  LogContent content;
  if (const Status read = content.add(std::string_view{copy.data(), copy.size()}); !read.ok())
    RONDO_ASSERT(read.code() == StatusCode::DataLoss);
  static_cast<void>(content.drop_nameless());
  content.close_holes();
  const std::vector<std::string> entries = entries_of(content);
  LogContent again;
  for (const std::string& entry : entries) RONDO_ASSERT(again.add(entry).ok());
  RONDO_ASSERT(entries_of(again) == entries);
  return 0;
}
