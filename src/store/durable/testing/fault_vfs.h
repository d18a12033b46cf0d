// FaultVfs: a disk beneath SQLite that fails as a test wishes, or at which the process is killed. While a FaultVfs lives, SQLite opens
// files with it. Data written before a failing sync is lost, as on Linux, where the next sync succeeds although that data was not written.
// For tests only; one at a time.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rondo::store::durable {

class FaultVfs {
 public:
  enum class Where : std::uint8_t { File, Log };
  enum class What : std::uint8_t { Write, Sync };

  FaultVfs() : below_(sqlite3_vfs_find(nullptr)), vfs_(*below_) {
    vfs_.zName = "fault";
    vfs_.pNext = nullptr;
    vfs_.pAppData = this;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + below_->szOsFile;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~FaultVfs() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(below_, 1);
  }
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  /// From now on each such operation fails, or succeeds again.
  void fail(Where where, What what, bool fails = true) { fails_[index(where)][index(what)] = fails; }
  /// Kills the process before the step with this number, counted from 1. A step opens, closes, writes, truncates, syncs or removes a file
  /// or log.
  void kill_at(std::uint64_t step) { kill_at_ = steps_ + step; }

 private:
  template <class Which>
  static std::size_t index(Which which) {
    return static_cast<std::size_t>(which);
  }
  /// SQLite's underlying file follows this struct in memory. The alignment is at most 8 bytes, because SQLite allocates with that.
  struct File {
    sqlite3_file base{};
    FaultVfs* faults = nullptr;
    Where where = Where::File;
    /// A raw pointer: SQLite allocates and frees the memory without constructors.
    std::vector<std::pair<sqlite3_int64, int>>* unsynced = nullptr;
  };
  static File& self(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static sqlite3_file* below(sqlite3_file* file) { return reinterpret_cast<sqlite3_file*>(reinterpret_cast<File*>(file) + 1); }
  static const sqlite3_io_methods& methods(sqlite3_file* file) { return *below(file)->pMethods; }
  static bool fails(sqlite3_file* file, What what) { return self(file).faults->fails_[index(self(file).where)][index(what)]; }
  void step() {
    if (++steps_ == kill_at_) ::raise(SIGKILL);
  }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    auto* const faults = static_cast<FaultVfs*>(vfs->pAppData);
    faults->step();
    const Where where = (flags & SQLITE_OPEN_WAL) != 0 ? Where::Log : Where::File;
    *reinterpret_cast<File*>(file) = File{.base = {}, .faults = faults, .where = where, .unsynced = nullptr};
    const int result = faults->below_->xOpen(faults->below_, name, below(file), flags, out);
    if (result != SQLITE_OK) return result;
    self(file).unsynced = new std::vector<std::pair<sqlite3_int64, int>>;
    self(file).base.pMethods = &kMethods;
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
    auto* const faults = static_cast<FaultVfs*>(vfs->pAppData);
    faults->step();
    return faults->below_->xDelete(faults->below_, name, sync_folder);
  }
  static int close(sqlite3_file* file) {
    self(file).faults->step();
    delete self(file).unsynced;
    return methods(file).xClose(below(file));
  }
  static int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 at) {
    self(file).faults->step();
    if (fails(file, What::Write)) return failed(SQLITE_IOERR_WRITE);
    self(file).unsynced->emplace_back(at, count);
    return methods(file).xWrite(below(file), bytes, count, at);
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 bytes) {
    self(file).faults->step();
    return methods(file).xTruncate(below(file), bytes);
  }
  static int sync(sqlite3_file* file, int flags) {
    self(file).faults->step();
    if (fails(file, What::Sync)) {
      for (const auto& [at, count] : *self(file).unsynced) {
        const std::vector<char> lost(static_cast<std::size_t>(count));
        methods(file).xWrite(below(file), lost.data(), count, at);
      }
      self(file).unsynced->clear();
      return failed(SQLITE_IOERR_FSYNC);
    }
    self(file).unsynced->clear();
    return methods(file).xSync(below(file), flags);
  }
  static int failed(int how) {
    errno = EIO;
    return how;
  }

  // Without shared memory: a store has exclusive use of its file.
  static inline const sqlite3_io_methods kMethods{
      .iVersion = 1,
      .xClose = close,
      .xRead = [](sqlite3_file* file, void* to, int count, sqlite3_int64 at) { return methods(file).xRead(below(file), to, count, at); },
      .xWrite = write,
      .xTruncate = truncate,
      .xSync = sync,
      .xFileSize = [](sqlite3_file* file, sqlite3_int64* bytes) { return methods(file).xFileSize(below(file), bytes); },
      .xLock = [](sqlite3_file* file, int lock) { return methods(file).xLock(below(file), lock); },
      .xUnlock = [](sqlite3_file* file, int lock) { return methods(file).xUnlock(below(file), lock); },
      .xCheckReservedLock = [](sqlite3_file* file, int* held) { return methods(file).xCheckReservedLock(below(file), held); },
      .xFileControl = [](sqlite3_file* file, int what, void* with) { return methods(file).xFileControl(below(file), what, with); },
      .xSectorSize = [](sqlite3_file* file) { return methods(file).xSectorSize(below(file)); },
      .xDeviceCharacteristics = [](sqlite3_file* file) { return methods(file).xDeviceCharacteristics(below(file)); },
      .xShmMap = nullptr,
      .xShmLock = nullptr,
      .xShmBarrier = nullptr,
      .xShmUnmap = nullptr,
      .xFetch = nullptr,
      .xUnfetch = nullptr,
  };

  sqlite3_vfs* const below_;
  sqlite3_vfs vfs_;
  std::array<std::array<bool, 2>, 2> fails_{};
  std::uint64_t steps_ = 0;
  std::uint64_t kill_at_ = 0;
};

}  // namespace rondo::store::durable
