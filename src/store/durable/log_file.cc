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
#include <utility>

#include "base/private_file.h"
#include "base/unique_fd.h"
#include "rondo/store/record.h"
#include "store/durable/file_kind.h"
#include "store/durable/page_scan.h"
#include "store/durable/wal_check.h"
#include "store/percent.h"

namespace rondo::store::durable {

namespace {

constexpr int kVersion = 1;
constexpr std::uint32_t kPageBytes = 16384;
/// Pages in the write-ahead log before they are moved into the database: 16 MiB; the move takes tens of milliseconds.
constexpr int kLogPages = 1024;
constexpr const char* kSettings =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA wal_autocheckpoint = 0;"  // An automatic checkpoint reports no failure: see checkpoint().
    "PRAGMA journal_size_limit = 67108864;"
    "PRAGMA cache_size = -16384;"
    "PRAGMA secure_delete = ON;";  // Debian's default. PageScan must not find dropped entries.
constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, records BLOB NOT NULL)";

std::int64_t checksum_of(std::string_view records) { return static_cast<std::int64_t>(XXH3_64bits(records.data(), records.size())); }

/// Damage is permanent. A disk that does not answer, or a lack of memory, may be temporary.
bool is_damage(const Status& why) { return why.code() == Code::DataLoss; }

class Statement {
 public:
  Statement(sqlite3* database, const char* text) {
    result_ = sqlite3_prepare_v3(database, text, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int place, std::int64_t value) {
    if (result_ == SQLITE_OK) result_ = sqlite3_bind_int64(statement_, place, value);
    return *this;
  }
  /// 'bytes' must stay valid until reset().
  Statement& bind(int place, std::string_view bytes) {
    if (result_ == SQLITE_OK) result_ = sqlite3_bind_blob64(statement_, place, bytes.data(), bytes.size(), SQLITE_STATIC);
    return *this;
  }
  int step() {
    if (result_ == SQLITE_OK || result_ == SQLITE_ROW) result_ = sqlite3_step(statement_);
    return result_;
  }
  /// Runs a statement that has one step and no rows.
  bool run() {
    const bool done = step() == SQLITE_DONE;
    reset();
    return done;
  }
  void reset() {
    sqlite3_reset(statement_);
    result_ = statement_ == nullptr ? SQLITE_ERROR : SQLITE_OK;
  }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string_view blob(int column) const {
    const void* const bytes = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(bytes), bytes == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int result_ = SQLITE_OK;
};

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

/// The number of bytes by which a file is shorter than its header says (file format of SQLite, 1.3: page size at 16, pages at 28).
std::uint64_t missing_bytes(const std::string& path) {
  std::array<char, 32> header{};
  std::ifstream in(path, std::ios::binary);
  if (!in.read(header.data(), header.size())) return 0;
  const auto number = [&header](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = at; i < at + bytes; ++i) value = value << 8U | static_cast<unsigned char>(header.at(i));
    return value;
  };
  const std::uint64_t page = number(16, 2) == 1 ? 65536 : number(16, 2);
  std::error_code unknown;
  const std::uint64_t size = std::filesystem::file_size(path, unknown);
  const std::uint64_t told = page * number(28, 4);
  return unknown || told <= size ? 0 : told - size;
}

/// The header's version for writers, at byte 18, is unknown to SQLite (file format, 1.3.3). SQLite then opens the file read-only.
bool has_unknown_writer(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(18);
  return in.get() > 2;
}

/// True for an absent or empty file whose log holds commits. SQLite takes it for a new file, even when it only reads, and discards the log.
bool has_log_only(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  const bool has_nothing = error ? error == std::errc::no_such_file_or_directory : bytes == 0;
  return has_nothing && !check_wal(path, kPageBytes).frames.empty();
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

class SqliteLogFile final : public LogFile {
 public:
  explicit SqliteLogFile(std::string path) : path_(std::move(path)) {}
  ~SqliteLogFile() override {
    if (append_ && leads_elsewhere(path_ + "-wal", log_) && std::filesystem::exists(path_ + "-wal")) {
      // Another process put another file and its log in this one's place. On close, SQLite would remove the log by its name.
      sqlite3_wal_checkpoint_v2(database_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
      leave_alone();
    }
    append_.reset();
    sqlite3_close(database_);
  }

  Status open(Mode mode);
  Reading read(const std::function<Status(std::string_view)>& each) override;
  Status append(std::span<const std::string> entries) override;
  std::int64_t last() const override { return last_; }
  Result<bool> drop_until(std::int64_t last, std::uint32_t max) override;
  Status checkpoint() override;
  Status check_names() override;

 private:
  Status trouble(std::string_view what) const;
  Status begin(Mode mode);
  Status connect(Mode mode);
  Status open_for_looking();
  Status check_not_taken();
  Status check_log();
  Status make_private();
  Status make_first_page();
  Status make_log_anew();
  /// Leaves the file and its log unchanged on close: they are kept.
  void leave_alone() { sqlite3_db_config(database_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }
  void let_repair() { sqlite3_db_config(database_, SQLITE_DBCONFIG_WRITABLE_SCHEMA, missing_ > 0 ? 1 : 0, nullptr); }
  bool run(const char* text) { return sqlite3_exec(database_, text, nullptr, nullptr, nullptr) == SQLITE_OK; }
  Result<std::int64_t> value_of(const char* text);
  Status check_header();
  void look_for(std::vector<std::int64_t>& all, Reading& reading);
  static void look_for_gap(std::vector<std::int64_t>& all, Reading& reading);
  void look_through_pages(std::vector<std::int64_t>& all);
  PageScan& pages();
  bool read_from_pages(std::int64_t number, Reading& reading, const std::function<Status(std::string_view)>& each);
  /// The page size of this file; if its header does not state one, the default of our files.
  std::uint32_t page_bytes() {
    const Result<std::int64_t> told = value_of("PRAGMA page_size");
    return told && *told > 0 ? static_cast<std::uint32_t>(*told) : kPageBytes;
  }
  /// Reads the numbers of the entries, ascending or descending, up to the end or to damage.
  bool numbers(bool ascending, std::vector<std::int64_t>& out);

  std::string path_;
  std::optional<Print> print_;  // The fingerprint when the file was opened read-only.
  std::uint64_t missing_ = 0;   // By how many bytes the file is shorter than its header says.
  bool had_log_only_ = false;
  bool has_unknown_writer_ = false;
  WalCheck wal_;
  std::optional<PageScan> pages_;  // Of a damaged file.
  sqlite3* database_ = nullptr;
  bool is_empty_ = false;
  std::optional<Statement> append_;
  std::int64_t last_ = 0;
  int log_pages_ = 0;  // Pages in the write-ahead log, after the last commit.
  Identity file_;      // The identities of the open files.
  Identity log_;
};

/// Converts SQLite's last error to a Status.
Status SqliteLogFile::trouble(std::string_view what) const {
  const int code = database_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(database_);
  const int error = database_ == nullptr ? 0 : sqlite3_system_errno(database_);
  std::string text = std::string{what} + " " + quoted(path_) + ": ";
  text += database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
  if (error != 0) text += " (" + words_of(error) + ")";
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return {Code::Unavailable, text + "; another process has it open"};
    case SQLITE_FULL: return {Code::ResourceExhausted, text};
    case SQLITE_CORRUPT: return {Code::DataLoss, text};
    case SQLITE_NOTADB: return {Code::FailedPrecondition, text};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return {Code::PermissionDenied, text};
    default: break;
  }
  const Code of_errno = error == 0 ? Code::Unavailable : status_from_errno(error, "").code();
  return {of_errno == Code::Ok || of_errno == Code::Internal ? Code::Unavailable : of_errno, text, error};
}

Result<std::int64_t> SqliteLogFile::value_of(const char* text) {
  Statement statement{database_, text};
  if (statement.step() != SQLITE_ROW) return failure(trouble("reading"));
  return statement.integer(0);
}

Status SqliteLogFile::check_header() {
  const auto application = value_of("PRAGMA application_id");
  if (!application) return application.error();
  const auto version = value_of("PRAGMA user_version");
  if (!version) return version.error();
  const auto tables = value_of("SELECT count(*) FROM sqlite_master");
  if (!tables) return tables.error();
  is_empty_ = *application == 0 && *version == 0 && *tables == 0;
  if (is_empty_) return {Code::NotFound, path_ + " is empty"};
  if (*application != kApplication) return none_of_ours(path_);
  if (*version > kVersion) {
    return {Code::FailedPrecondition, quoted(path_) + " has version " + std::to_string(*version) + " of the format; this program knows " +
                                          std::to_string(kVersion) + ": it was written by a newer one"};
  }
  // A view or a virtual table would run statements that another program put into the file.
  const auto strange =
      value_of("SELECT count(*) FROM sqlite_master WHERE name = 'log' AND (type <> 'table' OR sql LIKE 'CREATE VIRTUAL%')");
  if (!strange) return strange.error();
  return *strange == 0 ? Status{} : none_of_ours(path_);
}

/// Takes a reader's lock and releases it.
Status SqliteLogFile::check_not_taken() {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(database_, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)) != SQLITE_OK || file == nullptr ||
      file->pMethods == nullptr) {
    return trouble("opening");
  }
  const int got = file->pMethods->xLock(file, SQLITE_LOCK_SHARED);
  file->pMethods->xUnlock(file, SQLITE_LOCK_NONE);
  if (got == SQLITE_OK) return {};
  return {Code::Unavailable, "opening " + quoted(path_) + ": another process has it open"};
}

/// Opens without locks, and with SQLite's index of the write-ahead log in memory: otherwise SQLite makes a file for the index beside the
/// database.
Status SqliteLogFile::open_for_looking() {
  if (has_log_only(path_)) {
    return {Code::DataLoss, "the file " + quoted(path_) + " is lost, or has no bytes, and its log " + quoted(path_ + "-wal") +
                                " is there: start the daemon, which reads what the log holds, or bring back both from a backup"};
  }
  const int error = ::faccessat(AT_FDCWD, path_.c_str(), R_OK, AT_EACCESS) == 0 ? 0 : errno;
  if (error == ENOENT) return {Code::NotFound, "there is no file " + quoted(path_)};
  if (error != 0) return status_from_errno(error, "opening " + quoted(path_));
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path_.c_str(), &database_, kFlags, "unix") != SQLITE_OK) return trouble("opening");
  if (Status taken = check_not_taken(); !taken.ok()) return taken;
  std::error_code unknown;
  if (std::filesystem::file_size(path_, unknown) == 0 && !unknown) return {Code::NotFound, path_ + " is empty"};
  sqlite3_close(std::exchange(database_, nullptr));
  print_ = print_of(path_);
  // If there is no log, SQLite would make one.
  const bool has_log = print_->all[5] > 0;
  const std::string address = "file:" + percent_encoded(path_) + "?immutable=1";
  const int opened = has_log ? sqlite3_open_v2(path_.c_str(), &database_, kFlags, "unix-none")
                             : sqlite3_open_v2(address.c_str(), &database_, kFlags | SQLITE_OPEN_URI, "unix-none");
  if (opened != SQLITE_OK) return trouble("opening");
  let_repair();
  leave_alone();
  return run("PRAGMA locking_mode = EXCLUSIVE") ? Status{} : trouble("opening");
}

