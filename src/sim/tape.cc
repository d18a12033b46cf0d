#include "sim/tape.h"

#include <utility>

namespace rondo::sim {

using journal::Block;
using journal::BlockKind;
using journal::JournalReader;
using journal::RawRecord;

namespace {

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

}  // namespace

Result<std::unique_ptr<Tape>> Tape::open(const std::vector<std::string>& files, unsigned run) {
  std::unique_ptr<Tape> tape{new Tape};
  for (const std::string& file : files) {
    Result<std::unique_ptr<JournalReader>> reader = JournalReader::open(file);
    if (!reader) return failure(std::move(reader).error());
    tape->readers_.push_back(std::move(*reader));
  }
  const std::vector<Place> runs = find_runs(tape->readers_);
  if (runs.empty()) return failure(Code::DataLoss, "no run begins in " + (files.empty() ? "no file" : "'" + files.front() + "'"));
  if (run > runs.size())
    return failure(Code::NotFound, "there are " + std::to_string(runs.size()) + " runs, and not " + std::to_string(run));
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

void Tape::read_ahead() {
  while (!ended_) {
    JournalReader& reader = *readers_[reader_];
    const RawRecord record = reader.next();
    if (record.bytes.empty()) {
      ended_ = ++reader_ == readers_.size();
      continue;
    }
    const bool next_run = began_ && record.number == 1;
    if (!next_run && record.number != last_number_ + 1) {
      hole_ = "records " + std::to_string(last_number_ + 1) + " to " + std::to_string(record.number - 1) + " are missing in '" +
              reader.name() + "' before offset " + std::to_string(record.offset);
    } else if (!next_run && record.kind() == journal::Kind::Lost) {
      hole_ = "records are missing after record " + std::to_string(last_number_) + ": the journal's buffer was full";
    }
    ended_ = next_run || !hole_.empty();
    if (ended_) return;
    began_ = true;
    last_number_ = record.number;
    ahead_.push_back(record);
    return;
  }
}

const RawRecord& Tape::peek(std::size_t ahead) {
  while (ahead_.size() <= ahead && !ended_) read_ahead();
  return ahead < ahead_.size() ? ahead_[ahead] : end_;
}

void Tape::advance() {
  if (at_end()) return;
  ahead_.pop_front();
  ++passed_;
}

}  // namespace rondo::sim
