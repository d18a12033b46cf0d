#include "journal/bytes.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "journal/lock.h"

namespace rondo::journal {

Result<std::unique_ptr<JournalBytes>> JournalBytes::open(const std::string& path) {
  // O_NONBLOCK, so that opening a pipe fails immediately instead of waiting for a writer.
  UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file) return rondo::failure(status_from_errno(errno, "cannot read '" + path + "'"));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return rondo::failure(status_from_errno(errno, "cannot read '" + path + "'"));
  if (!S_ISREG(found.st_mode)) return rondo::failure(StatusCode::InvalidArgument, "'" + path + "' is no file");
  return std::unique_ptr<JournalBytes>{new JournalBytes(std::move(file), path, found)};
}

JournalBytes::JournalBytes(UniqueFd file, std::string path, const struct stat& found) noexcept
    : file_(std::move(file)),
      device_(found.st_dev),
      inode_(found.st_ino),
      path_(std::move(path)),
      size_(static_cast<std::uint64_t>(found.st_size)) {}

void JournalBytes::check_size() noexcept {
  if (file_) size_ = size_of(file_.get()).value_or(size_);
}

bool JournalBytes::is_at(const std::string& path) const noexcept { return file_ && journal::is_at(file_.get(), path); }

std::string_view JournalBytes::view(std::uint64_t offset, std::size_t size) {
  if (offset >= size_) return {};
  size = static_cast<std::size_t>(std::min<std::uint64_t>(size, size_ - offset));
  if (!file_) return memory_.substr(static_cast<std::size_t>(offset), size);
  const bool held = piece_ != nullptr && offset >= piece_offset_ && offset + size <= piece_offset_ + piece_size_;
  if (!held) read_piece(offset, size);
  const auto from = static_cast<std::size_t>(offset - piece_offset_);
  return {piece_.get() + from, std::min(size, piece_size_ - from)};
}

void JournalBytes::read_piece(std::uint64_t offset, std::size_t size) {
  size = static_cast<std::size_t>(std::min<std::uint64_t>(std::max(size, kPiece), size_ - offset));
  if (piece_ == nullptr || piece_.use_count() > 1 || piece_capacity_ < size) {
    piece_ = std::shared_ptr<char[]>{new char[size]};
    piece_capacity_ = size;
  }
  piece_offset_ = offset;
  piece_size_ = 0;
  if (is_over_ && is_over_()) {
    failure_ = {StatusCode::Cancelled, "the reading of '" + path_ + "' was ended"};
    return;
  }
  while (piece_size_ < size) {
    const ssize_t got = ::pread(file_.get(), piece_.get() + piece_size_, size - piece_size_, static_cast<off_t>(offset + piece_size_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) failure_ = status_from_errno(errno, "cannot read '" + path_ + "' at offset " + std::to_string(offset + piece_size_));
    if (got <= 0) return;  // The file has become shorter.
    piece_size_ += static_cast<std::size_t>(got);
  }
}

}  // namespace rondo::journal
