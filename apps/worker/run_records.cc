#include "worker/run_records.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "base/private_file.h"
#include "rondo/admin/client.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"
#include "worker/command_line.h"
#include "worker/config.h"
#include "worker/limits.h"
#include "worker/process.h"
#include "worker/state_files.h"

namespace rondo::worker {

namespace {

namespace files = std::filesystem;
namespace json = boost::json;

/// Bytes of a text for people: a server keeps fewer. With it a record has less than limits::kRunRecordBytes.
constexpr std::size_t kWords = 4'096;

std::string text_of(const RunRecord& record) {
  return json::serialize(json::object{{"run", record.run},
                                      {"attempt", record.attempt},
                                      {"key", record.key},
                                      {"command", record.command},
                                      {"process", record.process},
                                      {"started", record.started},
                                      {"boot", record.boot},
                                      {"begun_ms", record.begun_ms},
                                      {"ended", record.has_ended},
                                      {"code", to_string(record.status.code())},
                                      {"message", escape_text(record.status.message().substr(0, kWords))},
                                      {"note", escape_text(std::string_view{record.note}.substr(0, kWords))},
                                      {"refused", record.is_refused},
                                      {"ended_ms", record.ended_ms}});
}

/// A time in a record, in milliseconds: not in the future, because a damaged record may have any number.
std::int64_t past_ms(const json::value& value) {
  return std::clamp<std::int64_t>(value.to_number<std::int64_t>(), 0, SystemClock{}.wall_now().nanoseconds() / 1'000'000);
}

std::optional<RunRecord> parse(const std::string& text) {
  try {
    const json::value value = json::parse(text);
    const json::object& object = value.as_object();
    const auto words = [&object](const char* name) {
      const json::string& found = object.at(name).as_string();
      return std::string{found.data(), found.size()};
    };
    RunRecord record{.run = object.at("run").to_number<std::int64_t>(),
                     .attempt = object.at("attempt").to_number<std::uint32_t>(),
                     .command = words("command"),
                     .process = object.at("process").to_number<pid_t>(),
                     .started = object.at("started").to_number<std::uint64_t>(),
                     .boot = words("boot"),
                     .has_ended = object.at("ended").as_bool(),
                     .status = {},
                     .note = unescape_text(words("note"))};
    if (object.contains("key")) record.key = words("key");
    if (const json::value* const refused = object.if_contains("refused")) record.is_refused = refused->as_bool();
    if (const json::value* const begun = object.if_contains("begun_ms")) record.begun_ms = past_ms(*begun);
    if (const json::value* const ended = object.if_contains("ended_ms")) record.ended_ms = past_ms(*ended);
    if (const std::string code = words("code"); code != "ok") record.status = {code_named(code), unescape_text(words("message"))};
    // A server refuses a command that can have no such name.
    const bool is_possible = record.run >= 1 && is_run_key(record.key) && is_command_name(record.command);
    return is_possible ? std::optional{std::move(record)} : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// As lock_file(), and waits for 'patience' at most.
Status wait_for_lock(int fd, const std::string& what, Duration patience, const std::function<void(const Status&)>& on_wait) {
  const SystemClock clock;
  const Instant until = clock.now() + patience;
  Status locked = lock_file(fd, what);
  if (locked.code() != StatusCode::Unavailable) return locked;
  on_wait(locked);
  // The kernel reports no end of a lock to a waiter with a deadline.
  while (locked.code() == StatusCode::Unavailable && clock.now() < until) {
    ::poll(nullptr, 0, 20);
    locked = lock_file(fd, what);
  }
  return locked;
}

/// The group of a process; 0 if there is no such process.
pid_t group_of(const std::string& process) {
  const std::string text = whole("/proc/" + process + "/stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  std::string state;
  pid_t parent = 0;
  pid_t group = 0;
  rest >> state >> parent >> group;
  return state == "Z" ? 0 : group;
}

/// True if a process of the group has the run in its environment: only a process that the command started has.
bool has_member_of_run(const RunRecord& record) {
  const std::string mark = "RONDO_RUN=" + std::to_string(record.run);
  std::error_code failed;
  for (files::directory_iterator at("/proc", failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos || group_of(name) != record.process) continue;
    std::istringstream variables(whole("/proc/" + name + "/environ"));
    for (std::string variable; std::getline(variables, variable, '\0');) {
      if (variable == mark) return true;
    }
  }
  return false;
}

/// Renames a file so that it is read no more. Returns the new name; empty if that failed.
std::string rename_damaged(const std::string& name) {
  std::error_code failed;
  std::string renamed = name + ".damaged";
  for (int number = 2; files::exists(files::symlink_status(renamed, failed)); ++number)
    renamed = name + ".damaged." + std::to_string(number);
  return std::rename(name.c_str(), renamed.c_str()) == 0 ? renamed : std::string{};
}

}  // namespace

std::string boot_id() {
  std::string id = whole("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

bool kill_leftovers(const RunRecord& record) {
  if (record.has_ended || record.process <= 1 || record.boot != boot_id()) return false;
  // The kernel gives the number of a group to no other process while the group has a member. So a group with the program of the record, or
  // with a process that has the run in its environment, is the command's.
  const bool is_ours = start_time_of(record.process) == std::optional{record.started} || has_member_of_run(record);
  return is_ours && ::kill(-record.process, SIGKILL) == 0;
}

Result<RunRecords> RunRecords::open(const std::string& state, Duration patience, const std::function<void(const Status&)>& on_wait) {
  const std::string folder = state + "/runs";
  if (Status made = make_state_folder(state); !made.ok()) return failure(std::move(made));
  if (Status made = make_state_part(folder); !made.ok()) return failure(std::move(made));
  Result<UniqueFd> lock = open_state_file(state + "/lock", O_RDWR | O_CREAT, kPrivateMode);
  if (!lock) return failure(lock.error());
  if (Status locked = wait_for_lock(lock->get(), "'" + state + "'", patience, on_wait); !locked.ok()) return failure(std::move(locked));
  return RunRecords(folder, *std::move(lock));
}

Status RunRecords::check(const std::string& state) {
  files::path place = state;
  std::error_code failed;
  while (!files::exists(place, failed) && place.has_relative_path()) place = place.parent_path();
  if (!files::is_directory(place, failed)) return {StatusCode::InvalidArgument, "'" + place.string() + "' is no folder"};
  for (const std::string& each : {state, state + "/runs", state + "/logs"}) {
    if (!files::exists(files::symlink_status(each, failed))) continue;
    if (Status owned = each == state ? check_owner(each) : check_part(each); !owned.ok()) return owned;
  }
  if (::faccessat(AT_FDCWD, place.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  return status_from_errno(errno, "making files in '" + place.string() + "'");
}

std::string RunRecords::path(std::int64_t run) const { return folder_ + "/" + std::to_string(run) + ".json"; }

Status RunRecords::check() const { return check_room(folder_); }

Status RunRecords::write(const RunRecord& record) {
  const std::string target = path(record.run);
  const std::string draft = target + ".new";
  if (Status written = write_state_file(draft, text_of(record)); !written.ok()) return written;
  return std::rename(draft.c_str(), target.c_str()) == 0 ? Status{} : status_from_errno(errno, "cannot write '" + target + "'");
}

void RunRecords::remove(std::int64_t run) { std::remove(path(run).c_str()); }

std::string RunRecords::set_aside(std::int64_t run) { return rename_damaged(path(run)); }

std::vector<RunRecord> RunRecords::read_all(const OnDamaged& on_damaged) const {
  std::vector<RunRecord> records;
  std::vector<std::pair<std::string, Status>> damaged;
  std::error_code failed;
  for (files::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().string();
    if (!name.ends_with(".json")) continue;
    const Result<std::string> text = read_state_file(name, limits::kRunRecordBytes);
    std::optional<RunRecord> record = text ? parse(*text) : std::nullopt;
    if (record && path(record->run) == name) {
      records.push_back(*std::move(record));
    } else {
      damaged.emplace_back(name, text ? Status{StatusCode::DataLoss, "'" + name + "' is no record of a run"} : text.error());
    }
  }
  for (const auto& [name, why] : damaged) on_damaged(why, rename_damaged(name));
  return records;
}

}  // namespace rondo::worker
