// The command line against a daemon whose answers have any shape. Goal: no answer ends it by a signal, and an action that takes an answer
// apart reports one of the wrong shape. Method: a socket on which a process answers every request with the same two frames; each action
// that calls the daemon is run against each answer of a table, in a child of the test: to execute `rondo` 1,512 times costs eighty seconds
// of CPU time, and several times as much with a sanitizer. The test has one thread, so its children may allocate.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "admin/frame.h"
#include "arguments/options.h"
#include "base/testing/temporary_folder.h"
#include "base/unique_fd.h"
#include "commands/actions.h"
#include "output/print.h"

namespace rondo::cli {
namespace {

struct Answer {
  std::string_view rows;  // The rows of the first page.
  std::string_view result;
};

/// The first ones have a row that is no object, which no action accepts that takes rows apart.
constexpr std::size_t kNoObjects = 4;
constexpr std::array<Answer, 27> kAnswers{{
    {"[1]", R"({"rows":[]})"},
    {"[null]", "{}"},
    {R"(["a"])", R"({"rows":[1]})"},
    {"[[]]", R"({"rows":[[]]})"},
    {"[{}]", R"({"rows":[{}]})"},
    {"1", R"({"rows":1})"},
    {"{}", R"({"rows":{}})"},
    {"null", R"({"rows":null})"},
    {"[[0,1,2]]", R"({"key":1,"fields":1})"},
    {R"([[0,"a","b"],[-9223372036854775808,"a","b"],[9223372036854775807,"a","b"]])", R"({"key":[],"fields":[[]]})"},
    {R"([{"key":1,"fields":[]}])", R"({"key":"k","fields":[["a"]]})"},
    {R"([{"key":"k"}])", R"({"key":"k","fields":[["a",1]]})"},
    {R"([{"key":"k","fields":1}])", R"({"key":"k","fields":{"a":1}})"},
    {R"([{"key":"k","fields":[1]}])", R"({"key":"k","fields":[{}]})"},
    {R"([{"key":"k","fields":[[]]}])", R"({"key":"k","fields":null})"},
    {R"([{"key":"k","fields":[["a"]]}])", R"({"state":1,"note":1,"facts":1})"},
    {R"([{"key":"k","fields":[["a",{}]]}])", R"({"state":"done","note":[],"plane":1})"},
    {R"([{"key":"k","large":1}])", R"({"state":"parked"})"},
    {R"([{"table":1,"kind":"staged"}])", R"({"name":1,"version":[]})"},
    {R"([{"table":"ROUTE_TABLE","kind":1}])", R"({"name":"rondod","version":"1"})"},
    {R"([{"table":"ROUTE_TABLE","kind":"staged","pending":"x"}])", R"({"accepted":"x","refused":"x","first_error":{}})"},
    {R"([{"table":"ROUTE_TABLE","kind":"staged","pending":1e300}])", R"({"accepted":-1,"refused":1e300,"unwritten":[]})"},
    {R"([{"table":"ROUTE_TABLE","kind":"staged","pending":-1}])",
     R"({"accepted":0,"refused":1,"first_error":{"row":-1,"code":1,"message":[]}})"},
    {R"([{"name":"drain","arguments":1},{"name":1},{"name":"drain","arguments":[1]}])", R"({"refused":18446744073709551615})"},
    {R"([{"state":1,"parent":-7,"lists":1,"line":[],"number":1e300}])",
     R"({"chain":[{"parent":-7},{"parent":1e300},1],"healthy":"no","differences":[],"troubles":1,"problems":{}})"},
    {R"([{"table":"T","queued":1e300,"turns":-1e300,"ran_us":"x","depth":[]}])",
     R"({"at_us":1e300,"recorded_us":-1e300,"tables":[1,{"table":1,"taken":1e300}],"sources":[1,{"turns":1e300}],"ports":[1],"dataplane":{"applied":1e300}})"},
    {R"([{"at_us":[],"what":1,"op":{},"facts":[1],"fields":[[1,2]]}])", R"({"healthy":1,"lists":[1],"waits_for":[[]]})"},
}};

struct Action {
  const char* name;
  const char* words;  // FILE is a file of two rows, BUNDLE a file that does not exist.
  bool takes_apart = false;
};

constexpr Action kActions[] = {
    {"Set", "set ROUTE_TABLE 10.0.0.0/24 a=b"},
    {"SetWait", "set --wait=5 ROUTE_TABLE 10.0.0.0/24 a=b"},
    {"SetWaitJson", "--json set --wait=5 ROUTE_TABLE 10.0.0.0/24 a=b"},
    {"SetReplace", "set --replace --unset c ROUTE_TABLE 10.0.0.0/24 a=b"},
    {"Del", "del ROUTE_TABLE 10.0.0.0/24"},
    {"DelWait", "del --wait=5 ROUTE_TABLE 10.0.0.0/24"},
    {"Get", "get ROUTE_TABLE 10.0.0.0/24"},
    {"GetJson", "--json get ROUTE_TABLE 10.0.0.0/24"},
    {"Keys", "keys ROUTE_TABLE"},
    {"KeysPattern", "keys ROUTE_TABLE 10* --count 5"},
    {"Show", "show ROUTE_TABLE"},
    {"ShowJson", "--json show ROUTE_TABLE --count 5"},
    {"Tables", "tables"},
    {"Load", "load FILE"},
    {"LoadDiff", "load --diff FILE"},
    {"LoadDiffJson", "--json load --diff FILE"},
    {"LoadChanges", "load --changes FILE"},
    {"LoadReplace", "load --replace FILE"},
    {"LoadAtomic", "load --atomic FILE"},
    {"LoadWait", "load --wait=0.2 FILE"},
    {"LoadMany", "load --diff MANY", true},
    {"LoadManyWait", "load --wait=0.2 MANY"},
    {"Feed", "feed routes --synthetic 20"},
    {"Diff", "diff"},
    {"DiffTable", "diff ROUTE_TABLE"},
    {"Verify", "verify"},
    {"RestartCheck", "restart-check"},
    {"Resync", "resync"},
    {"Why", "why ROUTE_TABLE 10.0.0.0/24"},
    {"WhyJson", "--json why ROUTE_TABLE 10.0.0.0/24"},
    {"Parked", "parked"},
    {"ParkedTable", "parked ROUTE_TABLE"},
    {"Rejected", "rejected"},
    {"Watch", "--timeout 1 watch ROUTE_TABLE"},
    {"Trace", "--timeout 1 trace ROUTE_TABLE 10.0.0.0/24"},
    {"TopOnce", "top --once"},
    {"TopBatch", "top --batch 2 --every 0.1"},
    {"Sources", "sources"},
    {"SourcesWide", "sources --wide"},
    {"Turns", "turns --for 0.1"},
    {"Ports", "ports"},
    {"Stats", "stats"},
    {"Config", "config"},
    {"Health", "health"},
    {"Confirm", "confirm"},
    {"Log", "log"},
    {"Dump", "dump BUNDLE"},
    {"Commands", "commands"},
    {"Call", "call drain backend=b"},
    {"Version", "version"},
    {"Export", "export", true},
    {"ExportTable", "export ROUTE_TABLE", true},
    {"CompleteKey", "complete -- get ROUTE_TABLE 1"},
    {"CompleteCommand", "complete -- call d"},
    {"CompleteParameter", "complete -- call drain b"},
};

/// Not among the exit codes that the test accepts.
constexpr int kExitOfNoAction = 99;

/// What main() of `rondo` does, in a child process. Here an exception that nothing catches ends it, as it ends the program.
[[noreturn]] void run_words(const std::string& words) noexcept {
  std::vector<std::string> list{"rondo"};
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    list.push_back(words.substr(at, end - at));
    at = end + 1;
  }
  std::vector<const char*> arguments;
  for (const std::string& word : list) arguments.push_back(word.c_str());
  const Parsed parsed = parse_command_line(static_cast<int>(arguments.size()), arguments.data());
  if (parsed.finished) {
    print_error(parsed.text);
    std::exit(kExitOfNoAction);
  }
  std::exit(end_output(parsed.options, run(parsed.options)));
}

class HostileDaemon : public testing::TestWithParam<Action> {
 protected:
  HostileDaemon() {
    std::ofstream(directory / "rows") << R"([{"ROUTE_TABLE:10.0.0.0/24":{"nexthop_group":"1"},"OP":"SET"},
                                              {"ROUTE_TABLE:10.0.1.0/24":{},"OP":"DEL"}])";
    std::ofstream many(directory / "many");  // More rows than are read one by one.
    for (int i = 0; i < 300; ++i) many << (i == 0 ? "[" : ",") << R"({"ROUTE_TABLE:10.1.)" << i << R"(.0/24":{"a":"b"},"OP":"SET"})";
    many << "]";
    many.close();
    listener = UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory.file("socket");
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener.get(), 16), 0);
    void* const shared = ::mmap(nullptr, 2 * sizeof *answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(shared, MAP_FAILED);
    answer = static_cast<std::size_t*>(shared);
    id_error = answer + 1;
    server = ::fork();
    if (server == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve();
      ::_exit(0);
    }
  }
  ~HostileDaemon() override {
    ::kill(server, SIGKILL);
    ::waitpid(server, nullptr, 0);
    ::munmap(answer, 2 * sizeof *answer);
  }

  /// One connection after the other; each request gets the page and the result of 'answer'.
  void serve() const {
    for (;;) {
      const UniqueFd caller{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
      if (caller.get() < 0) return;
      std::string heard;
      char buffer[65536];
      for (ssize_t got = 0; (got = ::recv(caller.get(), buffer, sizeof buffer, 0)) > 0;) {
        heard.append(buffer, static_cast<std::size_t>(got));
        for (auto frame = next_frame(heard); frame && *frame; frame = next_frame(heard)) {
          const std::int64_t id = id_of(std::string{(**frame).payload});
          const std::string reply = (**frame).kind == FrameKind::Json ? page(id) + last(id) : last(id);
          heard.erase(0, (**frame).bytes);
          if (::send(caller.get(), reply.data(), reply.size(), MSG_NOSIGNAL) < 0) break;
        }
      }
    }
  }
  static std::string frame_of(FrameKind kind, const std::string& payload) {
    std::string frame;
    const std::size_t start = begin_frame(frame, kind);
    frame.append(payload);
    end_frame(frame, start);
    return frame;
  }
  /// The id that answers a request: that of its JSON, and 0 for a bulk write.
  std::int64_t id_of(const std::string& request) const {
    return request.starts_with(R"({"id":)") ? std::atoll(request.c_str() + 6) + static_cast<std::int64_t>(*id_error) : 0;
  }
  std::string page(std::int64_t id) const {
    return frame_of(FrameKind::More, R"({"id":)" + std::to_string(id) + R"(,"rows":)" + std::string{kAnswers[*answer].rows} + "}");
  }
  std::string last(std::int64_t id) const {
    return frame_of(FrameKind::Json,
                    R"({"id":)" + std::to_string(id) + R"(,"ok":true,"result":)" + std::string{kAnswers[*answer].result} + "}");
  }

  std::string words_of(std::string words) const {
    for (const auto& [name, file] : {std::pair{"FILE", "/rows"}, {"MANY", "/many"}, {"BUNDLE", "/bundle"}}) {
      if (const std::size_t at = words.find(name); at != std::string::npos) words.replace(at, std::strlen(name), directory.string() + file);
    }
    return words;
  }

  /// Runs the words of a command line. Returns the output and the exit code; 128 and more if a signal ended the child.
  std::pair<std::string, int> rondo(const std::string& words) const {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {"no pipe", -1};
    UniqueFd reader{ends[0]};
    UniqueFd writer{ends[1]};
    std::fflush(nullptr);  // Else the child writes it, too.
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
      ::dup2(writer.get(), STDOUT_FILENO);
      ::dup2(writer.get(), STDERR_FILENO);
      ::setenv("RONDO_SOCKET", directory.file("socket").c_str(), 1);
      run_words(words);
    }
    writer.reset();
    std::string out;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(reader.get(), buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(got));
    int status = 0;
    ::waitpid(child, &status, 0);
    return {out, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
  }

  TemporaryFolder directory;
  UniqueFd listener;
  std::size_t* id_error = nullptr;  // Added to the ids of answers; shared as the next one.
  std::size_t* answer = nullptr;    // The index of the answer, in memory that the server shares. Changes only while no child runs.
  pid_t server = -1;
};

