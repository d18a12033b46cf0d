// A server with jobs in a process of its own, and `rondo worker` in another: each can be killed and started again.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "admin/server.h"
#include "base/testing/temporary_folder.h"
#include "jobs/testing/passing_job_store.h"
#include "jobs/workers/options.h"
#include "rondo/admin/client.h"
#include "rondo/base/text.h"
#include "rondo/jobs/commands.h"
#include "rondo/jobs/jobs.h"
#include "rondo/jobs/workers.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {

/// A store that cannot store an end while the file "full" is in its folder.
class FillableStore final : public test::PassingJobStore {
 public:
  FillableStore(std::shared_ptr<JobStore> store, std::string folder)
      : PassingJobStore(*store), held_(std::move(store)), full_(std::move(folder) + "/full") {}
  Status finish(std::span<const RunEnd> ends) override {
    return std::filesystem::exists(full_) ? Status{StatusCode::Unavailable, "the disk is full"} : PassingJobStore::finish(ends);
  }

 private:
  std::shared_ptr<JobStore> held_;
  std::filesystem::path full_;
};

/// The server: runs until it is killed.
[[noreturn]] inline void serve_jobs(const std::string& folder, const WorkersOptions& options) {
  Runtime runtime;
  Jobs jobs(runtime, std::make_unique<FillableStore>(std::move(*make_sqlite_job_store(folder + "/jobs.db")), folder), {.cycle = 50ms});
  Workers workers(runtime, jobs, options);
  CommandRegistry registry{"testd", "1"};
  if (!add_job_commands(registry, jobs).ok() || !workers.add_commands(registry).ok()) ::_exit(3);
  const auto server = AdminServer::open(runtime.scheduler(), registry, AdminServerSetup({.path = folder + "/socket"}));
  if (!server) ::_exit(4);
  jobs.start();
  runtime.run();
  ::_exit(5);
}

class WorkerOnLinux : public ::testing::Test {
 protected:
  ~WorkerOnLinux() override {
    client.reset();
    kill_worker(SIGKILL);
    kill_server();
    if (HasFailure()) std::fprintf(stderr, "the worker's log:\n%s\n", read(folder / "worker.err").c_str());
  }

