#include "worker/run_logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>
#include <vector>

#include "worker/state_files.h"

namespace rondo::cli {

namespace {

namespace files = std::filesystem;

/// The run and the offset in a name such as "12-4096.log".
std::optional<std::pair<std::int64_t, std::uint64_t>> parse_name(const std::string& name) {
  std::int64_t run = 0;
  std::uint64_t offset = 0;
  const char* const end = name.data() + name.size();
  const auto [dash, bad_run] = std::from_chars(name.data(), end, run);
  if (bad_run != std::errc{} || dash == end || *dash != '-' || run < 1) return std::nullopt;
  const auto [dot, bad_offset] = std::from_chars(dash + 1, end, offset);
  if (bad_offset != std::errc{} || std::string_view{dot, end} != ".log") return std::nullopt;
  return std::pair{run, offset};
}

}  // namespace

Result<RunLogs> RunLogs::open(const std::string& folder, Bounds bounds) {
  if (Status made = make_state_folder(folder); !made.ok()) return failure(std::move(made));
  std::error_code failed;
  RunLogs logs(folder, bounds);
  std::map<std::int64_t, files::file_time_type> times;
  for (files::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const auto name = parse_name(at->path().filename().string());
    std::error_code unknown;
    if (!name || !at->is_regular_file(unknown)) continue;
    const std::uint64_t size = at->file_size(unknown);
    if (unknown) continue;
    logs.logs_[name->first].files[name->second] = size;
    logs.bytes_ += size;
    times[name->first] = std::max(times[name->first], at->last_write_time(unknown));
  }
  if (failed) return failure(status_from_errno(failed.value(), "cannot read the folder '" + folder + "'"));
  std::vector<std::pair<files::file_time_type, std::int64_t>> by_age;
  for (const auto& [run, time] : times) by_age.emplace_back(time, run);
  std::ranges::sort(by_age);
  for (const auto& [time, run] : by_age) logs.ended_.push_back(run);
  logs.remove_old();
  return logs;
}

std::string RunLogs::path(std::int64_t run, std::uint64_t offset) const {
  return folder_ + "/" + std::to_string(run) + "-" + std::to_string(offset) + ".log";
}

Status RunLogs::check() const { return check_room(folder_); }

Status RunLogs::begin(std::int64_t run, std::size_t bytes) {
  std::erase(ended_, run);
  Log& log = logs_[run];
  log.bytes_max = bytes;
  log.trouble = {};
  return roll(run, log);
}

/// Begins a new file, and removes all but the newest of the older ones.
Status RunLogs::roll(std::int64_t run, Log& log) {
  const std::uint64_t offset = log.size();
  while (log.files.size() > 1) {
    ::unlink(path(run, log.files.begin()->first).c_str());
    bytes_ -= log.files.begin()->second;
    log.files.erase(log.files.begin());
  }
  // An earlier attempt without output has left a file with this offset: it goes on.
  Result<UniqueFd> fd = open_state_file(path(run, offset), O_WRONLY | O_CREAT | O_APPEND);
  if (!fd) return log.trouble = fd.error();
  log.fd = *std::move(fd);
  log.files.try_emplace(offset, 0);
  return {};
}

void RunLogs::append(std::int64_t run, std::string_view output) {
  const auto found = logs_.find(run);
  if (found == logs_.end()) return;
  Log& log = found->second;
  while (!output.empty() && log.trouble.ok()) {
    const std::uint64_t half = std::max<std::uint64_t>(log.bytes_max / 2, 1);
    const std::uint64_t in_file = log.files.rbegin()->second;
    if (in_file >= half) {
      if (!roll(run, log).ok()) return;
      continue;
    }
    const std::string_view piece = output.substr(0, half - in_file);
    write(run, log, piece);
    output.remove_prefix(piece.size());
  }
}

void RunLogs::write(std::int64_t run, Log& log, std::string_view output) {
  while (!output.empty()) {
    const ssize_t written = ::write(log.fd.get(), output.data(), output.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      log.trouble = status_from_errno(errno, "the log '" + path(run, log.files.rbegin()->first) + "' is incomplete");
      return;
    }
    log.files.rbegin()->second += static_cast<std::uint64_t>(written);
    bytes_ += static_cast<std::uint64_t>(written);
    output.remove_prefix(static_cast<std::size_t>(written));
  }
}

Status RunLogs::end(std::int64_t run) {
  const auto found = logs_.find(run);
  if (found == logs_.end()) return {};
  found->second.fd.reset();
  Status trouble = found->second.trouble;
  ended_.push_back(run);
  remove_old();
  return trouble;
}

void RunLogs::remove(std::int64_t run) {
  const auto found = logs_.find(run);
  if (found == logs_.end()) return;
  for (const auto& [offset, size] : found->second.files) {
    ::unlink(path(run, offset).c_str());
    bytes_ -= size;
  }
  logs_.erase(found);
}

void RunLogs::remove_old() {
  while (!ended_.empty() && (ended_.size() > bounds_.logs || bytes_ > bounds_.bytes)) {
    remove(ended_.front());
    ended_.pop_front();
  }
}

std::optional<LogPiece> RunLogs::read(std::int64_t run, std::uint64_t from, std::size_t max) const {
  const auto found = logs_.find(run);
  if (found == logs_.end() || found->second.files.empty()) return std::nullopt;
  const auto& of = found->second.files;
  LogPiece piece;
  piece.from = std::clamp(from, of.begin()->first, found->second.size());
  piece.next = piece.from;
  for (const auto& [offset, size] : of) {
    while (piece.next >= offset && piece.next < offset + size && piece.data.size() < max) {
      const Result<UniqueFd> fd = open_state_file(path(run, offset), O_RDONLY);
      const std::size_t wanted = std::min<std::size_t>(max - piece.data.size(), offset + size - piece.next);
      std::string bytes(wanted, '\0');
      const ssize_t got = fd ? ::pread(fd->get(), bytes.data(), wanted, static_cast<off_t>(piece.next - offset)) : -1;
      if (got <= 0) return piece;
      bytes.resize(static_cast<std::size_t>(got));
      piece.data += bytes;
      piece.next += bytes.size();
    }
  }
  return piece;
}

std::uint64_t RunLogs::size(std::int64_t run) const {
  const auto found = logs_.find(run);
  return found == logs_.end() ? 0 : found->second.size();
}

}  // namespace rondo::cli
