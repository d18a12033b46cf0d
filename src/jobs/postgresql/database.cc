#include "jobs/postgresql/database.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace rondo::jobs::postgresql {

namespace {

constexpr Duration kStatementTimeout = 10s;
constexpr Duration kIdleTimeout = 5s;
/// The server ends a statement earlier, unless it is stopped.
constexpr Duration kAnswerTimeout = 20s;
constexpr Duration kFirstPause = 100ms;
constexpr Duration kLastPause = 5s;

std::string milliseconds(Duration duration) { return std::to_string(duration / 1ms); }

std::string limits_statement(Duration lock_timeout) {
  return "SELECT set_config('idle_in_transaction_session_timeout', '" + milliseconds(kIdleTimeout) +
         "', true), set_config('lock_timeout', '" + milliseconds(lock_timeout) + "', true), set_config('statement_timeout', '" +
         milliseconds(kStatementTimeout) + "', true)";
}

/// The code for an SQLSTATE.
StatusCode code_of(std::string_view state) {
  if (state == "23505") return StatusCode::AlreadyExists;
  if (state == "42501" || state.starts_with("28")) return StatusCode::PermissionDenied;
  if (state == "XX001" || state == "XX002") return StatusCode::DataLoss;
  return StatusCode::Unavailable;
}

/// In one line, without the blank lines at the end.
std::string one_line(std::string_view message) {
  std::string line{message.substr(0, message.find_last_not_of("\n ") + 1)};
  std::ranges::replace_if(
      line, [](char letter) { return letter == '\n' || letter == '\t'; }, ' ');
  return line;
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> connection_settings(const std::string& url) {
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(PQconninfoParse(url.c_str(), &error), PQconninfoFree);
  if (parsed == nullptr) {
    Status wrong{StatusCode::InvalidArgument, "the address of the database of jobs: " + one_line(error == nullptr ? "no memory" : error)};
    PQfreemem(error);
    return failure(std::move(wrong));
  }
  std::vector<std::pair<std::string, std::string>> settings;
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) settings.emplace_back(option->keyword, option->val);
  }
  // A server whose machine is gone is noticed within some 15 s, with and without data under way.
  constexpr std::array<std::pair<const char*, const char*>, 9> kDefaults{{{"connect_timeout", "5"},
                                                                          {"keepalives", "1"},
                                                                          {"keepalives_idle", "5"},
                                                                          {"keepalives_interval", "3"},
                                                                          {"keepalives_count", "3"},
                                                                          {"tcp_user_timeout", "10000"},
                                                                          {"target_session_attrs", "read-write"},
                                                                          {"client_encoding", "UTF8"},
                                                                          {"fallback_application_name", "rondo"}}};
  for (const auto& [keyword, value] : kDefaults) {
    const bool is_given = std::ranges::any_of(settings, [keyword = keyword](const auto& setting) { return setting.first == keyword; });
    if (!is_given) settings.emplace_back(keyword, value);
  }
  return settings;
}

Database::Database(std::string url, const StoreOptions& options)
    : url_(std::move(url)),
      clock_(options.clock != nullptr ? *options.clock : system_clock_),
      limits_(limits_statement(options.lock_timeout)) {}

Result<std::unique_ptr<Database>> Database::open(const std::string& url, const StoreOptions& options) {
  if (auto settings = connection_settings(url); !settings) return failure(std::move(settings.error()));
  std::unique_ptr<Database> database{new Database(url, options)};
  if (Status connected = database->connect(); !connected.ok()) return failure(std::move(connected));
  return database;
}

Status Database::connect() {
  if (connection_ != nullptr) return {};
  if (clock_.now() < connect_at_) return connect_error_;
  connect_error_ = connect_now();
  pause_ = connect_error_.ok() ? Duration{0} : std::clamp(2 * pause_, kFirstPause, kLastPause);
  connect_at_ = clock_.now() + pause_;
  return connect_error_;
}

Status Database::connect_now() {
  const auto settings = connection_settings(url_);
  if (!settings) return settings.error();
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : *settings) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  std::unique_ptr<PGconn, Finish> connection{PQconnectdbParams(keywords.data(), values.data(), 0)};
  if (connection == nullptr) return Status::out_of_memory();
  if (PQstatus(connection.get()) != CONNECTION_OK || PQenterPipelineMode(connection.get()) != 1) {
    return {StatusCode::Unavailable, "the database of jobs: " + one_line(PQerrorMessage(connection.get()))};
  }
  name_ = "the database of jobs '" + std::string{PQdb(connection.get())} + "' at " + PQhost(connection.get());
  // Otherwise libpq would print notices. The last words of a server that ends are one.
  PQsetNoticeReceiver(
      connection.get(),
      [](void* database, const PGresult* notice) { static_cast<Database*>(database)->notice_ = one_line(PQresultErrorMessage(notice)); },
      this);
  notice_.clear();
  connection_ = std::move(connection);
  return {};
}

Status Database::lost(std::string reason) {
  if (reason.empty()) reason = notice_.empty() ? one_line(PQerrorMessage(connection_.get())) : notice_;
  connection_.reset();
  return {StatusCode::Unavailable, name_ + ": the connection was lost: " + reason};
}

