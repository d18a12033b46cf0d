// Journal: the file contains what was recorded, whatever the disk does; and what a damaged file still contains.
#include "journal/recorder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <latch>
#include <sstream>
#include <thread>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "journal/fault_kit.h"
#include "journal/files.h"
#include "journal/reader.h"
#include "journal/walk.h"
#include "rondo/base/limits.h"
#include "rondo/base/random.h"
#include "rondo/journal/limits.h"
#include "rondo/sched/source.h"

namespace rondo {
namespace {

namespace fs = std::filesystem;
using journal::JournalReader;
using journal::JournalWalk;
using journal::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr FactKind kHopGroup{"nexthop-group"};
constexpr Instant kStart = Instant::from_nanoseconds(1'000'000'000);
// 2024-09-11 18:55:38.383953 UTC.
constexpr WallTime kSeedTime = WallTime::from_nanoseconds(1'726'080'938'383'953'999);

/// A clock whose wall time is kSeedTime at kStart.
class TestClock final : public Clock {
 public:
  Instant now() const noexcept override { return time; }
  WallTime wall_now() const noexcept override { return kSeedTime + (time - kStart); }
  Instant time = kStart;
};

Change route() { return Change::set("5.5.78.31/32", {{"nexthop_group", "1"}}); }

class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }

  std::string file() const { return (directory_ / "day.journal").string(); }
  JournalOptions options() const { return {.file = file()}; }
  std::unique_ptr<JournalRecorder> open(const JournalOptions& options) {
    Result<std::unique_ptr<JournalRecorder>> journal = JournalRecorder::open(options, clock_);
    EXPECT_TRUE(journal.has_value()) << (journal ? "" : journal.error().to_string());
    return journal ? *std::move(journal) : std::make_unique<JournalRecorder>();
  }
  /// Returns a journal that has recorded its start, and of which kTable is a table. 'device' replaces its disk.
  std::unique_ptr<JournalRecorder> start(const JournalOptions& options, const char* device = nullptr) {
    auto journal = open(options);
    if (device != nullptr) journal::replace_file(options.file, device);
    journal->started(clock_.now(), *resolve_policy(StrictPriority{}));
    EXPECT_EQ(journal->name("ROUTE_TABLE"), kTable);
    return journal;
  }
  static constexpr std::uint32_t kTable = 1;

  static std::string bytes_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::stringstream all;
    all << stream.rdbuf();
    return all.str();
  }
  void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  static std::vector<std::string> words(JournalReader& reader) {
    std::vector<std::string> all;
    for (JournalWalk walk(reader); walk.next();) all.push_back(walk.words());
    return all;
  }
  std::vector<std::string> words(const std::string& path) const {
    auto reader = JournalReader::open(path);
    EXPECT_TRUE(reader.has_value()) << (reader ? "" : reader.error().to_string());
    return reader ? words(**reader) : std::vector<std::string>{};
  }
  std::vector<std::string> words() const { return words(file()); }
  /// The number of missing records according to the file.
  static std::uint64_t missing(const std::string& path) {
    const auto reader = std::move(JournalReader::open(path).value());
    std::uint64_t count = 0;
    for (JournalWalk walk(*reader); walk.next();) count += walk.missing();
    return count;
  }
  static std::uint64_t count(const std::string& path, Kind kind) {
    const auto reader = std::move(JournalReader::open(path).value());
    std::uint64_t found = 0;
    for (JournalWalk walk(*reader); walk.next();) found += walk.record().kind == kind ? 1U : 0U;
    return found;
  }
  std::string swss() const {
    const auto reader = std::move(JournalReader::open(file()).value());
    std::string text;
    for (JournalWalk walk(*reader); walk.next();) text += journal::swss_lines(walk);
    return text;
  }

  TemporaryFolder directory_;
  TestClock clock_;
};

TEST_F(JournalTest, TellsWhatBecameOfAChange) {
  auto journal = start(options());
  journal->became_ready(kTable);
  journal->took(kTable, 1, true);
  journal->changed(kTable, 7, route());
  journal->parked(kTable, 7, route(), std::vector<Fact>{{kHopGroup, "1"}});
  journal->announced({kHopGroup, "1"}, 1);
  journal->retried(kTable, 7, route());
  journal->staged(kTable, 7);
  journal->done(kTable, 7);
  journal->withdrawn({kHopGroup, "1"});
  journal->rejected(kTable, 8, Change::remove("x"), Status{StatusCode::InvalidArgument, "no route"});
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(words(),
              ElementsAre("started", "ready ROUTE_TABLE", "took 1 of ROUTE_TABLE", "changed ROUTE_TABLE 5.5.78.31/32 SET nexthop_group=1",
                          "parked ROUTE_TABLE 5.5.78.31/32 SET nexthop_group=1 on nexthop-group:1", "announced nexthop-group:1 for 1 row",
                          "retried ROUTE_TABLE 5.5.78.31/32 SET nexthop_group=1", "staged ROUTE_TABLE row 7 5.5.78.31/32",
                          "done ROUTE_TABLE row 7 5.5.78.31/32", "withdrawn nexthop-group:1",
                          "rejected ROUTE_TABLE x DEL: invalid-argument: no route"));
  EXPECT_EQ(journal->stats().records, 11U);
  EXPECT_EQ(journal->stats().dropped, 0U);
}

