// Real processes that write and are killed at any moment (SIGKILL). When the file is opened again, every acknowledged write is there and
// the file is whole. RONDO_KILLS sets the number of kills; the default is 50.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "rondo/base/clock.h"
#include "rondo/base/random.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/durable_store.h"

namespace rondo::store::durable {
namespace {

constexpr std::size_t kKeys = 64;
/// The tables hold some 50 kB. A life's writes may take several times that, and its snapshots as much again.
constexpr std::uintmax_t kFileMax = 2'000'000;
constexpr std::size_t kDeleted = 48;  // Keys from this number on are deleted now and then.

/// What the child reports. It reports Writing and DealingWith before it calls the store.
enum class Say : std::uint8_t { Writing, Told, DealingWith };

/// One report through the pipe. 'key' is kKeys for an entry of the Queue.
struct Report {
  std::uint64_t counter = 0;
  std::uint32_t key = 0;
  Say say = Say::Writing;
  bool removes = false;
};

void report(int to, const Report& word) {
  if (::write(to, &word, sizeof word) != sizeof word) ::_exit(5);
}

std::uint64_t number_in(const Change& change) { return std::strtoull(std::string{*change.fields().find("n")}.c_str(), nullptr, 10); }

/// The child: writes counters under random keys and into a Queue as fast as the disk accepts them, handles some changes, and reports.
class Writer {
 public:
  Writer(const std::string& path, int to, std::uint64_t seed, std::uint64_t first) : to_(to), random_(seed), next_(first) {
    auto store = DurableStore::open(scheduler_, {.path = path, .durability = Durability::EveryBatch, .slack_bytes = 20'000});
    if (!store || !(*store)->stats().damage.empty()) ::_exit(3);
    store_ = std::move(*store);
    if (!store_->declare({.name = "T", .kind = TableKind::Staged}).ok()) ::_exit(4);
    if (!store_->declare({.name = "Q", .kind = TableKind::Queue}).ok()) ::_exit(4);
    rows_ = std::move(*store_->subscribe("T"));
    entries_ = std::move(*store_->subscribe("Q"));
  }

  [[noreturn]] void run() {
    for (;;) {
      for (std::uint64_t burst = random_.below(40); burst > 0; --burst) random_.below(4) == 0 ? write_entry() : write_row();
      if (random_.below(4) == 0) handle();
      scheduler_.wait(clock_.now() + Duration{std::chrono::microseconds{random_.below(200)}});
      scheduler_.run_until_idle();
    }
  }

 private:
  void write_row() {
    const auto key = static_cast<std::uint32_t>(random_.below(kKeys));
    const std::uint64_t counter = next_++;
    const bool removes = counter % 8 == 0 && key >= kDeleted;
    newest_[key] = counter;
    write("T",
          removes ? Change::remove(std::to_string(key))
                  : Change::set(std::to_string(key), {{"n", std::to_string(counter)}, {"filler", std::string(random_.below(200), '.')}}),
          {.counter = counter, .key = key, .removes = removes});
  }
  void write_entry() {
    const std::uint64_t counter = next_++;
    write("Q",
          Change::set(std::to_string(counter % kKeys), {{"n", std::to_string(counter)}, {"filler", std::string(random_.below(100), '.')}}),
          {.counter = counter, .key = kKeys});
  }
  void write(const char* table, Change change, Report word) {
    report(to_, word);
    word.say = Say::Told;
    const Status accepted = store_->write(table, std::move(change), [to = to_, word](const Status& end) {
      if (!end.ok()) ::_exit(6);
      report(to, word);
    });
    if (!accepted.ok()) ::_exit(7);
  }
  void handle() {
    taken_.clear();
    rows_->take(random_.below(20), taken_);
    for (const Change& change : taken_) {
      const auto key = static_cast<std::uint32_t>(std::stoul(std::string{change.key()}));
      report(to_, {.counter = newest_[key], .key = key, .say = Say::DealingWith});
      rows_->ack(change);
    }
    taken_.clear();
    entries_->take(random_.below(60), taken_);  // On average more than arrive.
    for (const Change& change : taken_) {
      report(to_, {.counter = number_in(change), .key = kKeys, .say = Say::DealingWith});
      entries_->ack(change);
    }
  }

  const int to_;
  Random random_;
  std::uint64_t next_;
  // What this child has written. Changes of earlier lives have lower counters, and the child reports them as dealt with at counter 0.
  std::array<std::uint64_t, kKeys> newest_{};
  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = make_epoll_reactor().value();
  Scheduler scheduler_{clock_, *reactor_, *make_policy(StrictPriority{})};
  std::unique_ptr<DurableStore> store_;
  std::unique_ptr<Subscription> rows_;
  std::unique_ptr<Subscription> entries_;
  std::vector<Change> taken_;
};

/// The parent's record of everything that was ever written.
class Account {
 public:
  void hear(const Report& word) {
    next = std::max(next, word.counter + 1);
    if (word.say == Say::Writing) dealt_before_[word.counter] = dealt_.size();
    if (word.say == Say::Told) settle(word.counter);
    if (word.key == kKeys) {
      if (word.say == Say::DealingWith) {
        entries_.erase(word.counter);
        dealt_entries_.insert(word.counter);
        dealt_.push_back(word.counter);
      } else if (word.say == Say::Told && !dealt_entries_.contains(word.counter)) {
        // An entry may be taken before its write is acknowledged.
        entries_.insert(word.counter);
      }
      return;
    }
    Key& key = keys_[word.key];
    switch (word.say) {
      case Say::Writing: key.written[word.counter] = word.removes; break;
      case Say::Told: key.told = std::max(key.told, word.counter); break;
      case Say::DealingWith: key.dealt = std::max(key.dealt, word.counter == 0 ? key.before : word.counter); break;
    }
    if (word.say == Say::Told) ++all_told;
  }

  /// The next child's counters begin above all of this one's.
  void next_life() {
    next += 10'000;
    dealt_.clear();
    dealt_before_.clear();
    settled_ = 0;
    for (Key& key : keys_) key.before = key.written.empty() ? 0 : key.written.rbegin()->first;
  }

  /// Checks what the file holds for a key: a Set of 'counter', a Delete that the consumer has not dealt with (counter 0), or nothing.
  void check_key(std::size_t number, const std::optional<std::uint64_t>& found) const {
    const Key& key = keys_[number];
    if (found && *found != 0) {
      const auto written = key.written.find(*found);
      ASSERT_TRUE(written != key.written.end() && !written->second) << "key " << number << ": nobody wrote " << *found;
      EXPECT_GE(*found, key.told) << "key " << number << ": older than what was told";
      return;
    }
    // A Delete or nothing: the newest acknowledged write is a Delete, or a newer Delete was in progress.
    const auto removes = std::find_if(key.written.lower_bound(key.told), key.written.end(), [](const auto& write) { return write.second; });
    EXPECT_TRUE(key.told == 0 || removes != key.written.end()) << "key " << number << ": a Set that was told is gone";
    if (!found && key.told != 0 && key.written.rbegin()->first == key.told) {
      EXPECT_GE(key.dealt, key.told) << "key " << number << ": a Delete that was told and not dealt with is gone";
    }
    if (found) ++told_deletes;
  }

  /// All acknowledged entries that were not dealt with are there, in order. An entry that was dealt with before an acknowledged write is
  /// gone.
  void check_entries(const std::vector<std::uint64_t>& found) {
    EXPECT_TRUE(std::ranges::is_sorted(found)) << "entries out of order";
    const std::set<std::uint64_t> there(found.begin(), found.end());
    EXPECT_EQ(there.size(), found.size()) << "an entry came twice";
    for (const std::uint64_t entry : entries_) EXPECT_TRUE(there.contains(entry)) << "entry " << entry << " was told and is gone";
    for (const std::uint64_t entry : settled_entries_) EXPECT_FALSE(there.contains(entry)) << "entry " << entry << " is handed out again";
    for (const std::uint64_t entry : dealt_) handed_out_again += there.contains(entry) ? 1U : 0U;
  }

  std::uint64_t next = 1;
  std::uint64_t all_told = 0;
  mutable std::uint64_t told_deletes = 0;
  std::uint64_t handed_out_again = 0;

 private:
  /// Write 'write' is on the disk, and so is every report made before it.
  void settle(std::uint64_t write) {
    const auto before = dealt_before_.find(write);
    if (before == dealt_before_.end()) return;
    for (; settled_ < before->second; ++settled_) settled_entries_.insert(dealt_[settled_]);
  }

  struct Key {
    std::map<std::uint64_t, bool> written;  // By counter: whether the write was a Delete. Acknowledged or not.
    std::uint64_t told = 0;                 // The newest acknowledged write.
    std::uint64_t dealt = 0;                // The newest write that the child reported as DealingWith.
    std::uint64_t before = 0;               // The newest of earlier lives.
  };
  std::array<Key, kKeys> keys_;
  std::set<std::uint64_t> entries_;  // Acknowledged, and not dealt with.
  std::set<std::uint64_t> dealt_entries_;
  std::vector<std::uint64_t> dealt_;                   // Entries dealt with in this life, in order.
  std::map<std::uint64_t, std::size_t> dealt_before_;  // How many of dealt_ precede each write.
  std::size_t settled_ = 0;                            // How many of dealt_ precede an acknowledged write.
  std::set<std::uint64_t> settled_entries_;            // The settled entries of all lives.
};

/// Opens the file and checks it against the account.
void check_file(const std::string& path, Account& account) {
  SystemClock clock;
  const std::unique_ptr<Reactor> reactor = make_epoll_reactor().value();
  Scheduler scheduler{clock, *reactor, *make_policy(StrictPriority{})};
  auto store = DurableStore::open(scheduler, {.path = path, .durability = Durability::EveryBatch});
  ASSERT_TRUE(store.has_value()) << (store ? "" : store.error().to_string());
  ASSERT_TRUE((*store)->stats().damage.empty()) << (*store)->stats().damage.front();
  ASSERT_TRUE((*store)->declare({.name = "T", .kind = TableKind::Staged}).ok());
  ASSERT_TRUE((*store)->declare({.name = "Q", .kind = TableKind::Queue}).ok());
  std::vector<Change> changes;
  (*(*store)->subscribe("T"))->take(1'000'000, changes);
  std::array<std::optional<std::uint64_t>, kKeys> rows;
  for (const Change& change : changes) {
    rows[std::stoul(std::string{change.key()})] = change.op() == ChangeOp::Set ? number_in(change) : 0;
  }
  for (std::size_t key = 0; key < kKeys; ++key) account.check_key(key, rows[key]);
  changes.clear();
  const auto queue = std::move(*(*store)->subscribe("Q"));
  while (queue->take(1'000'000, changes) > 0) {
  }
  std::vector<std::uint64_t> entries;
  for (const Change& change : changes) entries.push_back(number_in(change));
  account.check_entries(entries);
}

TEST(DurableKill, StormOfKillsLosesNothingThatWasTold) {
  const char* const wanted = std::getenv("RONDO_KILLS");
  const int kills = wanted == nullptr ? 50 : std::atoi(wanted);
  const SystemClock clock;
  TemporaryFolder folder;
  const std::string path = folder.file("tables");
  Random random{7};
  Account account;
  for (int kill = 0; kill < kills; ++kill) {
    SCOPED_TRACE("kill " + std::to_string(kill));
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) Writer{path, ends[1], static_cast<std::uint64_t>(kill), account.next}.run();
    ::close(ends[1]);
    // The kill follows this many reports and a random delay, so it can hit any part of a commit.
    std::uint64_t wait_for = random.below(1000);
    const auto read_one = [&] {
      Report word;
      if (::read(ends[0], &word, sizeof word) != sizeof word) return false;
      account.hear(word);
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
    check_file(path, account);
    account.next_life();
    EXPECT_LT(std::filesystem::file_size(path), kFileMax) << "a life that ends before its snapshot does lets the file grow";
    if (HasFailure()) return;
  }
  EXPECT_GT(account.all_told, static_cast<std::uint64_t>(kills));
  RecordProperty("handed_out_again", static_cast<int>(account.handed_out_again));
  EXPECT_GT(account.handed_out_again, 0U) << "no kill ever came between an entry and the word that it was dealt with";
  EXPECT_GT(account.told_deletes, 0U) << "no Delete ever outlived its process: the test does not see what it is for";
}

}  // namespace
}  // namespace rondo::store::durable
