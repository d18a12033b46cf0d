// RecordReader: the thread reads ahead exactly the records of the files, however far it is ahead, and it ends with the record reader,
// wherever the caller stops. The files are written block by block. A run has several pieces (JournalBytes::kPiece), more than can wait
// between the threads.
#include "replay/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "rondo/replay/limits.h"

namespace rondo::replay {
namespace {

namespace fs = std::filesystem;
using journal::Kind;
using testing::HasSubstr;

constexpr std::uint64_t kRecords = 300'000;
constexpr std::uint64_t kOfBlock = 1000;

std::string key_of(std::uint64_t number) { return "key " + std::to_string(number); }

/// Every third record is a change, the rest are outcomes.
Kind kind_of(std::uint64_t number) { return number % 3 == 0 ? Kind::Changed : Kind::Done; }

/// Changes have a field of 'large' bytes.
std::string record(std::uint64_t number, std::size_t large = 100) {
  const std::size_t length_bytes = journal::length_bytes(large);
  std::vector<char> bytes(large + 156);
  journal::Encoder to(bytes.data() + length_bytes);
  to.byte(static_cast<std::uint8_t>(kind_of(number)));
  to.number(1);  // The table.
  to.number(number);
  if (kind_of(number) == Kind::Changed) {
    to.byte(static_cast<std::uint8_t>(ChangeOp::Set));
    to.text(key_of(number));
    to.number(1);
    to.text("name");
    to.text(std::string(large, static_cast<char>('a' + number % 26)));
  }
  journal::put_length(bytes.data(), large, static_cast<std::size_t>(to.at() - bytes.data()) - length_bytes);
  return {bytes.data(), to.at()};
}

class RecordReaderTest : public testing::Test {
 protected:
  RecordReaderTest() : file_(fs::temp_directory_path() / ("rondo-record-reader-" + std::to_string(::getpid()))) {}
  ~RecordReaderTest() override { fs::remove(file_); }

  void write(std::uint64_t from, std::uint64_t to, std::size_t large = 100, std::uint64_t of_block = kOfBlock) {
    std::ofstream out(file_, std::ios::binary | std::ios::app);
    for (std::uint64_t first = from; first < to; first += of_block) {
      std::string payload;
      const std::uint64_t end = std::min(first + of_block, to);
      for (std::uint64_t number = first; number < end; ++number) payload += record(number, large);
      journal::BlockHead head{.payload_bytes = static_cast<std::uint32_t>(payload.size()),
                              .records = static_cast<std::uint32_t>(end - first),
                              .first_record = first};
      journal::seal(head, payload);
      out.write(reinterpret_cast<const char*>(&head), journal::kHeadBytes) << payload;
    }
  }
  /// The names at the beginning of a run.
  void write_names(const std::string& name) {
    const std::string payload = static_cast<char>(name.size()) + name;
    journal::BlockHead head{
        .kind = journal::BlockKind::AllNames, .payload_bytes = static_cast<std::uint32_t>(payload.size()), .records = 1, .first_record = 1};
    journal::seal(head, payload);
    std::ofstream(file_, std::ios::binary | std::ios::app).write(reinterpret_cast<const char*>(&head), journal::kHeadBytes) << payload;
  }
  std::unique_ptr<RecordReader> open() {
    Result<std::unique_ptr<RecordReader>> reader = RecordReader::open({file_}, 0);
    EXPECT_TRUE(reader.has_value());
    return std::move(*reader);
  }

