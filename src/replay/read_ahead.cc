#include "replay/read_ahead.h"

#include <pthread.h>
#include <signal.h>

#include <limits>
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/replay/limits.h"

namespace rondo::replay {

using journal::JournalReader;
using journal::RawRecord;

namespace {

/// Records of a batch: few enough to stay in a cache until they are compared, and enough that the cost of the handover is negligible.
constexpr std::size_t kTogether = 2048;
/// Maximum bytes of a batch, unless it is one record. The two limits below bound the waiting batches.
constexpr std::size_t kBytesTogether = 256 * 1024;
using limits::kReplayBatchesAhead;
using limits::kReplayBytesAhead;

/// While it exists, new threads start with every signal blocked, because they must not handle the process's signals.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

ReadAhead::ReadAhead(std::vector<std::unique_ptr<JournalReader>> readers, std::size_t first, End end)
    : readers_(std::move(readers)), end_(end), batches_(kReplayBatchesAhead) {
  for (const auto& reader : readers_) damaged_before_.push_back(reader->damage().size());
  enter(first);
  const SignalsBlocked blocked;
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

ReadAhead::~ReadAhead() = default;

bool ReadAhead::is_full() const noexcept { return put_ - took_ == kReplayBatchesAhead || bytes_ >= kReplayBytesAhead; }
bool ReadAhead::has_room() const noexcept { return put_ - took_ <= kReplayBatchesAhead / 2 && bytes_ <= kReplayBytesAhead / 2; }

void ReadAhead::next(Batch& batch) {
  std::unique_lock lock(mutex_);
  RONDO_ASSERT(!took_last_);
  filled_.wait(lock, [this] { return put_ > took_; });
  const bool had_room = has_room();
  std::swap(batch, batches_[took_++ % kReplayBatchesAhead]);
  bytes_ -= batch.bytes;
  took_last_ = batch.records.empty();
  const bool wake = !had_room && has_room();
  lock.unlock();
  if (wake) taken_.notify_one();
}

void ReadAhead::work(const std::stop_token& stop) {
  Batch batch;
  for (bool more = true; more;) {
    try {
      fill(batch);
    } catch (...) {
      batch.records.clear();
      batch.changes.clear();
      batch.bytes = 0;
      batch.error = std::current_exception();
    }
    more = !batch.records.empty();
    std::unique_lock lock(mutex_);
    if (is_full()) {
      ++pauses_;
      if (!taken_.wait(lock, stop, [this] { return has_room(); })) return;
    }
    if (stop.stop_requested()) return;
    bytes_ += batch.bytes;
    std::swap(batch, batches_[put_++ % kReplayBatchesAhead]);
    lock.unlock();
    filled_.notify_one();
  }
}

void ReadAhead::fill(Batch& batch) {
  batch.records.clear();
  batch.records.reserve(kTogether);
  batch.changes.clear();
  batch.piece.reset();
  batch.bytes = 0;
  batch.gap.clear();
  while (batch.records.size() < kTogether && batch.bytes < kBytesTogether && read_one(batch)) {
  }
}

/// Returns what the end of a file has lost since it was opened; empty if nothing. Losses before the end show in the numbers of the
/// records.
std::string ReadAhead::lost_while_read(const JournalReader& reader, std::size_t damaged_before) {
  if (reader.damage().size() == damaged_before) return {};
  const journal::Damage& lost = reader.damage()[damaged_before];
  return "records after record " + std::to_string(last_number_) + " are missing: '" + reader.name() + "' has at offset " +
         std::to_string(lost.offset) + " " + lost.reason;
}

void ReadAhead::enter(std::size_t reader) {
  reader_ = reader;
  end_here_ = reader < end_.reader ? std::numeric_limits<std::uint64_t>::max() : reader == end_.reader ? end_.offset : 0;
}

std::string ReadAhead::gap_before(const RawRecord& record) const {
  const std::string where = " in '" + readers_[reader_]->name() + "' ";
  if (record.number == last_number_ + 1)
    return "records are missing after record " + std::to_string(last_number_) + ": the journal's buffer was full";
  if (record.number <= last_number_)
    return "record " + std::to_string(record.number) + " follows" + where + "at offset " + std::to_string(record.offset);
  return "records " + std::to_string(last_number_ + 1) + " to " + std::to_string(record.number - 1) + " are missing" + where +
         "before offset " + std::to_string(record.offset);
}

/// Reads the next record of the files. Returns false if the run has ended, or if the record begins another batch.
bool ReadAhead::read_one(Batch& batch) {
  RawRecord record = std::exchange(ahead_, {});
  while (record.bytes.empty()) {
    if (reader_ == readers_.size()) return false;
    record = readers_[reader_]->next();
    if (!record.bytes.empty()) break;
    batch.gap = lost_while_read(*readers_[reader_], damaged_before_[reader_]);
    enter(batch.gap.empty() ? reader_ + 1 : readers_.size());
  }
  const JournalReader& reader = *readers_[reader_];
  if (batch.records.empty()) batch.piece = reader.piece();
  if (batch.piece != reader.piece()) {
    ahead_ = record;
    return false;
  }
  // In another run without its beginning the number may be any; then its offset shows the end.
  const bool is_of_another_run = record.offset >= end_here_ || (record.number == 1 && last_number_ != 0);
  if (is_of_another_run || record.number != last_number_ + 1 || record.kind() == journal::Kind::Lost) {
    if (!is_of_another_run) batch.gap = gap_before(record);
    reader_ = readers_.size();
    return false;
  }
  last_number_ = record.number;
  if (record.kind() == journal::Kind::Changed && journal::decode_change(record.bytes, change_))
    batch.changes.push_back({record.number, {change_.op, Record::make(change_.key, change_.fields, change_.verb)}});
  batch.bytes += record.bytes.size();
  batch.records.push_back({record.bytes.data(), static_cast<std::uint32_t>(record.bytes.size()), record.kind()});
  return true;
}

}  // namespace rondo::replay
