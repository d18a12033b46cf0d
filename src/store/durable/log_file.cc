#include "store/durable/log_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "base/private_file.h"
#include "base/unique_fd.h"
#include "rondo/store/record.h"
#include "store/durable/open_file_check.h"
#include "store/durable/statement.h"
#include "store/percent.h"

namespace rondo::store::durable {

namespace {

constexpr int kApplication = 0x526e646f;  // "Rndo", in the file's header.
constexpr int kVersion = 1;
constexpr std::uint32_t kPageBytes = 16384;
/// Pages in the write-ahead log before they are moved into the database: 16 MiB; the move takes tens of milliseconds.
constexpr int kLogPages = 1024;
constexpr const char* kSettings =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA wal_autocheckpoint = 0;"  // An automatic checkpoint reports no failure: see checkpoint().
    "PRAGMA journal_size_limit = 67108864;"
    "PRAGMA cache_size = -16384;"
    "PRAGMA secure_delete = ON;";  // Debian's default. `sqlite3 NAME .recover` must not find dropped entries.
constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, records BLOB NOT NULL)";

std::int64_t checksum_of(std::string_view records) { return static_cast<std::int64_t>(XXH3_64bits(records.data(), records.size())); }

/// Damage is permanent. A disk that does not answer, or a lack of memory, may be temporary.
bool is_damage(const Status& why) { return why.code() == StatusCode::DataLoss; }

std::string words_of(int error) { return std::generic_category().message(error); }

/// A fingerprint of the file and its log, to detect changes by others.
struct Print {
  std::array<std::int64_t, 8> all{};
  friend bool operator==(const Print&, const Print&) = default;
};
Print print_of(const std::string& path) {
  Print print;
  auto next = print.all.begin();
  for (const std::string& one : {path, path + "-wal"}) {
    struct stat found {};
    const bool there = ::stat(one.c_str(), &found) == 0;
    *next++ = there ? static_cast<std::int64_t>(found.st_ino) : -1;
    *next++ = there ? found.st_size : 0;
    *next++ = there ? found.st_mtim.tv_sec : 0;
    *next++ = there ? found.st_mtim.tv_nsec : 0;
  }
  return print;
}

/// The header's version for writers, at byte 18, is unknown to SQLite (file format, 1.3.3). SQLite then opens the file read-only.
bool has_unknown_writer(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(18);
  return in.get() > 2;
}

/// 0 if there is no such file.
std::uintmax_t size_of(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

/// The error for a database of another application.
Status none_of_ours(const std::string& path) {
  return {StatusCode::FailedPrecondition, quoted(path) + " is a database, but no store of Rondo's"};
}

/// Checks what SQLite does not: it reads from a pipe, and it deletes the log of a file that is absent or empty.
Status check_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  const bool is_there = !error && std::filesystem::exists(found);
  const std::string opening = "opening " + quoted(path) + ": ";
  if (is_there && std::filesystem::is_directory(found)) return {StatusCode::FailedPrecondition, opening + "it is a folder"};
  if (is_there && !std::filesystem::is_regular_file(found)) return {StatusCode::FailedPrecondition, opening + "it is no regular file"};
  if (found.type() == std::filesystem::file_type::unknown || size_of(path) > 0 || size_of(path + "-wal") == 0) return {};
  return {StatusCode::DataLoss, opening + "the file is lost, or has no bytes, and its log " + quoted(path + "-wal") +
                                    " is there: bring the file back from a backup, or move the log away to begin without rows"};
}

/// The file to which a name leads.
struct Identity {
  dev_t device = 0;
  ino_t number = 0;
};
Identity identity_of(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? Identity{found.st_dev, found.st_ino} : Identity{};
}
/// True if 'path' leads to no file or to another one than 'opened'. False if the process lacks permission to check.
bool leads_elsewhere(const std::string& path, const Identity& opened) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return errno == ENOENT || errno == ENOTDIR;
  return found.st_dev != opened.device || found.st_ino != opened.number;
}

class SqliteLogFile final : public LogFile, public Connection {
 public:
  explicit SqliteLogFile(std::string path) : path_(std::move(path)) {}
  ~SqliteLogFile() override {
    if (append_ && leads_elsewhere(path_ + "-wal", log_) && std::filesystem::exists(path_ + "-wal")) {
      // Another process put another file and its log in this one's place. On close, SQLite would remove the log by its name.
      sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
      leave_alone();
    }
  }