TEST_F(JournalTest, ARestartAndWhatOrchsWriteAreTold) {
  const NexthopEntry single{.id = NexthopId{7}, .gateway = IpAddress::v4(0x0A000001), .port = IfIndex{3}, .members = {}, .onlink = true};
  const NexthopEntry group{.id = NexthopId{8}, .gateway = {}, .port = {}, .members = {{NexthopId{7}, 256}, {NexthopId{9}, 1}}};
  const Prefix prefix = Prefix::parse("2001:db8::/32").value();
  const std::vector<DeleteOrder> deletes{NeighborDelete{IfIndex{3}, IpAddress::v4(0x0A000001)},
                                         RouteDelete{prefix, 100},
                                         NexthopDelete{NexthopId{8}},
                                         DeviceDelete{IfIndex{9}},
                                         FdbDelete{IfIndex{3}, MacAddress::parse("02:00:00:00:00:aa").value()},
                                         AddressDelete{IfIndex{4}, Prefix::parse_interface("10.0.0.1/24").value()}};
  ASSERT_EQ(deletes.size(), std::variant_size_v<DeleteOrder>) << "one of each kind";
  {
    auto journal = start(options());
    journal->kernel_found(12, std::vector{single, group});
    journal->restart_look(false);
    journal->restart_look(true);
    journal->unwanted(deletes);
    journal->write_refused({StatusCode::ResourceExhausted, "the table is full"});
    journal->write_ended(1, {});
    journal->write_ended(2, {StatusCode::Unavailable, "no connection"});
  }
  EXPECT_THAT(words(),
              testing::IsSupersetOf({"kernel found 12 objects", "kernel next hop 7 to 10.0.0.1 on port 3 onlink",
                                     "kernel next hop 8, a group of 7 9", "restart look rows are yet to come",
                                     "restart look the rows of before have come", "write refused resource-exhausted: the table is full",
                                     "write ended number 1: ok", "write ended number 2: unavailable: no connection"}));
  const auto reader = std::move(JournalReader::open(file()).value());
  unsigned found = 0;
  for (JournalWalk walk(*reader); walk.next();) {
    if (walk.record().kind == Kind::KernelNexthop && walk.record().nexthop.id == group.id) {
      EXPECT_EQ(walk.record().nexthop.members, group.members);
      ++found;
    }
    if (walk.record().kind != Kind::Unwanted) continue;
    ++found;
    ASSERT_EQ(walk.record().orders.size(), deletes.size());
    for (std::size_t i = 0; i < deletes.size(); ++i)
      EXPECT_EQ(to_string(order_of(walk.record().orders[i])), to_string(order_of(deletes[i])));
  }
  EXPECT_EQ(found, 2U);
}