  // --- processes
  void start_server() {
    server = ::fork();
    if (server == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // No test leaves it behind.
    if (server == 0) serve_jobs(folder.string(), options);
    ASSERT_TRUE(becomes([this] {
      auto opened = AdminClient::connect(socket());
      if (opened) client = std::move(*opened);
      return opened.has_value();
    }));
  }
  void kill_server() {
    client.reset();
    if (server <= 0) return;
    ::kill(server, SIGKILL);
    ::waitpid(std::exchange(server, 0), nullptr, 0);
  }
  /// 'commands' is the part of the configuration behind [worker].
  void start_worker(const std::string& commands = {}) {
    if (!commands.empty()) {
      std::ofstream(folder / "worker.toml") << "[worker]\nname = \"host1\"\nstate = \"" << (folder / "state").string() << "\"\nplaces = 8\n"
                                            << commands;
    }
    const char* const rondo = std::getenv("RONDO");
    ASSERT_NE(rondo, nullptr) << "ctest sets RONDO";
    worker = ::fork();
    if (worker == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int log = ::open((folder / "worker.err").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(log, 2);
      const std::string config = (folder / "worker.toml").string();
      if (is_process_one) {
        ::execlp("unshare", "unshare", "--pid", "--fork", "--mount-proc", "--kill-child", rondo, "worker", "--socket", socket().c_str(),
                 "--config", config.c_str(), nullptr);
      }
      ::execl(rondo, rondo, "worker", "--socket", socket().c_str(), "--config", config.c_str(), nullptr);
      ::_exit(127);
    }
  }
  /// Returns the exit code, or the negative signal.
  int kill_worker(int signal) {
    if (worker <= 0) return 0;
    ::kill(worker, signal);
    int status = 0;
    ::waitpid(std::exchange(worker, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // --- jobs
  boost::json::object call(std::string_view command, const boost::json::object& arguments = {}) {
    const auto answer = client->call(command, arguments);
    EXPECT_TRUE(answer.has_value()) << command << ": " << answer.error().to_string();
    return answer.value_or(boost::json::object{});
  }
  void put(boost::json::object job) { call("job-put", {{"definition", escape_text(boost::json::serialize(job))}}); }
  /// Defines a job of 'command' and runs it once.
  std::int64_t run(const std::string& command, const std::string& parameters = {}, boost::json::object more = {}) {
    more["name"] = "job-of-" + command;
    more["handler"] = "command/" + command;
    more["parameters"] = parameters;
    put(more);
    return trigger("job-of-" + command);
  }
  std::int64_t trigger(const std::string& job) { return call("job-trigger", {{"name", job}}).at("run").to_number<std::int64_t>(); }
  /// "state note" of a run; empty if there is no such run.
  std::string state(const std::string& job, std::int64_t run) {
    const boost::json::object answer = call("job-runs", {{"name", job}, {"max", 200}});
    for (const boost::json::value& row : answer.at("rows").as_array()) {
      if (row.at("run").to_number<std::int64_t>() != run) continue;
      std::string text{row.at("state").as_string()};
      if (const auto* const note = row.as_object().if_contains("note")) text += " " + std::string{note->as_string()};
      return text;
    }
    return {};
  }
  /// The state of the newest run of a command's job, when it has ended.
  std::string end(const std::string& command, std::int64_t run) {
    std::string found;
    EXPECT_TRUE(becomes([&] {
      found = state("job-of-" + command, run);
      return !found.starts_with("due") && !found.starts_with("running");
    })) << found;
    return found;
  }
  /// Runs that are at the workers.
  std::int64_t workers_runs() {
    const boost::json::object answer = call("workers");
    const boost::json::array& rows = answer.at("rows").as_array();
    return rows.empty() ? 0 : rows[0].at("runs").to_number<std::int64_t>();
  }
  /// Waits until a run is at a worker.
  void expect_placed(std::int64_t runs = 1) {
    EXPECT_TRUE(becomes([&] { return workers_runs() >= runs; }));
  }
  std::string log_of(std::int64_t run) {
    std::string log;
    for (std::int64_t from = 0;;) {
      const auto piece = call("job-log", {{"run", run}, {"from", from}});
      if (HasFailure()) return log;
      log += unescape_text(std::string{piece.at("data").as_string()});
      if (from == piece.at("next").to_number<std::int64_t>()) return log;
      from = piece.at("next").to_number<std::int64_t>();
    }
  }

  // --- the world
  static bool becomes(const std::function<bool()>& condition, std::chrono::seconds patience = std::chrono::seconds{60}) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      ::usleep(2000);
    }
    return true;
  }
  static std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string script(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder / name;
    std::ofstream(path) << "#!/bin/bash\n" << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
  /// A command that runs a script.
  std::string command(const std::string& name, const std::string& text, const std::string& more = {}) const {
    return "[command." + name + "]\nprogram = \"" + script(name, text) + "\"\n" + more + "\n";
  }
  /// True if a process with this id exists and is no zombie.
  static bool lives(pid_t process) {
    const std::string stat = read("/proc/" + std::to_string(process) + "/stat");
    const std::size_t name_end = stat.rfind(") ");
    return name_end != std::string::npos && stat[name_end + 2] != 'Z';
  }
  /// The children of a process with this state, or of any state.
  static std::vector<pid_t> children_of(pid_t parent, char state = 0) {
    std::vector<pid_t> children;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      const std::string stat = read(entry.path() / "stat");
      const std::size_t name_end = stat.rfind(") ");
      if (name.find_first_not_of("0123456789") != std::string::npos || name_end == std::string::npos) continue;
      const char of = stat[name_end + 2];
      if (std::stoi(stat.substr(name_end + 4)) == parent && (state == 0 || of == state)) children.push_back(std::stoi(name));
    }
    return children;
  }
  /// The process ids that a script has written into a file of the folder, one a line.
  std::vector<pid_t> ids_in(const std::string& name) const {
    std::istringstream text(read(folder / name));
    std::vector<pid_t> ids;
    for (pid_t id = 0; text >> id;) ids.push_back(id);
    return ids;
  }
  std::string socket() const { return (folder / "socket").string(); }
  std::string path(const std::string& name) const { return (folder / name).string(); }

  TemporaryFolder folder;
  WorkersOptions options;
  pid_t server = 0;
  pid_t worker = 0;  // With 'is_process_one': its parent, unshare(1).
  bool is_process_one = false;
  std::unique_ptr<AdminClient> client;
};

}  // namespace rondo::jobs
