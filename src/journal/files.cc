#include "journal/files.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

namespace rondo::journal {

namespace {

/// The wall time of a file without any time: it was begun so recently that it does not contain a turn yet.
constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();

/// A file, and the values that determine its place.
struct Part {
  std::unique_ptr<JournalReader> reader;
  std::uint64_t first = 0;        // The number of its first record; 0: it has none.
  std::uint64_t next = 0;         // The number of the record that would follow its last one.
  std::uint64_t lost_before = 0;  // From the head of its first block of records.
  std::uint64_t checksum = 0;     // The checksum of that block.
  std::optional<Instant> time;    // The monotonic time of its first record that has one.
  std::int64_t wall = kNewest;    // The wall time of that record.
  bool taken = false;
};

/// Returns the first time among the records. Runs and turns begin with one, so it is near the beginning.
std::optional<Instant> first_time(JournalReader& reader) {
  std::optional<Instant> found;
  JournalRecord record;
  for (RawRecord raw = reader.next(); !raw.bytes.empty() && !found; raw = reader.next()) {
    const Kind kind = raw.kind();
    if (kind != Kind::Started && kind != Kind::Clocks && kind != Kind::Looked && kind != Kind::TurnBegins) continue;
    if (decode(raw.bytes, record)) found = record.time;
  }
  reader.go_to(0);
  return found;
}

Part scan(std::unique_ptr<JournalReader> reader) {
  Part part;
  if (const Block* const first = reader->first_records(); first != nullptr) {
    part.first = first->head.first_record;
    part.next = reader->next_number();
    part.lost_before = first->head.lost_before;
    part.checksum = first->head.checksum;
    part.time = first_time(*reader);
    // A damaged or forged head may contain any value, so the sum is unsigned.
    const auto offset = static_cast<std::uint64_t>(first->head.wall_offset);
    if (part.time) part.wall = static_cast<std::int64_t>(static_cast<std::uint64_t>(part.time->nanoseconds()) + offset);
  }
  part.reader = std::move(reader);
  return part;
}

/// True if a run continues from 'before' into 'after'.
bool leads_to(const Part& before, const Part& after) {
  const bool in_time = !before.time || !after.time || *before.time <= *after.time;
  return after.first > 1 && before.next == after.first && in_time && &before != &after;
}

/// Returns the part that continues where 'before' ends, and of several candidates the first to begin.
Part* successor(std::vector<Part>& parts, const Part& before) {
  Part* found = nullptr;
  for (Part& part : parts) {
    if (!part.taken && leads_to(before, part) && (found == nullptr || part.wall < found->wall)) found = &part;
  }
  return found;
}

/// 'parts' are in order of time; returns them in order of their records.
std::vector<Part> in_order(std::vector<Part> parts) {
  std::ranges::stable_sort(parts, {}, &Part::wall);
  std::vector<Part> ordered;
  const auto take_from = [&](Part* part) {
    while (part != nullptr) {
      part->taken = true;
      Part* const next = successor(parts, *part);
      ordered.push_back(std::move(*part));
      part = next;
    }
  };
  // Begins with the parts that have no predecessor, each followed by its successors.
  for (Part& part : parts) {
    const bool follows = std::ranges::any_of(parts, [&part](const Part& other) { return leads_to(other, part); });
    if (!part.taken && !follows) take_from(&part);
  }
  for (Part& part : parts) {
    if (!part.taken) take_from(&part);
  }
  return ordered;
}

std::optional<FileGap> gap_between(const Part& before, const Part& after, std::size_t file) {
  if (after.first <= 1 || before.next == 0 || after.first == before.next) return std::nullopt;
  FileGap gap{
      .file = file, .missing = 0, .reason = "'" + after.reader->name() + "' does not go on where '" + before.reader->name() + "' ends: "};
  const bool same_run = after.first > before.next && after.lost_before + 1 < after.first;
  if (same_run) gap.missing = after.first - before.next;
  gap.reason += same_run ? "records " + std::to_string(before.next) + " to " + std::to_string(after.first - 1) + " are missing"
                         : "the beginning of its run is missing";
  return gap;
}

Status given_twice(const std::string& one, const std::string& other) {
  return {StatusCode::InvalidArgument, "'" + one + "' and '" + other + "' begin with the same records: give each part of a journal once"};
}

/// An open file, and the last name under which it was found.
struct Opened {
  std::string path;
  std::unique_ptr<JournalBytes> bytes;
};

/// Adds the files at 'paths' to 'files', each file once. Returns false if a name led to another file before all were open.
Result<bool> open_each(const std::vector<std::string>& paths, const JournalFiles::Opener& opener, std::vector<Opened>& files) {
  std::vector<std::size_t> places;
  for (const std::string& path : paths) {
    Result<std::unique_ptr<JournalBytes>> bytes = opener(path);
    if (!bytes) return failure(std::move(bytes).error());
    const auto known = std::ranges::find_if(files, [&](const Opened& file) { return file.bytes->is_same_file(**bytes); });
    places.push_back(static_cast<std::size_t>(known - files.begin()));
    if (known != files.end()) {
      known->path = path;
    } else {
      files.push_back({path, std::move(*bytes)});
    }
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!files[places[i]].bytes->is_at(paths[i])) return false;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto before = std::find(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(i), places[i]);
    if (const auto first = static_cast<std::size_t>(before - places.begin()); first < i)
      return failure(given_twice(paths[first], paths[i]));
  }
  return true;
}

/// Opens all files that 'paths' named at one instant, and files that had one of the names shortly before.
Result<std::vector<Opened>> open_together(const std::vector<std::string>& paths, const JournalFiles::Opener& opener) {
  // A writer that rotates removes a file's name for a few moments only, so it has finished long before the last attempt.
  constexpr int kAttempts = 1000;
  std::vector<Opened> files;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    if (attempt > 1) std::this_thread::yield();
    const Result<bool> at_once = open_each(paths, opener, files);
    if (at_once && *at_once) break;
    if (!at_once && (at_once.error().code() != StatusCode::NotFound || attempt == kAttempts)) return failure(Status{at_once.error()});
  }
  // A file that was opened before the others may have grown until it was renamed.
  for (Opened& file : files) file.bytes->check_size();
  if (std::ranges::any_of(files, [](const Opened& file) { return file.bytes->size() > 0; }))
    std::erase_if(files, [](const Opened& file) { return file.bytes->size() == 0; });
  return files;
}

}  // namespace

Result<JournalFiles> JournalFiles::open(const std::vector<std::string>& paths, const Opener& opener) {
  Result<std::vector<Opened>> opened = open_together(paths, opener);
  if (!opened) return failure(std::move(opened).error());
  std::vector<Part> parts;
  for (Opened& file : *opened) {
    Result<std::unique_ptr<JournalReader>> reader = JournalReader::open(file.path, std::move(file.bytes));
    if (!reader) return failure(std::move(reader).error());
    Part part = scan(std::move(*reader));
    for (const Part& other : parts) {
      if (part.first == 0 || other.first != part.first || other.checksum != part.checksum) continue;
      return failure(given_twice(other.reader->name(), file.path));
    }
    parts.push_back(std::move(part));
  }
  JournalFiles files;
  std::vector<Part> ordered = in_order(std::move(parts));
  for (std::size_t file = 1; file < ordered.size(); ++file) {
    if (auto gap = gap_between(ordered[file - 1], ordered[file], file)) files.gaps.push_back(std::move(*gap));
  }
  for (Part& part : ordered) files.readers.push_back(std::move(part.reader));
  return files;
}

}  // namespace rondo::journal