TEST_F(JournalTest, ALinkIsReadBackWithWhatItsDeviceIs) {
  std::vector<LinkEvent> events(5);
  events[0].name = "swp1";
  events[0].admin_up = events[0].carrier = true;
  events[0].master = IfIndex{9};
  events[1].name = "swp1.10";
  events[1].vlan = 10;
  events[1].lower = IfIndex{3};
  events[2].name = "PortChannel1";
  events[2].ours = true;
  events[2].bond = BondMode::Lacp;
  events[2].min_links = 1000;
  events[3] = events[2];
  events[3].bond = BondMode::Other;
  events[3].vlan = 7;
  events[3].master = IfIndex{70'000};
  events[3].altered = true;
  events[4].name = "Vlan10";
  events[4].bridge = events[4].ours = events[4].altered = true;
  {
    auto journal = start(options());
    for (const LinkEvent& event : events) journal->link(event);
  }
  const auto reader = std::move(JournalReader::open(file()).value());
  std::vector<LinkEvent> found;
  for (JournalWalk walk(*reader); walk.next();) {
    if (walk.record().kind == Kind::Link) found.push_back(walk.record().link);
  }
  EXPECT_EQ(found, events);
}

// SONiC's RetryCache design, "Logging": the examples, byte for byte.
TEST_F(JournalTest, TextFormsAreThoseOfTheSeed) {
  auto journal = start(options());
  journal->changed(kTable, 0, route());
  journal->parked(kTable, 0, route(), std::vector<Fact>{{kHopGroup, "1"}});
  journal->clock_read(kStart + 43'760'147us);
  journal->announced({kHopGroup, "1"}, 800'000);
  journal->clock_read(kStart + 43'760'267us);
  journal->woken(1);
  journal->retried(kTable, 0, route());
  ASSERT_TRUE(journal->flush().ok());
  const auto reader = std::move(JournalReader::open(file()).value());
  std::string retry;
  for (JournalWalk walk(*reader); walk.next();) retry += journal::retry_lines(walk);
  EXPECT_EQ(swss(),
            "2024-09-11.18:55:38.383953|recording started\n"
            "2024-09-11.18:55:38.383953|ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1\n");
  EXPECT_EQ(retry,
            "2024-09-11.18:55:38.383953| ++++ |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1\n"
            "2024-09-11.18:56:22.144100| (nexthop-group, 1) resolution notified -> 800000 tasks\n"
            "2024-09-11.18:56:22.144220| ---- |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1\n");
}

TEST_F(JournalTest, TextFormsSpellOperationsAndSpecialBytesAsSonicDoesOrInHex) {
  auto journal = start(options());
  const std::vector<Field> fields{{"state", "down"}, {"speed", ""}};
  journal->changed(kTable, 0, Change::set("empty", {}));
  journal->changed(kTable, 1, Change::remove("gone"));
  journal->event(kTable, Change::event("port_state", "Ethernet0", fields));
  journal->changed(kTable, 2, Change::set(std::string_view{"a\nb|c\\d\0e", 9}, {{"\x7f", "\xc3\xa9 ok"}}));
  ASSERT_TRUE(journal->flush().ok());
  const std::string head = "2024-09-11.18:55:38.383953|ROUTE_TABLE:";
  const std::string began = "2024-09-11.18:55:38.383953|recording started\n";
  EXPECT_EQ(swss(), began + head + "empty|SET\n" + head + "gone|DEL\n" + head + "Ethernet0|port_state|state:down|speed:\n" + head +
                        "a\\x0ab\\x7cc\\x5cd\\x00e|SET|\\x7f:\xc3\xa9 ok\n");
}

TEST_F(JournalTest, TextFormsAreUtf8WithoutWhatMisleadsAReader) {
  auto journal = start(options());
  journal->changed(kTable, 0, Change::set("a\xff\u202eb", {{"\u009b", "k\u200b"}}));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(swss(), testing::EndsWith("|ROUTE_TABLE:a\\xff\\xe2\\x80\\xaeb|SET|\\xc2\\x9b:k\\xe2\\x80\\x8b\n"));
}

TEST_F(JournalTest, TextFormsAreInLocalTime) {
  EXPECT_EQ(journal::stamp(kSeedTime), "2024-09-11.18:55:38.383953");
  ::setenv("TZ", "XYZ-05:30", 1);
  ::tzset();
  EXPECT_EQ(journal::stamp(kSeedTime), "2024-09-12.00:25:38.383953");
  EXPECT_EQ(journal::stamp(WallTime::from_nanoseconds(-1)), "1970-01-01.05:29:59.999999");
}

TEST_F(JournalTest, TimeIsThatOfTheTurnAndItsEnd) {
  auto journal = start(options());
  class Nothing final : public Source {
   public:
    Nothing() : Source("nothing", Priority{5}) {}
    Turn run(const Budget&) override { return {}; }
  } nothing;
  const std::uint32_t source = journal->source_added(nothing);
  journal->clock_read(kStart + 1ms);
  journal->woken(source);
  journal->turn_begins(source, kStart + 2ms);
  journal->done(kTable, 1);
  journal->turn_ends({.items = 1, .backlog = Backlog::Empty}, kStart + 5ms);
  journal->withdrawn({kHopGroup, "1"});
  ASSERT_TRUE(journal->flush().ok());
  const auto reader = std::move(JournalReader::open(file()).value());
  std::vector<std::pair<std::string, Duration>> seen;
  for (JournalWalk walk(*reader); walk.next();)
    seen.emplace_back(walk.turn_of() + "/" + std::string{to_string(walk.record().kind)}, walk.time() - kStart);
  using Seen = std::pair<std::string, Duration>;
  EXPECT_THAT(seen, ElementsAre(Seen{"/started", 0ms}, Seen{"/source added", 0ms}, Seen{"/looked", 1ms}, Seen{"/woken", 1ms},
                                Seen{"nothing/turn begins", 2ms}, Seen{"nothing/done", 2ms}, Seen{"nothing/turn ends", 5ms},
                                Seen{"/withdrawn", 5ms}));
}

/// A record given to a journal, to compare with the file.
struct Given {
  Kind kind = Kind::Changed;
  std::uint32_t row = 0;
  ChangeOp op = ChangeOp::Set;
  std::string key;
  std::vector<std::pair<std::string, std::string>> fields;
  std::vector<std::pair<std::string, std::string>> facts;
  std::string why;
};

class GivenMaker {
 public:
  explicit GivenMaker(Random& random) : random_(random) {}
  Given make() {
    constexpr std::array kKinds{Kind::Changed, Kind::Parked, Kind::Delayed, Kind::Rejected, Kind::Retried, Kind::Unparked, Kind::Done};
    Given given;
    given.kind = kKinds[random_.below(kKinds.size())];
    given.row = static_cast<std::uint32_t>(random_.below(random_.chance(0.2) ? 0xFFFFFFFF : 200));
    if (given.kind == Kind::Done) return given;
    given.op = random_.chance(0.2) ? ChangeOp::Delete : ChangeOp::Set;
    given.key = text();
    for (std::uint64_t i = 0, n = random_.below(5); i < n && given.op == ChangeOp::Set; ++i) given.fields.emplace_back(text(), text());
    if (given.kind == Kind::Parked || given.kind == Kind::Delayed) {
      for (std::uint64_t i = 0, n = 1 + random_.below(3); i < n; ++i) given.facts.emplace_back("nexthop-group", text());
    }
    if (given.kind == Kind::Delayed || given.kind == Kind::Rejected) given.why = text();
    return given;
  }

 private:
  std::string text() {
    std::string some(random_.below(random_.chance(0.1) ? 2000 : 40), '\0');
    for (char& c : some) c = static_cast<char>(random_.below(256));
    return some;
  }
  Random& random_;
};

void record(JournalRecorder& journal, std::uint32_t table, const Given& given) {
  std::vector<Field> fields;
  for (const auto& [name, value] : given.fields) fields.push_back({name, value});
  const Change change{given.op, Record::make(given.key, fields)};
  std::vector<Fact> facts;
  for (const auto& [kind, key] : given.facts) facts.push_back({kHopGroup, key});
  switch (given.kind) {
    case Kind::Changed: return journal.changed(table, given.row, change);
    case Kind::Parked: return journal.parked(table, given.row, change, facts);
    case Kind::Delayed: return journal.delayed(table, given.row, change, 100ms, facts, Status{StatusCode::Unavailable, given.why, 11});
    case Kind::Rejected: return journal.rejected(table, given.row, change, Status{StatusCode::InvalidArgument, given.why});
    case Kind::Retried: return journal.retried(table, given.row, change);
    case Kind::Unparked: return journal.unparked(table, given.row, change);
    default: return journal.done(table, given.row);
  }
}

Given given_in(const journal::JournalRecord& record, const journal::Names& names) {
  Given given{
      .kind = record.kind, .row = record.row, .op = record.op, .key = std::string{record.text}, .fields = {}, .facts = {}, .why = {}};
  for (const Field& field : record.fields) given.fields.emplace_back(field.name, field.value);
  for (const auto& fact : record.facts) given.facts.emplace_back(names.of(fact.kind), fact.key);
  given.why = std::string{record.why.message()};
  return given;
}

bool operator==(const Given& a, const Given& b) {
  return a.kind == b.kind && a.row == b.row && a.op == b.op && a.key == b.key && a.fields == b.fields && a.facts == b.facts &&
         a.why == b.why;
}

TEST_F(JournalTest, AnyBytesReadBackAsTheyWereProperty) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fs::remove(file());
    Random random(seed);
    std::vector<Given> given;
    {
      auto journal = start(options());
      GivenMaker maker(random);
      for (int i = 0; i < 500; ++i) {
        record(*journal, kTable, given.emplace_back(maker.make()));
        const bool told = !random.chance(0.01) || journal->flush().ok();
        EXPECT_TRUE(told);
      }
    }
    const auto reader = std::move(JournalReader::open(file()).value());
    EXPECT_TRUE(reader->damage().empty());
    std::size_t next = 0;
    for (JournalWalk walk(*reader); walk.next();) {
      if (walk.record().kind == Kind::Started) continue;
      ASSERT_LT(next, given.size());
      ASSERT_TRUE(given_in(walk.record(), walk.names()) == given[next]) << "record " << next << ": " << walk.words();
      EXPECT_EQ(walk.raw().number, next + 2);
      ++next;
    }
    EXPECT_EQ(next, given.size());
  }
}

