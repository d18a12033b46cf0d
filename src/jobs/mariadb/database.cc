#include "jobs/mariadb/database.h"

#include <mysqld_error.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "jobs/mariadb/text.h"

namespace rondo::jobs::mariadb {

namespace {

/// The server ends a statement earlier, unless it is stopped.
constexpr unsigned kAnswerSeconds = 12;
constexpr unsigned kConnectSeconds = 5;

/// RETURNING came with MariaDB 10.5. MySQL has other numbers, which are lower, too.
constexpr unsigned long kOldestServer = 100'500;

std::string limits_statement(Duration lock_timeout) {
  const std::string seconds = std::to_string((lock_timeout + 999ms) / 1s);
  return "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET autocommit = 1, sql_mode = 'TRADITIONAL,ANSI_QUOTES', "
         "innodb_lock_wait_timeout = " +
         seconds + ", lock_wait_timeout = " + seconds + ", max_statement_time = 10, idle_transaction_timeout = 5";
}

/// The code for an error of the server.
StatusCode code_of(unsigned error) {
  switch (error) {
    case ER_DUP_ENTRY: return StatusCode::AlreadyExists;
    case ER_DBACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_ERROR:
    case ER_TABLEACCESS_DENIED_ERROR:
    case ER_COLUMNACCESS_DENIED_ERROR:
    case ER_SPECIFIC_ACCESS_DENIED_ERROR: return StatusCode::PermissionDenied;
    case ER_NOT_KEYFILE:
    case ER_CRASHED_ON_USAGE:
    case ER_INDEX_CORRUPT: return StatusCode::DataLoss;
    default: return StatusCode::Unavailable;
  }
}

/// True if the connection cannot be used further: errors of the client, a server that ends, and a server that has become read-only.
bool is_end(unsigned error) {
  return (error >= 2000 && error < 3000) || error == ER_SERVER_SHUTDOWN || error == ER_CONNECTION_KILLED ||
         error == ER_OPTION_PREVENTS_STATEMENT || (error >= ER_NET_PACKET_TOO_LARGE && error <= ER_NET_WRITE_INTERRUPTED);
}

server::Cell cell_of(const MYSQL_FIELD& field, const char* bytes, unsigned long length) {
  if (bytes == nullptr) return {};
  if (!IS_NUM(field.type)) return std::string{bytes, length};
  std::int64_t number = 0;
  std::from_chars(bytes, bytes + length, number);
  return number;
}

server::Rows rows_of(MYSQL_RES* result) {
  const unsigned columns = mysql_num_fields(result);
  const MYSQL_FIELD* const fields = mysql_fetch_fields(result);
  server::Rows rows(columns);
  while (MYSQL_ROW row = mysql_fetch_row(result)) {
    const unsigned long* const lengths = mysql_fetch_lengths(result);
    for (unsigned i = 0; i < columns; ++i) rows.add(cell_of(fields[i], row[i], lengths[i]));
  }
  return rows;
}

const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

void set_options(MYSQL* connection, const Address& address) {
  const unsigned protocol = !address.socket.empty() ? MYSQL_PROTOCOL_SOCKET
                            : address.host.empty()  ? MYSQL_PROTOCOL_DEFAULT
                                                    : MYSQL_PROTOCOL_TCP;
  const my_bool no = 0;
  const my_bool yes = 1;
  const my_bool verifies = address.verifies ? 1 : 0;
  mysql_options(connection, MYSQL_OPT_CONNECT_TIMEOUT, &kConnectSeconds);
  mysql_options(connection, MYSQL_OPT_READ_TIMEOUT, &kAnswerSeconds);
  mysql_options(connection, MYSQL_OPT_WRITE_TIMEOUT, &kAnswerSeconds);
  mysql_options(connection, MYSQL_OPT_PROTOCOL, &protocol);
  mysql_options(connection, MYSQL_SET_CHARSET_NAME, "binary");  // Literals are bytes, and so are the texts of answers.
  mysql_options(connection, MYSQL_OPT_LOCAL_INFILE, &no);       // The server could ask for a file.
  if (!address.has_tls) return;
  mysql_options(connection, MYSQL_OPT_SSL_ENFORCE, &yes);
  mysql_options(connection, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verifies);
  if (!address.ssl_ca.empty()) mysql_options(connection, MYSQL_OPT_SSL_CA, address.ssl_ca.c_str());
}

}  // namespace

MariadbDatabase::MariadbDatabase(Address address, const server::StoreOptions& options, const std::string& limits)
    : Database(options, {.transaction = {limits, "START TRANSACTION READ WRITE"}, .alone = {limits}, .confirmation = {limits}}),
      address_(std::move(address)) {
  name_ += " '" + address_.database + "' at " +
           (!address_.socket.empty() ? address_.socket
            : address_.host.empty()  ? "localhost"
                                     : address_.host);
}

Result<std::unique_ptr<server::Database>> MariadbDatabase::open(const std::string& url, const server::StoreOptions& options) {
  static const bool is_ready = mysql_library_init(0, nullptr, nullptr) == 0;  // mysql_init() would do so in each thread.
  if (!is_ready) return failure(Status::out_of_memory());
  auto address = parse_address(url);
  if (!address) return failure(std::move(address.error()));
  std::unique_ptr<server::Database> database{new MariadbDatabase(std::move(*address), options, limits_statement(options.lock_timeout))};
  return database;
}

Status MariadbDatabase::connect_now() {
  const auto password = password_of(address_);
  if (!password) return password.error();
  std::unique_ptr<MYSQL, Close> connection{mysql_init(nullptr)};
  if (connection == nullptr) return Status::out_of_memory();
  set_options(connection.get(), address_);
  const bool is_connected = mysql_real_connect(connection.get(), text_or_null(address_.host), text_or_null(address_.user),
                                               password->c_str(), address_.database.c_str(), address_.port, text_or_null(address_.socket),
                                               CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS) != nullptr;
  if (!is_connected) return {StatusCode::Unavailable, name_ + ": " + mysql_error(connection.get())};
  connection_ = std::move(connection);
  most_bytes_ = SIZE_MAX;
  Status wrong = check_server();
  if (!wrong.ok()) disconnect();
  return wrong;
}

Status MariadbDatabase::check_server() {
  if (mysql_get_server_version(connection_.get()) < kOldestServer) {
    return {StatusCode::Unavailable,
            name_ + ": the server is " + mysql_get_server_info(connection_.get()) + ", and not MariaDB 10.5 or later"};
  }
  const server::Values none;
  const Command question{"SELECT @@global.read_only, @@max_allowed_packet", &none};
  const auto answer = exchange({&question, 1});
  if (!answer) return answer.error();
  const server::Rows::Row row = (*answer)[0];
  most_bytes_ = static_cast<std::size_t>(row.integer(1));
  return row.integer(0) == 0 ? Status{} : Status{StatusCode::Unavailable, name_ + ": the server is read-only"};
}

Status MariadbDatabase::error() {
  const unsigned code = mysql_errno(connection_.get());
  const std::string text = mysql_error(connection_.get());
  return is_end(code) ? lost(text) : Status{code_of(code), name_ + ": " + text};
}

Result<server::Rows> MariadbDatabase::exchange(std::span<const Command> commands) {
  std::string text;
  for (const Command& command : commands) {
    if (!text.empty()) text += "; ";
    text += filled(command.text, *command.values);
  }
  if (text.size() >= most_bytes_) {  // The server would close the connection.
    return failure(StatusCode::Unavailable, name_ + ": a statement has " + std::to_string(text.size()) +
                                                " bytes, and max_allowed_packet of the server is " + std::to_string(most_bytes_));
  }
  MYSQL* const connection = connection_.get();
  if (mysql_real_query(connection, text.data(), text.size()) != 0) return failure(error());
  for (;;) {
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(connection), mysql_free_result);
    if (result == nullptr && mysql_field_count(connection) != 0) return failure(error());
    server::Rows answer = result == nullptr ? server::Rows{} : rows_of(result.get());
    if (result == nullptr) answer.affected = static_cast<std::int64_t>(mysql_affected_rows(connection));
    const int next = mysql_next_result(connection);
    if (next > 0) return failure(error());
    if (next < 0) return answer;
  }
}

}  // namespace rondo::jobs::mariadb
