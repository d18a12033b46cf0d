// Records are encoded and decoded, invalid bytes are refused, and many records add up to the right content.
#include "store/durable/log_record.h"

#include <gtest/gtest.h>

#include "rondo/base/random.h"
#include "store/durable/log_content.h"

namespace rondo::store::durable {
namespace {

using Kind = LogRecord::Kind;

LogRecord row(std::string_view key, std::string_view value = "v") { return {.table = 0, .record = Record::make(key, {{"f", value}})}; }

std::string bytes_of(std::initializer_list<LogRecord> records) {
  std::string bytes;
  for (const LogRecord& record : records) encode(record, bytes);
  return bytes;
}

void expect_same(const LogRecord& a, const LogRecord& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.op, b.op);
  EXPECT_EQ(a.table, b.table);
  EXPECT_EQ(a.number, b.number);
  ASSERT_EQ(static_cast<bool>(a.record), static_cast<bool>(b.record));
  if (!a.record) return;
  EXPECT_EQ(a.record.key(), b.record.key());
  EXPECT_EQ(a.record.verb(), b.record.verb());
  EXPECT_TRUE(std::equal(a.record.fields().begin(), a.record.fields().end(), b.record.fields().begin(), b.record.fields().end()));
}

TEST(LogRecord, ReadsWhatWasWritten) {
  const std::string large(300'000, 'x');
  const std::vector<Field> twice{{"a", ""}, {"a", "2"}};
  const std::initializer_list<LogRecord> records{
      LogRecord::of_table(3, {.name = "T:|", .kind = TableKind::Queue, .rows_max = 7}),
      row(""),
      row(std::string_view{"\0a\xff", 3}, large),
      {.kind = Kind::Row, .table = 4095, .record = Record::make("no fields", {})},
      {.kind = Kind::Deleted, .table = 1, .record = Record::make("k", {})},
      {.kind = Kind::Forget, .table = 1, .record = Record::make("k", {})},
      {.kind = Kind::Entry, .op = ChangeOp::Event, .table = 2, .number = UINT64_MAX, .record = Record::make("k", twice, "verb")},
      {.kind = Kind::Entry, .op = ChangeOp::Delete, .table = 2, .number = 1, .record = Record::make("k", {})},
      {.kind = Kind::Dropped, .table = 2, .number = 128, .record = {}},
  };
  const std::string bytes = bytes_of(records);
  std::string_view rest = bytes;
  for (const LogRecord& record : records) {
    const Result<LogRecord> read = decode(rest);
    ASSERT_TRUE(read.has_value()) << read.error().to_string();
    expect_same(*read, record);
  }
  EXPECT_TRUE(rest.empty());
}

TEST(LogRecord, PropertyNonsenseIsRefusedAndNeverReadBeyondItsEnd) {
  const std::string whole = bytes_of({LogRecord::of_table(0, {.name = "T"}), row("key"), row("another", "value")});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string part = whole.substr(0, size);  // A separate allocation, so that a sanitizer detects a read past the end.
    LogContent content;
    const Status status = content.add(part);
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::DataLoss) << status.to_string();
  }
  Random random{1};
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    LogContent content;
    if (!content.add(bytes).ok()) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

TEST(LogContent, WhatStandsBeforeTheNameOfItsTableCounts) {
  LogContent content;
  ASSERT_TRUE(content.add(bytes_of({row("a"), row("b")})).ok());
  ASSERT_TRUE(content.add(bytes_of({LogRecord::of_table(0, {.name = "T"}), row("b", "newer")})).ok());
  EXPECT_TRUE(content.drop_nameless().empty());
  ASSERT_EQ(content.tables().size(), 1U);
  EXPECT_EQ(content.tables()[0]->spec.name, "T");
  EXPECT_EQ(content.tables()[0]->rows.size(), 2U);
}

TEST(LogContent, ATableWhoseNameIsLostIsReported) {
  LogContent content;
  ASSERT_TRUE(content.add(bytes_of({row("a"), row("b")})).ok());
  const std::vector<Status> lost = content.drop_nameless();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].to_string(), "data-loss: the name of table number 0, and so its 2 rows and 0 entries");
  EXPECT_EQ(content.tables()[0], nullptr);
}

std::string written(const LogContent& content) {
  std::string all;
  const Status end = content.write_to([&all](std::span<const std::string> entries) {
    for (const std::string& entry : entries) all += entry;
    return Status{};
  });
  EXPECT_TRUE(end.ok()) << end.to_string();
  return all;
}

TEST(LogContent, IsWrittenInGroupsUntilOneFails) {
  LogContent content;
  constexpr std::size_t kRows = 200;
  const std::string value(100'000, 'v');
  for (std::size_t i = 0; i < kRows; ++i) ASSERT_TRUE(content.add(bytes_of({row("k" + std::to_string(i), value)})).ok());
  std::size_t groups = 0;
  std::size_t bytes = 0;
  const auto take = [&groups, &bytes](std::span<const std::string> entries) {
    ++groups;
    std::size_t group = 0;
    for (const std::string& entry : entries) group += entry.size();
    EXPECT_LT(group, std::size_t{16} << 20);
    bytes += group;
    return Status{};
  };
  ASSERT_TRUE(content.write_to(take).ok());
  EXPECT_GT(groups, 1U);
  EXPECT_GT(bytes, kRows * value.size());
  groups = 0;
  const auto fail = [&groups](std::span<const std::string>) {
    ++groups;
    return Status{StatusCode::ResourceExhausted, "full"};
  };
  EXPECT_EQ(content.write_to(fail).code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(groups, 1U) << "nothing is asked for after an error";
  EXPECT_TRUE(LogContent{}.write_to(fail).ok()) << "nothing is asked for where there is nothing";
}

TEST(LogContent, WrittenAnewItSaysTheSame) {
  LogContent content;
  const std::string log = bytes_of({LogRecord::of_table(0, {.name = "T"}),
                                    row("gone"),
                                    row("stays", "old"),
                                    row("stays", "new"),
                                    {.kind = Kind::Forget, .table = 0, .record = Record::make("gone", {})},
                                    {.kind = Kind::Deleted, .table = 0, .record = Record::make("pending", {})},
                                    LogRecord::of_table(1, {.name = "Q", .kind = TableKind::Queue}),
                                    {.kind = Kind::Entry, .op = ChangeOp::Set, .table = 1, .number = 1, .record = Record::make("1", {})},
                                    {.kind = Kind::Entry, .op = ChangeOp::Set, .table = 1, .number = 2, .record = Record::make("2", {})},
                                    {.kind = Kind::Entry, .op = ChangeOp::Set, .table = 1, .number = 4, .record = Record::make("4", {})},
                                    {.kind = Kind::Dropped, .table = 1, .number = 1, .record = {}}});
  ASSERT_TRUE(content.add(log).ok());
  content.close_holes();
  LogContent again;
  ASSERT_TRUE(again.add(written(content)).ok());
  EXPECT_EQ(written(again), written(content));
  EXPECT_EQ(again.bytes(), content.bytes());
  EXPECT_EQ(again.tables()[0]->rows.size(), 2U);
  ASSERT_EQ(again.tables()[1]->entries.size(), 2U);
  EXPECT_EQ(again.tables()[1]->entries.at(3).key(), "4") << "damage has left no hole in the numbers";
}

}  // namespace
}  // namespace rondo::store::durable
