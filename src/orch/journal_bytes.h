// JournalBytes: the bytes of a journal's file, in large pieces that are read as they are wanted, or bytes in memory. A file is read and not
// mapped: it may become shorter while it is read (logrotate's copytruncate). One thread. Memory: a piece, and those that a caller holds.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo::journal {

class JournalBytes {
 public:
  /// Bytes read together at least: so large that a call of the system costs nothing beside it, and so small that they are still in a
  /// processor's cache when they are decoded, and that an allocator uses their memory again.
  static constexpr std::size_t kPiece = std::size_t{512} << 10U;

  /// InvalidArgument when 'path' is no file, else the error of opening it. All name it.
  static Result<std::unique_ptr<JournalBytes>> open(const std::string& path);
  /// Of memory, which must outlive it.
  explicit JournalBytes(std::string_view memory) noexcept : memory_(memory), size_(memory.size()) {}

  /// How many there were when it was opened, or when that was looked at again.
  std::uint64_t size() const noexcept { return size_; }
  /// Of a file: how many there are now.
  void look_at_size() noexcept;
  /// Both are one file, whatever its names.
  bool is_same_file(const JournalBytes& other) const noexcept { return file_ && device_ == other.device_ && inode_ == other.inode_; }
  /// 'path' leads to this file.
  bool is_at(const std::string& path) const noexcept;
  /// 'size' bytes at 'offset'; fewer when the file ends before, or cannot be read (failure()). Valid until the next call, and as long as
  /// somebody holds piece().
  std::string_view view(std::uint64_t offset, std::size_t size);
  /// What holds the bytes of the newest view(); null for memory, which needs no holding.
  std::shared_ptr<const char[]> piece() const noexcept { return piece_; }
  /// Why reading failed last; ok if it never did.
  const Status& failure() const noexcept { return failure_; }

 private:
  JournalBytes(UniqueFd file, std::string path, const struct stat& found) noexcept;
  void read_piece(std::uint64_t offset, std::size_t size);

  UniqueFd file_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::string path_;
  std::string_view memory_;
  std::uint64_t size_ = 0;
  std::shared_ptr<char[]> piece_;
  std::uint64_t piece_offset_ = 0;
  std::size_t piece_size_ = 0;      // Read.
  std::size_t piece_capacity_ = 0;  // Room.
  Status failure_;
};

}  // namespace rondo::journal
