#include "sim_database.h"

#include <sqlite3.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "jobs/mariadb/text.h"
#include "jobs/server/statements.h"
#include "jobs/server/store.h"
#include "rondo/base/assert.h"

namespace rondo::swarm {

using jobs::server::Rows;

namespace {

/// The server ends the transaction of a client that says nothing for so long.
constexpr Duration kIdleLimit = 5s;

constexpr const char* kTables =
    "PRAGMA foreign_keys = ON;"
    "CREATE TABLE jobs (id INTEGER PRIMARY KEY, name NOT NULL UNIQUE, spec NOT NULL, handler NOT NULL, running NOT NULL, next);"
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, job NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, scheduled NOT NULL, due NOT NULL, "
    "band NOT NULL, state NOT NULL, attempt NOT NULL DEFAULT 0, missed NOT NULL, begun, ended, note NOT NULL, parents NOT NULL, "
    "worker NOT NULL DEFAULT '', killed NOT NULL DEFAULT 0, parameters, address NOT NULL, rerun_of NOT NULL);"
    "CREATE UNIQUE INDEX runs_scheduled ON runs (job, scheduled) WHERE band <> 3 AND rerun_of = 0;"
    "CREATE INDEX runs_unfinished ON runs (id) WHERE state = 0;"
    "CREATE TABLE run_ids (last NOT NULL); INSERT INTO run_ids VALUES (0);"
    "CREATE TABLE parents (parent NOT NULL, child NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, PRIMARY KEY (parent, child));"
    "CREATE TABLE remembered (\"key\" PRIMARY KEY, text NOT NULL);"
    "CREATE TABLE removed_instants (job PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE, first NOT NULL, last NOT NULL);"
    "CREATE TABLE changes (version NOT NULL); INSERT INTO changes VALUES (0);"
    "CREATE TABLE shards (shard INTEGER PRIMARY KEY, owner, name NOT NULL DEFAULT '', epoch NOT NULL DEFAULT 0, since NOT NULL DEFAULT 0, "
    "until NOT NULL DEFAULT 0, written NOT NULL DEFAULT 0);"
    "WITH RECURSIVE seq (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM seq WHERE n < 63) INSERT INTO shards (shard) SELECT n FROM seq;"
    "CREATE TABLE dual (one); INSERT INTO dual VALUES (1)";

constexpr jobs::server::Statements kStatements{
    .put_job =
        "UPDATE rondo.jobs SET spec = $2, handler = $3, next = $4 WHERE name = $1; INSERT INTO rondo.jobs (name, spec, handler, running, "
        "next) SELECT $1, $2, $3, 0, $4 WHERE NOT EXISTS (SELECT 1 FROM rondo.jobs WHERE name = $1)",
    .put_parents =
        "DELETE FROM rondo.parents WHERE child = (SELECT id FROM rondo.jobs WHERE name = $1) AND parent NOT IN "
        "(SELECT parent FROM unnest($2) AS list (parent)); INSERT OR IGNORE INTO rondo.parents SELECT DISTINCT list.parent, jobs.id "
        "FROM unnest($2) AS list (parent) JOIN rondo.jobs ON jobs.name = $1",
    .move_jobs =
        "UPDATE rondo.jobs SET next = list.next FROM unnest($1, $2) AS list (id, next) WHERE jobs.id = list.id AND jobs.running = 1",
    .draw_run_ids =
        "UPDATE rondo.run_ids SET last = last + $1; WITH RECURSIVE seq (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM seq WHERE n < $1) "
        "SELECT last - $1 + n AS id FROM rondo.run_ids, seq ORDER BY id",
    .add_runs =
        "INSERT INTO rondo.runs (id, job, scheduled, due, band, state, missed, ended, note, parents, parameters, address, rerun_of) "
        "SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) "
        "AS list (id, job, scheduled, due, band, state, missed, ended, note, parents, parameters, address, rerun_of) WHERE true "
        "ON CONFLICT (job, scheduled) WHERE band <> 3 AND rerun_of = 0 DO NOTHING RETURNING id",
    .end_runs =
        "UPDATE rondo.jobs SET next = later.next FROM (SELECT runs.job, list.next, ROW_NUMBER() OVER (PARTITION BY runs.job ORDER BY "
        "list.place DESC) AS number FROM unnest($1, $8) WITH ORDINALITY AS list (id, next, place) JOIN rondo.runs ON runs.id = list.id "
        "WHERE runs.state = 0 AND list.next IS NOT NULL) AS later WHERE jobs.id = later.job AND later.number = 1 AND jobs.running = 1; "
        "UPDATE rondo.runs SET state = list.state, due = list.due, attempt = list.attempt, begun = list.begun, ended = list.ended, "
        "note = list.note, worker = CASE list.state WHEN 0 THEN '' ELSE runs.worker END "
        "FROM unnest($1, $2, $3, $4, $5, $6, $7) AS list (id, state, due, attempt, begun, ended, note) "
        "WHERE runs.id = list.id AND runs.state = 0",
    .withdraw_runs =
        "UPDATE rondo.jobs SET next = sooner.next FROM (SELECT runs.job, min(list.next) AS next FROM unnest($1, $2) AS list (id, next) "
        "JOIN rondo.runs ON runs.id = list.id WHERE runs.state = 0 AND list.next IS NOT NULL GROUP BY runs.job) AS sooner "
        "WHERE jobs.id = sooner.job AND jobs.running = 1 AND (jobs.next IS NULL OR jobs.next > sooner.next); "
        "DELETE FROM rondo.runs WHERE state = 0 AND id = ANY ($1)",
    .note_workers =
        "UPDATE rondo.runs SET worker = list.worker FROM unnest($1, $2) AS list (id, worker) WHERE runs.id = list.id AND runs.state = 0",
    .remove_runs =
        "DELETE FROM rondo.runs WHERE id = ANY ($1); INSERT INTO rondo.removed_instants SELECT span.job, span.first, span.last "
        "FROM unnest($2, $3, $4) AS span (job, first, last) WHERE true ON CONFLICT (job) DO UPDATE SET first = min(first, excluded.first), "
        "last = max(last, excluded.last)",
    .remember = "INSERT INTO rondo.remembered (\"key\", text) VALUES ($1, $2) ON CONFLICT (\"key\") DO UPDATE SET text = excluded.text",
    // The server ends a lease 10 ms later than its owner: one process may be some milliseconds behind another one here.
    .other_owner = "SELECT name, until FROM rondo.shards WHERE owner <> $1 AND until > now_us() - 10000 ORDER BY until DESC LIMIT 1",
    .owners =
        "SELECT name, count(*), min(since), max(until), max(until) <= now_us(), owner = $1 FROM rondo.shards WHERE owner IS NOT NULL "
        "GROUP BY owner, name ORDER BY min(shard)",
    .take =
        "UPDATE rondo.shards SET owner = $1, name = $2, epoch = (SELECT max(epoch) + 1 FROM rondo.shards), since = now_us(), "
        "until = now_us() + $3 * 1000; SELECT count(*), max(epoch), now_us(), (SELECT version FROM rondo.changes) FROM rondo.shards "
        "WHERE owner = $1",
    .renew =
        "UPDATE rondo.shards SET until = now_us() + $3 * 1000, written = $4 WHERE owner = $1 AND epoch = $2; "
        "SELECT count(*), now_us() FROM rondo.shards WHERE owner = $1 AND epoch = $2",
    .give_up = "UPDATE rondo.shards SET until = now_us() WHERE owner = $1 AND epoch = $2"};

void tell_now(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_int64(context, *static_cast<const std::int64_t*>(sqlite3_user_data(context)));
}

/// Notes which tables a statement changes.
void note_change(void* written, int, const char*, const char* table, sqlite3_int64) {
  const std::string_view name = table;
  if (name == "runs" || name == "jobs") ++*static_cast<std::int64_t*>(written);
}

/// Returns what hex() of SQLite makes of a text.
std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char byte : bytes) {
    out += kDigits[static_cast<unsigned char>(byte) >> 4U];
    out += kDigits[static_cast<unsigned char>(byte) & 0xfU];
  }
  return out;
}

