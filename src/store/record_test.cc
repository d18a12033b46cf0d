// Record and Fields: one block, binary safe, shared, immutable. The tests cover every statement of record.h with small cases, and compare
// merging with a plain model over many seeds.
#include "rondo/store/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/random.h"
#include "rondo/store/change.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Field> all(const Record& record) { return {record.fields().begin(), record.fields().end()}; }

TEST(Record, KeepsKeyVerbAndFieldsInOrder) {
  const Field fields[] = {{"speed", "100000"}, {"mtu", "9100"}};
  const Record record = Record::make("Ethernet0", fields, "up");
  EXPECT_EQ(record.key(), "Ethernet0");
  EXPECT_EQ(record.verb(), "up");
  EXPECT_THAT(all(record), ElementsAre(Field{"speed", "100000"}, Field{"mtu", "9100"}));
  EXPECT_EQ(record.fields()[1], (Field{"mtu", "9100"}));
  EXPECT_EQ(record.key_hash(), hash_key("Ethernet0"));
}

TEST(Record, ContentHashIsOfAllThatItSays) {
  const auto hash = [](std::string_view key, std::vector<Field> fields, std::string_view verb) {
    return Record::make(key, fields, verb).content_hash();
  };
  const std::uint64_t one = hash("k", {{"a", "1"}, {"b", ""}}, "up");
  EXPECT_EQ(hash("k", {{"a", "1"}, {"b", ""}}, "up"), one);
  EXPECT_NE(hash("l", {{"a", "1"}, {"b", ""}}, "up"), one);
  EXPECT_NE(hash("k", {{"a", "1"}, {"b", ""}}, "us"), one);
  EXPECT_NE(hash("k", {{"a", "2"}, {"b", ""}}, "up"), one);
  EXPECT_NE(hash("k", {{"a", "1"}, {"c", ""}}, "up"), one);
  EXPECT_NE(hash("k", {{"a", "1b"}, {"", ""}}, "up"), one) << "where a field ends counts";
  EXPECT_NE(hash("k", {{"b", ""}, {"a", "1"}}, "up"), one);
}

TEST(Record, EmptyOneIsFalseAndHasNothing) {
  const Record none;
  EXPECT_FALSE(none);
  EXPECT_TRUE(none.key().empty());
  EXPECT_TRUE(none.fields().empty());
  EXPECT_EQ(none.bytes(), 0U);
  EXPECT_EQ(none.fields().begin(), none.fields().end());
}

TEST(Record, OneWithEmptyKeyAndNoFieldsIsTrue) {
  const Record record = Record::make("", {});
  EXPECT_TRUE(record);
  EXPECT_TRUE(record.key().empty());
  EXPECT_EQ(record.key_hash(), hash_key(""));
}

TEST(Record, IsBinarySafe) {
  const std::string nul("a\0b", 3);
  const Record record = Record::make(nul, {{nul, nul}, {"", ""}});
  EXPECT_EQ(record.key(), nul);
  EXPECT_EQ(record.fields().find(nul), nul);
  EXPECT_EQ(record.fields().find(""), "");
  EXPECT_FALSE(record.fields().contains("a"));
}

TEST(Record, CopiesShareTheBytesAndOutliveTheOriginal) {
  Record first = Record::make("k", {{"a", "1"}});
  const char* const bytes = first.key().data();
  Record second = first;
  first = Record{};
  EXPECT_EQ(second.key().data(), bytes);
  Record third = std::move(second);
  second = third;
  second = *&second;
  EXPECT_EQ(second.fields().find("a"), "1");
  EXPECT_EQ(third.key().data(), bytes);
}

