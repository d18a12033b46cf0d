// The frame's bytes, without a socket. Golden frames are written out byte by byte. Malformed frames of every kind are refused whole. The
// reader reads what the writer writes (random frames against a plain list), and never reads beyond a cut or changed frame.
#include "store/zmq/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>

#include "rondo/base/limits.h"
#include "rondo/base/random.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

std::string number(std::uint64_t value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string text(std::string_view value) { return number(value.size()) + std::string{value}; }
std::string pair(std::string_view first, std::string_view second) { return text(first) + text(second); }
const std::string kHead = pair("DB", "T");

std::string line(const FrameEntry& entry) {
  std::string text{to_string(entry.op)};
  text.append(" ").append(entry.key);
  for (const Field& field : entry.fields) text.append(" ").append(field.name).append("=").append(field.value);
  return text;
}

std::vector<std::string> lines(std::string_view bytes) {
  Result<FrameReader> reader = FrameReader::open(bytes);
  if (!reader) return {std::string{reader.error().message()}};
  std::vector<std::string> lines;
  FrameEntry entry;
  while (reader->next(entry)) lines.push_back(line(entry));
  return lines;
}

/// One Set of one field and one Delete, whose texts have 43 bytes together: 117 bytes, as long as the two-task frame in the stock library's
/// own test.
const std::string kGolden =
    "\x04\0\0\0\0\0\0\0"
    "\x07\0\0\0\0\0\0\0"
    "APPL_DB"
    "\x0b\0\0\0\0\0\0\0"
    "ROUTE_TABLE"
    "\x0b\0\0\0\0\0\0\0"
    "10.0.0.0/24"
    "\x01\0\0\0\0\0\0\0"
    "1"
    "\x06\0\0\0\0\0\0\0"
    "ifname"
    "\x04\0\0\0\0\0\0\0"
    "eth0"
    "\x04\0\0\0\0\0\0\0"
    "::/0"
    "\x01\0\0\0\0\0\0\0"
    "0"s;

TEST(ZmqFrame, TwoEntriesAreTheseBytes) {
  if (std::endian::native != std::endian::little) GTEST_SKIP() << "the bytes are those of a little-endian machine";
  FrameWriter writer("APPL_DB", "ROUTE_TABLE");
  const Field fields[] = {{"ifname", "eth0"}};
  writer.set("10.0.0.0/24", fields);
  writer.remove("::/0");
  EXPECT_EQ(writer.bytes(), kGolden);
  EXPECT_EQ(writer.bytes().size(), 117U);
  EXPECT_EQ(writer.entries(), 2U);
}

TEST(ZmqFrame, TheseBytesAreTwoEntries) {
  if (std::endian::native != std::endian::little) GTEST_SKIP() << "the bytes are those of a little-endian machine";
  const Result<FrameReader> reader = FrameReader::open(kGolden);
  ASSERT_TRUE(reader.has_value()) << reader.error().to_string();
  EXPECT_EQ(reader->database(), "APPL_DB");
  EXPECT_EQ(reader->table(), "ROUTE_TABLE");
  EXPECT_EQ(reader->entries_left(), 2U);
  EXPECT_THAT(lines(kGolden), ElementsAre("SET 10.0.0.0/24 ifname=eth0", "DEL ::/0"));
}

TEST(ZmqFrame, ASetWithoutFieldsIsOneFieldNullOfValueNull) {
  FrameWriter writer("DB", "T");
  writer.set("k", {});
  EXPECT_EQ(writer.bytes(), number(3) + kHead + pair("k", "1") + pair("NULL", "NULL"));
  EXPECT_THAT(lines(writer.bytes()), ElementsAre("SET k"));
  EXPECT_THAT(lines(number(4) + kHead + pair("k", "2") + pair("NULL", "NULL") + pair("a", "1")), ElementsAre("SET k NULL=NULL a=1"));
}

TEST(ZmqFrame, ClearBeginsTheNextFrameOfTheSameTable) {
  FrameWriter writer("DB", "T");
  writer.remove("first");
  writer.clear();
  EXPECT_TRUE(writer.empty());
  EXPECT_EQ(writer.size(), writer.head_size());
  writer.remove("second");
  EXPECT_EQ(writer.bytes(), number(2) + kHead + pair("second", "0"));
}

TEST(ZmqFrame, AFrameWithoutEntriesIsOne) { EXPECT_TRUE(lines(number(1) + kHead).empty()); }

TEST(ZmqFrame, TextsAreBinarySafeAndMayBeEmpty) {
  const std::string zero{"\0\xff\n", 3};
  EXPECT_THAT(lines(number(3) + kHead + pair("", "1") + pair("", zero)), ElementsAre("SET  =" + zero));
}

struct Malformed {
  const char* what;
  std::string bytes;
};

TEST(ZmqFrame, WhatContradictsItselfIsRefusedWhole) {
  const std::string good = pair("good", "0");
  const Malformed frames[] = {
      {"too short", ""},
      {"too short", "1234567"},
      {"no pair", number(0)},
      {"names its table", number(1)},
      {"names its table", number(1) + text("DB")},
      {"names its table", number(1) + number(UINT64_MAX) + "DB"},
      {"names its table", number(1) + text("DB") + number(2) + "T"},
      {"head of an entry", number(3) + kHead + good},
      {"head of an entry", number(UINT64_MAX) + kHead + good},
      {"head of an entry", number(3) + kHead + good + text("k")},
      {"head of an entry", number(3) + kHead + good + text("k") + number(UINT64_MAX - 7) + "0"},
      {"not a number", number(3) + kHead + good + pair("k", "")},
      {"not a number", number(3) + kHead + good + pair("k", "x")},
      {"not a number", number(3) + kHead + good + pair("k", "-1")},
      {"not a number", number(3) + kHead + good + pair("k", "+0")},
      {"not a number", number(3) + kHead + good + pair("k", " 0")},
      {"not a number", number(3) + kHead + good + pair("k", "0 ")},
      {"not a number", number(3) + kHead + good + pair("k", "99999999999999999999999")},
      {"announces 1", number(3) + kHead + good + pair("k", "1")},
      {"announces 18446744073709551615", number(3) + kHead + good + pair("k", "18446744073709551615")},
      {"a field of key", number(4) + kHead + good + pair("k", "1")},
      {"a field of key", number(4) + kHead + good + pair("k", "1") + text("name")},
      {"a field of key", number(4) + kHead + good + pair("k", "1") + text("name") + number(1)},
      {"bytes follow", number(2) + kHead + good + "x"},
      {"bytes follow", number(2) + kHead + good + pair("k", "0")},
  };
  for (const Malformed& frame : frames) {
    const Result<FrameReader> reader = FrameReader::open(frame.bytes);
    ASSERT_FALSE(reader.has_value()) << frame.what;
    EXPECT_EQ(reader.error().code(), StatusCode::InvalidArgument);
    EXPECT_THAT(std::string{reader.error().message()}, HasSubstr(frame.what));
  }
}

TEST(ZmqFrame, EveryCutOfAFrameIsRefused) {
  FrameWriter writer("DB", "T");
  const Field fields[] = {{"a", "1"}, {"bb", "22"}};
  writer.set("k", fields);
  writer.remove("gone");
  const std::string frame{writer.bytes()};
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_FALSE(FrameReader::open(std::string_view{frame}.substr(0, size)).has_value()) << size;
  }
}