jobs::server::Cell cell_of(sqlite3_stmt* statement, int column) {
  if (sqlite3_column_type(statement, column) == SQLITE_NULL) return {};
  if (sqlite3_column_type(statement, column) == SQLITE_INTEGER) return sqlite3_column_int64(statement, column);
  const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
  return std::string{bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
}

}  // namespace

/// The connection of one process.
class SimDatabase::Connection final : public jobs::server::Database {
 public:
  Connection(SimDatabase& server, std::shared_ptr<Session> session, const jobs::server::StoreOptions& options)
      : Database(options, {.transaction = {"BEGIN"}, .alone = {}, .confirmation = {}}), server_(server), session_(std::move(session)) {}
  ~Connection() override { disconnect(); }
  bool is_connected() const noexcept override { return is_connected_ && !session_->is_cut_; }

 private:
  Status connect_now() override {
    is_connected_ = !session_->is_cut_ && session_->clock_.now() >= session_->line_.down_until;
    return is_connected_ ? Status{} : Status{StatusCode::Unavailable, "the server cannot be reached"};
  }
  void disconnect() noexcept override {
    if (std::exchange(is_in_transaction_, false)) static_cast<void>(server_.execute("ROLLBACK", session_->clock_.now()));
    is_connected_ = false;
  }
  Result<Rows> exchange(std::span<const Command> commands) override {
    Line& line = session_->line_;
    const Instant now = session_->clock_.now();
    if (session_->is_cut_ || now < line.down_until) return failure(lost("it is cut"));
    Rows answer;
    for (const Command& command : commands) {
      const std::string_view text = command.text;
      auto got = text == "BEGIN" ? begin(now) : text == "COMMIT" ? commit() : text == "ROLLBACK" ? rollback(now) : ask(command, now);
      if (!got) return got;
      answer = std::move(*got);
    }
    return answer;
  }