TEST(Record, ReferencesMayBeDroppedOnOtherThreads) {
  const Record record = Record::make("k", {{"a", "1"}});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = record] {
      for (int j = 0; j < 10'000; ++j) {
        const Record another = copy;
        ASSERT_EQ(another.key(), "k");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(record.fields().find("a"), "1");
}

TEST(Record, TypicalRouteIsSmall) {
  const Record route = Record::make("10.100.200.0/24", {{"nexthop_group", "102"}});
  EXPECT_EQ(route.bytes(), 24U + 8U + 15U + 13U + 3U);
}

TEST(RecordMerge, NewerWinsAndMovesBehindUntouchedOlder) {  // sonic-swss: DEL, SET{f1,f2}, SET{f1',f3} -> f2, f1', f3.
  const Record merged = Record::merged(Record::make("k", {{"f1", "1"}, {"f2", "2"}}), Record::make("k", {{"f1", "new"}, {"f3", "3"}}));
  EXPECT_THAT(all(merged), ElementsAre(Field{"f2", "2"}, Field{"f1", "new"}, Field{"f3", "3"}));
  EXPECT_EQ(merged.key(), "k");
  EXPECT_EQ(merged.key_hash(), hash_key("k"));
}

TEST(RecordMerge, SharesASideThatIsTheWholeResult) {
  const Record full = Record::make("k", {{"a", "1"}, {"b", "2"}});
  const Record bare = Record::make("k", {});
  const Record rewritten = Record::make("k", {{"b", "3"}, {"a", "4"}});
  EXPECT_EQ(Record::merged(full, bare).key().data(), full.key().data());
  EXPECT_EQ(Record::merged(bare, full).key().data(), full.key().data());
  EXPECT_EQ(Record::merged(full, rewritten).key().data(), rewritten.key().data());
  EXPECT_EQ(Record::merged(full, Record{}).key().data(), full.key().data());
  EXPECT_EQ(Record::merged(Record{}, full).key().data(), full.key().data());
}

TEST(RecordMerge, TakesTheKeyOfTheNewer) {
  EXPECT_EQ(Record::merged(Record::make("old", {{"a", "1"}}), Record::make("new", {})).key(), "new");
}

TEST(RecordMerge, EqualsAPlainModelForAnyNumberOfFields) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::uint64_t names = 1 + random.below(seed % 10 == 0 ? 400 : 12);
    const auto make = [&] {
      std::vector<std::pair<std::string, std::string>> fields;
      for (std::uint64_t i = 0; i < names; ++i) {
        if (random.chance(0.5)) fields.emplace_back("n" + std::to_string(i), std::to_string(random.below(100)));
      }
      for (std::size_t i = fields.size(); i > 1; --i) std::swap(fields[i - 1], fields[random.below(i)]);
      return fields;
    };
    const auto record_of = [](const auto& fields) {
      std::vector<Field> views;
      for (const auto& [name, value] : fields) views.push_back({name, value});
      return Record::make("key", views);
    };
    const auto older = make();
    const auto newer = make();
    auto expected = older;
    std::erase_if(expected, [&](const auto& field) {
      return std::any_of(newer.begin(), newer.end(), [&](const auto& other) { return other.first == field.first; });
    });
    expected.insert(expected.end(), newer.begin(), newer.end());
    const Record merged = Record::merged(record_of(older), record_of(newer));
    const std::vector<Field> result = all(merged);
    if (newer.empty()) expected = older;
    ASSERT_EQ(result.size(), expected.size());
    for (std::size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], (Field{expected[i].first, expected[i].second}));
  }
}

TEST(Record, FieldsOfACallOwnTemporaryStrings) {
  const std::string name(100, 'n');
  const std::string value(100, 'v');
  const FieldList fields = {{name, std::string{value}}, {std::string{name}, "1"}, Field{"b", value}};
  EXPECT_THAT(all(Record::make("k", fields)), ElementsAre(Field{name, value}, Field{name, "1"}, Field{"b", value}));
}

TEST(RecordDistinct, KeepsTheLastOfEachNameWhereItStands) {
  const Record record = Record::make("k", {{"a", "1"}, {"b", "1"}, {"a", "2"}, {"c", "1"}, {"b", "2"}});
  EXPECT_THAT(all(record.with_distinct_names()), ElementsAre(Field{"a", "2"}, Field{"c", "1"}, Field{"b", "2"}));
}

TEST(RecordDistinct, SharesARecordThatIsFineAndHandlesManyFields) {
  const Record fine = Record::make("k", {{"a", "1"}, {"b", "1"}});
  EXPECT_EQ(fine.with_distinct_names().key().data(), fine.key().data());
  std::vector<Field> many(1000, Field{"same", "old"});
  many.push_back({"same", "last"});
  EXPECT_THAT(all(Record::make("k", many).with_distinct_names()), ElementsAre(Field{"same", "last"}));
}

TEST(Fields, FindsTheFirstOfAName) { EXPECT_EQ(Record::make("k", {{"a", "1"}, {"a", "2"}}).fields().find("a"), "1"); }

TEST(Fields, TextNamesTheMissingField) {
  const Record record = Record::make("k", {{"a", "1"}});
  EXPECT_EQ(record.fields().text("a"), "1");
  EXPECT_EQ(record.fields().text("mtu").error().code(), StatusCode::NotFound);
  EXPECT_EQ(record.fields().text("mtu").error().message(), "field 'mtu' is missing");
}

