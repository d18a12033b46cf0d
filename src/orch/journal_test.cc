// Journal: what is recorded is what the files say, one record a line, whatever the disk does.
#include "rondo/orch/journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

namespace rondo {
namespace {

namespace fs = std::filesystem;

constexpr ConstraintKind kGroup{"nexthop-group"};
// 2024-09-11 18:55:38.383953 UTC.
constexpr WallTime kSeedTime = WallTime::from_nanoseconds(1'726'080'938'383'953'999);

class FixedClock final : public Clock {
 public:
  Instant now() const noexcept override { return {}; }
  WallTime wall_now() const noexcept override { return kSeedTime; }
};

class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    std::string pattern = (fs::temp_directory_path() / "rondo-journal-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    directory_ = pattern;
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  ~JournalTest() override { fs::remove_all(directory_); }

  JournalOptions options() const { return {.directory = directory_.string()}; }
  std::unique_ptr<Journal> open(const JournalOptions& options) {
    Result<std::unique_ptr<Journal>> journal = Journal::open(options, clock_);
    EXPECT_TRUE(journal.has_value()) << (journal ? "" : journal.error().to_string());
    return journal ? *std::move(journal) : std::make_unique<Journal>();
  }
  std::string text(const std::string& name) const {
    std::ifstream file(directory_ / name, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) all.push_back(line);
    return all;
  }

  fs::path directory_;
  FixedClock clock_;
};

/// The number in "...|recording lost N records: ...", or 0 for any other line.
std::uint64_t told_losses(const std::string& line) {
  const std::size_t at = line.find("|recording lost ");
  return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at + 16, nullptr, 10);
}

Change route() { return Change::set("5.5.78.31/32", {{"nexthop_group", "1"}}); }

// Seed 002, "Logging": the examples, byte for byte.
TEST_F(JournalTest, LinesAreThoseOfTheSeed) {
  auto journal = open(options());
  journal->consumed("ROUTE_TABLE", route());
  journal->parked("ROUTE_TABLE", route());
  journal->set_time(WallTime::from_nanoseconds(1'726'080'982'144'100'000));
  journal->resolved({kGroup, "1"}, 800'000);
  journal->set_time(WallTime::from_nanoseconds(1'726'080'982'144'220'000));
  journal->retried("ROUTE_TABLE", route());
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_EQ(text("swss.rec"), "2024-09-11.18:55:38.383953|ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1\n");
  EXPECT_EQ(text("retry.rec"),
            "2024-09-11.18:55:38.383953| ++++ |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1\n"
            "2024-09-11.18:56:22.144100|(nexthop-group, 1) resolution notified -> 800000 tasks\n"
            "2024-09-11.18:56:22.144220| ---- |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1\n");
  EXPECT_EQ(journal->stats().lines, 4U);
  EXPECT_EQ(journal->stats().dropped, 0U);
}

TEST_F(JournalTest, OperationsAreSpelledAsSonicSpellsThem) {
  auto journal = open(options());
  const std::vector<Field> fields{{"state", "down"}, {"speed", ""}};
  journal->consumed("T", Change::set("empty", {}));
  journal->consumed("T", Change::remove("gone"));
  journal->consumed("T", Change::event("port_state", "Ethernet0", fields));
  ASSERT_TRUE(journal->flush().ok());
  const std::string stamp = "2024-09-11.18:55:38.383953|";
  EXPECT_EQ(text("swss.rec"), stamp + "T:empty|SET\n" + stamp + "T:gone|DEL\n" + stamp + "T:Ethernet0|port_state|state:down|speed:\n");
}

TEST_F(JournalTest, TimeIsLocal) {
  ::setenv("TZ", "XYZ-05:30", 1);
  ::tzset();
  auto journal = open(options());
  journal->consumed("T", Change::remove("k"));
  journal->set_time(WallTime::from_nanoseconds(-1));
  journal->consumed("T", Change::remove("k"));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_EQ(text("swss.rec"), "2024-09-12.00:25:38.383953|T:k|DEL\n1970-01-01.05:29:59.999999|T:k|DEL\n");
}

TEST_F(JournalTest, SpecialBytesAreWrittenInHex) {
  auto journal = open(options());
  journal->consumed("T", Change::set(std::string_view{"a\nb|c\\d\0e", 9}, {{"\x7f", "\xc3\xa9 ok"}}));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_EQ(text("swss.rec"), "2024-09-11.18:55:38.383953|T:a\\x0ab\\x7cc\\x5cd\\x00e|SET|\\x7f:\xc3\xa9 ok\n");
}

/// The text that "\xHH" stands for; the inverse of what the journal does.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      plain.push_back(text[i]);
      continue;
    }
    plain.push_back(static_cast<char>(std::stoi(std::string{text.substr(i + 2, 2)}, nullptr, 16)));
    i += 3;
  }
  return plain;
}

