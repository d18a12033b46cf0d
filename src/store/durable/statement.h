// Connection and Statement: SQLite's handles with their lifetimes, and its results as a Status. The databases of tables and of jobs use
// them. One thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::store::durable {

/// An open database, which closes with the object, and the words for SQLite's errors.
class Connection {
 public:
  Connection() = default;
  explicit Connection(sqlite3* handle) : handle_(handle) {}
  virtual ~Connection() { sqlite3_close_v2(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* handle() const noexcept { return handle_; }
  /// The error of SQLite's 'result', which the newest call returned.
  virtual Status error(int result) const = 0;
  /// Ok, or the error of the first statement that could not be prepared: a table or a column is missing.
  const Status& prepared() const noexcept { return prepared_; }
  void note_prepared(const Status& status) {
    if (prepared_.ok()) prepared_ = status;
  }
  /// Executes one statement and returns the integer of its row; 0 without a row.
  inline Result<std::int64_t> query(const char* text);

 protected:
  sqlite3* handle_ = nullptr;

 private:
  Status prepared_;
};

/// A prepared statement, for use again and again. Values are bound in order, from the first place on.
class Statement {
 public:
  /// 'connection' must outlive it.
  Statement(Connection& connection, const char* text) : connection_(connection) {
    result_ = sqlite3_prepare_v3(connection.handle(), text, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
    if (result_ == SQLITE_OK) return;
    prepared_ = connection.error(result_);
    connection.note_prepared(prepared_);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t value) {
    if (result_ == SQLITE_OK) result_ = sqlite3_bind_int64(statement_, ++place_, value);
    return *this;
  }
  Statement& bind(std::string_view text) {
    // A null pointer would bind NULL.
    const char* const data = text.data() == nullptr ? "" : text.data();
    if (result_ == SQLITE_OK) {
      result_ = sqlite3_bind_text64(statement_, ++place_, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    return *this;
  }
  Statement& bind(WallTime time) { return bind(time.nanoseconds()); }
  Statement& bind(const std::optional<WallTime>& time) {
    if (time) return bind(*time);
    if (result_ == SQLITE_OK) result_ = sqlite3_bind_null(statement_, ++place_);
    return *this;
  }
  /// 'bytes' must stay valid until reset().
  Statement& bind_blob(std::string_view bytes) {
    if (result_ == SQLITE_OK) result_ = sqlite3_bind_blob64(statement_, ++place_, bytes.data(), bytes.size(), SQLITE_STATIC);
    return *this;
  }

  /// Executes up to the next row: true if there is one.
  Result<bool> step() {
    if (result_ != SQLITE_OK) return failure(prepared_.ok() ? connection_.error(result_) : prepared_);
    const int result = sqlite3_step(statement_);
    if (result == SQLITE_ROW) return true;
    if (result == SQLITE_DONE) return false;
    Status status = connection_.error(result);
    reset();
    return failure(std::move(status));
  }
  /// Executes to the end, and resets.
  Status run() {
    for (;;) {
      const Result<bool> row = step();
      if (!row) return row.error();
      if (!*row) break;
    }
    reset();
    return {};
  }
  /// Ready for new values.
  void reset() noexcept {
    if (statement_ == nullptr) return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    place_ = 0;
    result_ = SQLITE_OK;
  }

  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  bool is_integer(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_INTEGER; }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string text(int column) const {
    const auto* const begin = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return begin == nullptr ? std::string{} : std::string{begin, bytes(column)};
  }
  /// Valid until the next step() or reset().
  std::string_view blob(int column) const {
    const void* const begin = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(begin), begin == nullptr ? 0 : bytes(column)};
  }
  /// Bytes of a text or a blob.
  std::size_t bytes(int column) const { return static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)); }
  WallTime time(int column) const { return WallTime::from_nanoseconds(integer(column)); }

 private:
  Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
  Status prepared_;  // SQLite's message would be overwritten by that of the next statement.
  int place_ = 0;
  int result_ = SQLITE_OK;
};

Result<std::int64_t> Connection::query(const char* text) {
  Statement statement(*this, text);
  const Result<bool> row = statement.step();
  if (!row) return failure(row.error());
  return *row ? statement.integer(0) : 0;
}

}  // namespace rondo::store::durable