  Status open(Mode mode);
  Reading read(const std::function<Status(std::string_view)>& each) override;
  Status append(std::span<const std::string> entries) override;
  std::int64_t last() const override { return last_; }
  Result<bool> drop_until(std::int64_t last, std::uint32_t max) override;
  Status checkpoint(bool idle) override;
  Status check_names() override;

 private:
  Status trouble(std::string_view what) const;
  Status error(int /*result*/) const override { return trouble("reading"); }
  Status connect(Mode mode);
  Status open_for_looking();
  Status check_not_taken();
  Status make_private();
  Status make_log_anew();
  /// Leaves the file and its log unchanged on close: they are kept.
  void leave_alone(bool alone = true) { sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, alone ? 1 : 0, nullptr); }
  /// Lets SQLite read a file that is shorter than its header says. The missing pages then read as damage.
  void let_repair() { sqlite3_db_config(handle_, SQLITE_DBCONFIG_WRITABLE_SCHEMA, refused_.ok() ? 0 : 1, nullptr); }
  bool run(const char* text) { return sqlite3_exec(handle_, text, nullptr, nullptr, nullptr) == SQLITE_OK; }
  Status check_header();
  Status open_for_writing(Mode mode);
  Status check_pages(std::vector<Status>& damage);
  std::vector<std::int64_t> all_numbers(Reading& reading);
  /// Reads the numbers of the entries, ascending or descending, up to the end or to damage.
  Status numbers(bool ascending, std::vector<std::int64_t>& out);

  std::string path_;
  std::optional<Print> print_;  // The fingerprint when the file was opened read-only.
  Status refused_;              // Why SQLite opened the file only for a repair.
  bool has_unknown_writer_ = false;
  OpenFileCheck content_;
  bool is_empty_ = false;  // No entry has been moved from the log into the file yet.
  std::optional<Statement> append_;
  std::int64_t last_ = 0;
  int log_pages_ = 0;  // Pages in the write-ahead log, after the last commit.
  Identity file_;      // The identities of the open files.
  Identity log_;
};

/// Converts SQLite's last error to a Status.
Status SqliteLogFile::trouble(std::string_view what) const {
  const int code = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle_);
  const int error = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
  std::string text = std::string{what} + " " + quoted(path_) + ": ";
  text += handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
  if (error != 0) text += " (" + words_of(error) + ")";
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return {StatusCode::Unavailable, text + "; another process has it open"};
    case SQLITE_FULL: return {StatusCode::ResourceExhausted, text};
    case SQLITE_CORRUPT: return {StatusCode::DataLoss, text};
    case SQLITE_NOTADB: return {StatusCode::FailedPrecondition, text};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return {StatusCode::PermissionDenied, text};
    default: break;
  }
  const StatusCode of_errno = error == 0 ? StatusCode::Unavailable : status_from_errno(error, "").code();
  return {of_errno == StatusCode::Ok || of_errno == StatusCode::Internal ? StatusCode::Unavailable : of_errno, text, error};
}

Status SqliteLogFile::check_header() {
  const auto application = query("PRAGMA application_id");
  if (!application) return application.error();
  const auto version = query("PRAGMA user_version");
  if (!version) return version.error();
  const auto tables = query("SELECT count(*) FROM sqlite_master");
  if (!tables) return tables.error();
  is_empty_ = *application == 0 && *version == 0 && *tables == 0;
  if (is_empty_) return {StatusCode::NotFound, path_ + " is empty"};
  if (*application != kApplication) return none_of_ours(path_);
  if (*version > kVersion) {
    return {StatusCode::FailedPrecondition, quoted(path_) + " has version " + std::to_string(*version) +
                                                " of the format; this program knows " + std::to_string(kVersion) +
                                                ": it was written by a newer one"};
  }
  // A view, a virtual table or a trigger would run statements that another program put into the file.
  const auto triggers = query("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'");
  if (!triggers) return triggers.error();
  if (*triggers != 0) return {StatusCode::FailedPrecondition, quoted(path_) + " has a trigger that another program put into it"};
  const auto strange = query("SELECT count(*) FROM sqlite_master WHERE name = 'log' AND (type <> 'table' OR sql LIKE 'CREATE VIRTUAL%')");
  if (!strange) return strange.error();
  if (*strange != 0) return none_of_ours(path_);
  const auto columns = query("SELECT count(*) FROM pragma_table_info('log') WHERE name IN ('number', 'checksum', 'records')");
  if (!columns) return columns.error();
  if (*columns == 3) return {};
  return {StatusCode::DataLoss, quoted(path_) +
                                    " is a store, and its schema is damaged: it has no table 'log' with number, checksum and "
                                    "records. Bring the file back from a backup, or move it away to begin without rows"};
}