TEST(Fields, IntegerIsStrictAndNamesFieldValueAndRange) {
  const Record record = Record::make("k", {{"mtu", "9100"},
                                           {"low", "-5"},
                                           {"bad", "90x"},
                                           {"empty", ""},
                                           {"plus", "+1"},
                                           {"space", " 1"},
                                           {"huge", "9223372036854775808"},
                                           {"least", "-9223372036854775808"}});
  const Fields fields = record.fields();
  EXPECT_EQ(fields.integer("mtu", 68, 9216), 9100);
  EXPECT_EQ(fields.integer("mtu", 9100, 9100), 9100);
  EXPECT_EQ(fields.integer("low", -5, 0), -5);
  EXPECT_EQ(fields.integer("least", INT64_MIN, INT64_MAX), INT64_MIN);
  EXPECT_EQ(fields.integer("mtu", 68, 9099).error().message(), "field 'mtu': '9100' is not a decimal integer from 68 to 9099");
  for (const char* name : {"bad", "empty", "plus", "space", "huge"}) {
    EXPECT_EQ(fields.integer(name, INT64_MIN, INT64_MAX).error().code(), StatusCode::InvalidArgument) << name;
  }
  EXPECT_EQ(fields.integer("none", 0, 1).error().code(), StatusCode::NotFound);
  EXPECT_EQ(fields.integer_or("none", 0, 1, 7), 7) << "the absent value need not be in the range";
  EXPECT_EQ(fields.integer_or("mtu", 68, 9216, 1500), 9100);
  EXPECT_EQ(fields.integer_or("mtu", 68, 9099, 1500).error().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(fields.text_or("none", "x"), "x");
  EXPECT_EQ(fields.text_or("mtu", "x"), "9100");
}

TEST(CheckRecord, AcceptsTheLimitsAndNamesWhatIsBeyond) {
  const std::string name(limits::kNameBytes, 'n');
  const std::string long_name = name + "n";
  const Field at_limit{name, "v"};
  EXPECT_TRUE(check_record(name, {&at_limit, 1}).ok());
  EXPECT_TRUE(check_record(Record::make(name, {at_limit})).ok());
  EXPECT_THAT(check_record(long_name, {}).to_string(), HasSubstr("65537 is over the limit of 65536"));
  EXPECT_EQ(check_record(Record::make(long_name, {})).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(check_record(Record::make("k", {{long_name, ""}})).code(), StatusCode::InvalidArgument);
  const std::vector<Field> many(limits::kFields + 1);
  EXPECT_EQ(check_record("k", many).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(check_record(Record::make("k", many)).code(), StatusCode::InvalidArgument);
  EXPECT_TRUE(check_record("k", std::span(many).first(limits::kFields)).ok());
  const std::string big(limits::kValueBytes, 'v');
  const std::vector<Field> heavy(5, Field{"a", big});
  EXPECT_TRUE(check_record("k", std::span(heavy).first(1)).ok());
  EXPECT_THAT(check_record("k", heavy).to_string(), HasSubstr("with its fields"));
}

TEST(Quoted, ShowsUnprintableBytesAndCutsLongText) {
  EXPECT_EQ(quoted(std::string("a\0\n\xff", 4)), "'a\\x00\\x0a\\xff'");
  EXPECT_EQ(quoted(std::string(100, 'x')), "'" + std::string(64, 'x') + "'... (100 bytes)");
}

TEST(Change, IsSixteenBytesAndSpellsItsVerb) {
  EXPECT_EQ(sizeof(Change), 16U);
  EXPECT_EQ(Change::set("k", {}).verb(), "SET");
  EXPECT_EQ(Change::remove("k").verb(), "DEL");
  EXPECT_EQ(Change::event("port_state", "k", {}).verb(), "port_state");
  EXPECT_EQ(to_string(ChangeOp::Event), "EVENT");
}

TEST(Record, OfACallHasItsFieldsHoweverMany) {
  EXPECT_TRUE(Record::make("none", {}).fields().empty());
  const Record eight =
      Record::make("eight", {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "5"}, {"f", "6"}, {"g", "7"}, {"h", std::to_string(8)}});
  EXPECT_EQ(eight.fields().size(), 8U);
  EXPECT_EQ(eight.fields().find("h"), "8");
  const Record nine =
      Record::make("nine", {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "5"}, {"f", "6"}, {"g", "7"}, {"h", "8"}, {"i", "9"}});
  EXPECT_EQ(nine.fields().size(), 9U);
  EXPECT_EQ(nine.fields().find("a"), "1");
  EXPECT_EQ(nine.fields().find("i"), "9");
}

}  // namespace
}  // namespace rondo
