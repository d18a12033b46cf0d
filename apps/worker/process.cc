#include "worker/process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace rondo::worker {

namespace {

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failure(status_from_errno(errno, "pipe2"));
  return Pipe{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

/// A file in memory, read from its beginning; an empty descriptor for no input.
Result<UniqueFd> input_of(const CommandLine& line) {
  if (line.input.empty()) return UniqueFd{};
  UniqueFd file{::memfd_create("rondo-input", MFD_CLOEXEC)};
  if (!file) return failure(status_from_errno(errno, "memfd_create"));
  const ssize_t written = ::pwrite(file.get(), line.input.data(), line.input.size(), 0);
  if (written != static_cast<ssize_t>(line.input.size())) return failure(status_from_errno(errno, "writing the input of a command"));
  return file;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

/// What the child did when it failed, for the message of its errno.
enum class Step : int { Prepare, User, Directory, Execute };

struct Trouble {
  int error = 0;
  Step step = Step::Prepare;
};

const char* to_text(Step step) {
  switch (step) {
    case Step::Prepare: return "prepare the process";
    case Step::User: return "become the user";
    case Step::Directory: return "enter the directory";
    case Step::Execute: return "execute the program";
  }
  return "";
}

/// Reaps what is left of a group whose leader is reaped, and returns whether reap()'s SIGKILL ended any of it. A process that still ends
/// stays for Worker::reap_orphans().
bool was_cut(pid_t group) {
  int status = 0;
  for (pid_t child = 0; (child = ::waitpid(-group, &status, WNOHANG)) >= 0;) {
    if (child == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) return true;
  }
  return false;
}

}  // namespace

Result<std::optional<UserIds>> user_ids(const std::string& name) {
  if (name.empty()) return std::optional<UserIds>{};
  errno = 0;
  const passwd* const found = ::getpwnam(name.c_str());
  if (found == nullptr) return failure(StatusCode::NotFound, "there is no user '" + name + "'");
  UserIds ids{.user = found->pw_uid, .group = found->pw_gid, .groups = std::vector<gid_t>(64)};
  if (ids.user == ::geteuid() && ids.user != 0) return std::optional<UserIds>{};
  if (::geteuid() != 0) return failure(StatusCode::PermissionDenied, "only root can run commands as the user '" + name + "'");
  int count = static_cast<int>(ids.groups.size());
  if (::getgrouplist(name.c_str(), ids.group, ids.groups.data(), &count) < 0) {
    ids.groups.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(name.c_str(), ids.group, ids.groups.data(), &count) < 0)
      return failure(StatusCode::Unavailable, "getgrouplist failed");
  }
  ids.groups.resize(static_cast<std::size_t>(count));
  return std::optional{std::move(ids)};
}

void imply_user(CommandRule& rule) {
  const passwd* const found = rule.user.empty() ? nullptr : ::getpwnam(rule.user.c_str());
  if (found == nullptr) return;
  const std::array<std::pair<std::string, std::string>, 4> implied{
      {{"HOME", found->pw_dir}, {"LOGNAME", rule.user}, {"USER", rule.user}, {"SHELL", "/bin/sh"}}};
  for (const auto& one : implied) {
    if (std::ranges::find(rule.environment, one.first, [](const auto& set) { return set.first; }) == rule.environment.end())
      rule.environment.push_back(one);
  }
  rule.home = std::ranges::find(rule.environment, "HOME", [](const auto& one) { return std::string_view{one.first}; })->second;
}

// Only functions that are safe after a fork: the worker has one thread, but its libraries may not.
void Process::run_child(int start, int input, int output, int trouble, const CommandRule& rule, char* const* arguments,
                        char* const* environment, const std::optional<UserIds>& user, pid_t worker) {
  const auto give_up = [trouble](Step step) {
    const Trouble why{errno, step};
    static_cast<void>(!::write(trouble, &why, sizeof why));
    ::_exit(127);
  };
  ::setsid();
  if (input < 0) input = ::open("/dev/null", O_RDONLY);
  if (input < 0 || ::dup2(input, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0) give_up(Step::Prepare);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  char byte = 0;
  while (::read(start, &byte, 1) < 0 && errno == EINTR) {
  }
  if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) != 0) give_up(Step::Prepare);
  if (user && (::setgroups(user->groups.size(), user->groups.data()) != 0 || ::setgid(user->group) != 0 || ::setuid(user->user) != 0))
    give_up(Step::User);
  if (!rule.may_gain_privileges && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up(Step::Prepare);
  // A change of the user clears it, so it comes after that.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(Step::Prepare);
  if (::getppid() != worker) ::_exit(127);  // The worker died before.
  // The home of a service's user may not exist, which is no reason not to run.
  const bool has_directory = !rule.directory.empty();
  if (::chdir(has_directory ? rule.directory.c_str() : rule.home.c_str()) != 0 && (has_directory || ::chdir("/") != 0))
    give_up(Step::Directory);
  ::execve(rule.program.c_str(), arguments, environment);
  give_up(Step::Execute);
  ::_exit(127);
}

Result<Process> Process::fork(const CommandRule& rule, const CommandLine& line, const std::optional<UserIds>& user) {
  Result<Pipe> output = make_pipe();
  Result<Pipe> start = make_pipe();
  Result<Pipe> trouble = make_pipe();
  if (!output || !start || !trouble) return failure(status_from_errno(errno, "pipe2"));
  const Result<UniqueFd> input = input_of(line);
  if (!input) return failure(input.error());
  const std::vector<char*> arguments = pointers(line.arguments);
  const std::vector<char*> environment = pointers(line.environment);
  const pid_t worker = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return failure(status_from_errno(errno, "fork"));
  if (child == 0) {
    start->writer.reset();  // Else the child would wait for itself.
    run_child(start->reader.get(), input->get(), output->writer.get(), trouble->writer.get(), rule, arguments.data(), environment.data(),
              user, worker);
  }
  Process process;
  process.id_ = child;
  process.output_ = std::move(output->reader);
  process.start_ = std::move(start->writer);
  process.trouble_ = std::move(trouble->reader);
  process.pidfd_ = UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, child, 0))};
  if (!process.pidfd_) return failure(status_from_errno(errno, "pidfd_open"));
  ::fcntl(process.output_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(process.trouble_.get(), F_SETFL, O_NONBLOCK);
  return process;
}

Process::~Process() {
  if (id_ < 0 || is_reaped_ || !pidfd_) return;
  ::kill(id_, SIGKILL);
  static_cast<void>(reap());
}

bool Process::has_ended() const noexcept {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == id_;
}

void Process::signal(int number) const noexcept {
  // Before its setsid() the child is in no group of its own. After it, and until it is reaped, no other group can have this number.
  if (::kill(-id_, number) != 0) ::kill(id_, number);
}

ProcessEnd Process::reap() {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  ::kill(-id_, SIGKILL);  // While the program is not reaped its group is ours.
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  is_reaped_ = true;
  ProcessEnd end;
  end.cut = was_cut(id_);
  if (WIFEXITED(status)) {
    end.exit_code = WEXITSTATUS(status);
  } else {
    end.signal = WTERMSIG(status);
  }
  Trouble why;
  if (::read(trouble_.get(), &why, sizeof why) == static_cast<ssize_t>(sizeof why))
    end.unstarted = status_from_errno(why.error, std::string{"cannot "} + to_text(why.step));
  return end;
}

std::optional<std::uint64_t> start_time_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // The name may contain anything.
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) rest >> field;
  std::uint64_t time = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), time);
  return error == std::errc{} && end == field.data() + field.size() ? std::optional{time} : std::nullopt;
}

}  // namespace rondo::worker