/// Takes a reader's lock and releases it.
Status SqliteLogFile::check_not_taken() {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(handle_, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)) != SQLITE_OK || file == nullptr ||
      file->pMethods == nullptr) {
    return trouble("opening");
  }
  const int got = file->pMethods->xLock(file, SQLITE_LOCK_SHARED);
  file->pMethods->xUnlock(file, SQLITE_LOCK_NONE);
  if (got == SQLITE_OK) return {};
  return {StatusCode::Unavailable, "opening " + quoted(path_) + ": another process has it open"};
}

/// Opens without locks, and with SQLite's index of the write-ahead log in memory: otherwise SQLite makes a file for the index beside the
/// database.
Status SqliteLogFile::open_for_looking() {
  const int error = ::faccessat(AT_FDCWD, path_.c_str(), R_OK, AT_EACCESS) == 0 ? 0 : errno;
  if (error == ENOENT) return {StatusCode::NotFound, "there is no file " + quoted(path_)};
  if (error != 0) return status_from_errno(error, "opening " + quoted(path_));
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path_.c_str(), &handle_, kFlags, "unix") != SQLITE_OK) return trouble("opening");
  if (Status taken = check_not_taken(); !taken.ok()) return taken;
  if (size_of(path_) == 0) return {StatusCode::NotFound, path_ + " is empty"};
  sqlite3_close(std::exchange(handle_, nullptr));
  print_ = print_of(path_);
  // If there is no log, SQLite would make one.
  const bool has_log = print_->all[5] > 0;
  const std::string address = "file:" + percent_encoded(path_) + "?immutable=1";
  const int opened = has_log ? sqlite3_open_v2(path_.c_str(), &handle_, kFlags, "unix-none")
                             : sqlite3_open_v2(address.c_str(), &handle_, kFlags | SQLITE_OPEN_URI, "unix-none");
  if (opened != SQLITE_OK) return trouble("opening");
  return run("PRAGMA locking_mode = EXCLUSIVE") ? Status{} : trouble("opening");
}

/// SQLite would make the file readable for every user, and it gives the files beside it the same permissions.
Status SqliteLogFile::make_private() {
  const Result<UniqueFd> file = open_private(path_, O_RDWR, "opening " + quoted(path_));
  return file ? Status{} : file.error();
}

/// Connects and checks the header, in a transaction. Until the header is known, SQLite may not move the log into the file.
Status SqliteLogFile::connect(Mode mode) {
  const bool writes = mode != Mode::ReadOnly;
  if (!writes) {
    if (Status bad = open_for_looking(); !bad.ok()) return bad;
    has_unknown_writer_ = has_unknown_writer(path_);
  } else {
    if (Status bad = make_private(); !bad.ok()) return bad;
    has_unknown_writer_ = has_unknown_writer(path_);  // Before SQLite has locks: closing a descriptor of the file would release them.
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path_.c_str(), &handle_, kFlags, nullptr) != SQLITE_OK) return trouble("opening");
    // The first statement: the lock is held until the end, so a second process finds the file taken.
    if (!run("PRAGMA locking_mode = EXCLUSIVE") || !run(("PRAGMA page_size = " + std::to_string(kPageBytes)).c_str()))
      return trouble("opening");
  }
  leave_alone();
  let_repair();
  sqlite3_extended_result_codes(handle_, 0);
  if (!run(writes && !has_unknown_writer_ ? "BEGIN EXCLUSIVE" : "BEGIN")) return trouble("opening");
  if (Status bad = check_header(); !bad.ok() && !is_empty_) return bad;
  return run("COMMIT") ? Status{} : trouble("opening");
}

Status SqliteLogFile::open(Mode mode) {
  if (Status bad = check_path(path_); !bad.ok()) return bad;
  const bool has_log = size_of(path_ + "-wal") > 0;
  Status end = connect(mode);
  if (end.code() == StatusCode::DataLoss) {
    refused_ = {StatusCode::DataLoss, "SQLite opens the file for a repair only: it is malformed, or shorter than its header says"};
    sqlite3_close(std::exchange(handle_, nullptr));
    if (connect(mode).ok() && !is_empty_) end = Status{};
  }
  if (!end.ok()) return end;
  if (is_empty_ && has_log) {
    return {StatusCode::DataLoss, quoted(path_) + " has no table, and its log " + quoted(path_ + "-wal") + " cannot be read"};
  }
  if (is_empty_ && mode == Mode::ReadOnly) return {StatusCode::NotFound, path_ + " is empty"};
  if (mode != Mode::ReadOnly && !has_unknown_writer_) end = open_for_writing(mode);
  const auto last = query("SELECT coalesce(max(number), 0) FROM log");
  last_ = last ? *last : 0;
  return end;
}

