// Zone::parse: a TZif file (RFC 8536) as spans. Versions 2 and later have a second block with 64-bit times, and after it the POSIX rule.
// That rule is expanded up to the end of WallTime, so lookups never compute it. Bytes come from outside: each read is checked.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "calendar/civil.h"
#include "calendar/posix_rule.h"
#include "calendar/zone_span.h"
#include "rondo/calendar/limits.h"
#include "rondo/calendar/zone.h"

namespace rondo::calendar {

namespace {

constexpr std::size_t kHeaderBytes = 44;
/// RFC 8536: offsets are between -25 and 26 hours.
constexpr std::int64_t kWestmost = -25 * 3600;
constexpr std::int64_t kEastmost = 26 * 3600;

std::int64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return bytes.size() == 4 ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
}

/// The counts of one block and where its parts lie.
struct Block {
  std::size_t time_bytes;
  std::size_t times;
  std::size_t types;
  std::size_t names;
  std::size_t leaps;
  std::size_t standard_marks;
  std::size_t utc_marks;

  std::size_t bytes() const {
    return times * time_bytes + times + types * 6 + names + leaps * (time_bytes + 4) + standard_marks + utc_marks;
  }
  static Block of(std::string_view header, std::size_t time_bytes) {
    const auto count = [&](std::size_t at) {
      return static_cast<std::size_t>(static_cast<std::uint32_t>(big_endian(header.substr(at, 4))));
    };
    return {time_bytes, count(32), count(36), count(40), count(28), count(24), count(20)};
  }
};

struct Change {
  std::int64_t at;
  std::int32_t offset;
};

struct Content {
  std::int32_t first_offset = 0;
  std::vector<Change> changes;  // In order.
};

/// Empty on success, else what is wrong.
std::string read_block(std::string_view data, const Block& block, Content& content) {
  if (block.types == 0) return "has no time types";
  if (block.leaps != 0) return "counts leap seconds";
  const std::string_view times = data.substr(0, block.times * block.time_bytes);
  const std::string_view indexes = data.substr(times.size(), block.times);
  const std::string_view types = data.substr(times.size() + indexes.size(), block.types * 6);
  std::vector<std::int32_t> offsets;
  for (std::size_t i = 0; i < block.types; ++i) {
    const std::int64_t offset = big_endian(types.substr(i * 6, 4));
    if (offset < kWestmost || offset > kEastmost) return "has an offset beyond 26 hours";
    offsets.push_back(static_cast<std::int32_t>(offset));
  }
  content.first_offset = offsets.front();
  for (std::size_t i = 0; i < block.times; ++i) {
    const std::int64_t at = big_endian(times.substr(i * block.time_bytes, block.time_bytes));
    const auto type = static_cast<unsigned char>(indexes[i]);
    if (type >= offsets.size()) return "has a change to an unknown time type";
    if (!content.changes.empty() && at <= content.changes.back().at) return "has changes out of order";
    content.changes.push_back({at, offsets[type]});
  }
  return {};
}

/// Appends what the rule says after the last change of the table.
void expand(const PosixRule& rule, Content& content) {
  const std::int64_t last = content.changes.empty() ? kEarliest : std::max(content.changes.back().at, kEarliest);
  if (!rule.has_daylight) {
    content.changes.push_back({last, rule.standard});
    return;
  }
  for (int year = std::max(date_of(last / kDaySeconds).year - 1, kFirstYear); year <= kLastYear + 1; ++year) {
    for (const PosixRule::Step& step : rule.steps_in(year)) {
      if (step.at > last) content.changes.push_back({step.at, step.offset});
    }
  }
}

std::string read_content(std::string_view bytes, Content& content) {
  const auto is_header = [](std::string_view text) { return text.size() >= kHeaderBytes && text.substr(0, 4) == "TZif"; };
  if (!is_header(bytes)) return "is not a TZif file";
  const Block first = Block::of(bytes, 4);
  if (bytes[4] == '\0') {
    if (bytes.size() - kHeaderBytes < first.bytes()) return "is cut off";
    return read_block(bytes.substr(kHeaderBytes), first, content);
  }
  if (bytes.size() - kHeaderBytes < first.bytes()) return "is cut off";
  bytes.remove_prefix(kHeaderBytes + first.bytes());
  if (!is_header(bytes)) return "has no second header";
  const Block second = Block::of(bytes, 8);
  if (bytes.size() - kHeaderBytes < second.bytes()) return "is cut off";
  std::string fault = read_block(bytes.substr(kHeaderBytes), second, content);
  if (!fault.empty()) return fault;
  std::string_view footer = bytes.substr(kHeaderBytes + second.bytes());
  if (footer.size() < 2 || footer.front() != '\n') return "has no line at its end";
  footer.remove_prefix(1);
  const std::size_t end = footer.find('\n');
  if (end == std::string_view::npos) return "has no line at its end";
  if (end == 0) return {};
  const std::optional<PosixRule> rule = PosixRule::parse(footer.substr(0, end));
  if (!rule) return "has a rule at its end that is not one of POSIX";
  expand(*rule, content);
  return {};
}

}  // namespace

Result<Zone> Zone::parse(std::string_view name, std::string_view bytes) {
  if (bytes.size() > limits::kZoneFileBytes) {
    return failure(StatusCode::InvalidArgument,
                   "the zone file of '" + std::string{name} + "' has more than " + std::to_string(limits::kZoneFileBytes) + " bytes");
  }
  Content content;
  const std::string fault = read_content(bytes, content);
  if (!fault.empty()) return failure(StatusCode::InvalidArgument, "the zone file of '" + std::string{name} + "' " + fault);
  std::vector<Span> spans{{kEarliest, kLatest, content.first_offset, 0, 0, 0}};
  for (const Change& change : content.changes) {
    Span& last = spans.back();
    if (change.at >= kLatest) break;
    if (change.at <= last.start) {
      last.offset = change.offset;  // If two changes have one instant, the later one holds.
      // It may restore what was before: then there is no change at all.
      if (spans.size() > 1 && spans[spans.size() - 2].offset == change.offset) {
        spans.pop_back();
        spans.back().end = kLatest;
      }
    } else if (change.offset != last.offset) {
      last.end = change.at;
      spans.push_back({change.at, kLatest, change.offset, 0, 0, 0});
    }
  }
  return Zone{name, std::move(spans)};
}

}  // namespace rondo::calendar
