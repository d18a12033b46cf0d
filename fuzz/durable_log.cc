// Fuzzes an entry of the durable log, as damage may leave it: whatever it holds, nothing is read beyond it, and what was understood says
// the same when it is written anew.
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
  const std::vector<char> copy(data, data + size);  // Of its own length, so that a byte beyond it is found.
  LogContent content;
  if (const Status read = content.add(std::string_view{copy.data(), copy.size()}); !read.ok()) RONDO_ASSERT(read.code() == Code::DataLoss);
  static_cast<void>(content.drop_nameless());
  content.close_holes();
  const std::vector<std::string> entries = entries_of(content);
  LogContent again;
  for (const std::string& entry : entries) RONDO_ASSERT(again.add(entry).ok());
  RONDO_ASSERT(entries_of(again) == entries);
  return 0;
}
