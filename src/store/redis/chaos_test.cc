// Producer and consumer are separate processes that are killed at random, many times; the server lives. The consumer logs what it received
// before it takes more. This process checks the log: no key goes back to an older value, and in the end the last value of every key has
// arrived. The test takes a minute, or ten seconds under a sanitizer; RONDO_CHAOS_SECONDS sets another length.
//
// One of two consumers with a lease works. Both are killed, or stopped for longer than the lease. Entries of a consumer that has lost the
// lease do not count, because they carry an older token; a shared data plane would tell them apart in the same way.
#include <cstdlib>

#include "base/testing/sanitized.h"
#include "store/redis/testing/table.h"

namespace rondo::redis {
namespace {

constexpr std::uint64_t kKeys = 300;
constexpr int kSeconds = plain_or_sanitized(20, 10);
constexpr std::uint64_t kGeneration = 1'000'000'000;  // The numbers that one producer may use.

struct LogLine {
  std::uint64_t token = 0;  // The lease's token; 0 without a lease.
  std::uint64_t key = 0;
  std::uint64_t n = 0;
};

RedisStoreOptions options_for(RedisAddress address, const std::string& user) {
  address.user = user;
  address.password = "any";
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = std::move(address);
  return options;
}

std::uint64_t number(std::string_view text) { return std::strtoull(std::string{text}.c_str(), nullptr, 10); }

/// Writes growing numbers until it is killed; with 'last', writes each key once until all writes are answered.
[[noreturn]] void be_producer(const RedisAddress& address, std::uint64_t generation, bool last) {
  StoreDriver driver(options_for(address, "producer"));
  if (!driver.store().declare({.name = "T", .kind = TableKind::Staged}).ok()) ::_exit(2);
  Random random{generation};
  std::uint64_t n = generation * kGeneration;
  for (std::uint64_t key = 0; last && key < kKeys; ++key) {
    const std::string text = std::to_string(++n);
    if (!driver.store().write("T", Change::set(std::to_string(key), {{"n", text}})).ok()) ::_exit(2);
  }
  while (!last) {
    for (std::uint64_t i = random.between(1, 300); i > 0; --i) {
      const std::string key = std::to_string(random.below(kKeys));
      if (random.chance(0.1) && !driver.store().write("T", Change::remove(key)).ok()) ::_exit(2);
      if (!driver.store().write("T", Change::set(key, {{"n", std::to_string(++n)}})).ok()) ::_exit(2);
    }
    driver.run_until([&driver] { return driver.store().unanswered() < 1000; });
  }
  ::_exit(driver.run_until([&driver] { return driver.store().unanswered() == 0; }) ? 0 : 2);
}

/// Takes and logs until it is killed.
[[noreturn]] void be_consumer(const RedisAddress& address, const std::string& user, std::uint64_t generation, int log, Duration lease) {
  RedisStoreOptions options = options_for(address, user);
  options.lease = lease;
  StoreDriver driver(std::move(options));
  if (!driver.store().declare({.name = "T", .kind = TableKind::Staged}).ok()) ::_exit(2);
  const auto subscription = driver.store().subscribe("T");
  if (!subscription) ::_exit(2);
  Random random{generation};
  for (;;) {
    driver.run_until([&] { return !(*subscription)->empty(); }, 1s);
    if (driver.store().lease().state == RedisLease::State::Lost) ::_exit(3);
    std::vector<Change> changes;
    (*subscription)->take(random.between(1, 200), changes);
    for (const Change& change : changes) {
      const auto n = change.fields().find("n");
      const LogLine line{driver.store().lease().token, number(change.key()), n ? number(*n) : 0};
      if (n && ::write(log, &line, sizeof line) != sizeof line) ::_exit(2);
    }
  }
}

class RedisChaos : public RedisTableTest {
 protected:
  void SetUp() override {
    RedisTableTest::SetUp();
    if (IsSkipped()) return;
    for (const char* user : {"producer", "consumer", "standby"}) {
      ASSERT_EQ(server().command({"ACL", "SETUSER", user, "on", "nopass", "~*", "&*", "+@all"}), "OK");
    }
    ASSERT_EQ(::pipe2(log_, O_CLOEXEC), 0);
  }
  void TearDown() override {
    end(producer_, "producer");
    end(consumer_, "consumer");
    end(standby_, "standby");
    ::close(log_[0]);
    ::close(log_[1]);
  }

