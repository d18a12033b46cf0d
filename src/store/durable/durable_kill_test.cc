// Real processes that write and are killed at any moment (SIGKILL): what was told to be written is there when the file is opened again, and
// the file is whole. RONDO_KILLS says how often; 50 unless told.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/random.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/durable_store.h"
#include "store/durable/durable_file_kit.h"

namespace rondo::store::durable {
namespace {

constexpr std::size_t kKeys = 64;
constexpr std::size_t kDeleted = 48;  // From here on keys are deleted now and then.

/// The child: writes counters under random keys as fast as the disk lets it, and reports each that was told to be written.
[[noreturn]] void write_for_ever(const std::string& path, int report, std::uint64_t seed, std::uint64_t first) {
  SystemClock clock;
  const std::unique_ptr<Reactor> reactor = make_epoll_reactor().value();
  Scheduler scheduler{clock, *reactor, *make_policy(StrictPriority{})};
  auto store = DurableStore::open(scheduler, {.path = path, .durability = Durability::EveryBatch, .slack_bytes = 20'000});
  if (!store || !(*store)->stats().damage.empty()) ::_exit(3);
  if (!(*store)->declare({.name = "T", .kind = TableKind::Staged}).ok()) ::_exit(4);
  const auto consumer = std::move(*(*store)->subscribe("T"));
  Random random{seed};
  std::uint64_t next = first;
  std::vector<Change> taken;
  for (;;) {
    for (std::uint64_t burst = random.below(40); burst > 0; --burst) {
      const std::uint64_t value = next++;
      const std::uint64_t number = random.below(kKeys);
      const std::string key = std::to_string(number);
      const std::string text = std::to_string(value);
      Change change = value % 8 == 0 && number >= kDeleted
                          ? Change::remove(key)
                          : Change::set(key, {{"n", text}, {"filler", std::string(random.below(200), '.')}});
      const std::uint64_t told = value * kKeys + number;
      if (!(*store)
               ->write("T", std::move(change),
                       [report, told](const Status& end) {
                         if (!end.ok() || ::write(report, &told, sizeof told) != sizeof told) ::_exit(5);
                       })
               .ok()) {
        ::_exit(6);
      }
    }
    if (random.below(4) == 0) {
      taken.clear();
      consumer->take(random.below(20), taken);
      for (const Change& change : taken) consumer->dealt_with(change);
    }
    scheduler.wait(clock.now() + Duration{std::chrono::microseconds{random.below(200)}});
    scheduler.run_until_idle();
  }
}

/// What the file says of each key: the counter of its newest Set, or of nothing.
std::vector<std::uint64_t> read_back(const std::string& path) {
  SystemClock clock;
  const std::unique_ptr<Reactor> reactor = make_epoll_reactor().value();
  Scheduler scheduler{clock, *reactor, *make_policy(StrictPriority{})};
  auto store = DurableStore::open(scheduler, {.path = path, .durability = Durability::EveryBatch});
  EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().to_string());
  if (!store) return {};
  EXPECT_TRUE((*store)->stats().damage.empty()) << (*store)->stats().damage.front();
  std::vector<std::uint64_t> newest(kKeys);
  if (!(*store)->declare({.name = "T", .kind = TableKind::Staged}).ok()) return newest;
  std::vector<Change> changes;
  (*(*store)->subscribe("T"))->take(1'000'000, changes);
  for (const Change& change : changes) {
    if (change.op() == Op::Set) {
      newest[std::strtoull(std::string{change.key()}.c_str(), nullptr, 10)] =
          std::strtoull(std::string{*change.fields().find("n")}.c_str(), nullptr, 10);
    }
  }
  return newest;
}

TEST(DurableKill, StormOfKillsLosesNothingThatWasTold) {
  const char* const wanted = std::getenv("RONDO_KILLS");
  const int kills = wanted == nullptr ? 50 : std::atoi(wanted);
  const SystemClock clock;
  Folder folder;
  const std::string path = folder.file("tables");
  Random random{7};
  std::vector<std::uint64_t> told(kKeys);  // The newest write of each key whose end was told.
  std::uint64_t next = 1;
  std::uint64_t all_told = 0;
  for (int kill = 0; kill < kills; ++kill) {
    SCOPED_TRACE("kill " + std::to_string(kill));
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_for_ever(path, ends[1], static_cast<std::uint64_t>(kill), next);
    ::close(ends[1]);
    // After so many reports, and a moment: anywhere in a commit.
    std::uint64_t wait_for = random.below(300);
    const auto read_one = [&] {
      std::uint64_t report = 0;
      if (::read(ends[0], &report, sizeof report) != sizeof report) return false;
      told[report % kKeys] = std::max(told[report % kKeys], report / kKeys);
      next = std::max(next, report / kKeys + 1);
      ++all_told;
      return true;
    };
    while (wait_for > 0 && read_one()) --wait_for;
    for (const Instant moment = clock.now() + Duration{std::chrono::microseconds{random.below(3000)}}; clock.now() < moment;) {
    }
    ::kill(child, SIGKILL);
    while (read_one()) {
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself, with " << WEXITSTATUS(status);
    ::close(ends[0]);

    const std::vector<std::uint64_t> found = read_back(path);
    ASSERT_EQ(found.size(), kKeys);
    for (std::size_t key = 0; key < kKeys; ++key) {
      // What was told, or something newer. Of keys that are deleted, too, a missing row may be a newer Delete that was not told.
      if (key >= kDeleted && found[key] == 0) continue;
      EXPECT_GE(found[key], told[key]) << "key " << key << ": older than what was told";
    }
    next += 10'000;  // What was written and not told has numbers below these.
    if (HasFailure()) return;
  }
  EXPECT_GT(all_told, static_cast<std::uint64_t>(kills));
}

}  // namespace
}  // namespace rondo::store::durable