// Every byte at every position of a word: the fast scan must see what the table sees.
TEST_F(JournalTest, EveryByteAtEveryPositionStaysWithinOneLine) {
  auto journal = open(options());
  std::vector<std::string> keys;
  for (std::size_t position = 0; position < 17; ++position) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::string key(17, position % 2 == 0 ? 'a' : '\xff');
      key[position] = static_cast<char>(byte);
      keys.push_back(key);
      journal->consumed("T", Change::remove(key));
    }
  }
  ASSERT_TRUE(journal->flush().ok());
  const std::vector<std::string> all = lines(text("swss.rec"));
  ASSERT_EQ(all.size(), keys.size());
  const std::string head = "2024-09-11.18:55:38.383953|T:";
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].substr(0, head.size()), head);
    const std::string body = all[i].substr(head.size());
    ASSERT_EQ(std::count(body.begin(), body.end(), '|'), 1);
    ASSERT_EQ(unescaped(body.substr(0, body.find('|'))), keys[i]);
  }
}

TEST_F(JournalTest, AnyBytesGiveExactlyOneLineAndCanBeReadBack) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    fs::remove(directory_ / "swss.rec");
    std::mt19937 random(seed);
    const auto any_text = [&] {
      std::string some(random() % 300, '\0');
      for (char& c : some) c = static_cast<char>(random() % (random() % 2 == 0 ? 256U : 0x30U));
      return some;
    };
    auto journal = open(options());
    std::vector<std::vector<std::string>> expected;
    for (int line = 0; line < 200; ++line) {
      std::vector<std::string> texts(1 + 2 * (random() % 6));
      std::vector<Field> fields;
      for (std::string& some : texts) some = any_text();
      for (std::size_t i = 1; i < texts.size(); i += 2) fields.push_back({texts[i], texts[i + 1]});
      journal->consumed("T", Change::set(texts[0], fields));
      expected.push_back(texts);
    }
    ASSERT_TRUE(journal->flush().ok());
    const std::vector<std::string> all = lines(text("swss.rec"));
    ASSERT_EQ(all.size(), expected.size()) << "seed " << seed;
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::string line = "2024-09-11.18:55:38.383953|T:" + expected[i][0] + "|SET";
      for (std::size_t f = 1; f < expected[i].size(); f += 2) line += "|" + expected[i][f] + ":" + expected[i][f + 1];
      ASSERT_EQ(unescaped(all[i]), line) << "seed " << seed << " line " << i;
    }
  }
}

TEST_F(JournalTest, ALineMayBeLongerThanAChunk) {
  auto journal = open(options());
  const std::string value(3'000'000, 'v');
  const std::string bars(1'000'000, '|');
  journal->consumed("T", Change::set("plain", {{"f", value}}));
  journal->consumed("T", Change::set("bars", {{"f", bars}}));
  journal->consumed("T", Change::remove("after"));
  ASSERT_TRUE(journal->flush().ok());
  const std::vector<std::string> all = lines(text("swss.rec"));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].size(), std::string_view{"2024-09-11.18:55:38.383953|T:plain|SET|f:"}.size() + value.size());
  EXPECT_EQ(all[1].size(), std::string_view{"2024-09-11.18:55:38.383953|T:bars|SET|f:"}.size() + 4 * bars.size());
  EXPECT_EQ(all[2], "2024-09-11.18:55:38.383953|T:after|DEL");
}

TEST_F(JournalTest, RecordsNothingWithoutADirectory) {
  auto journal = open({});
  journal->consumed("T", route());
  journal->resolved({kGroup, "1"}, 1);
  journal->set_time(kSeedTime);
  journal->rotate();
  EXPECT_TRUE(journal->flush().ok());
  EXPECT_EQ(journal->stats().lines, 0U);
}

TEST_F(JournalTest, OnlyTheFilesThatAreAskedForExist) {
  JournalOptions only_changes = options();
  only_changes.record_retries = false;
  auto journal = open(only_changes);
  journal->consumed("T", route());
  journal->parked("T", route());
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_EQ(lines(text("swss.rec")).size(), 1U);
  EXPECT_FALSE(fs::exists(directory_ / "retry.rec"));
}

