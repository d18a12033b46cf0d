// JournalBytes: the bytes of a journal's file, read in large pieces on demand, or bytes in memory. A file is read instead of mapped
// because it may become shorter meanwhile (logrotate's copytruncate). One thread. Memory: one piece, and the pieces that a caller holds.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo::journal {

class JournalBytes {
 public:
  /// Minimum bytes of one read. Large enough that the cost of the system call is negligible; small enough that the bytes are still in a
  /// processor's cache when they are decoded, and that an allocator reuses their memory.
  static constexpr std::size_t kPiece = std::size_t{512} << 10U;

  /// InvalidArgument when 'path' is not a file, otherwise the error of opening it. All messages contain the path.
  static Result<std::unique_ptr<JournalBytes>> open(const std::string& path);
  /// Reads bytes in memory, which must outlive this object.
  explicit JournalBytes(std::string_view memory) noexcept : memory_(memory), size_(memory.size()) {}

  /// The number of bytes when it was opened or when check_size() was last called.
  std::uint64_t size() const noexcept { return size_; }
  /// For a file: reads its present size.
  void check_size() noexcept;
  /// view() reads no more of a file once 'is_over' returns true, and failure() says so. Asked before each read.
  void end_when(std::function<bool()> is_over) { is_over_ = std::move(is_over); }
  /// True if both are the same file, whatever their names.
  bool is_same_file(const JournalBytes& other) const noexcept { return file_ && device_ == other.device_ && inode_ == other.inode_; }
  /// True if 'path' leads to this file.
  bool is_at(const std::string& path) const noexcept;
  /// Returns 'size' bytes at 'offset'; fewer when the file ends earlier or cannot be read (failure()). Valid until the next call, and as
  /// long as the caller holds piece().
  std::string_view view(std::uint64_t offset, std::size_t size);
  /// The owner of the bytes of the newest view(); null for bytes in memory.
  std::shared_ptr<const char[]> piece() const noexcept { return piece_; }
  /// True once a read was not made because of end_when().
  bool is_ended() const noexcept { return failure_.code() == StatusCode::Cancelled; }
  /// The error of the last read that failed; ok if none did.
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
  std::size_t piece_size_ = 0;      // Bytes that were read into the piece.
  std::size_t piece_capacity_ = 0;  // Capacity of the piece.
  Status failure_;
  std::function<bool()> is_over_;
};

}  // namespace rondo::journal
