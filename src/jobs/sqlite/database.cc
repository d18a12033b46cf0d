#include "jobs/sqlite/database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "store/percent.h"

namespace rondo::jobs::sqlite {

namespace {

/// Waits this long for another process that reads or copies the database.
constexpr int kBusyMilliseconds = 1000;

Status status_of(sqlite3* database, int result, std::string_view what) {
  const std::string text = std::string{what} + ": " + (database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(result));
  switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return {StatusCode::DataLoss, text};
    case SQLITE_CONSTRAINT: return {StatusCode::AlreadyExists, text};
    case SQLITE_PERM:
    case SQLITE_AUTH: return {StatusCode::PermissionDenied, text};
    case SQLITE_NOMEM: return Status::out_of_memory();
    default: return {StatusCode::Unavailable, text};
  }
}

/// SQLite would create the file with the permissions of the umask. A file that exists is not opened: closing it would end the locks that
/// another connection of this process holds.
Status create_private(const std::string& path) {
  const UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  return file.get() < 0 && errno != EEXIST ? status_from_errno(errno, "creating '" + path + "'") : Status{};
}

/// A device, a FIFO or a folder is no database: SQLite takes /dev/null for an empty one. And SQLite would begin without jobs, and overwrite
/// the -wal, which may have nearly all of them, where the file beside it is lost.
Status check_file(const std::string& path) {
  struct stat found {};
  const bool is_there = ::stat(path.c_str(), &found) == 0;
  if (is_there && !S_ISREG(found.st_mode))
    return {StatusCode::InvalidArgument, "'" + path + "' is no regular file, and so no database of jobs"};
  if (!is_there && errno != ENOENT) return {};  // Opening it has the error.
  if (is_there && found.st_size > 0) return {};
  const std::string wal = path + "-wal";
  if (::stat(wal.c_str(), &found) != 0 || found.st_size == 0) return {};
  return {StatusCode::DataLoss, "the database of jobs '" + path + "' is " + (is_there ? "empty" : "lost") + ", and '" + wal +
                                    "' is there: bring the file back, restore a copy after moving '" + wal +
                                    "' away, or move it away to begin without jobs"};
}

}  // namespace

Status Database::check_path(const std::string& path) {
  if (!path.empty() && path != ":memory:") return {};
  // SQLite would keep such a database in memory.
  return {StatusCode::InvalidArgument, "'" + path + "' is no path of a database of jobs, which must be a file"};
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
  if (Status wrong = check_path(path); !wrong.ok()) return failure(std::move(wrong));
  if (Status wrong = check_file(path); !wrong.ok()) return failure(std::move(wrong));
  if (Status created = create_private(path); !created.ok()) return failure(std::move(created));
  return open(path, SQLITE_OPEN_READWRITE);
}

Result<std::unique_ptr<Database>> Database::open_to_read(const std::string& path) {
  if (Status wrong = check_file(path); !wrong.ok()) return failure(std::move(wrong));
  if (::access(path.c_str(), R_OK) != 0) return failure(status_from_errno(errno, "opening '" + path + "'"));
  return open(path, SQLITE_OPEN_READONLY);
}

Result<std::unique_ptr<Database>> Database::open_unchanged(const std::string& path) {
  if (Status wrong = check_file(path); !wrong.ok()) return failure(std::move(wrong));
  if (::access(path.c_str(), R_OK) != 0) return failure(status_from_errno(errno, "opening '" + path + "'"));
  // While a process has the database open, SQLite has made these files.
  if (::access((path + "-wal").c_str(), R_OK) == 0 && ::access((path + "-shm").c_str(), R_OK) == 0) return open_to_read(path);
  auto database = open("file:" + store::percent_encoded(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  if (database) (*database)->path_ = path;
  return database;
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, int flags) {
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Database> database{new Database(handle, path)};
  if (result != SQLITE_OK) return failure(status_of(handle, result, "opening '" + path + "'"));
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  return database;
}

Status Database::execute(const char* text) {
  const int result = sqlite3_exec(handle_, text, nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? Status{} : error(result);
}

Status Database::error(int result) const {
  Status status = status_of(handle_, result, "the database of jobs '" + path_ + "'");
  if ((result & 0xff) != SQLITE_FULL) return status;
  // SQLite reports the same for a full disk.
  sqlite3_stmt* found = nullptr;
  const std::string text = "SELECT name FROM sqlite_sequence WHERE seq >= " + std::to_string(std::numeric_limits<std::int64_t>::max());
  const bool is_used_up = sqlite3_prepare_v2(handle_, text.c_str(), -1, &found, nullptr) == SQLITE_OK && sqlite3_step(found) == SQLITE_ROW;
  if (is_used_up) {
    const std::string table{reinterpret_cast<const char*>(sqlite3_column_text(found, 0))};
    status = {StatusCode::Unavailable, "the database of jobs '" + path_ + "': the numbers of the table " + table.substr(0, 100) +
                                           " are used up, so no row can be added: see `rondo job doctor`"};
  }
  sqlite3_finalize(found);
  return status;
}

Status Database::check_files() {
  const auto is_gone = [](const std::string& path) {
    return Status{StatusCode::Unavailable,
                  "'" + path +
                      "' was removed, moved away or replaced while it is open: what is stored from now on would be "
                      "gone when this process ends"};
  };
  int has_moved = 0;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  if (has_moved != 0) return is_gone(path_);
  const std::string log = path_ + "-wal";
  struct stat found {};
  const std::uint64_t inode = ::stat(log.c_str(), &found) == 0 ? found.st_ino : 0;
  if (log_inode_ == 0) log_inode_ = inode;
  if (inode != log_inode_) return is_gone(log);
  return content_.run(handle_, path_);
}

}  // namespace rondo::jobs::sqlite