TEST_F(JournalTest, OpenNamesTheFileThatFails) {
  const Result<std::unique_ptr<Journal>> journal = Journal::open({.directory = (directory_ / "absent").string()}, clock_);
  ASSERT_FALSE(journal.has_value());
  EXPECT_EQ(journal.error().code(), Code::NotFound);
  EXPECT_NE(journal.error().message().find("absent/swss.rec"), std::string_view::npos);
}

TEST_F(JournalTest, TheDestructorWritesWhatIsBuffered) {
  auto journal = open(options());
  for (int i = 0; i < 50'000; ++i) journal->consumed("T", route());
  journal.reset();
  EXPECT_EQ(lines(text("swss.rec")).size(), 50'000U);
}

TEST_F(JournalTest, OpeningAgainAppends) {
  open(options())->consumed("T", route());
  open(options())->consumed("T", route());
  EXPECT_EQ(lines(text("swss.rec")).size(), 2U);
}

TEST_F(JournalTest, RotateContinuesInANewFileOfTheSameName) {
  auto journal = open(options());
  journal->consumed("T", Change::remove("old"));
  ASSERT_TRUE(journal->flush().ok());
  fs::rename(directory_ / "swss.rec", directory_ / "swss.rec.1");
  journal->rotate();
  journal->consumed("T", Change::remove("new"));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_EQ(text("swss.rec.1"), "2024-09-11.18:55:38.383953|T:old|DEL\n");
  EXPECT_EQ(text("swss.rec"), "2024-09-11.18:55:38.383953|T:new|DEL\n");
}

TEST_F(JournalTest, RotateKeepsTheOldFileWhenTheNewOneCannotBeOpened) {
  auto journal = open(options());
  fs::rename(directory_ / "swss.rec", directory_ / "swss.rec.1");
  fs::create_directory(directory_ / "swss.rec");
  journal->rotate();
  journal->consumed("T", Change::remove("kept"));
  const Status status = journal->flush();
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(text("swss.rec.1"), "2024-09-11.18:55:38.383953|T:kept|DEL\n");
  EXPECT_EQ(journal->stats().write_errors, 1U);
  EXPECT_TRUE(journal->flush().ok()) << "an error is told once";
}

// /dev/full answers every write with ENOSPC.
TEST_F(JournalTest, AFullDiskIsCountedAndToldWhenThereIsRoomAgain) {
  fs::create_symlink("/dev/full", directory_ / "swss.rec");
  auto journal = open(options());
  for (int i = 0; i < 1000; ++i) journal->consumed("T", route());
  const Status status = journal->flush();
  EXPECT_EQ(status.code(), Code::ResourceExhausted);
  EXPECT_EQ(status.origin_errno(), ENOSPC);
  EXPECT_EQ(journal->stats().lines, 1000U);
  EXPECT_EQ(journal->stats().dropped, 1000U);
  EXPECT_GE(journal->stats().write_errors, 1U);

  fs::remove(directory_ / "swss.rec");
  journal->rotate();
  journal->consumed("T", Change::remove("after"));
  ASSERT_TRUE(journal->flush().ok());
  const std::vector<std::string> all = lines(text("swss.rec"));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(told_losses(all[0]), 1000U) << all[0];
  EXPECT_NE(all[0].find("No space left on device"), std::string::npos);
  EXPECT_EQ(all[1], "2024-09-11.18:55:38.383953|T:after|DEL");
}

/// In a child: a file limit within a line, then more room. Returns 0 when all went as it should.
int run_into_the_file_limit(const JournalOptions& options, const Clock& clock) {
  const rlimit limit{100, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  auto journal = Journal::open(options, clock);
  if (!journal) return 2;
  for (int i = 0; i < 3; ++i) (*journal)->consumed("T", Change::remove("0123456789"));
  if ((*journal)->flush().origin_errno() != EFBIG) return 3;
  const rlimit open_limit{RLIM_INFINITY, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_FSIZE, &open_limit) != 0) return 4;
  (*journal)->consumed("T", Change::remove("after"));
  if (!(*journal)->flush().ok()) return 5;
  return (*journal)->stats().dropped == 1 ? 0 : 6;
}

// The limit's signal (SIGXFSZ) ends a process that does not expect it; a partial write leaves a line without its end.
TEST_F(JournalTest, AFileLimitNeitherKillsTheProcessNorJoinsTwoLines) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(run_into_the_file_limit(options(), clock_));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  ASSERT_EQ(WEXITSTATUS(status), 0);
  const std::vector<std::string> all = lines(text("swss.rec"));
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0], "2024-09-11.18:55:38.383953|T:0123456789|DEL");
  EXPECT_EQ(all[1], all[0]);
  EXPECT_EQ(all[2], all[0].substr(0, 100 - 2 * (all[0].size() + 1))) << "cut by the limit";
  EXPECT_EQ(told_losses(all[3]), 1U);
  EXPECT_EQ(all[4], "2024-09-11.18:55:38.383953|T:after|DEL");
}