TEST_F(JournalTest, ARecordMayBeLongerThanAChunk) {
  auto journal = start(options());
  const std::string value(3'000'000, 'v');
  journal->changed(kTable, 1, Change::set("plain", {{"f", value}}));
  journal->changed(kTable, 2, Change::remove("after"));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(words(), ElementsAre("started", "changed ROUTE_TABLE plain SET f=" + value, "changed ROUTE_TABLE after DEL"));
}

TEST_F(JournalTest, RecordsNothingWithoutAFile) {
  auto journal = open({});
  EXPECT_FALSE(journal->on());
  EXPECT_EQ(journal->name("T"), 0U);
  journal->changed(0, 0, route());
  journal->announced({kHopGroup, "1"}, 1);
  journal->rotate();
  EXPECT_TRUE(journal->flush().ok());
  EXPECT_EQ(journal->stats().records, 0U);
}

TEST_F(JournalTest, ANoteThatIsMadeBeforeTheRunFollowsItsStart) {
  auto journal = open(options());
  journal->note("early", "1");
  journal->started(clock_.now(), *resolve_policy(StrictPriority{}));
  journal->note("late", "2");
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(words(), ElementsAre("started", "note early 1", "note late 2"));
}

TEST_F(JournalTest, OpenNamesTheFileThatFails) {
  const Result<std::unique_ptr<JournalRecorder>> journal = JournalRecorder::open({.file = (directory_ / "absent" / "j").string()}, clock_);
  ASSERT_FALSE(journal.has_value());
  EXPECT_EQ(journal.error().code(), StatusCode::NotFound);
  EXPECT_THAT(std::string{journal.error().message()}, HasSubstr("absent/j"));
}

