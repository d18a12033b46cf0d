#include "jobs/postgresql/database.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "jobs/postgresql/parameters.h"

namespace rondo::jobs::postgresql {

namespace {

constexpr Duration kStatementTimeout = 10s;
constexpr Duration kIdleTimeout = 5s;
/// The server ends a statement earlier, unless it is stopped.
constexpr Duration kAnswerTimeout = 12s;

std::string milliseconds(Duration duration) { return std::to_string(duration / 1ms); }

constexpr const char* kBegin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
/// For what changes nothing, so that its own end need not wait for a standby.
constexpr const char* kCommitLocally = "SELECT set_config('synchronous_commit', 'local', true)";

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

PostgresqlDatabase::PostgresqlDatabase(std::string url, const server::StoreOptions& options)
    : PostgresqlDatabase(std::move(url), options, limits_statement(options.lock_timeout)) {}
PostgresqlDatabase::PostgresqlDatabase(std::string url, const server::StoreOptions& options, const std::string& limits)
    // Without BEGIN the statements of a pipeline are one transaction.
    : Database(options, {.transaction = {kBegin, limits}, .alone = {limits}, .confirmation = {limits, kCommitLocally}}),
      url_(std::move(url)) {}

Result<std::unique_ptr<server::Database>> PostgresqlDatabase::open(const std::string& url, const server::StoreOptions& options) {
  if (auto settings = connection_settings(url); !settings) return failure(std::move(settings.error()));
  std::unique_ptr<server::Database> database{new PostgresqlDatabase(url, options)};
  return database;
}

Status PostgresqlDatabase::connect_now() {
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
      [](void* database, const PGresult* notice) {
        static_cast<PostgresqlDatabase*>(database)->notice_ = one_line(PQresultErrorMessage(notice));
      },
      this);
  notice_.clear();
  connection_ = std::move(connection);
  return {};
}

Status PostgresqlDatabase::lost_because(std::string reason) {
  if (reason.empty()) reason = notice_.empty() ? one_line(PQerrorMessage(connection_.get())) : notice_;
  return lost(reason);
}

bool PostgresqlDatabase::wait_for_result() {
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

Result<server::Rows> PostgresqlDatabase::exchange(std::span<const Command> commands) {
  PGconn* const connection = connection_.get();
  for (const Command& command : commands) {
    const Parameters parameters(*command.values);
    const std::vector<int> formats(static_cast<std::size_t>(parameters.size()), 1);
    const bool is_sent = PQsendQueryParams(connection, command.text, parameters.size(), parameters.types(), parameters.pointers().data(),
                                           parameters.lengths().data(), formats.data(), 1) == 1;
    if (!is_sent) return failure(lost_because({}));
  }
  if (PQpipelineSync(connection) != 1) return failure(lost_because({}));
  server::Rows answer;
  Status error;
  bool is_standby = false;
  for (bool was_end = false;;) {
    if (!wait_for_result()) return failure(lost_because("the server does not answer"));
    const std::unique_ptr<PGresult, decltype(&PQclear)> owned(PQgetResult(connection), PQclear);
    const PGresult* const result = owned.get();
    if (result == nullptr) {  // Between two commands there is one.
      if (was_end || PQstatus(connection) != CONNECTION_OK) return failure(lost_because(std::string{error.message()}));
      was_end = true;
      continue;
    }
    was_end = false;
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_PIPELINE_SYNC) break;
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      answer = rows_of(result);
    } else if (status != PGRES_PIPELINE_ABORTED && error.ok()) {
      const char* const field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
      const std::string_view state = field == nullptr ? "" : field;
      is_standby = state == "25006";
      error = {code_of(state), one_line(PQresultErrorMessage(result))};
    }
  }
  // After a failover another host of the url may be the primary server.
  if (PQstatus(connection) != CONNECTION_OK || is_standby) return failure(lost_because(std::string{error.message()}));
  if (!error.ok()) return failure(error.with_context(name_));
  return answer;
}

}  // namespace rondo::jobs::postgresql