  void start_producer(bool last = false) {
    ++generation_;
    producer_ = ::fork();
    if (producer_ == 0) child([&] { be_producer(server().address(), generation_, last); });
  }
  void start_consumer() {
    ++generation_;
    consumer_ = ::fork();
    if (consumer_ == 0) child([&] { be_consumer(server().address(), "consumer", generation_, log_[1], Duration{}); });
  }
  pid_t start_member(const std::string& user) {
    ++generation_;
    const pid_t process = ::fork();
    if (process == 0) child([&] { be_consumer(server().address(), user, generation_, log_[1], kShortestRedisLease); });
    return process;
  }
  /// Kills the process, and waits until the server has executed everything that it had sent.
  void end(pid_t& process, const std::string& user) {
    if (process <= 0) return;
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    process = -1;
    redis_kit::wait_until("the server has noticed", [&] {
      return server().command({"CLIENT", "LIST"}).find("user=" + user) == std::string::npos;
    });
  }
  /// The producer of the last values ends by itself.
  void wait_for_producer() {
    int status = 0;
    ASSERT_EQ(::waitpid(producer_, &status, 0), producer_);
    producer_ = -1;
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  /// Reads the log for this time, or until 'done'. No key may go back to an older value.
  template <class Done>
  void check_log(std::chrono::milliseconds patience, Done done) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!done()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
      if (left <= 0) return;
      pollfd event{log_[0], POLLIN, 0};
      if (::poll(&event, 1, static_cast<int>(left)) <= 0) continue;
      LogLine line;
      ASSERT_EQ(::read(log_[0], &line, sizeof line), static_cast<ssize_t>(sizeof line));
      if (line.token < token_) {
        ++stale_;
        continue;
      }
      token_ = line.token;
      EXPECT_GE(line.n, newest_[line.key]) << "key " << line.key;
      newest_[line.key] = line.n;
      ++lines_;
    }
  }
  std::uint64_t last_of(std::uint64_t key) const { return generation_ * kGeneration + key + 1; }
  /// True if nothing waits, and the consumer has received the current value of every row.
  bool caught_up() {
    if (server().command({"EXISTS", "T_KEY_SET"}) != "0") return false;
    for (const auto& [key, n] : newest_) {
      const std::string row = server().command({"HGET", "T:" + std::to_string(key), "n"});
      if (!row.empty() && number(row) != n) return false;
    }
    return server().list({"KEYS", "T:*"}).size() <= newest_.size();
  }
  bool all_arrived() const {
    if (newest_.size() < kKeys) return false;
    for (const auto& [key, n] : newest_) {
      if (n != last_of(key)) return false;
    }
    return true;
  }
  /// Everything written is delivered, and then the last value of each key.
  void expect_the_end() {
    end(producer_, "producer");
    // Check this before the last producer writes every key again: otherwise a change that was popped and never delivered would be hidden.
    const auto patience = std::chrono::steady_clock::now() + redis_kit::kPatience;
    while (!caught_up() && std::chrono::steady_clock::now() < patience) check_log(std::chrono::milliseconds{50}, [] { return false; });
    EXPECT_TRUE(caught_up()) << "something that the last consumers or producers left was never told";
    start_producer(true);
    wait_for_producer();
    check_log(redis_kit::kPatience, [this] { return all_arrived(); });
    EXPECT_TRUE(all_arrived());
  }
  pid_t producer_ = -1;
  pid_t consumer_ = -1;
  pid_t standby_ = -1;
  std::uint64_t lines_ = 0;
  std::uint64_t stale_ = 0;
  std::uint64_t token_ = 0;  // The greatest token.

