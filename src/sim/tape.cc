#include "sim/tape.h"

#include <utility>

#include "orch/journal_files.h"

namespace rondo::sim {

using journal::Block;
using journal::BlockKind;
using journal::JournalReader;
using journal::RawRecord;

namespace {

/// Records read together: a look at each while its neighbours are in the cache.
constexpr std::size_t kTogether = 512;
/// Pieces that stay behind the one that is read: somebody may still look at a record that was passed.
constexpr std::size_t kPiecesBefore = 2;

struct Place {
  std::size_t reader = 0;
  std::size_t block = 0;
};

/// Where the runs begin: with their names.
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

/// Where the end of a run stands behind 'place', at which the last whole one begins; empty: nowhere.
std::string run_without_beginning(const std::vector<std::unique_ptr<JournalReader>>& readers, Place place) {
  std::uint64_t next = 0;  // The number of the record that goes on.
  for (std::size_t reader = place.reader; reader < readers.size(); ++reader) {
    const std::vector<Block>& blocks = readers[reader]->blocks();
    for (std::size_t block = reader == place.reader ? place.block : 0; block < blocks.size(); ++block) {
      const journal::BlockHead& head = blocks[block].head;
      if (head.kind != BlockKind::Records) continue;
      const bool goes_on = next == 0 || (head.first_record >= next && head.lost_before + 1 < head.first_record);
      if (!goes_on) {
        return "record " + std::to_string(head.first_record) + " of another run stands in '" + readers[reader]->name() + "' at offset " +
               std::to_string(blocks[block].offset);
      }
      next = head.first_record + head.records;
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Tape>> Tape::open(const std::vector<std::string>& files, unsigned run) {
  std::unique_ptr<Tape> tape{new Tape};
  Result<journal::JournalFiles> opened = journal::JournalFiles::open(files);
  if (!opened) return failure(std::move(opened).error());
  tape->readers_ = std::move(opened->readers);
  const std::vector<Place> runs = find_runs(tape->readers_);
  if (runs.empty()) return failure(Code::DataLoss, "no run begins in " + (files.empty() ? "no file" : "'" + files.front() + "'"));
  if (run > runs.size())
    return failure(Code::NotFound, "there are " + std::to_string(runs.size()) + " runs, and not " + std::to_string(run));
  if (run == 0) {
    if (std::string headless = run_without_beginning(tape->readers_, runs.back()); !headless.empty())
      return failure(Code::DataLoss,
                     "the last run has no beginning: " + headless + "; give all files of the journal, or pick an earlier run");
  }
  const Place place = runs[run == 0 ? runs.size() - 1 : run - 1];
  tape->reader_ = place.reader;
  tape->readers_[place.reader]->go_to(place.block);
  tape->names_ = tape->readers_[place.reader]->names();
  // A number means one text in all of a run, so what comes later may be known from the start.
  const Place end = run == 0 || run == runs.size() ? Place{tape->readers_.size(), 0} : runs[run];
  for (std::size_t reader = place.reader; reader < tape->readers_.size() && reader <= end.reader; ++reader) {
    const std::vector<Block>& blocks = tape->readers_[reader]->blocks();
    for (std::size_t block = reader == place.reader ? place.block : 0; block < blocks.size(); ++block) {
      if (reader == end.reader && block >= end.block) break;
      tape->readers_[reader]->add_names(blocks[block], tape->names_);
    }
  }
  return tape;
}

/// The next record of the files, or the end.
void Tape::read_one() {
  while (!ended_) {
    JournalReader& reader = *readers_[reader_];
    const RawRecord record = reader.next();
    if (record.bytes.empty()) {
      ended_ = ++reader_ == readers_.size();
      continue;
    }
    const bool next_run = began_ && record.number == 1;
    if (!next_run && record.number <= last_number_) {
      hole_ = "another run, whose beginning is missing, follows in '" + reader.name() + "' at offset " + std::to_string(record.offset);
    } else if (!next_run && record.number != last_number_ + 1) {
      hole_ = "records " + std::to_string(last_number_ + 1) + " to " + std::to_string(record.number - 1) + " are missing in '" +
              reader.name() + "' before offset " + std::to_string(record.offset);
    } else if (!next_run && record.kind() == journal::Kind::Lost) {
      hole_ = "records are missing after record " + std::to_string(last_number_) + ": the journal's buffer was full";
    }
    ended_ = next_run || !hole_.empty();
    if (ended_) return;
    began_ = true;
    last_number_ = record.number;
    if (pieces_.empty() || pieces_.back().bytes != reader.piece()) pieces_.push_back({reader.piece(), passed_ + read_.size()});
    read_.push_back(record);
    return;
  }
}

void Tape::forget_passed() {
  read_.erase(read_.begin(), read_.begin() + static_cast<std::ptrdiff_t>(next_));
  next_ = 0;
  while (pieces_.size() > kPiecesBefore + 1 && pieces_[kPiecesBefore + 1].records_before <= passed_) pieces_.pop_front();
}

const RawRecord& Tape::read_to(std::size_t ahead) {
  forget_passed();
  for (const std::size_t wanted = ahead + kTogether; read_.size() < wanted && !ended_;) read_one();
  if (ahead < read_.size()) return read_[ahead];
  met_end_ = true;
  return end_;
}

}  // namespace rondo::sim