  Result<Rows> begin(Instant now) {
    if (now < server_.locked_until_) return failure(StatusCode::Unavailable, "the rows are locked");
    server_.written_ = 0;
    session_->taken_.clear();
    auto begun = server_.execute("BEGIN", now);
    is_in_transaction_ = begun.has_value();
    return begun;
  }
  Result<Rows> rollback(Instant now) { return std::exchange(is_in_transaction_, false) ? server_.execute("ROLLBACK", now) : Rows{}; }
  Result<Rows> commit() {
    const Commit fate = std::exchange(session_->line_.next_commit, Commit::Answered);
    if (fate == Commit::Lost) return failure(lost("before the commit"));
    is_in_transaction_ = false;
    auto done = server_.commit(*session_);
    return fate == Commit::Answered ? std::move(done) : failure(lost("before the answer"));
  }
  Result<Rows> ask(const Command& command, Instant now) {
    const std::string_view statement = command.text;
    const bool changes = statement.find("UPDATE") != std::string_view::npos;
    if (!is_in_transaction_ && changes && now < server_.locked_until_) return failure(StatusCode::Unavailable, "the rows are locked");
    Line& line = session_->line_;
    if (is_in_transaction_ && line.stops_in_transaction > Duration{0}) {
      const Duration time = std::exchange(line.stops_in_transaction, Duration{0});
      server_.locked_until_ = now + std::min(time, kIdleLimit);
      line.on_stop(time);
      return failure(lost("the transaction was idle"));
    }
    if (statement == kStatements.take) session_->taken_ = hex_of(std::get<std::string>(command.values->all()[0]));
    if (server_.broken_ == Broken::ForgetsOwners && statement == kStatements.other_owner) return Rows{};
    std::string text = jobs::mariadb::filled(command.text, *command.values);
    constexpr std::string_view kLock = " FOR UPDATE";
    for (std::size_t at = text.find(kLock); at != std::string::npos; at = text.find(kLock)) text.erase(at, kLock.size());
    const bool fences = server_.broken_ != Broken::FencesNothing;
    auto rows = server_.execute(!fences && statement == kStatements.renew ? "SELECT 64, now_us()" : text, now);
    const bool is_fence = statement.starts_with("UPDATE rondo.shards SET written");
    if (!fences && is_fence && rows) rows->affected = 1;
    return rows;
  }

  SimDatabase& server_;
  const std::shared_ptr<Session> session_;
  bool is_connected_ = false;
  bool is_in_transaction_ = false;
};

