#include "journal/lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/private_file.h"
#include "journal/format.h"

namespace rondo::journal {
namespace {

std::string cannot_open(const std::string& path) { return "cannot open the journal '" + path + "'"; }
Status no_regular_file(const std::string& path) { return {StatusCode::InvalidArgument, "the journal '" + path + "' is no regular file"}; }

bool is_zeros(std::string_view begin) {
  return std::ranges::all_of(begin, [](char byte) { return byte == 0; });
}

/// With the damaged beginnings of check_begin().
bool has_mark(std::string_view begin) {
  const BlockHead head;
  const std::string_view mark{reinterpret_cast<const char*>(&head.magic), sizeof head.magic};
  const std::size_t known = std::min(begin.size(), mark.size());
  return begin.substr(0, known) == mark.substr(0, known) || is_zeros(begin);
}

bool begins_like_journal(int file) {
  std::array<char, sizeof(BlockHead)> bytes{};
  const ssize_t got = ::pread(file, bytes.data(), bytes.size(), 0);
  return has_mark({bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
}

/// Returns why 'file' must not be appended to; ok for an empty file and for one that begins like a journal's file. Three damaged
/// beginnings count as a journal's: a first block damaged behind its mark, a mark that is cut off (the first write did not end), and zeros
/// in its place (a power failure). Readers continue behind damage, and a daemon must not stay down for it.
Status check_begin(int file, const std::string& path) {
  std::array<char, sizeof(BlockHead)> bytes{};
  const ssize_t got = ::pread(file, bytes.data(), bytes.size(), 0);
  if (got < 0) return status_from_errno(errno, "cannot read the journal '" + path + "'");
  const std::string_view begin{bytes.data(), static_cast<std::size_t>(got)};
  if (!has_mark(begin))
    return {StatusCode::InvalidArgument,
            "the file '" + path + "' is no journal, nothing is appended to it: name another one, or move it away"};
  BlockHead head;
  if (is_zeros(begin) || begin.size() < offsetof(BlockHead, version) + sizeof head.version) return {};
  std::memcpy(&head, begin.data(), begin.size());
  if (head.version == kVersion) return {};
  return {StatusCode::InvalidArgument, "the journal '" + path + "' is of version " + std::to_string(head.version) + ", and only version " +
                                           std::to_string(kVersion) + " is known: name another file, or move it away"};
}

}  // namespace

Result<UniqueFd> open_locked(const std::string& path) {
  // If the name leads to another file once the lock is held, another process has rotated the file. That does not happen many times in
  // succession.
  constexpr int kAttempts = 16;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<UniqueFd> file = open_private(path, O_RDWR | O_APPEND, cannot_open(path));
    if (!file && (file.error().origin_errno() == EISDIR || file.error().origin_errno() == ENXIO)) return failure(no_regular_file(path));
    if (!file) return file;
    const int fd = file->get();
    struct stat found {};
    if (::fstat(fd, &found) != 0) return failure(status_from_errno(errno, cannot_open(path)));
    if (!S_ISREG(found.st_mode)) return failure(no_regular_file(path));
    if (Status taken = lock_file(fd, "cannot write the journal '" + path + "'"); !taken.ok()) return failure(std::move(taken));
    if (!is_at(fd, path)) continue;
    if (Status foreign = check_begin(fd, path); !foreign.ok()) return failure(std::move(foreign));
    keep_others_out(fd);
    return file;
  }
  return failure(StatusCode::Unavailable, cannot_open(path) + ": it is renamed all the time");
}

Status check_file(const std::string& path) {
  if (Status link = check_no_link(path, cannot_open(path)); !link.ok()) return link;
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (!file) return {};
  if (!size_of(file.get())) return no_regular_file(path);
  return check_begin(file.get(), path);
}

Status check_older(const std::string& path, unsigned files) {
  for (unsigned number = 1; number <= files; ++number) {
    const std::string older = path + "." + std::to_string(number);
    struct stat found {};
    if (::lstat(older.c_str(), &found) != 0) continue;
    const UniqueFd file{::open(older.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
    if (S_ISREG(found.st_mode) && file && begins_like_journal(file.get())) continue;
    return {StatusCode::InvalidArgument, "'" + older + "' is no journal, or cannot be read, and the journal '" + path +
                                             "' would rename it and then remove it: name another journal, or move it away"};
  }
  return {};
}

bool is_at(int fd, const std::string& path) noexcept {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

bool is_removed(int fd) noexcept {
  struct stat open {};
  return ::fstat(fd, &open) == 0 && open.st_nlink == 0;
}

std::optional<std::uint64_t> size_of(int fd) noexcept {
  struct stat found {};
  if (::fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(found.st_size);
}

}  // namespace rondo::journal
