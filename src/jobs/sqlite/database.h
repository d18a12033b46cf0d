// Database and Statement: SQLite's handles with their lifetimes, and its results as a Status. One thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "store/durable/open_file_check.h"

namespace rondo::jobs::sqlite {

class Database;

/// A prepared statement, for use again and again. Values are bound in order, from the first place on.
class Statement {
 public:
  /// 'database' must outlive it.
  Statement(Database& database, const char* text);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t value);
  Statement& bind(std::string_view text);
  Statement& bind(WallTime time) { return bind(time.nanoseconds()); }
  Statement& bind(const std::optional<WallTime>& time);

  /// Executes up to the next row: true if there is one.
  Result<bool> step();
  /// Executes to the end, and resets.
  Status run();
  /// Ready for new values.
  void reset() noexcept;

  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  bool is_integer(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_INTEGER; }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string text(int column) const;
  /// Bytes of a text.
  std::size_t bytes(int column) const { return static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)); }
  WallTime time(int column) const { return WallTime::from_nanoseconds(integer(column)); }

 private:
  Status error() const;
  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  Status prepared_;  // Its message would be overwritten by that of the next statement.
  int place_ = 0;
  int result_ = SQLITE_OK;
};

class Database {
 public:
  static Result<std::unique_ptr<Database>> open(const std::string& path);
  /// InvalidArgument for a path that is no file.
  static Status check_path(const std::string& path);
  /// Opens a database that exists, to read it, also while another process writes it. NotFound.
  static Result<std::unique_ptr<Database>> open_to_read(const std::string& path);
  /// The same without a change to any file, also of those beside it. It has what the file has; a log of SQLite beside it, which a process
  /// that was killed leaves, is read only if SQLite needs no new file for that. NotFound.
  static Result<std::unique_ptr<Database>> open_unchanged(const std::string& path);
  ~Database() { sqlite3_close_v2(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  sqlite3* handle() noexcept { return handle_; }
  /// Statements without values.
  Status execute(const char* text);
  /// Executes one statement and returns the integer of its row.
  Result<std::int64_t> query(const char* text);
  /// The error of a result of SQLite, with the path.
  Status error(int result) const;
  /// Ok, or the error of the first statement that could not be prepared: a table or a column is missing.
  const Status& prepared() const noexcept { return prepared_; }
  void note_prepared(const Status& status) {
    if (prepared_.ok()) prepared_ = status;
  }
  /// SQLite goes on with a file that was removed or overwritten, and what it writes is gone at the end of the process. DataLoss if the file
  /// is no database any more; Unavailable if it, or its log, was removed, moved away or replaced.
  Status check_files();
  /// Runs 'work' in a transaction, which an error or an exception undoes. Within the work of another transaction it is a part of that one.
  template <class Work>
  Status transaction(const Work& work) {
    if (is_in_transaction_) return work();
    if (Status wrong = check_files(); !wrong.ok()) return wrong;
    if (Status begun = execute("BEGIN IMMEDIATE"); !begun.ok()) return begun;
    is_in_transaction_ = true;
    Status status;
    try {
      status = work();
    } catch (...) {
      is_in_transaction_ = false;
      static_cast<void>(execute("ROLLBACK"));
      throw;
    }
    is_in_transaction_ = false;
    if (status.ok()) status = execute("COMMIT");
    if (!status.ok()) static_cast<void>(execute("ROLLBACK"));
    return status;
  }

 private:
  static Result<std::unique_ptr<Database>> open(const std::string& path, int flags);
  Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  sqlite3* handle_;
  std::string path_;
  Status prepared_;
  bool is_in_transaction_ = false;
  std::uint64_t log_inode_ = 0;  // Of its log; 0: it has none yet.
  store::durable::OpenFileCheck content_;
};

}  // namespace rondo::jobs::sqlite