/// SQLite would make the file readable for every user, and it gives the files beside it the same permissions.
Status SqliteLogFile::make_private() {
  const UniqueFd file{::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kPrivateMode)};
  return file ? Status{} : status_from_errno(errno, "opening " + quoted(path_));
}

/// Writes a first page of zeros: SQLite then reads the first page from the log, as it does for all others.
Status SqliteLogFile::make_first_page() {
  if (Status bad = make_private(); !bad.ok()) return bad;
  std::ofstream out(path_, std::ios::binary | std::ios::app);
  out << std::string(kPageBytes, '\0');
  if (out.close(); out) return {};
  return status_from_errno(errno, "making a first page for the log of " + quoted(path_));
}

/// Connects and checks the header, in a transaction.
Status SqliteLogFile::begin(Mode mode) {
  Status header = connect(mode);
  if (header.code() != Code::DataLoss) return header;
  // SQLite refuses a file that is shorter than its header says, unless the connection may repair. Pages beyond the end of the file then
  // read as damage.
  missing_ = missing_bytes(path_);
  if (missing_ == 0) return header;
  sqlite3_close(std::exchange(database_, nullptr));
  return connect(mode);
}

Status SqliteLogFile::connect(Mode mode) {
  const bool writes = mode != Mode::ReadOnly;
  if (!writes) {
    if (Status bad = open_for_looking(); !bad.ok()) return bad;
  } else {
    if (has_log_only(path_)) {
      had_log_only_ = true;
      if (Status bad = make_first_page(); !bad.ok()) return bad;
    } else if (Status bad = make_private(); !bad.ok()) {
      return bad;
    }
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path_.c_str(), &database_, kFlags, nullptr) != SQLITE_OK) return trouble("opening");
    let_repair();
    if (had_log_only_) leave_alone();
    // The first statement: the lock is held until the end, so a second process finds the file taken.
    if (!run("PRAGMA locking_mode = EXCLUSIVE") || !run(("PRAGMA page_size = " + std::to_string(kPageBytes)).c_str()))
      return trouble("opening");
  }
  sqlite3_extended_result_codes(database_, 0);
  if (!run(writes ? "BEGIN EXCLUSIVE" : "BEGIN")) {
    const Status refused = trouble("opening");
    has_unknown_writer_ = writes && has_unknown_writer(path_);
    if (!has_unknown_writer_ || !run("BEGIN")) return refused;
  }
  if (Status bad = check_log(); !bad.ok()) return bad;
  return check_header();
}