bool Database::wait_for_result() {
  const Instant end = system_clock_.now() + kAnswerTimeout;
  while (PQisBusy(connection_.get()) != 0) {
    const Duration left = end - system_clock_.now();
    if (left <= Duration{0}) return false;
    pollfd socket{PQsocket(connection_.get()), POLLIN, 0};
    ::poll(&socket, 1, static_cast<int>(left / 1ms) + 1);
    if (PQconsumeInput(connection_.get()) == 0) break;  // PQgetResult() has the error.
  }
  return true;
}

Result<std::vector<Rows>> Database::exchange(std::span<const Command> commands) {
  if (Status connected = connect(); !connected.ok()) return failure(std::move(connected));
  PGconn* const connection = connection_.get();
  for (const Command& command : commands) {
    const std::vector<int> formats(static_cast<std::size_t>(command.values->size()), 1);
    const bool is_sent = PQsendQueryParams(connection, command.text, command.values->size(), command.values->types(),
                                           command.values->pointers().data(), command.values->lengths().data(), formats.data(), 1) == 1;
    if (!is_sent) return failure(lost({}));
  }
  if (PQpipelineSync(connection) != 1) return failure(lost({}));
  std::vector<Rows> answers;
  Status error;
  bool is_standby = false;
  for (bool was_end = false;;) {
    if (!wait_for_result()) return failure(lost("the server does not answer"));
    PGresult* const result = PQgetResult(connection);
    if (result == nullptr) {  // Between two commands there is one.
      if (was_end || PQstatus(connection) != CONNECTION_OK) return failure(lost(std::string{error.message()}));
      was_end = true;
      continue;
    }
    was_end = false;
    Rows rows(result);
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_PIPELINE_SYNC) break;
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      answers.push_back(std::move(rows));
    } else if (status != PGRES_PIPELINE_ABORTED && error.ok()) {
      const char* const field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
      const std::string_view state = field == nullptr ? "" : field;
      is_standby = state == "25006";
      error = {code_of(state), one_line(PQresultErrorMessage(result))};
    }
  }
  // After a failover another host of the url may be the primary server.
  if (PQstatus(connection) != CONNECTION_OK || is_standby) return failure(lost(std::string{error.message()}));
  if (!error.ok()) return failure(error.with_context(name_));
  return answers;
}

Result<Rows> Database::query(const std::string& statement, const Values& values) {
  if (!failed_.ok()) return failure(failed_);
  static const Values kNone;
  std::vector<Command> commands;
  const bool begins = is_in_transaction_ && !has_begun_;
  if (begins) commands.push_back({"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", &kNone});
  // Without BEGIN the statements of a pipeline are one transaction.
  if (!has_begun_) commands.push_back({limits_.c_str(), &kNone});
  commands.push_back({statement.c_str(), &values});
  if (begins) has_begun_ = true;
  auto answers = exchange(commands);
  if (!answers) {
    if (is_in_transaction_) failed_ = answers.error();
    return failure(std::move(answers.error()));
  }
  return std::move(answers->back());
}

Result<std::int64_t> Database::number(const std::string& statement, const Values& values) {
  const auto rows = query(statement, values);
  if (!rows) return failure(rows.error());
  return rows->size() == 0 ? 0 : (*rows)[0].integer(0);
}

Status Database::transaction(const std::function<Status()>& work) {
  if (is_in_transaction_) return work();
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
  if (status.ok() && has_begun_) status = commit();
  const auto calls = std::move(after_commit_);
  if (!status.ok()) rollback();
  end();
  if (!status.ok()) return status;
  for (const auto& call : calls) call();
  return {};
}

Status Database::commit() {
  const Values none;
  std::vector<Command> commands;
  if (!last_statement_.empty()) commands.push_back({last_statement_.c_str(), &none});
  commands.push_back({"COMMIT", &none});
  const auto answers = exchange(commands);
  if (answers) {
    const bool is_stored = answers->back().command() == "COMMIT";  // Not "ROLLBACK", of a transaction that had failed.
    return is_stored ? Status{} : Status{StatusCode::Unavailable, name_ + ": the transaction was rolled back"};
  }
  if (connection_ != nullptr) return answers.error();
  const auto unknown = [&] { return answers.error().with_context("it is not known whether the change is stored"); };
  if (!confirmation_) return unknown();
  unresolved_ = std::move(confirmation_);
  connect_at_ = {};
  const Result<bool> is_committed = resolve();
  if (is_committed && *is_committed) return {};
  return is_committed ? answers.error() : unknown();
}

void Database::rollback() {
  if (connection_ == nullptr || PQtransactionStatus(connection_.get()) == PQTRANS_IDLE) return;
  const Values none;
  const Command command{"ROLLBACK", &none};
  if (!exchange({&command, 1})) connection_.reset();
}

Result<bool> Database::resolve() {
  const Values none;
  // It changes nothing, so that its own end need not wait for a standby.
  const std::array<Command, 3> commands{Command{limits_.c_str(), &none},
                                        {"SELECT set_config('synchronous_commit', 'local', true)", &none},
                                        {unresolved_->statement.c_str(), &unresolved_->values}};
  const auto answers = exchange(commands);
  if (!answers) return failure(answers.error());
  const Rows& rows = answers->back();
  const bool is_committed = rows.size() > 0 && rows[0].integer(0) >= unresolved_->written;
  unresolved_.reset();
  return is_committed;
}

}  // namespace rondo::jobs::postgresql
