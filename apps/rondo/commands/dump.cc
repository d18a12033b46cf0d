// rondo dump: collects from the daemon the information that support needs, in one tar file that only its owner may read. The daemon hides
// secrets, and this command hides them again, because an older daemon may not recognise all of them.
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "admin/secrets.h"
#include "backends/backend.h"
#include "commands/actions.h"
#include "commands/command_limits.h"
#include "commands/tar.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

constexpr int kNamesOfASecond = 100;

struct Part {
  std::string_view command;  // Its answer is stored in COMMAND.json.
  std::string_view meaning;
};

constexpr std::array<Part, 10> kParts{{{"version", "name and version of the daemon"},
                                       {"config", "its configuration"},
                                       {"health", "troubles it knows of, and the kernel it runs on"},
                                       {"stats", "all its figures"},
                                       {"sources", "what takes turns"},
                                       {"tables", "the tables and their sizes; none of their rows"},
                                       {"parked", "the facts that rows wait for, and how many do"},
                                       {"ports", "ports and their state"},
                                       {"log", "the newest lines of its log"},
                                       {"commands", "the commands it knows"}}};

void hide_in(json::value& value) {
  if (auto* const object = value.if_object()) {
    for (auto& member : *object) hide_in(member.value());
  } else if (auto* const array = value.if_array()) {
    for (json::value& element : *array) hide_in(element);
  } else if (const auto* const given = value.if_string()) {
    value = json::value(hide_secrets({given->data(), given->size()}));
  }
}

/// Requests the parts, and stores which of them failed.
class Gatherer {
 public:
  explicit Gatherer(Backend& backend) : backend_(backend) {}

  /// Returns the answer of one part, or the reason of its failure.
  json::value ask(const Part& part) {
    json::array rows;
    std::uint64_t left_out = 0;
    Result<json::object> result = backend_.call(std::string{part.command}, {}, [&](const json::value& row) {
      if (rows.size() < limits::kDumpRows) {
        rows.push_back(row);
      } else {
        ++left_out;
      }
    });
    json::value answer;
    if (result) {
      if (!rows.empty() || result->contains("rows")) (*result)["rows"] = std::move(rows);
      if (left_out != 0) (*result)["rows_left_out"] = left_out;
      answer = std::move(*result);
    } else {
      answer = {{"error", json::object{{"code", to_string(result.error().code())}, {"message", result.error().message()}}}};
    }
    hide_in(answer);
    note(part, result ? Status{} : result.error());
    return answer;
  }

  /// True if no part was answered.
  bool has_nothing() const noexcept { return answered_ == 0; }
  /// The first failure, with the names of all missing parts; ok if none is missing.
  Status missing() const { return why_.ok() ? Status{} : why_.with_context("not in it: " + names_); }
  /// The first failure alone.
  const Status& why() const noexcept { return why_; }

 private:
  /// That an older daemon does not know a command counts as an answer.
  void note(const Part& part, const Status& end) {
    if (end.ok() || (end.code() == StatusCode::NotFound && end.message().starts_with("unknown command"))) {
      ++answered_;
      return;
    }
    names_.append(names_.empty() ? "" : ", ").append(part.command);
    if (why_.ok()) why_ = end;
  }

  Backend& backend_;
  std::size_t answered_ = 0;
  std::string names_;
  Status why_;
};

json::object contents(std::string_view time) {
  json::object files;
  for (const Part& part : kParts) files[std::string{part.command} + ".json"] = part.meaning;
  utsname system{};
  ::uname(&system);
  return json::object{{"made_by", "rondo " RONDO_VERSION},
                      {"made_at", time},
                      {"system", std::string{system.sysname} + " " + system.release + " " + system.machine},
                      {"secrets", "Passwords, keys and tokens are replaced by ***."},
                      {"files", std::move(files)}};
}

std::string utc(std::int64_t seconds, const char* form) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, form, &parts)};
}

/// Writes to a new file that only its owner may read, or to standard output.
Status write_out(const std::string& path, const std::string& bytes) {
  if (path == "-") {
    print_bytes(bytes);
    return {};
  }
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return status_from_errno(errno, "make the file '" + path + "'");
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const Status why = status_from_errno(errno, "write '" + path + "'");
      ::close(fd);
      ::unlink(path.c_str());
      return why;
    }
    done += static_cast<std::size_t>(written);
  }
  return ::close(fd) == 0 ? Status{} : status_from_errno(errno, "write '" + path + "'");
}

/// Writes the bundle, and returns its path. If a bundle of the same second has the name, tries the next name.
Result<std::string> write_bundle(const std::string& asked, const std::string& name, const std::string& bytes) {
  std::string file = asked.empty() ? name + ".tar" : asked;
  Status written = write_out(file, bytes);
  for (int other = 2; asked.empty() && written.origin_errno() == EEXIST && other <= kNamesOfASecond; ++other) {
    file = name + "-" + std::to_string(other) + ".tar";
    written = write_out(file, bytes);
  }
  return written.ok() ? Result<std::string>{std::move(file)} : failure(std::move(written));
}

}  // namespace

int dump(const Options& options, const Dump& dump) {
  if (dump.file == "-" && ::isatty(STDOUT_FILENO) == 1) {
    return report(options, Status{StatusCode::InvalidArgument, "a tar file is nothing for a terminal: name a file, or send it elsewhere"});
  }
  const Result<std::unique_ptr<Backend>> backend = open_backend(options);
  if (!backend) return report(options, backend.error());
  const std::int64_t seconds = SystemClock{}.wall_now().nanoseconds() / 1'000'000'000;
  const std::string name = "rondo-dump-" + utc(seconds, "%Y%m%d-%H%M%S");
  Tar tar(seconds);
  const json::object list = contents(utc(seconds, "%Y-%m-%dT%H:%M:%SZ"));
  tar.add(name + "/contents.json", json_text(list) + "\n");
  Gatherer gatherer(**backend);
  for (const Part& part : kParts) tar.add(name + "/" + std::string{part.command} + ".json", json_text(gatherer.ask(part)) + "\n");
  if (gatherer.has_nothing()) return report(options, gatherer.why());
  const Result<std::string> written = write_bundle(dump.file, name, tar.finish());
  if (!written) return report(options, written.error(), kExitFailed);
  const std::string& file = *written;
  const Status missing = gatherer.missing();
  const int code = missing.ok() ? kExitDone : report(options, missing);
  if (file == "-") return finish_output(code);
  if (options.json) {
    json::object said{{"file", escape_text(file)}};
    for (const auto& member : list) said[member.key()] = member.value();
    print(json_text(said) + "\n");
  } else {
    print(visible_text(file) +
          ": only you may read it. Passwords, keys and tokens are left out, and so are the rows of tables. It contains:\n");
    for (const Part& part : kParts) {
      print("  " + std::string{part.command} + std::string(10 - part.command.size(), ' ') + std::string{part.meaning} + "\n");
    }
  }
  return finish_output(code);
}

}  // namespace rondo::cli
