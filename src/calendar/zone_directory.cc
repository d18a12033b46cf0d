// ZoneDirectory: names, files and changed files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>

#include "base/unique_fd.h"
#include "calendar/zone_span.h"
#include "rondo/base/text.h"
#include "rondo/calendar/limits.h"
#include "rondo/calendar/zone.h"

namespace rondo::calendar {

namespace {

/// Names are relative paths of letters, digits and -+_ that never leave the directory.
bool is_zone_name(std::string_view name) {
  if (name.empty() || name.size() > limits::kZoneNameBytes) return false;
  char before = '/';
  for (const char c : name) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '_';
    if (!word && (c != '/' || before == '/')) return false;
    before = c;
  }
  return before != '/';
}

}  // namespace

struct ZoneDirectory::Files {
  struct Mark {
    std::int64_t modified_ns = 0;
    std::int64_t size = 0;
    std::uint64_t inode = 0;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  struct Entry {
    Mark mark;
    std::shared_ptr<const Zone> zone;
  };
  static Mark mark_of(const struct stat& facts) {
    return {static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + facts.st_mtim.tv_nsec, facts.st_size, facts.st_ino};
  }
  Result<Entry> read(const std::string& name) const;

  std::string folder;
  std::map<std::string, Entry, std::less<>> entries;
};

ZoneDirectory::ZoneDirectory(std::string path) : files_(std::make_unique<Files>()) { files_->folder = std::move(path); }
ZoneDirectory::~ZoneDirectory() = default;

Result<ZoneDirectory::Files::Entry> ZoneDirectory::Files::read(const std::string& name) const {
  const std::string path = folder + "/" + name;
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return failure(StatusCode::NotFound, "there is no time zone '" + name + "' in " + folder);
    return failure(status_from_errno(errno, "open " + path));
  }
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return failure(status_from_errno(errno, "stat " + path));
  if (!S_ISREG(facts.st_mode)) return failure(StatusCode::InvalidArgument, "'" + name + "' is not a time zone: " + path + " is not a file");
  std::string bytes;
  std::array<char, 8192> piece;
  while (bytes.size() <= limits::kZoneFileBytes) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(status_from_errno(errno, "read " + path));
    if (got == 0) break;
    bytes.append(piece.data(), static_cast<std::size_t>(got));
  }
  Result<Zone> zone = Zone::parse(name, bytes);
  if (!zone) return failure(zone.error());
  return Entry{mark_of(facts), std::make_shared<const Zone>(*std::move(zone))};
}

Result<std::shared_ptr<const Zone>> ZoneDirectory::find(std::string_view name) {
  if (const auto found = files_->entries.find(name); found != files_->entries.end()) return found->second.zone;
  if (name == "UTC") return std::shared_ptr<const Zone>{std::shared_ptr<const Zone>{}, &Zone::utc()};
  if (!is_zone_name(name)) return failure(StatusCode::InvalidArgument, "'" + escape_text(name) + "' cannot be the name of a time zone");
  const std::string key{name};
  Result<Files::Entry> entry = files_->read(key);
  if (!entry) return failure(entry.error());
  return files_->entries.emplace(key, *std::move(entry)).first->second.zone;
}

std::vector<std::string> ZoneDirectory::refresh() {
  std::vector<std::string> changed;
  for (auto& [name, entry] : files_->entries) {
    struct stat facts {};
    if (::stat((files_->folder + "/" + name).c_str(), &facts) != 0) continue;
    if (Files::mark_of(facts) == entry.mark) continue;
    Result<Files::Entry> again = files_->read(name);
    if (!again) continue;
    const bool same = has_same_offsets(*entry.zone, *again->zone);
    entry.mark = again->mark;
    if (same) continue;
    entry.zone = std::move(again->zone);
    changed.push_back(name);
  }
  return changed;
}

}  // namespace rondo::calendar
