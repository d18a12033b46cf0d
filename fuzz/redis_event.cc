// Fuzzes the data that a peer may put into Redis: the JSON of an event and of a queue's entry, and the parser of Redis' own answers. A
// parser must not read beyond its input, and a parsed value must parse equally after it is written again.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/assert.h"
#include "store/redis/reply.h"
#include "store/redis/wire_json.h"

namespace {

using namespace rondo;
using namespace rondo::redis;

void check_event(std::string_view text) {
  const Result<Change> event = parse_event(text);
  if (!event) {
    RONDO_ASSERT(event.error().code() == StatusCode::InvalidArgument);
    return;
  }
  const Result<Change> again = parse_event(event_text(*event));
  RONDO_ASSERT(again.has_value() && event_text(*again) == event_text(*event));
}

void check_entry(std::string_view fields, std::string_view operation) {
  const Result<Change> entry = parse_entry("key", fields, operation);
  if (!entry) {
    RONDO_ASSERT(entry.error().code() == StatusCode::InvalidArgument);
    return;
  }
  const Result<Change> again = parse_entry("key", fields_text(*entry), queue_operation(*entry));
  RONDO_ASSERT(again.has_value() && again->op() == entry->op() && fields_text(*again) == fields_text(*entry));
}

/// Parses the bytes in two pieces, as a socket may deliver them.
void check_reply(std::string_view bytes, std::size_t cut) {
  ReplyReader reader;
  for (const std::string_view piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
    reader.feed(piece);
    for (;;) {
      const Result<const Reply*> reply = reader.next();
      if (!reply) return;
      if (*reply == nullptr) break;
      std::size_t sum = (*reply)->text().size();
      for (const Reply& item : (*reply)->items()) sum += item.text().size();
      RONDO_ASSERT(sum <= bytes.size());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of exact length, so that a read beyond it is detected.
  const std::vector<char> copy(data + 1, data + size);
  const std::string_view text{copy.data(), copy.size()};
  check_event(text);
  constexpr std::string_view kOperations[] = {"SSET", "DDEL", "Sflush", "S", "", "XSET"};
  check_entry(text, kOperations[data[0] % std::size(kOperations)]);
  check_reply(text, data[0] % (copy.size() + 1));
  return 0;
}