TEST_F(JournalTest, TheDestructorWritesWhatIsBuffered) {
  auto journal = start(options());
  for (std::uint32_t i = 0; i < 50'000; ++i) journal->changed(kTable, i, route());
  journal.reset();
  EXPECT_EQ(count(file(), Kind::Changed), 50'000U);
}

TEST_F(JournalTest, OpeningAgainAppendsARun) {
  start(options())->changed(kTable, 1, route());
  start(options())->changed(kTable, 1, Change::remove("second"));
  EXPECT_THAT(words(),
              ElementsAre("started", "changed ROUTE_TABLE 5.5.78.31/32 SET nexthop_group=1", "started", "changed ROUTE_TABLE second DEL"));
  EXPECT_EQ(missing(file()), 0U);
}

// --- Files

TEST_F(JournalTest, RotateContinuesInANewFileOfTheSameNameWithTheNames) {
  auto journal = start(options());
  journal->changed(kTable, 1, Change::remove("old"));
  ASSERT_TRUE(journal->flush().ok());
  fs::rename(file(), file() + ".1");
  journal->rotate();
  journal->changed(kTable, 2, Change::remove("new"));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(words(file() + ".1"), ElementsAre("started", "changed ROUTE_TABLE old DEL"));
  EXPECT_THAT(words(), ElementsAre("changed ROUTE_TABLE new DEL"));
}

TEST_F(JournalTest, RotateKeepsTheOldFileWhenTheNewOneCannotBeOpened) {
  auto journal = start(options());
  fs::rename(file(), file() + ".1");
  fs::create_directory(file());
  journal->rotate();
  journal->changed(kTable, 1, Change::remove("kept"));
  EXPECT_FALSE(journal->flush().ok());
  EXPECT_THAT(words(file() + ".1"), ElementsAre("started", "changed ROUTE_TABLE kept DEL"));
  EXPECT_EQ(journal->stats().write_errors, 1U);
  EXPECT_TRUE(journal->flush().ok()) << "an error is told once";
}

TEST_F(JournalTest, FilesAreNoLargerThanToldAndNoMoreAreKept) {
  JournalOptions small = options();
  small.file_bytes = 10'000;
  small.files = 2;
  auto journal = start(small);
  std::uint32_t row = 0;
  for (int block = 0; block < 100; ++block) {
    for (int i = 0; i < 20; ++i) journal->changed(kTable, row++, route());
    ASSERT_TRUE(journal->flush().ok());
  }
  std::vector<std::string> names;
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(directory_)) {
    names.push_back(entry.path().filename().string());
    EXPECT_LE(entry.file_size(), 10'000U);
    bytes += entry.file_size();
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("day.journal", "day.journal.1", "day.journal.2"));
  EXPECT_LE(bytes, 30'000U);
  // Each file can be read alone, and together they are the newest records without a gap.
  std::vector<std::uint32_t> rows;
  for (const char* end : {".2", ".1", ""}) {
    const auto reader = std::move(JournalReader::open(file() + end).value());
    for (JournalWalk walk(*reader); walk.next();) {
      EXPECT_EQ(walk.table(), "ROUTE_TABLE");
      rows.push_back(walk.record().row);
    }
  }
  ASSERT_GT(rows.size(), 200U);
  EXPECT_EQ(rows.back(), row - 1);
  EXPECT_EQ(rows.back() - rows.front() + 1, rows.size());
}

// --- Losses

// /dev/full returns ENOSPC for every write.
TEST_F(JournalTest, AFullDiskIsCountedAndToldWhenThereIsRoomAgain) {
  auto journal = start(options(), "/dev/full");
  for (std::uint32_t i = 0; i < 1000; ++i) journal->changed(kTable, i, route());
  const Status status = journal->flush();
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.origin_errno(), ENOSPC);
  EXPECT_EQ(journal->stats().records, 1001U);
  EXPECT_EQ(journal->stats().dropped, 1001U);
  EXPECT_GE(journal->stats().write_errors, 1U);

  fs::remove(file());
  journal->rotate();
  journal->changed(kTable, 1, Change::remove("after"));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(words(), ElementsAre("changed ROUTE_TABLE after DEL"));
  EXPECT_EQ(missing(file()), 1001U);
}

/// Runs in a child: a file limit within a block, then a higher one. Returns 0 on success.
int run_into_the_file_limit(const JournalOptions& options, const Clock& clock) {
  auto journal = JournalRecorder::open(options, clock);
  if (!journal) return 1;
  (*journal)->started(clock.now(), *resolve_policy(StrictPriority{}));
  const std::uint32_t table = (*journal)->name("ROUTE_TABLE");
  if (!(*journal)->flush().ok()) return 2;
  const rlimit limit{200, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
  for (std::uint32_t i = 0; i < 3; ++i) (*journal)->changed(table, i, route());
  if ((*journal)->flush().origin_errno() != EFBIG) return 4;
  const rlimit open_limit{RLIM_INFINITY, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_FSIZE, &open_limit) != 0) return 5;
  (*journal)->changed(table, 3, Change::remove("after"));
  if (!(*journal)->flush().ok()) return 6;
  return (*journal)->stats().dropped == 3 ? 0 : 7;
}

// The limit's signal (SIGXFSZ) would end a process that does not handle it. The partly written block is truncated.
TEST_F(JournalTest, AFileLimitNeitherKillsTheProcessNorTearsTheFile) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(run_into_the_file_limit(options(), clock_));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  ASSERT_EQ(WEXITSTATUS(status), 0);
  const auto reader = std::move(JournalReader::open(file()).value());
  EXPECT_TRUE(reader->damage().empty());
  EXPECT_THAT(words(*reader), ElementsAre("started", "changed ROUTE_TABLE after DEL"));
  EXPECT_EQ(missing(file()), 3U);
}

TEST_F(JournalTest, ARecordBeyondTheBufferIsLostAndTheFileSaysSo) {
  JournalOptions small = options();
  small.buffer_bytes = 8000;
  auto journal = start(small);
  journal->changed(kTable, 1, Change::set("huge", {{"f", std::string(9000, 'x')}}));
  journal->changed(kTable, 2, Change::set("huge", {{"f", std::string(9000, 'x')}}));
  journal->changed(kTable, 3, Change::remove("small"));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(words(), ElementsAre("started", "lost 2 records", "changed ROUTE_TABLE small DEL"));
  EXPECT_EQ(journal->stats().dropped, 2U);
}

// No buffer size helps a record that exceeds the format's limit.
TEST_F(JournalTest, ARecordBeyondTheFormIsLostThoughTheBufferHasRoomLarge) {
  EXPECT_EQ(JournalOptions{}.buffer_bytes, limits::kJournalBytes);
  JournalOptions large = options();
  large.buffer_bytes = 2 * limits::kJournalRecordBytes;
  auto journal = start(large);
  {
    const std::string quarter(limits::kValueBytes, 'x');
    journal->changed(kTable, 1, Change::set("huge", {{"1", quarter}, {"2", quarter}, {"3", quarter}, {"4", quarter}}));
  }
  journal->changed(kTable, 2, Change::remove("small"));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(words(), ElementsAre("started", "lost 1 record", "changed ROUTE_TABLE small DEL"));
  EXPECT_EQ(journal->stats().dropped, 1U);
}

// A pipe without a reader simulates a disk that hangs: the writer blocks, the recording thread must not.
TEST_F(JournalTest, AHangingDiskCostsCountedLossesAndNoWaiting) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const int pipe = ends[0];
  JournalOptions small = options();
  small.buffer_bytes = 200'000;
  auto journal = open(small);
  journal::replace_file(file(), ends[1]);
  ::close(ends[1]);
  journal->started(clock_.now(), *resolve_policy(StrictPriority{}));
  ASSERT_EQ(journal->name("ROUTE_TABLE"), kTable);
  constexpr std::uint32_t kRecords = 30'000;  // More than the pipe and the buffer hold.
  for (std::uint32_t i = 0; i < kRecords; ++i) journal->changed(kTable, i, route());
  const std::uint64_t dropped = journal->stats().dropped;
  EXPECT_GT(dropped, 0U);

  std::string all;  // The disk works again: read until the journal closes its end.
  std::thread disk([&] {
    std::vector<char> buffer(65536);
    for (ssize_t got = 0; (got = ::read(pipe, buffer.data(), buffer.size())) > 0;) all.append(buffer.data(), static_cast<std::size_t>(got));
  });
  ASSERT_TRUE(journal->flush().ok());
  journal->changed(kTable, kRecords, route());
  journal.reset();
  disk.join();
  ::close(pipe);
  write(file() + ".copy", all);
  EXPECT_EQ(count(file() + ".copy", Kind::Changed) + dropped, kRecords + 1);
  EXPECT_EQ(missing(file() + ".copy"), dropped);
}

