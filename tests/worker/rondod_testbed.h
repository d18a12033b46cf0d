// rondod with jobs, `rondo worker` beside it, and the command line: real programs, each of which can be killed and started again.
#pragma once

#include <cstdio>
#include <string>

#include "worker_testbed.h"

namespace rondo::jobs {

class RondodWithWorker : public WorkerOnLinux {
 protected:
  ~RondodWithWorker() override {
    if (HasFailure()) std::fprintf(stderr, "rondod's log:\n%s\n", read(folder / "rondod.err").c_str());
  }

  /// With one simulated port; or only a scheduler, without a data plane. 'more' are further sections of its configuration.
  void start_rondod(const std::string& more = {}, bool only_schedules = false) {
    const char* const plane = only_schedules ? "kind = \"none\"" : "kind = \"simulated\"\nsimulated_ports = [\"eth1\"]";
    std::ofstream(folder / "rondod.toml") << "[admin]\nsocket = \"" << socket() << "\"\n[dataplane]\n"
                                          << plane << "\n[jobs]\nenabled = true\ncycle_ms = 100\nstore = \"" << path("jobs.db") << "\"\n"
                                          << more;
    ASSERT_NE(std::getenv("RONDO"), nullptr) << "ctest sets RONDO";
    // Both programs are in the same build tree.
    const std::filesystem::path apps = std::filesystem::path{std::getenv("RONDO")}.parent_path().parent_path();
    const std::string rondod = (apps / "rondod" / "rondod").string();
    server = ::fork();
    if (server == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(::open((folder / "rondod.err").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), 2);
      ::execl(rondod.c_str(), rondod.c_str(), "--config", (folder / "rondod.toml").c_str(), nullptr);
      ::_exit(127);
    }
    ASSERT_TRUE(becomes([this] {
      auto opened = AdminClient::connect(socket());
      if (opened) client = std::move(*opened);
      return opened.has_value();
    }));
  }
  /// Ends rondod in order. Returns its exit code.
  int end_rondod() {
    client.reset();
    ::kill(server, SIGTERM);
    int status = 0;
    ::waitpid(std::exchange(server, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  struct Ended {
    int code = -1;
    std::string out;  // Standard output and standard error together.
  };
  /// Calls the command line: "job list".
  Ended rondo(const std::string& words) const {
    const std::string line = std::string{std::getenv("RONDO")} + " --socket " + socket() + " " + words + " 2>&1";
    FILE* const pipe = ::popen(line.c_str(), "r");
    Ended ended;
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) ended.out.push_back(static_cast<char>(c));
    const int status = ::pclose(pipe);
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ended;
  }
  /// Calls the command line and expects success.
  std::string must(const std::string& words) const {
    Ended ended = rondo(words);
    EXPECT_EQ(ended.code, 0) << words << ": " << ended.out;
    return ended.out;
  }
  boost::json::array runs_of(const std::string& job) const {
    return boost::json::parse(must("--json job runs " + job + " --count 200")).at("rows").as_array();
  }
  /// The runs of a job in this state.
  std::size_t count_of(const std::string& job, std::string_view state) const {
    const boost::json::array runs = runs_of(job);
    return static_cast<std::size_t>(
        std::count_if(runs.begin(), runs.end(), [state](const boost::json::value& run) { return run.at("state").as_string() == state; }));
  }
  std::size_t succeeded(const std::string& job) const { return count_of(job, "succeeded"); }
  std::size_t workers_connected() const {
    const boost::json::array workers = boost::json::parse(must("--json workers")).at("rows").as_array();
    return static_cast<std::size_t>(
        std::count_if(workers.begin(), workers.end(), [](const boost::json::value& one) { return one.at("connected").as_bool(); }));
  }
  bool is_worker_connected() const {
    return becomes([this] { return workers_connected() == 1; });
  }
  /// True if the newest run of the job comes to this state.
  bool comes_to(const std::string& job, std::string_view state) const {
    return becomes([&] {
      const boost::json::array runs = runs_of(job);
      return !runs.empty() && runs[0].at("state").as_string() == state;
    });
  }
};

}  // namespace rondo::jobs
