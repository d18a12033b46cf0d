#include "store/durable/page_scan.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace rondo::store::durable {

namespace {

using Bytes = std::span<const unsigned char>;
constexpr unsigned char kLeafOfTable = 0x0d;

/// Takes numbers off the front. With too few bytes, 'ok' becomes false and the numbers are 0.
struct Reader {
  Bytes bytes;
  bool ok = true;

  std::uint64_t big_endian(std::size_t count) {
    if (bytes.size() < count) return fail();
    std::uint64_t value = 0;
    for (const unsigned char byte : bytes.first(count)) value = value << 8U | byte;
    bytes = bytes.subspan(count);
    return value;
  }
  /// Up to eight bytes with seven bits each, highest first, and a ninth byte with eight bits.
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(9, bytes.size()); ++i) {
      const unsigned char byte = bytes[i];
      value = i == 8 ? value << 8U | byte : value << 7U | (byte & 0x7fU);
      if (i < 8 && byte >= 0x80) continue;
      bytes = bytes.subspan(i + 1);
      return value;
    }
    return fail();
  }
  std::uint64_t fail() {
    ok = false;
    bytes = {};
    return 0;
  }
};

/// The kinds 1 to 6 are stored in two's complement; 8 and 9 mean the numbers 0 and 1.
std::optional<std::int64_t> integer(Reader& body, std::uint64_t kind) {
  if (kind == 8 || kind == 9) return static_cast<std::int64_t>(kind - 8);
  if (kind < 1 || kind > 6) return {};
  const std::size_t bytes = kind == 5 ? 6 : kind == 6 ? 8 : kind;
  const unsigned unused = static_cast<unsigned>(8 * (8 - bytes));
  return static_cast<std::int64_t>(body.big_endian(bytes) << unused) >> unused;
}

/// Decodes a row of the table 'log': the number (the row's own), the checksum and the records.
std::optional<PageScan::Entry> entry_of(std::string_view payload) {
  Reader header{{reinterpret_cast<const unsigned char*>(payload.data()), payload.size()}};
  const std::uint64_t header_bytes = header.varint();
  const std::uint64_t number = header.varint();
  const std::uint64_t checksum = header.varint();
  const std::uint64_t records = header.varint();
  if (!header.ok || number != 0 || records < 12 || records % 2 != 0 || header_bytes > payload.size()) return {};
  Reader body{{reinterpret_cast<const unsigned char*>(payload.data()) + header_bytes, payload.size() - header_bytes}};
  const std::optional<std::int64_t> told = integer(body, checksum);
  if (!told || !body.ok || body.bytes.size() != (records - 12) / 2) return {};
  return PageScan::Entry{*told, std::string{payload.substr(payload.size() - body.bytes.size())}};
}

}  // namespace

PageScan::PageScan(Database database, const std::string& log, const WalCheck& whole)
    : database_(std::move(database)), log_(::open(log.c_str(), O_RDONLY | O_CLOEXEC)) {
  pages_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(database_.bytes / database_.page_bytes, UINT32_MAX - 1));
  if (log_ && whole.page_bytes == database_.page_bytes) {
    for (const WalCheck::Frame& frame : whole.frames) {
      if (frame.page == 0) continue;
      in_log_[frame.page] = frame.bytes_from;
      pages_ = std::max(pages_, frame.page);
    }
  }
  std::vector<unsigned char> bytes;
  // The first page has the file's header and the schema.
  for (std::uint32_t number = 2; number <= pages_; ++number) {
    if (page(number, bytes)) look_at(number, bytes);
  }
}

bool PageScan::page(std::uint32_t number, std::vector<unsigned char>& into) const {
  if (number == 0 || number > pages_) return false;
  into.resize(database_.page_bytes);
  const auto in_log = in_log_.find(number);
  if (in_log == in_log_.end()) return database_.read(std::uint64_t{number - 1} * database_.page_bytes, into);
  return ::pread(log_.get(), into.data(), into.size(), static_cast<off_t>(in_log->second)) == static_cast<ssize_t>(into.size());
}

/// The header of a leaf: kind (1 byte), first free block (2), cells (2), start of the cells (2), free bytes (1). The offset of each cell
/// (2) follows.
void PageScan::look_at(std::uint32_t number, Bytes page) {
  if (page[0] != kLeafOfTable) return;
  Reader header{page.subspan(3)};
  const std::uint64_t cells = header.big_endian(2);
  header.big_endian(3);
  for (std::uint64_t i = 0; i < cells && header.ok; ++i) {
    const std::uint64_t at = header.big_endian(2);
    if (!header.ok || at >= page.size()) continue;
    Reader cell{page.subspan(at)};
    cell.varint();
    const std::uint64_t row = cell.varint();
    if (cell.ok) places_.emplace(static_cast<std::int64_t>(row), std::pair{number, static_cast<std::size_t>(at)});
  }
}

/// A cell: size of the payload, number of the row, as much of the payload as the format stores here, number of the overflow page.
bool PageScan::payload_at(std::uint32_t number, std::size_t at, std::string& payload) const {
  std::vector<unsigned char> bytes;
  if (!page(number, bytes)) return false;
  Reader cell{Bytes{bytes}.subspan(at)};
  const std::uint64_t all = cell.varint();
  cell.varint();
  if (!cell.ok || all > std::uint64_t{pages_} * database_.page_bytes) return false;
  const std::uint64_t usable = database_.page_bytes;  // Our files reserve no bytes at the end of a page.
  std::uint64_t here = all;
  if (all > usable - 35) {
    const std::uint64_t least = (usable - 12) * 32 / 255 - 23;
    here = least + (all - least) % (usable - 4);
    if (here > usable - 35) here = least;
  }
  if (cell.bytes.size() < here) return false;
  const auto add = [&payload](Bytes part) { payload.append(reinterpret_cast<const char*>(part.data()), part.size()); };
  add(cell.bytes.first(here));
  cell.bytes = cell.bytes.subspan(here);
  std::uint64_t next = all > here ? cell.big_endian(4) : 0;
  while (payload.size() < all) {
    if (next > UINT32_MAX || !page(static_cast<std::uint32_t>(next), bytes)) return false;
    Reader rest{bytes};
    next = rest.big_endian(4);
    add(rest.bytes.first(std::min<std::uint64_t>(rest.bytes.size(), all - payload.size())));
  }
  return true;
}

std::vector<std::int64_t> PageScan::numbers() const {
  std::vector<std::int64_t> all;
  for (const auto& [number, place] : places_) {
    if (all.empty() || all.back() != number) all.push_back(number);
  }
  return all;
}

std::vector<PageScan::Entry> PageScan::find(std::int64_t number) const {
  std::vector<Entry> found;
  const auto [from, to] = places_.equal_range(number);
  for (auto place = from; place != to; ++place) {
    std::string payload;
    if (!payload_at(place->second.first, place->second.second, payload)) continue;
    if (std::optional<Entry> entry = entry_of(payload)) found.push_back(std::move(*entry));
  }
  return found;
}

}  // namespace rondo::store::durable