/// Call this when no other process can write any more, and before this one has written.
Status SqliteLogFile::check_log() {
  wal_ = check_wal(path_, page_bytes());
  if (!wal_.damage.ok()) leave_alone();
  return wal_.failed;
}

Status SqliteLogFile::open(Mode mode) {
  const bool writes = mode != Mode::ReadOnly;
  const Status header = begin(mode);
  const bool is_lost = is_empty_ && !wal_.damage.ok();  // The beginning of the file was in the log.
  if (!header.ok() && !is_lost && (database_ == nullptr || !is_empty_ || !writes)) return header;
  if (!run("COMMIT")) return trouble("opening");
  has_unknown_writer_ = has_unknown_writer_ || (!writes && has_unknown_writer(path_));
  if (is_lost || (writes && has_unknown_writer_)) return {};
  if (writes) {
    if (!run(kSettings) || !run(mode == Mode::WriteSynced ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"))
      return trouble("opening");
    const std::string mark =
        "PRAGMA application_id = " + std::to_string(kApplication) + "; PRAGMA user_version = " + std::to_string(kVersion);
    if (!header.ok() && (!run("BEGIN EXCLUSIVE") || !run(kSchema) || !run(mark.c_str()) || !run("COMMIT"))) return trouble("making");
    const auto count = [](void* pages, sqlite3*, const char*, int now) {
      *static_cast<int*>(pages) = now;
      return SQLITE_OK;
    };
    sqlite3_wal_hook(database_, count, &log_pages_);
    append_.emplace(database_, "INSERT INTO log (number, checksum, records) VALUES (?1, ?2, ?3)");
    // Files of an earlier version may be readable and lockable for every user.
    for (const char* const suffix : {"", "-wal"}) keep_others_out(path_ + suffix);
    file_ = identity_of(path_);
    log_ = identity_of(path_ + "-wal");
  }
  const auto last = value_of("SELECT coalesce(max(number), 0) FROM log");
  last_ = last ? *last : 0;
  return {};
}

bool SqliteLogFile::numbers(bool ascending, std::vector<std::int64_t>& out) {
  Statement all{database_, ascending ? "SELECT number FROM log ORDER BY number" : "SELECT number FROM log ORDER BY number DESC"};
  while (all.step() == SQLITE_ROW) out.push_back(all.integer(0));
  return sqlite3_errcode(database_) == SQLITE_DONE;
}

void SqliteLogFile::look_for(std::vector<std::int64_t>& all, Reading& reading) {
  if (!numbers(true, all)) {
    if (reading.failed = trouble("reading"); !is_damage(reading.failed)) return;
    reading.failed = Status{};  // The tree is damaged in the middle; the entries above the damage are read in descending order.
    reading.damage.push_back(trouble("reading").with_context("after entry " + std::to_string(all.empty() ? 0 : all.back())));
    std::vector<std::int64_t> above;
    static_cast<void>(numbers(false, above));
    const std::int64_t known = all.empty() ? 0 : all.back();
    std::erase_if(above, [known](std::int64_t number) { return number <= known; });
    all.insert(all.end(), above.rbegin(), above.rend());
  }
  if (reading.damage.empty()) look_for_gap(all, reading);
  if (!all.empty()) last_ = std::max(last_, all.back());
}

/// Entry numbers increase by one, and entries are dropped from the lowest on. A missing number is therefore an entry that the pages lost.
void SqliteLogFile::look_for_gap(std::vector<std::int64_t>& all, Reading& reading) {
  const auto before = std::ranges::adjacent_find(all, [](std::int64_t one, std::int64_t next) { return one + 1 != next; });
  if (before == all.end()) return;
  reading.damage.emplace_back(Code::DataLoss, "the entry after " + std::to_string(*before) + " is not where it should be");
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

/// Adds the entries that the tree does not reach.
void SqliteLogFile::look_through_pages(std::vector<std::int64_t>& all) {
  const std::vector<std::int64_t> seen = pages().numbers();
  if (seen.empty()) return;
  // Entries in outdated pages were dropped since; the entries that connected them to the newer ones are gone, too.
  const auto older = std::ranges::lower_bound(all, seen.front());
  if (older != all.begin() && *std::prev(older) + 1 < seen.front()) all.erase(all.begin(), older);
  std::vector<std::int64_t> both;
  std::ranges::set_union(all, seen, std::back_inserter(both));
  all = std::move(both);
}

PageScan& SqliteLogFile::pages() {
  if (pages_) return *pages_;
  sqlite3_file* file = nullptr;
  sqlite3_int64 bytes = 0;
  sqlite3_file_control(database_, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  if (file != nullptr && file->pMethods != nullptr) file->pMethods->xFileSize(file, &bytes);
  // Uses SQLite's own descriptor: closing another one would release SQLite's locks.
  const auto read = [file](std::uint64_t from, std::span<unsigned char> into) {
    return file->pMethods->xRead(file, into.data(), static_cast<int>(into.size()), static_cast<sqlite3_int64>(from)) == SQLITE_OK;
  };
  return pages_.emplace(PageScan::Database{read, static_cast<std::uint64_t>(bytes), page_bytes()}, path_ + "-wal", wal_);
}

bool SqliteLogFile::read_from_pages(std::int64_t number, Reading& reading, const std::function<Status(std::string_view)>& each) {
  for (const PageScan::Entry& entry : pages().find(number)) {
    if (checksum_of(entry.records) != entry.checksum || !each(entry.records).ok()) continue;
    ++reading.entries;
    reading.bytes += entry.records.size();
    return true;
  }
  return false;
}

LogFile::Reading SqliteLogFile::read(const std::function<Status(std::string_view)>& each) {
  Reading reading;
  if (had_log_only_) reading.damage.emplace_back(Code::DataLoss, "the file was lost, or had no bytes; what its log holds is kept");
  if (missing_ > 0) reading.damage.emplace_back(Code::DataLoss, "the file is " + std::to_string(missing_) + " bytes short");
  if (!wal_.damage.ok()) reading.damage.push_back(wal_.damage);
  if (has_unknown_writer_) reading.damage.emplace_back(Code::DataLoss, "byte 18 of its header is not what was written there");
  std::vector<std::int64_t> all;
  if (!is_empty_ || wal_.damage.ok()) look_for(all, reading);
  if (!reading.failed.ok()) return reading;
  if (!reading.damage.empty()) look_through_pages(all);
  Statement one{database_, "SELECT checksum, records FROM log WHERE number = ?1"};
  std::int64_t before = all.empty() ? 0 : all.front() - 1;
  for (const std::int64_t number : all) {
    const auto damaged = [&](const Status& why) {
      if (!read_from_pages(number, reading, each)) reading.damage.push_back(why.with_context("entry " + std::to_string(number)));
    };
    if (number > before + 1) {
      reading.damage.emplace_back(Code::DataLoss, "entries " + std::to_string(before + 1) + " to " + std::to_string(number - 1));
    }
    before = number;
    const int found = is_empty_ ? SQLITE_DONE : one.bind(1, number).step();
    if (found == SQLITE_DONE) {
      damaged({Code::DataLoss, "it is not whole"});
    } else if (found != SQLITE_ROW) {
      if (reading.failed = trouble("reading"); !is_damage(reading.failed)) return reading;
      damaged(std::exchange(reading.failed, {}));
    } else if (const std::string_view records = one.blob(1); checksum_of(records) != one.integer(0)) {
      damaged({Code::DataLoss, "its checksum is wrong"});
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
    reading.failed = {Code::Unavailable, quoted(path_) + " was changed while it was read: another process has it open now"};
  }
  return reading;
}

Status SqliteLogFile::append(std::span<const std::string> entries) {
  if (Status lost = check_names(); !lost.ok()) return lost;
  if (!run("BEGIN IMMEDIATE")) return trouble("writing");
  std::int64_t number = last_;
  for (const std::string& entry : entries) {
    if (append_->bind(1, ++number).bind(2, checksum_of(entry)).bind(3, std::string_view{entry}).run()) continue;
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

/// Costs two stat calls, which is little compared with a commit.
Status SqliteLogFile::check_names() {
  if (leads_elsewhere(path_, file_)) {
    return {Code::Unavailable,
            quoted(path_) +
                " was removed, moved away or replaced while it is open: all that is in it will be gone when this process "
                "ends. Move it back, or export the tables first"};
  }
  return leads_elsewhere(path_ + "-wal", log_) ? make_log_anew() : Status{};
}

/// The removed log's content is moved into the file first: SQLite closes that log whether or not a new one can be made.
Status SqliteLogFile::make_log_anew() {
  constexpr const char* kAnew = "PRAGMA journal_mode = DELETE; PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; COMMIT";
  if (sqlite3_wal_checkpoint_v2(database_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr) != SQLITE_OK || !run(kAnew))
    return trouble("making a new log, for one that was removed, of");
  log_pages_ = 0;
  log_ = identity_of(path_ + "-wal");
  if (!leads_elsewhere(path_ + "-wal", log_)) return {};
  return {Code::Unavailable, quoted(path_ + "-wal") + " was removed while it is open, and cannot be made anew"};
}

Result<bool> SqliteLogFile::drop_until(std::int64_t last, std::uint32_t max) {
  Statement drop{database_, "DELETE FROM log WHERE number IN (SELECT number FROM log WHERE number <= ?1 ORDER BY number LIMIT ?2)"};
  if (!drop.bind(1, last).bind(2, std::int64_t{max}).run()) return failure(trouble("writing"));
  return sqlite3_changes(database_) == static_cast<int>(max);
}

Status SqliteLogFile::checkpoint() {
  if (log_pages_ < kLogPages) return {};
  if (sqlite3_wal_checkpoint_v2(database_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr) != SQLITE_OK) {
    return trouble("moving what stands in the log of").with_context("the log grows");
  }
  log_pages_ = 0;
  return {};
}

}  // namespace

Result<std::unique_ptr<LogFile>> LogFile::open(const std::string& path, Mode mode) {
  auto file = std::make_unique<SqliteLogFile>(path);
  if (Status bad = file->open(mode); !bad.ok()) return failure(std::move(bad));
  return file;
}

}  // namespace rondo::store::durable
