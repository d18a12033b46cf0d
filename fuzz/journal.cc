// Fuzzes a journal's file as damage may leave it, and records as a broken writer might seal them: the reader must not read beyond the
// bytes, and its results must lie within them. The first byte chooses between the two.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "journal/audit.h"
#include "journal/files.h"
#include "journal/reader.h"
#include "journal/story.h"
#include "journal/walk.h"
#include "rondo/base/assert.h"

namespace {

/// Returns 'payload' as a block with a matching checksum.
std::string sealed(std::string_view payload, rondo::journal::BlockKind kind) {
  rondo::journal::BlockHead head;
  head.kind = kind;
  head.payload_bytes = static_cast<std::uint32_t>(payload.size());
  head.first_record = 1;
  seal(head, payload);
  return std::string{reinterpret_cast<const char*>(&head), rondo::journal::kHeadBytes}.append(payload);
}

void read_all(std::string_view bytes) {
  using namespace rondo::journal;
  JournalReader reader("fuzz", bytes);
  std::uint64_t covered = 0;
  for (const Damage& damage : reader.damage()) covered += damage.bytes;
  for (const Block& block : reader.blocks()) covered += kHeadBytes + block.head.payload_bytes;
  RONDO_ASSERT(covered == bytes.size());
  for (JournalWalk walk(reader); walk.next();) {
    RONDO_ASSERT(walk.raw().offset + walk.raw().bytes.size() <= bytes.size());
    RONDO_ASSERT(walk.raw().kind() == walk.record().kind);
    static_cast<void>(walk.words());
    static_cast<void>(swss_lines(walk));
    static_cast<void>(retry_lines(walk));
  }
  JournalReader again("fuzz", bytes);
  JournalWalk walk(again);
  static_cast<void>(story_of(walk, "", "k"));
  JournalFiles files;  // The second continues the first.
  for (const char* const name : {"one", "other"}) files.readers.push_back(std::make_unique<JournalReader>(name, bytes));
  const AuditReport report = audit(files);
  RONDO_ASSERT(report.violations <= report.waits && report.worst >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rondo::journal::BlockKind;
  if (size == 0) return 0;
  const std::vector<char> copy(data + 1, data + size);  // A copy of exact length, so that a read beyond it is detected.
  const std::string_view bytes{copy.data(), copy.size()};
  if (data[0] % 2 == 0) {
    read_all(bytes);
    return 0;
  }
  const std::size_t middle = bytes.size() / 4;
  const std::string whole = sealed(bytes.substr(0, middle), BlockKind::AllNames) + sealed(bytes.substr(middle), BlockKind::Records);
  read_all(whole);
  return 0;
}
