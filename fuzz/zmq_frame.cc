// Fuzzes the data that a socket may bring to the direct tables: the frame reader, and the tables behind it. The reader must not read
// beyond its input. A refused frame leaves no trace, and applied entries parse equally after they are written as a frame again. The first
// byte sets how many keys a table may hold, so that the reading stops and continues within frames.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/assert.h"
#include "store/zmq/frame.h"
#include "store/zmq/inbox.h"

namespace {

using namespace rondo;
using namespace rondo::store;

/// Parses 'bytes', writes the result, and parses that.
void check_round_trip(std::string_view bytes) {
  Result<FrameReader> reader = FrameReader::open(bytes);
  if (!reader) return;
  FrameWriter writer(reader->database(), reader->table());
  FrameEntry entry;
  std::size_t entries = 0;
  while (reader->next(entry)) {
    ++entries;
    if (entry.op == ChangeOp::Delete) {
      writer.remove(entry.key);
    } else {
      writer.set(entry.key, entry.fields);
    }
  }
  Result<FrameReader> again = FrameReader::open(writer.bytes());
  RONDO_ASSERT(again.has_value() && again->entries_left() == entries);
  Result<FrameReader> first = FrameReader::open(bytes);
  FrameEntry copy;
  while (first->next(entry)) {
    const bool more = again->next(copy);
    RONDO_ASSERT(more && copy.op == entry.op && copy.key == entry.key && copy.fields == entry.fields);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of exact length, so that a read beyond it is detected.
  const std::vector<char> copy(data + 1, data + size);
  const std::string_view bytes{copy.data(), copy.size()};
  check_round_trip(bytes);

  std::uint64_t faults = 0;
  ZmqInbox inbox([&](ZmqFault, const Status& why) { faults += why.ok() ? 0U : 1U; }, [] {});
  const Status declared = inbox.declare({.database = "DB", .table = "T", .keys_max = std::size_t{1} + data[0] % 8});
  RONDO_ASSERT(declared.ok());
  const std::unique_ptr<Subscription> consumer = std::move(*inbox.subscribe("DB", "T", {}));
  std::vector<Change> changes;
  inbox.open(bytes);
  while (inbox.has_frame()) {
    if (inbox.step()) continue;
    RONDO_ASSERT(inbox.is_paused());
    changes.clear();
    const std::size_t taken = consumer->take(1, changes);
    RONDO_ASSERT(taken != 0);
  }
  RONDO_ASSERT(inbox.frames() == 1 || faults == 1);
  changes.clear();
  consumer->take(SIZE_MAX, changes);
  RONDO_ASSERT(consumer->empty());
  return 0;
}
