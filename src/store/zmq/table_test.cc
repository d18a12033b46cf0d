// The direct tables end to end, over real sockets: a client and a server on one scheduler. Writes arrive, merged by key, in the order of
// first arrival. Neither a burst nor a slow consumer loses a change, and both ends keep their bounds. The tests run turns until the
// expected state holds.
#include <map>

#include "rondo/base/limits.h"
#include "rondo/base/random.h"
#include "rondo/store/zmq_limits.h"
#include "store/zmq/frame.h"
#include "store/zmq/world.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ZmqTables : public ZmqWorld {
 protected:
  /// Everything written so far has arrived, whether taken or not.
  bool arrived(const ZmqServer& server, std::uint64_t entries) {
    return until([&] { return server.stats().entries >= entries; });
  }
};

TEST_F(ZmqTables, AnEntryArrivesWithItsFields) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  const auto client = connect();
  ASSERT_TRUE(table(*client).set("10.0.0.0/24", {{"nexthop", "10.1.1.1"}, {"ifname", "eth0"}}).ok());
  ASSERT_TRUE(until([&] { return !consumer->empty(); }));
  EXPECT_THAT(take(*consumer), ElementsAre("SET 10.0.0.0/24 nexthop=10.1.1.1 ifname=eth0"));
  EXPECT_EQ(server->stats().entries, 1U);
  EXPECT_EQ(server->stats().frames, 1U);
  EXPECT_TRUE(client->is_flushed());
}

TEST_F(ZmqTables, ASetWithAnEmptyKeyOrNameOfAFieldIsRefused) {
  const auto server = serve();
  const auto client = connect();
  EXPECT_EQ(table(*client).set("", {{"a", "1"}}).to_string(), "invalid-argument: the key is empty");
  EXPECT_EQ(table(*client).set("k", {{"", "1"}}).to_string(), "invalid-argument: key 'k': the name of a field is empty");
}

TEST_F(ZmqTables, OverLoopbackOnAPortOfTheSystemsChoice) {
  const auto server = serve({.endpoint = "tcp://127.0.0.1:*"});
  const auto consumer = subscribe(*server);
  const auto client = connect({.endpoint = server->endpoint()});
  ASSERT_TRUE(table(*client).remove("k").ok());
  ASSERT_TRUE(until([&] { return !consumer->empty(); }));
  EXPECT_THAT(take(*consumer), ElementsAre("DEL k"));
}

TEST_F(ZmqTables, EntriesOfATurnGoInOneFrameAndMergeByKeyUntilTaken) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  const auto client = connect();
  ZmqTable t = table(*client);
  ASSERT_TRUE(t.set("set set", {{"a", "1"}, {"b", "1"}}).ok());
  ASSERT_TRUE(t.set("set set", {{"b", "2"}, {"c", "2"}}).ok());
  ASSERT_TRUE(t.set("set del", {{"a", "1"}}).ok());
  ASSERT_TRUE(t.remove("set del").ok());
  ASSERT_TRUE(t.remove("del set").ok());
  ASSERT_TRUE(t.set("del set", {{"a", "1"}}).ok());
  ASSERT_TRUE(t.set("empty", {}).ok());
  ASSERT_TRUE(t.set("twice", {{"a", "1"}, {"a", "2"}}).ok());
  ASSERT_TRUE(arrived(*server, 8));
  EXPECT_EQ(server->stats().frames, 1U);
  EXPECT_EQ(consumer->depth(), 5U);
  EXPECT_THAT(take(*consumer, 2), ElementsAre("SET set set a=1 b=2 c=2", "DEL set del"));
  EXPECT_THAT(take(*consumer, 1), ElementsAre("DEL del set", "SET del set a=1"));
  EXPECT_THAT(take(*consumer), ElementsAre("SET empty", "SET twice a=2"));
  EXPECT_TRUE(consumer->empty());
}