SimDatabase::SimDatabase(const Clock& clock, Broken broken) : start_(clock.now()), wall_(clock.wall_now()), broken_(broken) {
  RONDO_ASSERT(sqlite3_open(":memory:", &database_) == SQLITE_OK);
  sqlite3_create_function(database_, "now_us", 0, SQLITE_UTF8, &now_us_, tell_now, nullptr, nullptr);
  sqlite3_update_hook(database_, note_change, &written_);
  RONDO_ASSERT(sqlite3_exec(database_, kTables, nullptr, nullptr, nullptr) == SQLITE_OK);
}

SimDatabase::~SimDatabase() { sqlite3_close(database_); }

std::shared_ptr<jobs::JobStore> SimDatabase::make_store(std::shared_ptr<Session> session, Duration lease) {
  const jobs::server::StoreOptions options{.lease = lease, .clock = &session->clock_};
  auto store = jobs::server::make_server_store(std::make_unique<Connection>(*this, std::move(session), options), kStatements, options,
                                               [](jobs::server::Database&) { return Status{}; });
  RONDO_ASSERT(store.has_value());
  return std::move(*store);
}

Result<Rows> SimDatabase::execute(const std::string& text, Instant now) {
  now_us_ = wall(now).nanoseconds() / 1000;
  Rows answer;
  for (const char* rest = text.c_str(); *rest != '\0';) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(database_, rest, -1, &made, &rest) != SQLITE_OK) {
      fail(std::string{"a statement cannot be read: "} + sqlite3_errmsg(database_) + ": " + text);
      return failure(StatusCode::Internal, sqlite3_errmsg(database_));
    }
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(made, sqlite3_finalize);
    if (made == nullptr) break;
    const int columns = sqlite3_column_count(made);
    answer = Rows(static_cast<std::size_t>(columns));
    int step = SQLITE_ROW;
    while ((step = sqlite3_step(made)) == SQLITE_ROW) {
      for (int i = 0; i < columns; ++i) answer.add(cell_of(made, i));
    }
    if (step != SQLITE_DONE) {
      fail(std::string{"a statement failed: "} + sqlite3_errmsg(database_) + ": " + text);
      return failure(StatusCode::Internal, sqlite3_errmsg(database_));
    }
    if (columns == 0) answer.affected = sqlite3_changes(database_);
  }
  return answer;
}

Result<Rows> SimDatabase::commit(Session& session) {
  const Instant now = session.clock_.now();
  const std::string owner = present_owner();
  const bool is_own = session.owner_.empty() || owner == session.owner_ || owner == session.taken_;
  if (written_ > 0 && !is_own) fail("a scheduler writes to jobs or runs that another one has taken");
  if (broken_ == Broken::LosesCommits && ++commits_ % 16 == 0) return execute("ROLLBACK", now);
  auto done = execute("COMMIT", now);
  if (owner != (owners_.empty() ? std::string{} : owners_.back().id)) owners_.push_back({now, owner});
  if (!session.taken_.empty()) session.owner_ = session.taken_;
  return done;
}

bool SimDatabase::is_owner(const Session& session, Instant now) const {
  const auto later = std::ranges::find_if(owners_, [now](const Owner& owner) { return owner.since > now; });
  return later != owners_.begin() && std::prev(later)->id == session.owner_ && !session.owner_.empty();
}

std::string SimDatabase::present_owner() const { return text("SELECT hex(owner) FROM shards WHERE shard = 0"); }

std::int64_t SimDatabase::number(const std::string& statement) const {
  const std::string got = text(statement);
  return got.empty() ? 0 : std::stoll(got);
}

std::string SimDatabase::text(const std::string& statement) const {
  std::string all;
  const auto add = [](void* to, int columns, char** cells, char**) {
    auto& out = *static_cast<std::string*>(to);
    for (int i = 0; i < columns; ++i) out.append(out.empty() ? "" : " ").append(cells[i] == nullptr ? "-" : cells[i]);
    return 0;
  };
  RONDO_ASSERT(sqlite3_exec(database_, statement.c_str(), add, &all, nullptr) == SQLITE_OK);
  return all;
}

void SimDatabase::fail(std::string what) {
  if (trouble_.ok()) trouble_ = {StatusCode::Internal, std::move(what)};
}

}  // namespace rondo::swarm
