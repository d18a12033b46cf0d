#include "replay/record_reader.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "journal/files.h"

namespace rondo::replay {

using journal::Block;
using journal::BlockKind;
using journal::JournalReader;

namespace {

/// Pieces kept behind the present one, because the caller may still refer to a passed record.
constexpr std::size_t kPiecesBefore = 2;

struct Place {
  std::size_t reader = 0;
  std::size_t block = 0;
};

/// Returns the blocks at which runs begin: those of their names.
std::vector<Place> find_runs(const std::vector<std::unique_ptr<JournalReader>>& readers) {
  std::vector<Place> runs;
  for (std::size_t reader = 0; reader < readers.size(); ++reader) {
    const std::vector<Block>& blocks = readers[reader]->blocks();
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      if (blocks[block].head.kind != BlockKind::Records || blocks[block].head.first_record != 1) continue;
      std::size_t begin = block;
      while (begin > 0 && blocks[begin].head.kind != BlockKind::AllNames && blocks[begin - 1].head.kind != BlockKind::Records) --begin;
      runs.push_back({reader, begin});
    }
  }
  return runs;
}

/// The end of a run and the records behind it.
struct Extent {
  Place last;                  // The last block of its records.
  std::uint64_t records;       // The number of its last record.
  journal::Names names;        // All names of the run: a number means the same text in all of it.
  std::optional<Place> other;  // The first records of another run.
};

/// True if both may be of one run.
bool agree(const journal::Names& one, const journal::Names& other) {
  for (std::uint32_t number = 1; number <= std::min(one.size(), other.size()); ++number) {
    const std::string lost = "#" + std::to_string(number);
    const std::string text = one.of(number);
    if (text != lost && other.of(number) != lost && text != other.of(number)) return false;
  }
  return true;
}

/// Returns the extent of the run whose names begin at 'place'.
Extent extent_of(const std::vector<std::unique_ptr<JournalReader>>& readers, Place place) {
  Extent extent{place, 0, {}, {}};
  std::uint64_t next = 0;  // The number of the record that would continue the run.
  journal::Names names;    // The names of the next records.
  for (std::size_t reader = place.reader; reader < readers.size(); ++reader) {
    const std::vector<Block>& blocks = readers[reader]->blocks();
    bool begins = false;  // This block has all names although no file begins: a run begins in the same way.
    bool named = true;    // Names have followed the last records.
    for (std::size_t block = reader == place.reader ? place.block : 0; block < blocks.size(); ++block) {
      const journal::BlockHead& head = blocks[block].head;
      if (head.kind != BlockKind::Records) {
        readers[reader]->add_names(blocks[block], names);
        named = true;
        begins = begins || (head.kind == BlockKind::AllNames && block > 0);
        continue;
      }
      const bool follows = head.first_record == next || (head.first_record > next && !begins);
      const bool goes_on = next == 0 || (follows && head.lost_before + 1 < head.first_record && (!named || agree(extent.names, names)));
      if (!goes_on) {
        extent.other = Place{reader, block};
        return extent;
      }
      if (named) extent.names = names;
      begins = named = false;
      next = head.first_record + head.records;
      extent.last = {reader, block};
      extent.records = next - 1;
    }
  }
  return extent;
}

std::uint64_t first_record_at(const std::vector<std::unique_ptr<JournalReader>>& readers, Place place) {
  return readers[place.reader]->blocks()[place.block].head.first_record;
}

std::string other_run_at(const std::vector<std::unique_ptr<JournalReader>>& readers, Place place) {
  return "record " + std::to_string(first_record_at(readers, place)) + " of another run stands in '" + readers[place.reader]->name() +
         "' at offset " + std::to_string(readers[place.reader]->blocks()[place.block].offset);
}

std::vector<DamagedPart> damage_of(const std::vector<std::unique_ptr<JournalReader>>& readers) {
  std::vector<DamagedPart> all;
  for (const auto& reader : readers) {
    for (const journal::Damage& one : reader->damage()) all.push_back({reader->name(), one.offset, one.bytes, one.reason, one.at_end});
  }
  return all;
}

}  // namespace