// For the thread sanitizer: every function that any thread may call, while the scheduler's thread records.
TEST_F(JournalTest, OtherThreadsMayRotateFlushAndReadFigures) {
  auto journal = start(options());
  std::atomic<bool> stop{false};
  constexpr unsigned kMostFiles = 200;
  std::vector<std::string> files{file()};
  std::latch rotated{1};
  std::thread other([&] {
    while (!stop) {
      const bool moves = files.size() < kMostFiles;
      if (moves) {
        files.push_back(file() + "." + std::to_string(files.size()));
        fs::rename(file(), files.back());
      }
      journal->rotate();
      EXPECT_TRUE(journal->flush().ok());
      EXPECT_EQ(journal->stats().dropped, 0U);
      if (moves && files.size() == 2) rotated.count_down();
    }
  });
  rotated.wait();  // Recording continues during these calls.
  constexpr std::uint32_t kRecords = 20'000;
  for (std::uint32_t i = 0; i < kRecords; ++i) {
    journal->changed(kTable, i, route());
    if (i % 100 == 0) journal->parked(kTable, i, route(), std::vector<Fact>{{kHopGroup, std::to_string(i)}});
    if (i % 1000 == 0) static_cast<void>(journal->name("TABLE" + std::to_string(i)));
  }
  stop = true;
  other.join();
  ASSERT_TRUE(journal->flush().ok());
  const auto all = std::move(journal::JournalFiles::open(files).value());
  EXPECT_TRUE(all.gaps.empty());
  std::uint64_t changed = 0;
  for (JournalWalk walk(all.readers); walk.next();) changed += walk.record().kind == Kind::Changed ? 1U : 0U;
  EXPECT_EQ(changed, kRecords);
}