TEST_F(JournalTest, ALineBeyondTheBufferIsDroppedAndTheFileSaysSo) {
  JournalOptions small = options();
  small.buffer_bytes = 4000;
  auto journal = open(small);
  journal->consumed("T", Change::set("huge", {{"f", std::string(5000, 'x')}}));
  journal->consumed("T", Change::set("huge", {{"f", std::string(5000, 'x')}}));
  journal->consumed("T", Change::remove("small"));
  ASSERT_TRUE(journal->flush().ok());
  const std::vector<std::string> all = lines(text("swss.rec"));
  ASSERT_GE(all.size(), 2U);
  std::uint64_t told = 0;
  for (const std::string& line : all) told += told_losses(line);
  EXPECT_EQ(told, 2U);
  EXPECT_EQ(all.back(), "2024-09-11.18:55:38.383953|T:small|DEL");
  EXPECT_EQ(journal->stats().lines, 1U);
  EXPECT_EQ(journal->stats().dropped, 2U);
}

// A pipe that nobody reads stands for a disk that hangs: the writer blocks, the recording thread must not.
TEST_F(JournalTest, AHangingDiskCostsCountedDropsAndNoWaiting) {
  ASSERT_EQ(::mkfifo((directory_ / "swss.rec").c_str(), 0600), 0);
  const int reader = ::open((directory_ / "swss.rec").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  JournalOptions small = options();
  small.buffer_bytes = 200'000;
  auto journal = open(small);
  constexpr std::uint64_t kRecords = 20'000;  // 1.3 MB: more than the pipe and the buffer hold.
  for (std::uint64_t i = 0; i < kRecords; ++i) journal->consumed("ROUTE_TABLE", route());
  EXPECT_GT(journal->stats().dropped, 0U);
  EXPECT_EQ(journal->stats().lines + journal->stats().dropped, kRecords);

  ASSERT_EQ(::fcntl(reader, F_SETFL, 0), 0);  // The disk comes back: read until the journal closes its end.
  std::string all;
  std::thread disk([&] {
    std::vector<char> buffer(65536);
    for (ssize_t got = 0; (got = ::read(reader, buffer.data(), buffer.size())) > 0;)
      all.append(buffer.data(), static_cast<std::size_t>(got));
  });
  ASSERT_TRUE(journal->flush().ok());
  journal->consumed("ROUTE_TABLE", route());
  const std::uint64_t accepted = journal->stats().lines;
  journal.reset();
  disk.join();
  ::close(reader);
  std::uint64_t records = 0;
  std::uint64_t told = 0;
  for (const std::string& line : lines(all)) {
    told += told_losses(line);
    if (told_losses(line) == 0) ++records;
  }
  EXPECT_EQ(records, accepted);
  EXPECT_EQ(records + told, kRecords + 1);
}

// For the thread sanitizer: every function that any thread may call, while the scheduler's thread records.
TEST_F(JournalTest, OtherThreadsMayRotateFlushAndReadFigures) {
  auto journal = open(options());
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      journal->rotate();
      EXPECT_TRUE(journal->flush().ok());
      EXPECT_EQ(journal->stats().dropped, 0U);
    }
  });
  constexpr int kRecords = 20'000;
  for (int i = 0; i < kRecords; ++i) {
    if (i % 128 == 0) journal->set_time(kSeedTime + Duration{i});
    journal->consumed("T", route());
    journal->parked("T", route());
  }
  stop = true;
  other.join();
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_EQ(lines(text("swss.rec")).size(), static_cast<std::size_t>(kRecords));
  EXPECT_EQ(lines(text("retry.rec")).size(), static_cast<std::size_t>(kRecords));
}

}  // namespace
}  // namespace rondo