Result<std::unique_ptr<RecordReader>> RecordReader::open(const std::vector<std::string>& files, unsigned run) {
  std::unique_ptr<RecordReader> made{new RecordReader};
  Result<journal::JournalFiles> opened = journal::JournalFiles::open(files);
  if (!opened) return failure(std::move(opened).error());
  std::vector<std::unique_ptr<JournalReader>>& readers = opened->readers;
  const std::vector<Place> runs = find_runs(readers);
  if (runs.empty()) {
    const std::string first = files.empty() ? std::string{} : files.front();
    return failure(StatusCode::DataLoss,
                   "no run begins in '" + first + "'; give the older files of its journal, too, such as '" + first + ".1'");
  }
  if (run > runs.size())
    return failure(StatusCode::NotFound, "there are " + std::to_string(runs.size()) + " runs, and not " + std::to_string(run));
  const Place place = runs[run == 0 ? runs.size() - 1 : run - 1];
  Extent extent = extent_of(readers, place);
  const bool headless = extent.other && first_record_at(readers, *extent.other) != 1;
  if (run == 0 && headless) {
    return failure(StatusCode::DataLoss, "the last run has no beginning: " + other_run_at(readers, *extent.other) +
                                             "; give all files of the journal, or pick an earlier run");
  }
  made->records_ = extent.records;
  readers[place.reader]->go_to(place.block);
  made->names_ = std::move(extent.names);
  made->damage_ = damage_of(readers);
  if (headless) {
    const JournalReader& reader = *readers[extent.other->reader];
    made->damage_.push_back({reader.name(), reader.blocks()[extent.other->block].offset, 0,
                             "another run, whose beginning is missing: so may be the end of the run that is replayed", false});
  }
  try {
    const Block& last = readers[extent.last.reader]->blocks()[extent.last.block];
    const ReadAhead::End end{extent.last.reader, last.offset + journal::kHeadBytes + last.head.payload_bytes};
    made->reader_ = std::make_unique<ReadAhead>(std::move(readers), place.reader, end);
  } catch (const std::system_error& refused) {
    return failure(StatusCode::ResourceExhausted, std::string{"starting the thread that reads: "} + refused.what());
  }
  return made;
}

void RecordReader::read_batch() {
  ended_ = true;  // Set before next(): if it throws, no records follow, and a later call must not wait for them.
  reader_->next(batch_);
  if (batch_.error) std::rethrow_exception(std::exchange(batch_.error, {}));
  if (!batch_.gap.empty()) gap_ = std::move(batch_.gap);
  if (batch_.records.empty()) return;
  if (pieces_.empty() || pieces_.back().bytes != batch_.piece) pieces_.push_back({std::move(batch_.piece), passed_ + read_.size() - next_});
  changes_.insert(changes_.end(), std::make_move_iterator(batch_.changes.begin()), std::make_move_iterator(batch_.changes.end()));
  read_.insert(read_.end(), batch_.records.begin(), batch_.records.end());
  ended_ = false;
}

void RecordReader::forget_passed() {
  read_.erase(read_.begin(), read_.begin() + static_cast<std::ptrdiff_t>(next_));
  next_ = 0;
  while (next_change_ < changes_.size() && changes_[next_change_].number <= passed_) ++next_change_;
  changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(next_change_));
  next_change_ = 0;
  while (pieces_.size() > kPiecesBefore + 1 && pieces_[kPiecesBefore + 1].records_before <= passed_) pieces_.pop_front();
}

const ReadRecord& RecordReader::read_to(std::size_t ahead) {
  forget_passed();
  while (read_.size() <= ahead && !ended_) read_batch();
  if (ahead < read_.size()) return read_[ahead];
  met_end_ = true;
  return end_;
}

bool RecordReader::take_change(std::size_t ahead, Change& change) {
  peek(ahead);  // May move the changes behind it.
  const std::uint64_t number = passed_ + ahead + 1;
  while (next_change_ < changes_.size() && changes_[next_change_].number < number) ++next_change_;
  if (next_change_ == changes_.size() || changes_[next_change_].number != number) return false;
  change = std::move(changes_[next_change_++].change);
  return true;
}

}  // namespace rondo::replay
