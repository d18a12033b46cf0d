#include "store/redis/staged_end.h"

#include <algorithm>
#include <charconv>

#include "store/redis/scripts.h"

namespace rondo::redis {

namespace {
/// Fewer keys come with their fields, in one round trip.
constexpr std::size_t kRenameFrom = 32;
constexpr unsigned kRenamePause = 32;

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}
}  // namespace

void StagedEnd::write_pop(std::size_t max, std::uint64_t number, const std::vector<std::uint64_t>& done) {
  const bool rename = renames() && depth() >= kRenameFrom;
  if (rename_in_ > 0) --rename_in_;
  Commands& out = link().commands.out();
  out.begin(13 + done.size()).word("EVAL").word(kPopStaged).word("3");
  out.word(keys().pending).word(keys().deleted).word(keys().inflight);
  out.word(keys().rows).word(keys().staging).number(max).number(number).number(kPopBytes).word(rename ? "1" : "0").word(kPopSeconds);
  for (const std::uint64_t batch : done) out.number(batch);
}

void StagedEnd::write_recover() {
  link().commands.out().command({"EVAL", kRecoverStaged, "2", keys().pending, keys().inflight, keys().staging, keys().rows});
}

void StagedEnd::read_popped(const Reply& content, Batch& batch) {
  const std::span<const Reply> items = content.items();
  batch.entries.reserve(items.size() / 3);
  std::size_t renamed = 0;
  std::size_t found = 0;
  for (std::size_t i = 0; i + 2 < items.size(); i += 3) {
    Entry& entry = batch.entries.emplace_back();
    entry.key = items[i].text();
    entry.deleted = items[i + 1].integer() == 1;
    const Reply& set = items[i + 2];
    if (set.kind() == Reply::Kind::Integer) {
      entry.unread = true;
      ++renamed;
    } else if (set.kind() == Reply::Kind::List) {
      Record record = record_of(entry.key, set);
      entry.change = Change{Op::Set, record ? std::move(record) : Record::make(entry.key, {})};
      ++found;
    }
  }
  if (renames() && found > renamed + 8) rename_in_ = kRenamePause;
}

std::vector<PoppedEnd::Batch> StagedEnd::read_recovered(const Reply& content) {
  std::vector<Batch> batches;
  const std::span<const Reply> items = content.items();
  for (std::size_t i = 0; i + 2 < items.size(); i += 3) {
    Batch& batch = batches.emplace_back();
    batch.number = number_of(items[i].text());
    const std::span<const Reply> keys = items[i + 1].items();
    const std::span<const Reply> deleted = items[i + 2].items();
    for (std::size_t k = 0; k < keys.size(); ++k) {
      Entry& entry = batch.entries.emplace_back();
      entry.key = keys[k].text();
      entry.deleted = k < deleted.size() && deleted[k].integer() == 1;
      entry.unread = true;
    }
  }
  std::ranges::sort(batches, {}, &Batch::number);
  return batches;
}

}  // namespace rondo::redis