  const std::string file_;
};

TEST_F(RecordReaderTest, EveryRecordOfALargeDayIsThereInOrder) {
  write(1, kRecords + 1);
  ASSERT_GT(fs::file_size(file_), 2 * journal::JournalBytes::kPiece);
  const auto reader = open();
  std::string_view passed;
  for (std::uint64_t number = 1; number <= kRecords; ++number) {
    ASSERT_EQ(reader->passed() + 1, number);
    const ReadRecord& next = reader->peek();
    ASSERT_EQ(next.kind, kind_of(number));
    ASSERT_EQ(next.bytes(), record(number));
    if (number % 10'000 == 1) passed = next.bytes();
    // A record passed ten thousand records ago can still be read.
    if (number % 10'000 == 0) {
      ASSERT_EQ(passed, record(number - 9'999));
    }
    reader->advance();
  }
  EXPECT_TRUE(reader->at_end());
  EXPECT_EQ(reader->kind(), Kind::Lost);
  EXPECT_EQ(reader->gap(), "");
  reader->advance();
  EXPECT_EQ(reader->passed(), kRecords);
}

TEST_F(RecordReaderTest, ChangesAreHadOnceAndInOrder) {
  write(1, kRecords + 1);
  const auto reader = open();
  Change change;
  // In steps, with a long lookahead, and some are skipped.
  for (std::uint64_t number = 1; number + 5000 <= kRecords; number += 4999) {
    while (reader->passed() + 1 < number) reader->advance();
    for (std::size_t ahead = 0; ahead < 4000; ahead += 7) {
      const bool is_change = kind_of(number + ahead) == Kind::Changed;
      ASSERT_EQ(reader->take_change(ahead, change), is_change) << number + ahead;
      if (!is_change) continue;
      ASSERT_EQ(change.key(), key_of(number + ahead));
      ASSERT_EQ(change.op(), ChangeOp::Set);
      ASSERT_EQ(change.fields().find("name"), std::string(100, static_cast<char>('a' + (number + ahead) % 26)));
      ASSERT_FALSE(reader->take_change(ahead, change));
    }
  }
}

TEST_F(RecordReaderTest, ItMayBeLeftAnywhere) {
  write(1, kRecords + 1);
  for (const std::uint64_t passed : {0U, 1U, 2047U, 2048U, 70'000U, 150'000U, 299'999U, 300'000U}) {
    const auto reader = open();
    while (reader->passed() < passed) reader->advance();
  }
}

TEST_F(RecordReaderTest, WhatIsMissingIsToldBehindTheLastRecordBeforeIt) {
  write(1, 100'001);
  write(100'101, kRecords + 1);
  const auto reader = open();
  while (!reader->at_end()) {
    EXPECT_EQ(reader->gap(), "");
    reader->advance();
  }
  EXPECT_EQ(reader->passed(), 100'000U);
  EXPECT_THAT(reader->gap(), HasSubstr("records 100001 to 100100 are missing in '" + file_ + "'"));
}

// Behind the run is the end of another one, whose beginning is missing; its names have other numbers.
TEST_F(RecordReaderTest, ARunEndsWhereTheRecordsOfAnotherOneBegin) {
  for (const std::uint64_t others : {500U, 1001U, 5000U}) {
    fs::remove(file_);
    write_names("ROUTE");
    write(1, 1001);
    write_names("PORT");
    write(others, others + 100);
    write_names("PORT");
    write(1, 11);
    EXPECT_EQ(RecordReader::open({file_}, 3).error().code(), StatusCode::NotFound);
    Result<std::unique_ptr<RecordReader>> opened = RecordReader::open({file_}, 1);
    ASSERT_TRUE(opened.has_value());
    const auto reader = std::move(*opened);
    EXPECT_EQ(reader->names().of(1), "ROUTE") << others;
    while (!reader->at_end()) reader->advance();
    EXPECT_EQ(reader->passed(), 1000U) << others;
    EXPECT_EQ(reader->gap(), "");
    ASSERT_EQ(reader->damage().size(), 1U);
    EXPECT_THAT(reader->damage().front().reason, HasSubstr("another run, whose beginning is missing"));
    EXPECT_TRUE(open()->damage().empty()) << "the last one is whole";
  }
}

TEST_F(RecordReaderTest, NamesThatWereWrittenBeforeARunsRecordsAreNotThoseOfTheRunBefore) {
  write_names("ROUTE");
  write(1, 1001);
  write_names("PORT");  // The process of the earlier run ended here.
  EXPECT_EQ(open()->names().of(1), "ROUTE");
}

TEST_F(RecordReaderTest, AFileThatLosesItsEndWhileItIsReadEndsTheRecords) {
  write(1, kRecords + 1);
  const auto reader = open();
  reader->peek();
  fs::resize_file(file_, 4096);
  while (!reader->at_end()) reader->advance();
  EXPECT_LT(reader->passed(), kRecords) << "all of it was read ahead, and nothing is tested";
  EXPECT_EQ(reader->passed() % kOfBlock, 0U);
  EXPECT_THAT(reader->gap(),
              HasSubstr("records after record " + std::to_string(reader->passed()) + " are missing: '" + file_ + "' has at offset "));
  EXPECT_THAT(reader->gap(), HasSubstr("a block that the file lost while it was read"));
}

TEST_F(RecordReaderTest, WhatIsReadAheadIsBounded) {
  // The file loses its end while the record reader is at its beginning, so all further records were read ahead. The rest of a batch that
  // was taken, and a batch that waits for room, are beyond the bound.
  const auto passed_when_cut = [this] {
    const auto reader = open();
    reader->peek();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (reader->pauses() == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_EQ(reader->pauses(), 1U) << "it is as far ahead as it may be";
    fs::resize_file(file_, 4096);
    while (!reader->at_end()) reader->advance();
    fs::remove(file_);
    return reader->passed();
  };
  write(1, kRecords + 1);
  constexpr std::uint64_t kOfBatch = 2048;
  EXPECT_LE(passed_when_cut(), (limits::kReplayBatchesAhead + 2) * kOfBatch);

  constexpr std::size_t kLarge = 1024 * 1024;  // One record fills a batch, so the limit of bytes is reached before that of batches.
  static_assert(limits::kReplayBytesAhead / kLarge < limits::kReplayBatchesAhead);
  constexpr std::uint64_t kMost = 3 * (limits::kReplayBytesAhead / kLarge + 3);  // Every third record is a change.
  write(1, kMost + 30, kLarge, 1);
  EXPECT_LE(passed_when_cut(), kMost);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // Sanitizers need more address space than the limit allows.
/// Exits with 0 if the caller gets the failed allocation once, and then the record reader has ended. Removes the file.
[[noreturn]] void read_without_memory(const std::string& file) {
  ::mallopt(M_ARENA_MAX, 1);  // The thread then starts without reserved memory.
  const std::unique_ptr<RecordReader> reader = std::move(RecordReader::open({file}, 0).value());
  reader->peek();
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{pages * 4096 + 65536, pages * 4096 + 65536};
  int code = ::setrlimit(RLIMIT_AS, &limit) == 0 ? 1 : 2;
  // Uses up memory that was freed before, except less than a piece of a file needs.
  for (void* volatile used = &pages; used != nullptr;) used = std::malloc(journal::JournalBytes::kPiece / 4);
  try {
    while (!reader->at_end()) reader->advance();
  } catch (const std::bad_alloc&) {
    if (reader->at_end() && reader->passed() < kRecords) code = 0;
  }
  ::unlink(file.c_str());
  std::_Exit(code);
}

TEST_F(RecordReaderTest, MemoryThatEndsWhereItIsReadAheadIsToldOnce) {
  // A separate process with its own file, because freed memory of other tests could be reused.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  write(1, kRecords + 1);
  EXPECT_EXIT(read_without_memory(file_), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace rondo::replay
