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

#include "worker/limits.h"
#include "worker/state_files.h"

namespace rondo::worker {

namespace {

namespace files = std::filesystem;

struct FileName {
  std::int64_t run = 0;
  std::uint64_t offset = 0;
  std::uint32_t attempt = 0;
  std::string key = {};
};

/// The parts of a name such as "12-4096-1-00ff.log". The key may be absent, and in names of an earlier version the attempt, too.
std::optional<FileName> parse_name(const std::string& name) {
  FileName parsed;
  const char* const end = name.data() + name.size();
  const auto [dash, bad_run] = std::from_chars(name.data(), end, parsed.run);
  if (bad_run != std::errc{} || dash == end || *dash != '-' || parsed.run < 1) return std::nullopt;
  auto [at, bad] = std::from_chars(dash + 1, end, parsed.offset);
  if (bad == std::errc{} && at != end && *at == '-') {
    const auto behind = std::from_chars(at + 1, end, parsed.attempt);
    at = behind.ptr;
    bad = behind.ec;
  }
  if (bad == std::errc{} && at != end && *at == '-') {
    const std::string_view rest{at + 1, end};
    parsed.key = rest.substr(0, rest.find('.'));
    at += 1 + parsed.key.size();
  }
  if (bad != std::errc{} || std::string_view{at, end} != ".log") return std::nullopt;
  return parsed;
}

/// At most 'max' bytes of the file from 'at' on; empty if it cannot be read, or has no more.
std::string bytes_of(const std::string& path, std::uint64_t at, std::size_t max) {
  const Result<UniqueFd> fd = open_state_file(path, O_RDONLY);
  std::string bytes(max, '\0');
  const ssize_t got = fd ? ::pread(fd->get(), bytes.data(), max, static_cast<off_t>(at)) : -1;
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

}  // namespace

Result<RunLogs> RunLogs::open(const std::string& folder, Bounds bounds) {
  if (Status made = make_state_part(folder); !made.ok()) return failure(std::move(made));
  std::error_code failed;
  RunLogs logs(folder, bounds);
  std::map<std::int64_t, files::file_time_type> times;
  for (files::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const auto name = parse_name(at->path().filename().string());
    std::error_code unknown;
    if (!name || !secure_old_file(at->path().string())) continue;
    const std::uint64_t size = at->file_size(unknown);
    if (unknown) continue;
    Log& log = logs.logs_[name->run];
    if (log.files.empty()) log.key = name->key;
    if (log.key != name->key) continue;
    log.files[name->offset] = {.size = size, .attempt = name->attempt};
    logs.bytes_ += size;
    times[name->run] = std::max(times[name->run], at->last_write_time(unknown));
  }
  if (failed) return failure(status_from_errno(failed.value(), "cannot read the folder '" + folder + "'"));
  std::vector<std::pair<files::file_time_type, std::int64_t>> by_age;
  for (const auto& [run, time] : times) by_age.emplace_back(time, run);
  std::ranges::sort(by_age);
  for (const auto& [time, run] : by_age) logs.ended_.push_back(run);
  logs.remove_old();
  return logs;
}

std::string RunLogs::path(std::int64_t run, const Log& log, std::uint64_t offset, std::uint32_t attempt) const {
  std::string name = std::to_string(run) + "-" + std::to_string(offset);
  if (attempt != 0 || !log.key.empty()) name += "-" + std::to_string(attempt);
  if (!log.key.empty()) name += "-" + log.key;
  return folder_ + "/" + name + ".log";
}

Status RunLogs::check() const { return check_room(folder_); }

Status RunLogs::begin(std::int64_t run, std::uint32_t attempt, const std::string& key, std::size_t bytes) {
  std::erase(ended_, run);
  if (const auto known = logs_.find(run); known != logs_.end() && known->second.key != key) remove(run);
  Log& log = logs_[run];
  log.key = key;
  log.bytes_max = bytes;
  log.attempt = attempt;
  log.trouble = {};
  return roll(run, log);
}

void RunLogs::remove_first(std::int64_t run, Log& log) {
  const auto& [offset, file] = *log.files.begin();
  ::unlink(path(run, log, offset, file.attempt).c_str());
  bytes_ -= file.size;
  log.files.erase(log.files.begin());
}

/// Begins a new file, and removes the oldest ones until it has room for half of the bytes.
Status RunLogs::roll(std::int64_t run, Log& log) {
  const std::uint64_t offset = log.size();
  std::uint64_t bytes = 0;
  for (const auto& [at, file] : log.files) bytes += file.size;
  const std::uint64_t half = std::max<std::uint64_t>(log.bytes_max / 2, 1);
  while (!log.files.empty() && (bytes + half > log.bytes_max || log.files.size() >= limits::kLogFiles)) {
    bytes -= log.files.begin()->second.size;
    remove_first(run, log);
  }
  // An earlier attempt without output has left a file with this offset.
  if (const auto empty = log.files.find(offset); empty != log.files.end() && empty->second.attempt != log.attempt) {
    ::unlink(path(run, log, offset, empty->second.attempt).c_str());
    log.files.erase(empty);
  }
  Result<UniqueFd> fd = open_state_file(path(run, log, offset, log.attempt), O_WRONLY | O_CREAT | O_APPEND);
  if (!fd) return log.trouble = fd.error();
  log.fd = *std::move(fd);
  log.files.try_emplace(offset, File{.size = 0, .attempt = log.attempt});
  log.lost = 0;  // The gap is before this file.
  return {};
}

void RunLogs::append(std::int64_t run, std::string_view output) {
  const auto found = logs_.find(run);
  if (found == logs_.end()) return;
  Log& log = found->second;
  while (!output.empty() && log.trouble.ok()) {
    const std::uint64_t half = std::max<std::uint64_t>(log.bytes_max / 2, 1);
    const std::uint64_t in_file = log.files.rbegin()->second.size;
    if (in_file >= half) {
      static_cast<void>(roll(run, log));  // It sets the trouble.
      continue;
    }
    output.remove_prefix(write(run, log, output.substr(0, half - in_file)));
  }
  log.lost += output.size();
}

std::size_t RunLogs::write(std::int64_t run, Log& log, std::string_view output) {
  std::size_t all = 0;
  while (all < output.size()) {
    const ssize_t written = ::write(log.fd.get(), output.data() + all, output.size() - all);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      log.trouble = status_from_errno(errno, "the log '" + path(run, log, log.files.rbegin()->first, log.attempt) + "' is incomplete");
      break;
    }
    all += static_cast<std::size_t>(written);
  }
  log.files.rbegin()->second.size += all;
  bytes_ += all;
  return all;
}

Status RunLogs::end(std::int64_t run) {
  const auto found = logs_.find(run);
  if (found == logs_.end()) return {};
  Log& log = found->second;
  log.fd.reset();
  Status trouble = log.trouble;
  if (log.lost > 0) {  // An empty file behind the gap, for a later start of the worker. This may need no room on the disk.
    const std::uint64_t size = log.size();
    if (open_state_file(path(run, log, size, log.attempt), O_WRONLY | O_CREAT)) {
      log.files.try_emplace(size, File{.size = 0, .attempt = log.attempt});
      log.lost = 0;
    }
  }
  ended_.push_back(run);
  remove_old();
  return trouble;
}

void RunLogs::remove(std::int64_t run) {
  const auto found = logs_.find(run);
  if (found == logs_.end()) return;
  while (!found->second.files.empty()) remove_first(run, found->second);
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
  const Log& log = found->second;
  const auto& of = log.files;
  LogPiece piece;
  piece.from = std::clamp(from, of.begin()->first, log.size());
  const auto behind = of.upper_bound(piece.from);
  const auto& [before, last] = *std::prev(behind);
  if (piece.from >= before + last.size) piece.from = behind == of.end() ? log.size() : behind->first;  // Within a gap, or at the end.
  piece.next = piece.from;
  piece.attempt = of.rbegin()->second.attempt;
  bool is_cut = false;
  for (const auto& [offset, file] : of) {
    if (!piece.data.empty() && file.attempt != piece.attempt) break;
    while (piece.next >= offset && piece.next < offset + file.size && piece.data.size() < max) {
      const std::size_t wanted = std::min<std::size_t>(max - piece.data.size(), offset + file.size - piece.next);
      const std::string bytes = bytes_of(path(run, log, offset, file.attempt), piece.next - offset, wanted);
      if (bytes.empty() && !piece.data.empty()) return piece;
      piece.attempt = file.attempt;
      if (bytes.empty()) {  // Another program has removed or replaced the file: go on behind it.
        is_cut = true;
        piece.from = piece.next = offset + file.size;
        continue;
      }
      piece.data += bytes;
      piece.next += bytes.size();
    }
  }
  const auto is_kept = [&](const auto& entry) {
    return entry.second.size > 0 && !bytes_of(path(run, log, entry.first, entry.second.attempt), 0, 1).empty();
  };
  return piece.data.empty() && is_cut && std::ranges::none_of(of, is_kept) ? std::nullopt : std::optional{std::move(piece)};
}

std::string RunLogs::key(std::int64_t run) const {
  const auto found = logs_.find(run);
  return found == logs_.end() ? std::string{} : found->second.key;
}

std::uint64_t RunLogs::size(std::int64_t run) const {
  const auto found = logs_.find(run);
  return found == logs_.end() ? 0 : found->second.size();
}

std::uint64_t RunLogs::written(std::int64_t run) const {
  const auto found = logs_.find(run);
  return found == logs_.end() ? 0 : found->second.size() - found->second.lost;
}

}  // namespace rondo::worker