// --- Damage

class DamagedJournal : public JournalTest {
 protected:
  /// A file of four blocks of records, one change each but the first.
  DamagedJournal() {
    auto journal = start(options());
    for (std::uint32_t i = 0; i < 4; ++i) {
      journal->changed(kTable, i, Change::remove("key" + std::to_string(i)));
      static_cast<void>(journal->flush());
    }
    journal.reset();
    whole_ = bytes_of(file());
    std::vector<journal::Damage> damage;
    for (const journal::Block& block : journal::find_blocks(whole_, damage)) {
      if (block.head.kind == journal::BlockKind::Records) blocks_.push_back(block);
    }
  }
  std::vector<std::string> keys(const std::string& bytes, std::vector<journal::Damage>* damage = nullptr) {
    JournalReader reader("damaged", bytes);
    std::vector<std::string> found;
    for (JournalWalk walk(reader); walk.next();) {
      if (walk.record().kind == Kind::Changed) found.push_back(walk.key());
    }
    if (damage != nullptr) *damage = reader.damage();
    return found;
  }

  std::string whole_;
  std::vector<journal::Block> blocks_;
};

TEST_F(DamagedJournal, ATailThatIsTornAnywhereIsToldAndTheRestIsRead) {
  ASSERT_EQ(blocks_.size(), 4U);
  const auto last = static_cast<std::size_t>(blocks_.back().offset);
  for (std::size_t size = last; size < whole_.size(); ++size) {
    std::vector<journal::Damage> damage;
    EXPECT_THAT(keys(whole_.substr(0, size), &damage), ElementsAre("key0", "key1", "key2"));
    ASSERT_EQ(damage.size(), size == last ? 0U : 1U) << "at " << size;
    if (size == last) continue;
    EXPECT_EQ(damage.front().offset, last);
    EXPECT_EQ(damage.front().bytes, size - last);
    EXPECT_TRUE(damage.front().at_end);
  }
}