TEST_F(ZmqTables, RowsAreKeptSoALaterSetIsWholeAndTheNextConsumerBeginsWithThem) {
  const auto server = serve();
  auto consumer = subscribe(*server);
  const auto client = connect();
  ZmqTable t = table(*client);
  ASSERT_TRUE(t.set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(arrived(*server, 1));
  take(*consumer);
  ASSERT_TRUE(t.set("k", {{"b", "2"}}).ok());
  ASSERT_TRUE(arrived(*server, 2));
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1 b=2"));
  consumer.reset();
  consumer = subscribe(*server);
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1 b=2"));
  consumer->requeue("k");
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1 b=2"));
}

TEST_F(ZmqTables, RowsThatAreGivenOnceMoreDoNotCountAsStaged) {
  const auto server = serve({.tables = {{.database = "DB", .table = "T", .keys_max = 2}}});
  const auto consumer = subscribe(*server);
  for (const char* const key : {"a", "b", "c"}) {
    ASSERT_TRUE(server->write("DB", "T", Change::set(key, {{"x", "1"}})).ok());
    take(*consumer);
  }
  for (const char* const key : {"a", "b", "c"}) consumer->requeue(key);
  EXPECT_TRUE(server->write("DB", "T", Change::set("a", {{"x", "2"}})).ok());
  EXPECT_TRUE(server->write("DB", "T", Change::set("d", {{"x", "1"}})).ok());
  EXPECT_EQ(server->write("DB", "T", Change::set("e", {{"x", "1"}})).code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(take(*consumer), ElementsAre("SET a x=2", "SET b x=1", "SET c x=1", "SET d x=1"));
}

TEST_F(ZmqTables, TablesOfOneSocketAreApart) {
  const auto server =
      serve({.tables = {{.database = "DB", .table = "T"}, {.database = "DB", .table = "U"}, {.database = "", .table = "T"}}});
  const auto t = subscribe(*server, "T");
  const auto u = subscribe(*server, "U");
  const auto client = connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(table(*client, "T").set("k", {{"t", std::to_string(i)}}).ok());
    ASSERT_TRUE(table(*client, "U").set("k", {{"u", std::to_string(i)}}).ok());
  }
  ASSERT_TRUE(client->table("", "T")->remove("k").ok());
  ASSERT_TRUE(arrived(*server, 7));
  EXPECT_EQ(server->stats().frames, 3U);
  EXPECT_THAT(take(*t), ElementsAre("SET k t=2"));
  EXPECT_THAT(take(*u), ElementsAre("SET k u=2"));
  EXPECT_EQ(*server->staged("", "T"), 1U);
}

TEST_F(ZmqTables, LargeValuesPassAndWhatDoesNotFitAFrameIsRefused) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  const auto client = connect();
  ZmqTable t = table(*client);
  const std::string large(5 * 1024 * 1024, 'x');
  ASSERT_TRUE(t.set("large", {{"a", large}}).ok());
  const std::string too_large(limits::kZmqFrameBytes, 'x');
  EXPECT_EQ(t.set("too large", {{"a", too_large}}).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(t.set(std::string(limits::kNameBytes + 1, 'k'), {}).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(t.write(Change::event("verb", "k", {})).code(), StatusCode::InvalidArgument);
  ASSERT_TRUE(arrived(*server, 1));
  std::vector<Change> changes;
  EXPECT_EQ(consumer->take(10, changes), 1U);
  EXPECT_EQ(changes.front().fields().find("a"), large);
}

/// A value that makes a Set of one field 'a' fill a frame of table T up to 'short_by' bytes.
std::string filling_value(std::string_view key, std::size_t short_by) {
  const FrameWriter empty("DB", "T");
  const Field field{"a", ""};
  return std::string(limits::kZmqFrameBytes - empty.size() - FrameWriter::bytes_of(key, {&field, 1}) - short_by, 'x');
}

TEST_F(ZmqTables, AnEntryThatFillsAFrameArrivesAndOneByteMoreIsRefused) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  const auto client = connect();
  ZmqTable t = table(*client);
  const std::string full = filling_value("k", 0);
  const Status refused = t.set("k", {{"a", full + "x"}});
  EXPECT_EQ(refused.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(refused.to_string(), HasSubstr("does not fit a frame of 16777216 bytes"));
  ASSERT_TRUE(t.set("k", {{"a", full}}).ok());
  ASSERT_TRUE(arrived(*server, 1));
  EXPECT_EQ(server->stats().bytes, limits::kZmqFrameBytes);
  std::vector<Change> changes;
  consumer->take(1, changes);
  EXPECT_EQ(changes.at(0).fields().find("a"), full);
  EXPECT_THAT(faults_, testing::IsEmpty());
}

TEST_F(ZmqTables, NoFrameGrowsBeyondItsLimitHoweverEntriesMeet) {
  for (const std::size_t frame_bytes : {std::size_t{1000}, limits::kZmqFrameBytes}) {
    const auto server = serve();
    const auto consumer = subscribe(*server);
    const auto client = connect({.frame_bytes = frame_bytes});
    ZmqTable t = table(*client);
    ASSERT_TRUE(t.set("small", {{"a", "1"}}).ok());
    ASSERT_TRUE(t.set("large", {{"a", filling_value("large", 10)}}).ok()) << "beside the small one it does not fit";
    ASSERT_TRUE(t.remove("small").ok());
    ASSERT_TRUE(arrived(*server, 3));
    EXPECT_EQ(server->stats().frames, 3U);
    EXPECT_EQ(consumer->depth(), 2U);
    EXPECT_THAT(faults_, testing::IsEmpty());
  }
}

/// Changes that wait in the client merge. The result may be larger than a frame, although each entry was smaller.
TEST_F(ZmqTables, WhatMergedIntoMoreThanAFrameGoesInPartsAndArrivesWhole) {
  const auto client = connect({.frame_bytes = 1, .send_frames = 1});
  ZmqTable t = table(*client);
  const std::string large(9 * 1024 * 1024, 'x');
  ASSERT_TRUE(t.set("sent", {}).ok());
  ASSERT_TRUE(t.set("in the frame", {}).ok());
  ASSERT_TRUE(t.remove("k").ok());
  ASSERT_TRUE(t.set("k", {{"a", large}, {"b", "1"}}).ok());
  ASSERT_TRUE(t.set("k", {{"c", large}, {"d", "1"}, {"e", large}, {"b", "2"}}).code() == StatusCode::InvalidArgument)
      << "too large by itself";
  ASSERT_TRUE(t.set("k", {{"c", large}, {"d", "1"}}).ok());
  ASSERT_TRUE(t.set("k", {{"e", large}, {"b", "2"}}).ok());
  ASSERT_TRUE(t.set("last", {}).ok());
  const auto server = serve();
  const auto consumer = subscribe(*server);
  ASSERT_TRUE(until([&] { return client->is_flushed() && consumer->depth() == 4 && server->stats().frames == 7; }));
  std::vector<Change> changes;
  consumer->take(4, changes);
  ASSERT_EQ(changes.size(), 5U);
  EXPECT_EQ(line(changes[2]), "DEL k");
  const Fields whole = changes[3].fields();
  EXPECT_EQ(whole.size(), 5U);
  for (const char* const name : {"a", "c", "e"}) EXPECT_EQ(whole.find(name), large) << name;
  EXPECT_EQ(whole.find("b"), "2");
  EXPECT_EQ(whole.find("d"), "1");
  EXPECT_EQ(line(changes[4]), "SET last");
  EXPECT_THAT(faults_, testing::IsEmpty());
}

TEST_F(ZmqTables, AConsumerThatGoesLeavesWhatItHasNotTaken) {
  const auto server = serve();
  auto consumer = subscribe(*server);
  EXPECT_EQ(server->subscribe("DB", "T").error().code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(server->subscribe("DB", "unknown").error().code(), StatusCode::NotFound);
  const auto client = connect();
  ASSERT_TRUE(table(*client).remove("k").ok());
  ASSERT_TRUE(arrived(*server, 1));
  consumer.reset();
  consumer = subscribe(*server);
  EXPECT_THAT(take(*consumer), ElementsAre("DEL k"));
}

TEST_F(ZmqTables, ABurstGoesInFramesOfTheLimitsSize) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  const auto client = connect();
  ZmqTable t = table(*client);
  const std::string value(1000, 'x');
  constexpr std::size_t kEntries = 1000;
  for (std::size_t i = 0; i < kEntries; ++i) ASSERT_TRUE(t.set(std::to_string(i), {{"f", value}}).ok());
  ASSERT_TRUE(arrived(*server, kEntries));
  const ZmqClientStats& stats = client->stats();
  EXPECT_GE(stats.frames, stats.bytes / (limits::kZmqClientFrameBytes + 2 * value.size()));
  EXPECT_LE(stats.frames, stats.bytes / limits::kZmqClientFrameBytes + 1) << "all but the last are full";
}

TEST_F(ZmqTables, AFullTableStopsTheReadingAndTakingGoesOnWithIt) {
  const auto server = serve({.tables = {{.database = "DB", .table = "T", .keys_max = 3}}});
  const auto consumer = subscribe(*server);
  const auto client = connect();
  ZmqTable t = table(*client);
  for (const char* key : {"a", "b", "c", "a", "b", "d", "e"}) ASSERT_TRUE(t.set(key, {{"f", key}}).ok());
  ASSERT_TRUE(until([&] { return server->is_paused(); }));
  EXPECT_EQ(server->stats().entries, 5U) << "entries of waiting keys merge until the first of another";
  EXPECT_EQ(server->write("DB", "T", Change::remove("f")).code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(take(*consumer, 1), ElementsAre("SET a f=a"));
  ASSERT_TRUE(until([&] { return server->stats().entries == 6; }));
  EXPECT_TRUE(server->is_paused());
  EXPECT_THAT(take(*consumer), ElementsAre("SET b f=b", "SET c f=c", "SET d f=d"));
  ASSERT_TRUE(arrived(*server, 7));
  EXPECT_FALSE(server->is_paused());
  EXPECT_THAT(take(*consumer), ElementsAre("SET e f=e"));
  EXPECT_EQ(server->stats().pauses, 2U);
}

/// 100,000 entries of 10,000 keys against a consumer that does not take. Neither end exceeds its bound, and writes are refused. Once the
/// consumer takes, the last value of every key arrives, and no older value after a newer one.
TEST_F(ZmqTables, AStoppedConsumerIsBoundedAndLosesNothingStorm) {
  constexpr std::size_t kKeys = 10'000;
  constexpr std::size_t kEntries = 100'000;
  constexpr std::size_t kServerKeys = 1000;
  constexpr std::size_t kClientKeys = 2000;
  bool room = false;
  const auto server = serve({.tables = {{.database = "DB", .table = "T", .keys_max = kServerKeys}}, .receive_frames = 2});
  const auto consumer = subscribe(*server);
  const auto client = connect({.frame_bytes = 4096, .send_frames = 2, .keys_max = kClientKeys, .on_room = [&] { room = true; }});
  ZmqTable t = table(*client);
  std::size_t written = 0;
  std::map<std::string, long> expected;
  const auto write = [&] {  // Every other entry writes one of 20 busy keys.
    const std::string key = written % 2 == 0 ? "k" + std::to_string(written / 2 * 7919 % kKeys) : "busy" + std::to_string(written % 20);
    const Status status = t.set(key, {{"value", std::to_string(written)}});
    if (status.ok()) expected[key] = static_cast<long>(written++);
    return status;
  };
  Status refused;
  ASSERT_TRUE(until([&] {
    while (written < kEntries && refused.ok()) refused = write();
    return server->is_paused() && !refused.ok();
  }));
  EXPECT_EQ(refused.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(*server->staged("DB", "T"), kServerKeys);

  std::map<std::string, long> last;
  std::vector<Change> changes;
  const auto drain = [&] {
    changes.clear();
    consumer->take(128, changes);
    for (const Change& change : changes) {
      const long value = std::stol(std::string{*change.fields().find("value")});
      const auto [known, is_new] = last.emplace(change.key(), value);
      EXPECT_TRUE(is_new || known->second < value) << change.key();
      known->second = value;
    }
    EXPECT_LE(*server->staged("DB", "T"), kServerKeys);
  };
  ASSERT_TRUE(until([&] {
    drain();
    while (room && written < kEntries) room = write().ok();
    return written == kEntries && client->is_flushed() && consumer->empty() && server->stats().entries + client->stats().merged == kEntries;
  })) << written
      << " written, " << server->stats().entries << " arrived, " << client->stats().merged << " merged, " << client->stats().frames
      << " frames sent, " << server->stats().frames << " arrived, room " << room << ", flushed " << client->is_flushed() << ", paused "
      << server->is_paused() << ", consumer empty " << consumer->empty() << ", connections " << client->stats().connections << ", faults "
      << ::testing::PrintToString(faults_);
  EXPECT_EQ(last, expected);
  EXPECT_EQ(last.size(), kKeys + 10);
  EXPECT_GT(client->stats().merged, 0U);
  EXPECT_GT(client->stats().refused, 1U);
  EXPECT_GT(server->stats().pauses, 0U);
}

/// The peer is slow or absent. Changes that wait in the client merge by key; a Delete and a Set of one key both stay.
TEST_F(ZmqTables, WhatWaitsInTheClientMergesAndKeepsItsOrder) {
  const auto client = connect({.frame_bytes = 1, .send_frames = 1, .keys_max = 3});
  ZmqTable t = table(*client);
  ASSERT_TRUE(t.set("sent", {{"a", "1"}}).ok());
  ASSERT_TRUE(t.set("in the frame", {{"a", "1"}}).ok());  // libzmq holds one frame; this is the next one.
  ASSERT_TRUE(t.set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(t.set("k", {{"b", "2"}}).ok());
  ASSERT_TRUE(t.set("d", {{"a", "1"}}).ok());
  ASSERT_TRUE(t.remove("d").ok());
  ASSERT_TRUE(t.set("d", {{"z", "1"}}).ok());
  ASSERT_TRUE(t.remove("e").ok());
  EXPECT_EQ(t.remove("one too many").code(), StatusCode::ResourceExhausted);
  ASSERT_TRUE(t.set("e", {}).ok()) << "a key that waits already has room";
  EXPECT_EQ(client->stats().merged, 4U);
  const auto server = serve();
  const auto consumer = subscribe(*server);
  ASSERT_TRUE(arrived(*server, 7));
  EXPECT_EQ(server->stats().frames, 5U) << "a frame a key, both of its entries in it";
  EXPECT_THAT(take(*consumer),
              ElementsAre("SET sent a=1", "SET in the frame a=1", "SET k a=1 b=2", "DEL d", "SET d z=1", "DEL e", "SET e"));
}

TEST_F(ZmqTables, AClientThatStartsBeforeItsServerLosesNothing) {
  const auto client = connect();
  ASSERT_TRUE(table(*client).set("k", {{"a", "1"}}).ok());
  scheduler_.run_until_idle();
  EXPECT_FALSE(client->is_connected());
  const auto server = serve();
  const auto consumer = subscribe(*server);
  ASSERT_TRUE(until([&] { return !consumer->empty(); }));
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1"));
  EXPECT_TRUE(until([&] { return client->is_connected(); }));
}

TEST_F(ZmqTables, AClientFindsItsServerAgainAndSendsWhatWasWrittenMeanwhile) {
  std::vector<bool> told;
  const auto client = connect({.on_connection = [&](bool connected) { told.push_back(connected); }});
  ZmqTable t = table(*client);
  {
    const auto server = serve();
    const auto consumer = subscribe(*server);
    ASSERT_TRUE(t.set("before", {{"a", "1"}}).ok());
    ASSERT_TRUE(until([&] { return !consumer->empty() && client->is_connected(); }));
  }
  ASSERT_TRUE(until([&] { return !client->is_connected(); }));
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(t.set("away" + std::to_string(i), {{"a", "1"}}).ok());
  const auto server = serve();
  const auto consumer = subscribe(*server);
  ASSERT_TRUE(until([&] { return client->is_connected() && consumer->depth() == 1000; }));
  ASSERT_TRUE(t.set("after", {{"a", "1"}}).ok());
  ASSERT_TRUE(until([&] { return consumer->depth() == 1001; }));
  EXPECT_THAT(told, ElementsAre(true, false, true));
  EXPECT_EQ(client->stats().connections, 2U);
}

TEST_F(ZmqTables, AClientThatGoesAtOnceHasSentItsBurst) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  {
    const auto client = connect({.linger = 60s});
    for (int i = 0; i < 5000; ++i) ASSERT_TRUE(table(*client).set("k" + std::to_string(i), {{"a", "1"}}).ok());
  }
  ASSERT_TRUE(until([&] { return consumer->depth() == 5000; }));
}

/// Two clients write distinct keys at random, and the consumer takes random numbers of keys. Applied in order, the taken changes give the
/// content of a plain map, whatever merged on the way.
TEST_F(ZmqTables, RandomInterleavingsAgreeWithAMapProperty) {
  using Rows = std::map<std::string, std::map<std::string, std::string>>;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const auto server = serve({.tables = {{.database = "DB", .table = "T", .keys_max = 1 + random.below(40)}}, .receive_frames = 1});
    const auto consumer = subscribe(*server);
    std::unique_ptr<ZmqClient> clients[2];
    for (auto& client : clients) {
      client = connect({.frame_bytes = 1 + random.below(500), .send_frames = 1, .keys_max = 1 + random.below(40)});
    }
    Rows expected;
    Rows seen;
    const auto apply = [](Rows& rows, const Change& change) {
      if (change.op() == ChangeOp::Delete) {
        rows.erase(std::string{change.key()});
        return;
      }
      auto& row = rows[std::string{change.key()}];
      for (const Field field : change.fields()) row[std::string{field.name}] = field.value;
    };
    const auto take_some = [&](std::size_t max) {
      std::vector<Change> changes;
      consumer->take(max, changes);
      for (const Change& change : changes) apply(seen, change);
    };
    for (int step = 0; step < 2000; ++step) {
      const std::size_t who = random.below(2);
      const std::string key = std::to_string(who) + "/" + std::to_string(random.below(50));
      const std::string value = std::to_string(step);
      const std::string name = "f" + std::to_string(random.below(4));
      const std::uint64_t kind = random.below(10);
      const Field field{name, value};
      const Change change = kind < 3   ? Change::remove(key)
                            : kind < 4 ? Change::set(key, {})
                                       : Change::set(key, std::span<const Field>{&field, 1});
      if (table(*clients[who]).write(change).ok()) apply(expected, change);
      if (random.below(4) == 0) scheduler_.turn();
      if (random.below(8) == 0) take_some(1 + random.below(20));
    }
    ASSERT_TRUE(until([&] {
      scheduler_.run_until_idle();  // A frame counts as received before all its entries are applied, which may take several turns.
      const bool paused = server->is_paused();
      take_some(SIZE_MAX);
      std::uint64_t sent = 0;
      for (const auto& client : clients) sent += client->stats().frames;
      return clients[0]->is_flushed() && clients[1]->is_flushed() && server->stats().frames == sent && !paused && consumer->empty();
    })) << "seed "
        << seed;
    ASSERT_EQ(seen, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rondo::store
