// The program on the file of a durable store, as an operator uses it while the daemon is down: the content, whether it is whole, and its
// rows in the form of load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing/temporary_folder.h"
#include "commands/load.h"
#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/durable_store.h"

namespace rondo::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Outcome {
  int code = -1;
  std::string out;  // Standard output and standard error together.
};

class FileCli : public testing::Test {
 protected:
  std::string path() const { return folder_.file("tables"); }
  Outcome rondo(const std::string& words) const {
    const std::string line = std::string{std::getenv("RONDO")} + " --store 'file://" + path() + "' " + words + " 2>&1";
    FILE* const pipe = ::popen(line.c_str(), "r");
    Outcome outcome;
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) outcome.out.push_back(static_cast<char>(c));
    const int status = ::pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
  }
  /// Makes two rows and a Delete in ROUTE_TABLE, and an entry in COMMANDS.
  template <class Then>
  void with_store(const Then& then) {
    const SystemClock clock;
    const std::unique_ptr<Reactor> reactor = make_epoll_reactor().value();
    Scheduler scheduler{clock, *reactor, *make_policy(StrictPriority{})};
    auto store = std::move(DurableStore::open(scheduler, {.path = path()}).value());
    ASSERT_TRUE(store->declare({.name = "ROUTE_TABLE"}).ok());
    ASSERT_TRUE(store->declare({.name = "COMMANDS", .kind = TableKind::Queue}).ok());
    for (const char* const key : {"10.0.0.0/8", "20.0.0.0/8", "30.0.0.0/8"}) {
      ASSERT_TRUE(store->write("ROUTE_TABLE", Change::set(key, {{"nexthop_group", "1"}})).ok());
    }
    ASSERT_TRUE(store->write("ROUTE_TABLE", Change::remove("30.0.0.0/8")).ok());
    const Field reason{"reason", "a test"};
    ASSERT_TRUE(store->write("COMMANDS", Change::event("flush", "all", {&reason, 1})).ok());
    ASSERT_TRUE(store->finish().ok());
    then();
  }
  void make_file() {
    with_store([] {});
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(FileCli, ShowsWhatIsInIt) {
  make_file();
  EXPECT_THAT(rondo("tables").out, AllOf(HasSubstr("ROUTE_TABLE"), HasSubstr("COMMANDS"), HasSubstr("queue")));
  EXPECT_EQ(rondo("keys ROUTE_TABLE").out, "10.0.0.0/8\n20.0.0.0/8\n");
  EXPECT_THAT(rondo("get ROUTE_TABLE 10.0.0.0/8").out, HasSubstr("nexthop_group"));
  EXPECT_EQ(rondo("get ROUTE_TABLE 30.0.0.0/8").code, 1);
  EXPECT_THAT(rondo("pending ROUTE_TABLE").out, HasSubstr("30.0.0.0/8"));
  EXPECT_THAT(rondo("pending COMMANDS").out, AllOf(HasSubstr("all"), HasSubstr("EVENT")));
  EXPECT_EQ(rondo("--json pending COMMANDS").out, "{\"rows\":[{\"key\":\"all\",\"op\":\"EVENT\",\"fields\":[[\"reason\",\"a test\"]]}]}\n");
  const Outcome unknown = rondo("keys ROUTE");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.out, HasSubstr("no table 'ROUTE'"));
  const Outcome doctor = rondo("doctor");
  EXPECT_EQ(doctor.code, 0);
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("rows = 2"), HasSubstr("tables = 2")));
}

TEST_F(FileCli, ExportsWhatLoadTakes) {
  make_file();
  const Outcome exported = rondo("export");
  EXPECT_EQ(exported.code, 0);
  const auto rows = parse_load(exported.out, "export");
  ASSERT_TRUE(rows.has_value()) << rows.error().to_string() << exported.out;
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].table, "ROUTE_TABLE");
  EXPECT_EQ((*rows)[0].key, "10.0.0.0/8");
  ASSERT_EQ((*rows)[0].fields.size(), 1U);
  EXPECT_EQ((*rows)[0].fields[0].second, "1");
  EXPECT_EQ(rondo("export COMMANDS").out, "[]\n");
}

TEST_F(FileCli, NamesWhatIsWrong) {
  const Outcome missing = rondo("doctor");
  EXPECT_NE(missing.code, 0);
  EXPECT_THAT(missing.out, HasSubstr("no file"));
  with_store([this] {
    const Outcome busy = rondo("doctor");
    EXPECT_EQ(busy.code, 69);
    EXPECT_THAT(busy.out, HasSubstr("another process has it open"));
  });
  EXPECT_THAT(rondo("set ROUTE_TABLE a b=c").out, HasSubstr("can only be read"));
  std::filesystem::rename(path(), path() + ".kept");
  std::ofstream(path()) << "Dear operator, this is no database. " << std::string(200, '.');
  EXPECT_EQ(rondo("doctor").code, 78) << "to try again would not help";
  std::filesystem::rename(path() + ".kept", path());
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path())) - 30);
    file << "something else";
  }
  const Outcome damaged = rondo("doctor");
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.out, AllOf(HasSubstr("problem"), HasSubstr("checksum")));
  for (const char* const words : {"export", "keys ROUTE_TABLE", "get ROUTE_TABLE 10.0.0.0/8", "tables", "pending ROUTE_TABLE"}) {
    const Outcome partial = rondo(words);
    EXPECT_EQ(partial.code, 1) << words;
    EXPECT_THAT(partial.out, AllOf(HasSubstr("is damaged"), HasSubstr("checksum"))) << words;
  }
  const Outcome exported = rondo("export 2>/dev/null; true");
  EXPECT_TRUE(parse_load(exported.out.substr(0, exported.out.find("rondo: ")), "export").has_value()) << exported.out;
}

}  // namespace
}  // namespace rondo::cli