TEST_F(DamagedJournal, ABlockInWhichAnyByteIsWrongIsLeftOutAndTold) {
  const journal::Block& block = blocks_[1];
  const std::size_t end = static_cast<std::size_t>(block.offset) + journal::kHeadBytes + block.head.payload_bytes;
  for (std::size_t at = static_cast<std::size_t>(block.offset); at < end; ++at) {
    std::string bytes = whole_;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x41);
    std::vector<journal::Damage> damage;
    EXPECT_THAT(keys(bytes, &damage), ElementsAre("key0", "key2", "key3")) << "byte " << at;
    ASSERT_EQ(damage.size(), 1U);
    EXPECT_EQ(damage.front().offset, block.offset);
    EXPECT_EQ(damage.front().bytes, end - block.offset);
    EXPECT_FALSE(damage.front().at_end);
  }
}

TEST_F(DamagedJournal, TheRecordsOfADamagedBlockAreMissing) {
  std::string bytes = whole_;
  bytes[static_cast<std::size_t>(blocks_[1].offset) + 20] ^= 1;
  JournalReader reader("damaged", bytes);
  std::vector<std::uint64_t> missing;
  for (JournalWalk walk(reader); walk.next();) missing.push_back(walk.missing());
  EXPECT_THAT(missing, ElementsAre(0U, 0U, 1U, 0U));
}

TEST_F(DamagedJournal, WhatWasAppendedBehindATornTailIsRead) {
  write(file(), whole_.substr(0, whole_.size() - 5));
  start(options())->changed(kTable, 9, Change::remove("appended"));
  EXPECT_THAT(keys(bytes_of(file())), ElementsAre("key0", "key1", "key2", "appended"));
}

TEST_F(DamagedJournal, AFileThatIsNoneIsAnErrorThatNamesItAndSaysWhy) {
  write(file(), "2024-09-11.18:55:38.383953|ROUTE_TABLE:5.5.78.31/32|SET\n");
  const auto reader = JournalReader::open(file());
  ASSERT_FALSE(reader.has_value());
  EXPECT_EQ(reader.error().code(), StatusCode::DataLoss);
  EXPECT_THAT(std::string{reader.error().message()},
              testing::AllOf(HasSubstr(file()), HasSubstr("offset 0"), HasSubstr("no block begins")));
  EXPECT_EQ(JournalReader::open(directory_.string()).error().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(JournalReader::open(file() + ".absent").error().code(), StatusCode::NotFound);
}

// The file is as long as the head states, or longer, and has no content. The length is invalid because no writer makes such a block.
TEST_F(DamagedJournal, ABlockLongerThanAnyCanBeIsLeftOutAndToldLarge) {
  std::string bytes = whole_;
  const journal::Block& last = blocks_.back();
  journal::BlockHead head = last.head;
  head.payload_bytes = static_cast<std::uint32_t>(journal::kBlockBytes) + 1;
  std::memcpy(bytes.data() + last.offset, &head, journal::kHeadBytes);
  write(file(), bytes);
  std::filesystem::resize_file(file(), last.offset + journal::kHeadBytes + head.payload_bytes + 1);
  auto reader = JournalReader::open(file());
  ASSERT_TRUE(reader.has_value()) << reader.error().to_string();
  std::vector<std::string> found;
  for (JournalWalk walk(**reader); walk.next();) {
    if (walk.record().kind == Kind::Changed) found.push_back(walk.key());
  }
  EXPECT_THAT(found, ElementsAre("key0", "key1", "key2"));
  ASSERT_EQ((*reader)->damage().size(), 1U);
  EXPECT_EQ((*reader)->damage().front().reason, "a block of impossible length");
  EXPECT_EQ((*reader)->damage().front().offset, last.offset);
}

TEST_F(DamagedJournal, AnotherVersionIsNamed) {
  std::string bytes = whole_;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (bytes.compare(at, 4, "RNDJ") == 0) bytes[at + 4] = 9;
  }
  write(file(), bytes);
  const auto reader = JournalReader::open(file());
  ASSERT_FALSE(reader.has_value());
  EXPECT_THAT(std::string{reader.error().message()}, HasSubstr("format 9"));
}

TEST_F(DamagedJournal, AnyDamageIsSurvivedProperty) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    std::string bytes = whole_;
    for (std::uint64_t i = 0, n = 1 + random.below(20); i < n; ++i) {
      const std::size_t at = random.below(bytes.size());
      switch (random.below(3)) {
        case 0: bytes[at] = static_cast<char>(random.below(256)); break;
        case 1: bytes.erase(at, random.below(40)); break;
        default: bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(100)));
      }
      if (bytes.empty()) break;
    }
    // Every key that is read must be one that was written.
    for (const std::string& key : keys(bytes)) EXPECT_THAT(key, testing::StartsWith("key")) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rondo