/// An export of rows that are no objects ended with SIGABRT.
TEST_P(HostileDaemon, ReportsAnswersOfEveryShape) {
  for (std::size_t i = 0; i < kAnswers.size(); ++i) {
    *answer = i;
    const auto [out, code] = rondo(words_of(GetParam().words));
    const std::string context = "rows " + std::string{kAnswers[i].rows} + ", result " + std::string{kAnswers[i].result} + "\n" + out;
    EXPECT_THAT(code, testing::AnyOf(0, 1, 2, 4, 69, 75)) << context;
    EXPECT_THAT(out, testing::Not(testing::AnyOf(testing::HasSubstr("terminate called"), testing::HasSubstr("runtime error")))) << context;
    if (std::string_view words = GetParam().words; words == "health" || words == "restart-check") {
      EXPECT_EQ(code, 1) << context;
      EXPECT_THAT(out, testing::HasSubstr("is neither true nor false")) << context;
    }
    if (std::string_view{GetParam().words} == "verify") {
      EXPECT_EQ(code, 1) << context;
      EXPECT_THAT(out, testing::HasSubstr("its member differences is no number")) << context;
    }
    if (!GetParam().takes_apart || i >= kNoObjects) continue;
    EXPECT_EQ(code, 1) << context;
    EXPECT_THAT(out, testing::HasSubstr("makes no sense")) << context;
  }
}

/// An export printed "[]", and ended with 0.
TEST_P(HostileDaemon, DoesNotTakeAnAnswerToAnotherRequest) {
  *answer = 0;
  *id_error = 1000;
  const auto [out, code] = rondo(words_of(GetParam().words));
  EXPECT_THAT(code, testing::AnyOf(0, 1, 2, 4, 69)) << out;
  if (GetParam().takes_apart) {
    EXPECT_EQ(code, 1) << out;
    EXPECT_THAT(out, testing::HasSubstr("makes no sense: it has the id 1001, and that of the request is 1")) << out;
  }
}

INSTANTIATE_TEST_SUITE_P(Actions, HostileDaemon, testing::ValuesIn(kActions),
                         [](const auto& each) { return std::string{each.param.name}; });

}  // namespace
}  // namespace rondo::cli
