#include "jobs/server/ownership.h"

#include <sys/random.h>

#include <array>
#include <chrono>
#include <random>

#include "jobs/job_store.h"
#include "rondo/base/text.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::jobs::server {

namespace {

constexpr const char* kTakenOver = "another scheduler has taken over the jobs";

std::string random_number() {
  std::array<char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::random_device source;
    for (char& byte : bytes) byte = static_cast<char>(source());
  }
  return {bytes.data(), bytes.size()};
}

std::string seconds_text(Duration duration) {
  const auto tenths = (duration + 50ms) / 100ms;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

Ownership::Ownership(Database& database, const Statements& statements, const StoreOptions& options)
    : database_(database),
      statements_(statements),
      clock_(options.clock != nullptr ? *options.clock : system_clock_),
      lease_(options.lease),
      owner_(random_number()),
      name_(name_of_this_process() + (options.reached_at.empty() ? "" : ", " + options.reached_at)) {}

Ownership::~Ownership() {
  // Without a connection the lease ends by itself, and a try could take seconds.
  if (!is_claimed_ || !database_.is_connected()) return;
  static_cast<void>(database_.query(statements_.give_up, Values{}.add(owner_).add(epoch_)));
}

Status Ownership::claim() {
  if (!lost_.ok()) return lost_;
  if (!is_claimed_) {
    // First without the locks of take(), for which the owner would have to wait.
    Status others = check_others();
    return others.ok() ? database_.transaction([this] { return take(); }) : others;
  }
  if (clock_.now() < renewed_at_ + lease_) return {};
  return database_.transaction([this] { return check_lease(); });
}

Status Ownership::check_others() {
  const auto others = database_.query(statements_.other_owner, Values{}.add(owner_));
  if (!others) return others.error();
  if (others->size() == 0) return {};
  const auto until = WallTime::from_nanoseconds((*others)[0].integer(1) * 1000);
  return {StatusCode::AlreadyExists, "another scheduler runs the jobs of this database: " + visible_text((*others)[0].text(0)) +
                                         ", until " + calendar::format_rfc3339(until) + " unless it renews that"};
}

Status Ownership::take() {
  const Instant sent = clock_.now();
  const WallTime before = clock_.wall_now();
  const auto locked = database_.query("SELECT shard FROM rondo.shards ORDER BY shard FOR UPDATE");
  if (!locked) return locked.error();
  if (Status others = check_others(); !others.ok()) return others;
  const auto taken = database_.query(statements_.take, Values{}.add(owner_).add(name_).add(lease_ / 1ms));
  if (!taken) return taken.error();
  const Rows::Row row = (*taken)[0];
  if (row.integer(0) != kShards) return {StatusCode::DataLoss, "the table shards has " + std::to_string(row.integer(0)) + " rows, not 64"};
  if (Status wrong = check_clock(before, row.integer(2)); !wrong.ok()) return wrong;
  database_.after_commit([this, sent, epoch = row.integer(1), changes = row.integer(3)] {
    database_.clear_missed_commit();
    is_claimed_ = true;
    epoch_ = epoch;
    changes_ = changes;
    note_renewal(sent);
  });
  return {};
}

Status Ownership::check() {
  if (Status lost = check_lease(); !lost.ok() || !is_claimed_) return lost;
  database_.confirm_by("SELECT written FROM rondo.shards WHERE shard = 0 AND owner = $1 AND epoch = $2 FOR UPDATE",
                       Values{}.add(owner_).add(epoch_), database_.transaction_number());
  return {};
}

Status Ownership::check_lease() {
  if (!lost_.ok()) return lost_;
  if (!is_claimed_) {
    database_.before_commit("UPDATE rondo.changes SET version = version + 1");
    return {};
  }
  if (database_.has_missed_commit()) return lose("a change was stored whose commit got no answer in time: start again");
  if (checked_in_ == database_.transaction_number()) return {};
  static constexpr std::array kFirst{0};  // All shards have one owner.
  Status checked = is_renewal_due() ? renew() : check_shards(kFirst);
  if (checked.ok()) checked_in_ = database_.transaction_number();
  return checked;
}

Status Ownership::renew() {
  const Instant sent = clock_.now();
  const WallTime before = clock_.wall_now();
  const auto renewed =
      database_.query(statements_.renew, Values{}.add(owner_).add(epoch_).add(lease_ / 1ms).add(database_.transaction_number()));
  if (!renewed) return renewed.error();
  if ((*renewed)[0].integer(0) != kShards) return lose(kTakenOver);
  if (Status wrong = check_clock(before, (*renewed)[0].integer(1)); !wrong.ok()) return wrong;
  database_.after_commit([this, sent] { note_renewal(sent); });
  return {};
}

Status Ownership::check_shards(std::span<const int> shards) {
  const std::vector<std::optional<std::int64_t>> numbers(shards.begin(), shards.end());
  const auto own = database_.query("UPDATE rondo.shards SET written = $4 WHERE shard = ANY ($1) AND owner = $2 AND epoch = $3",
                                   Values{}.add(numbers).add(owner_).add(epoch_).add(database_.transaction_number()));
  if (!own) return own.error();
  return own->affected == static_cast<std::int64_t>(shards.size()) ? Status{} : lose(kTakenOver);
}

Result<bool> Ownership::is_changed_elsewhere() {
  if (!is_claimed_) return false;
  if (is_renewal_due() || !lost_.ok()) {
    if (Status checked = database_.transaction([this] { return check_lease(); }); !checked.ok()) return failure(std::move(checked));
  }
  const auto changes = database_.number("SELECT version FROM rondo.changes");
  if (!changes) return failure(changes.error());
  return std::exchange(changes_, *changes) != *changes;
}

Result<std::vector<SchedulerClaim>> Ownership::schedulers() {
  const auto rows = database_.query(statements_.owners, Values{}.add(owner_));
  if (!rows) return failure(rows.error());
  std::vector<SchedulerClaim> all;
  bool is_listed = false;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const Rows::Row row = (*rows)[i];
    const bool is_here = row.integer(5) != 0;
    is_listed |= is_here;
    all.push_back({.name = row.text(0),
                   .shards = static_cast<std::size_t>(row.integer(1)),
                   .since = WallTime::from_nanoseconds(row.integer(2) * 1000),
                   .until = WallTime::from_nanoseconds(row.integer(3) * 1000),
                   .is_expired = row.integer(4) != 0,
                   .is_here = is_here});
  }
  if (!is_listed) all.push_back({.name = name_, .is_here = true});
  return all;
}

void Ownership::note_renewal(Instant sent) {
  renewed_at_ = sent;
  trusted_until_ = (sent + lease_).nanoseconds();
}

Status Ownership::lose(std::string why) {
  trusted_until_ = INT64_MIN;
  is_lost_ = true;
  return lost_ = {StatusCode::FailedPrecondition, std::move(why)};
}

/// 'before': the own time when the question was sent. The answer is here now, so the database's time must be between both.
Status Ownership::check_clock(WallTime before, std::int64_t microseconds) {
  const auto theirs = WallTime::from_nanoseconds(microseconds * 1000);
  const WallTime after = clock_.wall_now();
  clock_difference_ = (theirs < before ? theirs - before : theirs > after ? theirs - after : Duration{0}).count();
  const Duration difference = std::chrono::abs(clock_difference());
  if (difference <= lease_ / 2) return {};
  return {StatusCode::FailedPrecondition, "the clock of the database is " + seconds_text(difference) +
                                              (theirs < before ? " behind" : " ahead of") + " that of this machine, and at most " +
                                              seconds_text(lease_ / 2) + " are possible: correct the clocks"};
}

}  // namespace rondo::jobs::server
