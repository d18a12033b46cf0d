// Database: the SQLite database of jobs, its transactions, and its errors. One thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rondo/base/result.h"
#include "store/durable/open_file_check.h"
#include "store/durable/statement.h"

namespace rondo::jobs::sqlite {

using store::durable::Statement;

class Database final : public store::durable::Connection {
 public:
  static Result<std::unique_ptr<Database>> open(const std::string& path);
  /// InvalidArgument for a path that is no file.
  static Status check_path(const std::string& path);
  /// Opens a database that exists, to read it, also while another process writes it. NotFound.
  static Result<std::unique_ptr<Database>> open_to_read(const std::string& path);
  /// The same without a change to any file, also of those beside it. It has what the file has; a log of SQLite beside it, which a process
  /// that was killed leaves, is read only if SQLite needs no new file for that. NotFound.
  static Result<std::unique_ptr<Database>> open_unchanged(const std::string& path);

  /// Statements without values.
  Status execute(const char* text);
  Status error(int result) const override;
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
  Database(sqlite3* handle, std::string path) : Connection(handle), path_(std::move(path)) {}
  std::string path_;
  bool is_in_transaction_ = false;
  std::uint64_t log_inode_ = 0;  // Of its log; 0: it has none yet.
  store::durable::OpenFileCheck content_;
};

}  // namespace rondo::jobs::sqlite