Status SqliteLogFile::open_for_writing(Mode mode) {
  leave_alone(false);
  // The table is made before the log is in use. So a file whose log is damaged still has the table, and is not taken for a new one.
  const std::string mark =
      "PRAGMA application_id = " + std::to_string(kApplication) + "; PRAGMA user_version = " + std::to_string(kVersion);
  if (is_empty_ && (!run("BEGIN EXCLUSIVE") || !run(kSchema) || !run(mark.c_str()) || !run("COMMIT"))) return trouble("making");
  if (!run(kSettings) || !run(mode == Mode::WriteSynced ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"))
    return trouble("opening");
  if (!run("BEGIN IMMEDIATE; COMMIT")) return trouble("opening");  // SQLite makes the log with the first transaction.
  const auto count = [](void* pages, sqlite3*, const char*, int now) {
    *static_cast<int*>(pages) = now;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(handle_, count, &log_pages_);
  append_.emplace(*this, "INSERT INTO log (number, checksum, records) VALUES (?1, ?2, ?3)");
  // Files of an earlier version may be readable and lockable for every user.
  for (const char* const suffix : {"", "-wal"}) keep_others_out(path_ + suffix);
  file_ = identity_of(path_);
  log_ = identity_of(path_ + "-wal");
  log_pages_ = size_of(path_ + "-wal") > 0 ? 1 : 0;
  return {};
}

Status SqliteLogFile::numbers(bool ascending, std::vector<std::int64_t>& out) {
  Statement all{*this, ascending ? "SELECT number FROM log ORDER BY number" : "SELECT number FROM log ORDER BY number DESC"};
  for (;;) {
    const Result<bool> row = all.step();
    if (!row) return row.error();
    if (!*row) return {};
    out.push_back(all.integer(0));
  }
}

/// Adds the findings of SQLite's own check. The result is the error if the check cannot be made now.
Status SqliteLogFile::check_pages(std::vector<Status>& damage) {
  Statement check{*this, "PRAGMA quick_check(20)"};
  Result<bool> row = check.step();
  for (; row && *row; row = check.step()) {
    // One row may have many lines, below a heading with asterisks.
    std::istringstream findings{std::string{check.blob(0)}};
    for (std::string line; std::getline(findings, line);) {
      if (line != "ok" && !line.starts_with("***")) damage.emplace_back(StatusCode::DataLoss, "SQLite's check: " + line);
    }
  }
  if (row) return {};
  Status why = trouble("checking");
  if (!is_damage(why)) return why;
  damage.push_back(std::move(why));
  return {};
}

/// The numbers of the entries to which the tree of pages leads.
std::vector<std::int64_t> SqliteLogFile::all_numbers(Reading& reading) {
  std::vector<std::int64_t> all;
  if (const Status why = numbers(true, all); !why.ok()) {
    if (!is_damage(why)) {
      reading.failed = why;
      return all;
    }
    // The tree is damaged in the middle; the entries above the damage are read in descending order.
    reading.damage.push_back(why.with_context("after entry " + std::to_string(all.empty() ? 0 : all.back())));
    static_cast<void>(numbers(false, all));
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (!all.empty()) last_ = std::max(last_, all.back());
  return all;
}

LogFile::Reading SqliteLogFile::read(const std::function<Status(std::string_view)>& each) {
  Reading reading;
  if (!refused_.ok()) reading.damage.push_back(refused_);
  if (has_unknown_writer_) reading.damage.emplace_back(StatusCode::DataLoss, "byte 18 of its header is not what was written there");
  if (reading.failed = check_pages(reading.damage); !reading.failed.ok()) return reading;
  const std::vector<std::int64_t> all = all_numbers(reading);
  if (!reading.failed.ok()) return reading;
  Statement one{*this, "SELECT checksum, records FROM log WHERE number = ?1"};
  std::int64_t before = all.empty() ? 0 : all.front() - 1;
  for (const std::int64_t number : all) {
    const auto damaged = [&](const Status& why) { reading.damage.push_back(why.with_context("entry " + std::to_string(number))); };
    // Entry numbers increase by one, and entries are dropped from the lowest on: a missing one was lost.
    if (number > before + 1) {
      reading.damage.emplace_back(StatusCode::DataLoss, "entries " + std::to_string(before + 1) + " to " + std::to_string(number - 1));
    }
    before = number;
    const Result<bool> found = one.bind(number).step();
    if (!found && !is_damage(found.error())) {
      reading.failed = found.error();
      return reading;
    }
    if (!found) {
      damaged(found.error());
    } else if (!*found) {
      damaged({StatusCode::DataLoss, "it is not whole"});
    } else if (const std::string_view records = one.blob(1); checksum_of(records) != one.integer(0)) {
      damaged({StatusCode::DataLoss, "its checksum is wrong"});
    } else if (Status refused = each(records); !refused.ok()) {
      damaged(refused);
    } else {
      ++reading.entries;
      reading.bytes += records.size();
    }
    one.reset();
  }
  if (!reading.damage.empty()) leave_alone();
  if (print_ && *print_ != print_of(path_)) {
    reading.failed = {StatusCode::Unavailable, quoted(path_) + " was changed while it was read: another process has it open now"};
  }
  return reading;
}

Status SqliteLogFile::append(std::span<const std::string> entries) {
  if (Status lost = check_names(); !lost.ok()) return lost;
  if (!run("BEGIN IMMEDIATE")) return trouble("writing");
  std::int64_t number = last_;
  for (const std::string& entry : entries) {
    if (append_->bind(++number).bind(checksum_of(entry)).bind_blob(entry).run().ok()) continue;
    Status why = trouble("writing");
    static_cast<void>(run("ROLLBACK"));
    return why;
  }
  if (!run("COMMIT")) {
    Status why = trouble("writing");
    static_cast<void>(run("ROLLBACK"));
    return why;
  }
  last_ = number;
  return check_names();
}

/// Costs three stat calls and a short read, which is little compared with a commit.
Status SqliteLogFile::check_names() {
  if (leads_elsewhere(path_, file_)) {
    return {StatusCode::Unavailable,
            quoted(path_) +
                " was removed, moved away or replaced while it is open: all that is in it will be gone when this process "
                "ends. Move it back, or export the tables first"};
  }
  if (Status damaged = content_.run(handle_, path_); !damaged.ok()) {
    return {damaged.code(), std::string{damaged.message()} + ". Export the tables before this process ends: its memory has the rows"};
  }
  return leads_elsewhere(path_ + "-wal", log_) ? make_log_anew() : Status{};
}

/// The removed log's content is moved into the file first: SQLite closes that log whether or not a new one can be made.
Status SqliteLogFile::make_log_anew() {
  constexpr const char* kAnew = "PRAGMA journal_mode = DELETE; PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; COMMIT";
  if (sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr) != SQLITE_OK || !run(kAnew))
    return trouble("making a new log, for one that was removed, of");
  log_pages_ = 0;
  log_ = identity_of(path_ + "-wal");
  if (!leads_elsewhere(path_ + "-wal", log_)) return {};
  return {StatusCode::Unavailable, quoted(path_ + "-wal") + " was removed while it was open, and cannot be created again"};
}

Result<bool> SqliteLogFile::drop_until(std::int64_t last, std::uint32_t max) {
  Statement drop{*this, "DELETE FROM log WHERE number IN (SELECT number FROM log WHERE number <= ?1 ORDER BY number LIMIT ?2)"};
  if (!drop.bind(last).bind(std::int64_t{max}).run().ok()) return failure(trouble("writing"));
  return sqlite3_changes(handle_) == static_cast<int>(max);
}

Status SqliteLogFile::checkpoint(bool idle) {
  if (log_pages_ < (idle || is_empty_ ? 1 : kLogPages)) return {};
  if (sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr) != SQLITE_OK) {
    return trouble("moving what stands in the log of").with_context("the log grows");
  }
  log_pages_ = 0;
  is_empty_ = false;
  return {};
}

}  // namespace

Result<std::unique_ptr<LogFile>> LogFile::open(const std::string& path, Mode mode) {
  auto file = std::make_unique<SqliteLogFile>(path);
  if (Status bad = file->open(mode); !bad.ok()) return failure(std::move(bad));
  return file;
}

}  // namespace rondo::store::durable
