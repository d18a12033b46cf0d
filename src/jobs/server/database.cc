#include "jobs/server/database.h"

#include <algorithm>

namespace rondo::jobs::server {

namespace {

constexpr Duration kFirstPause = 100ms;
constexpr Duration kLastPause = 5s;

}  // namespace

Database::Database(const StoreOptions& options, Openings openings)
    : clock_(options.clock != nullptr ? *options.clock : system_clock_), openings_(std::move(openings)) {}

Status Database::connect() {
  if (is_connected()) return {};
  if (clock_.now() < connect_at_) return connect_error_;
  connect_error_ = connect_now();
  if (connect_error_.ok() && prepare_) {
    const auto prepare = std::exchange(prepare_, {});
    connect_error_ = prepare();
    if (!connect_error_.ok()) {
      prepare_ = prepare;
      disconnect();
    }
  }
  pause_ = connect_error_.ok() ? Duration{0} : std::clamp(2 * pause_, kFirstPause, kLastPause);
  connect_at_ = clock_.now() + pause_;
  return connect_error_;
}

Status Database::lost(const std::string& reason) {
  disconnect();
  return {StatusCode::Unavailable, name_ + ": the connection was lost: " + reason};
}

Result<Rows> Database::send(const std::vector<std::string>& opening, const std::string& statement, const Values& values) {
  if (Status connected = connect(); !connected.ok()) return failure(std::move(connected));
  static const Values kNone;
  std::vector<Command> commands;
  for (const std::string& text : opening) commands.push_back({text.c_str(), &kNone});
  const auto deferred = std::exchange(deferred_, std::nullopt);
  const Values deferred_values = deferred ? deferred->values() : Values{};
  if (deferred) commands.push_back({deferred->statement, &deferred_values});
  commands.push_back({statement.c_str(), &values});
  return exchange(commands);
}

Result<Rows> Database::query(const std::string& statement, const Values& values) {
  if (!failed_.ok()) return failure(failed_);
  if (!is_in_transaction_) {  // Before there is a transaction that the preparation would be a part of.
    if (Status connected = connect(); !connected.ok()) return failure(std::move(connected));
  }
  static const std::vector<std::string> kNothing;
  const auto& opening = has_begun_ ? kNothing : is_in_transaction_ ? openings_.transaction : openings_.alone;
  has_begun_ = is_in_transaction_;
  auto answer = send(opening, statement, values);
  if (!answer && is_in_transaction_) failed_ = answer.error();
  return answer;
}

Result<std::int64_t> Database::number(const std::string& statement, const Values& values) {
  const auto rows = query(statement, values);
  if (!rows) return failure(rows.error());
  return rows->size() == 0 ? 0 : (*rows)[0].integer(0);
}

Status Database::execute(const std::string& statement, const Values& values) {
  const auto done = query(statement, values);
  return done ? Status{} : done.error();
}

Status Database::transaction(const std::function<Status()>& work) {
  if (is_in_transaction_) return work();
  if (Status connected = connect(); !connected.ok()) return connected;
  if (unresolved_) {
    const Result<bool> is_committed = resolve();
    if (!is_committed) return is_committed.error();
    has_missed_commit_ = has_missed_commit_ || *is_committed;
  }
  ++number_;
  is_in_transaction_ = true;
  const auto end = [this] {
    is_in_transaction_ = has_begun_ = false;
    failed_ = {};
    deferred_.reset();
    confirmation_.reset();
    last_statement_.clear();
    after_commit_.clear();
  };
  Status status;
  try {
    status = work();
  } catch (...) {
    rollback();
    end();
    throw;
  }
  if (status.ok()) status = failed_;
  if (status.ok() && (has_begun_ || deferred_)) status = commit();
  const auto calls = std::move(after_commit_);
  if (!status.ok()) rollback();
  end();
  if (!status.ok()) return status;
  for (const auto& call : calls) call();
  return {};
}

Status Database::commit() {
  std::vector<std::string> before = has_begun_ ? std::vector<std::string>{} : openings_.transaction;
  has_begun_ = true;
  if (!last_statement_.empty()) before.push_back(last_statement_);
  const auto answer = send(before, "COMMIT", {});
  if (answer) return answer->is_undone ? Status{StatusCode::Unavailable, name_ + ": the transaction was rolled back"} : Status{};
  if (is_connected()) return answer.error();
  const auto unknown = [&] { return answer.error().with_context("it is not known whether the change is stored"); };
  if (!confirmation_) return unknown();
  unresolved_ = std::move(confirmation_);
  connect_at_ = {};
  const Result<bool> is_committed = resolve();
  if (is_committed && *is_committed) return {};
  return is_committed ? answer.error() : unknown();
}

void Database::rollback() {
  deferred_.reset();
  if (is_connected() && has_begun_ && !send({}, "ROLLBACK", {})) disconnect();
}

Result<bool> Database::resolve() {
  const auto rows = send(openings_.confirmation, unresolved_->statement, unresolved_->values);
  if (!rows) return failure(rows.error());
  const bool is_committed = rows->size() > 0 && (*rows)[0].integer(0) >= unresolved_->written;
  unresolved_.reset();
  return is_committed;
}

}  // namespace rondo::jobs::server