TEST(ZmqFrame, CheckedInStepsOfAnyLengthItIsWhatItIsAtOnce) {
  FrameWriter writer("DB", "T");
  const Field fields[] = {{"a", "1"}, {"bb", "22"}, {"c", ""}};
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    writer.remove(key);
    writer.set(key, std::span{fields}.first(static_cast<std::size_t>(i) % 4));
  }
  const std::string frame{writer.bytes()};
  const std::string broken = frame.substr(0, frame.size() - 1);
  for (std::size_t step = 1; step < 80; ++step) {
    Result<FrameReader> reader = FrameReader::begin(frame);
    ASSERT_TRUE(reader.has_value());
    while (!reader->is_checked()) ASSERT_TRUE(reader->check(step).ok()) << step;
    std::vector<std::string> read;
    FrameEntry entry;
    while (reader->next(entry)) read.push_back(line(entry));
    EXPECT_EQ(read, lines(frame)) << step;

    Result<FrameReader> refused = FrameReader::begin(broken);
    ASSERT_TRUE(refused.has_value());
    Status found;
    while (found.ok() && !refused->is_checked()) found = refused->check(step);
    EXPECT_EQ(found.to_string(), FrameReader::open(broken).error().to_string()) << step;
  }
}

TEST(ZmqFrame, AnEntryWithMoreFieldsThanARecordMayHaveIsPassedOver) {
  FrameWriter writer("DB", "T");
  const std::vector<Field> most(limits::kFields);
  const std::vector<Field> wide(limits::kFields + 1);
  writer.remove("before");
  writer.set("wide", wide);
  writer.set("most", most);
  writer.set("wide", wide);
  writer.remove("after");
  Result<FrameReader> reader = FrameReader::open(writer.bytes());
  ASSERT_TRUE(reader.has_value());
  FrameEntry entry;
  for (const char* const key : {"before", "wide", "most", "wide", "after"}) {
    ASSERT_TRUE(reader->next(entry));
    EXPECT_EQ(entry.key, key);
    EXPECT_EQ(entry.announced, entry.key == "wide" ? wide.size() : entry.key == "most" ? most.size() : 0U);
    EXPECT_EQ(entry.fields.size(), entry.key == "most" ? most.size() : 0U);
  }
  EXPECT_FALSE(reader->next(entry));
}

/// Random frames are read as written. With one byte changed they are refused or read as other entries, within their bytes.
TEST(ZmqFrame, RandomFramesComeBackProperty) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const auto word = [&](std::size_t longest) {
      std::string text(random.below(longest + 1), '\0');
      for (char& c : text) c = static_cast<char>(random.below(256));
      return text;
    };
    const std::string database = word(8);
    const std::string table = word(8);
    FrameWriter writer(database, table);
    std::vector<std::string> written;
    for (std::size_t entries = random.below(20); entries > 0; --entries) {
      FrameEntry entry;
      const std::string key = word(30);
      entry.key = key;
      std::vector<std::string> texts(2 * random.below(6));
      for (std::string& text : texts) text = word(40);
      for (std::size_t i = 0; i < texts.size(); i += 2) entry.fields.push_back({texts[i], texts[i + 1]});
      entry.op = random.below(3) == 0 ? ChangeOp::Delete : ChangeOp::Set;
      if (entry.op == ChangeOp::Delete) {
        entry.fields.clear();
        writer.remove(key);
      } else {
        const std::size_t before = writer.size();
        writer.set(key, entry.fields);
        EXPECT_EQ(writer.size() - before, FrameWriter::bytes_of(key, entry.fields));
      }
      written.push_back(line(entry));
    }
    std::string frame{writer.bytes()};
    ASSERT_EQ(lines(frame), written) << "seed " << seed;
    for (int i = 0; i < 50; ++i) {
      std::string changed = frame;
      changed[random.below(changed.size())] = static_cast<char>(random.below(256));
      for (const std::string& each : lines(changed)) EXPECT_LE(each.size(), changed.size() + 200) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace rondo::store