 private:
  template <class Run>
  [[noreturn]] static void child(Run run) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    run();
    ::_exit(2);
  }
  int log_[2] = {-1, -1};
  std::uint64_t generation_ = 0;
  std::map<std::uint64_t, std::uint64_t> newest_;
};

TEST_F(RedisChaos, KilledProducersAndConsumersLoseNothingAndTellNothingOldStorm) {
  const char* const wanted = std::getenv("RONDO_CHAOS_SECONDS");
  const std::chrono::seconds length{wanted == nullptr ? kSeconds : std::atoi(wanted)};
  const auto end_of_chaos = std::chrono::steady_clock::now() + length;
  Random random{1};
  int kills = 0;
  start_producer();
  start_consumer();
  while (std::chrono::steady_clock::now() < end_of_chaos && !HasFailure()) {
    check_log(std::chrono::milliseconds{random.between(5, 250)}, [] { return false; });
    ++kills;
    if (random.chance(0.5)) {
      end(producer_, "producer");
      start_producer();
    } else {
      end(consumer_, "consumer");
      start_consumer();
    }
  }
  expect_the_end();
  RecordProperty("kills", kills);
  RecordProperty("lines", std::to_string(lines_));
  EXPECT_GT(kills, 0);
}

TEST_F(RedisChaos, OfTwoConsumersWithALeaseOneWorksHoweverTheyAreKilledAndStoppedStorm) {
  const char* const wanted = std::getenv("RONDO_CHAOS_SECONDS");
  const auto end_of_chaos = std::chrono::steady_clock::now() + std::chrono::seconds{wanted == nullptr ? kSeconds : std::atoi(wanted)};
  Random random{2};
  struct Member {
    pid_t& process;
    std::string user;
    std::chrono::steady_clock::time_point wakes = {};  // When a stopped process continues.
  };
  Member members[] = {{consumer_, "consumer"}, {standby_, "standby"}};
  for (Member& member : members) member.process = start_member(member.user);
  start_producer();
  int stops = 0;
  int lost = 0;
  while (std::chrono::steady_clock::now() < end_of_chaos && !HasFailure()) {
    check_log(std::chrono::milliseconds{random.between(5, 250)}, [] { return false; });
    for (Member& member : members) {
      const bool stopped = member.wakes != std::chrono::steady_clock::time_point{};
      if (stopped && std::chrono::steady_clock::now() >= member.wakes) {
        member.wakes = {};
        ::kill(member.process, SIGCONT);
      }
      int status = 0;
      if (::waitpid(member.process, &status, WNOHANG) != member.process) continue;
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
      ++lost;
      member.process = start_member(member.user);
    }
    Member& victim = members[random.below(2)];
    const bool stopped = victim.wakes != std::chrono::steady_clock::time_point{};
    if (random.chance(0.1)) {
      end(producer_, "producer");
      start_producer();
    } else if (random.chance(0.1)) {
      victim.wakes = {};
      end(victim.process, victim.user);
      victim.process = start_member(victim.user);
    } else if (!stopped && random.chance(0.3)) {
      ++stops;
      victim.wakes = std::chrono::steady_clock::now() + std::chrono::milliseconds{random.between(100, 5000)};
      ::kill(victim.process, SIGSTOP);
    }
  }
  for (Member& member : members) ::kill(member.process, SIGCONT);
  expect_the_end();
  RecordProperty("stops", stops);
  RecordProperty("lost", lost);
  RecordProperty("stale", std::to_string(stale_));
  RecordProperty("token", std::to_string(token_));
  EXPECT_GT(token_, 1U) << "the lease stayed with one of them";
}

}  // namespace
}  // namespace rondo::redis
