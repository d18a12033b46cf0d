// A server that sends what no server sends. The worker runs nothing that its configuration does not have, keeps its memory, and connects
// again.
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>

#include "worker_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A server on the socket that the test plays by bytes.
class WorkerAndAHostileServer : public WorkerOnLinux {
 protected:
  WorkerAndAHostileServer() {
    listen();
    start_worker("[command.touch]\nprogram = \"/bin/touch\"\narguments = [\"{parameters}\"]\n" +
                 command("gated", "trap '' TERM\necho $$ > " + path("ids") + "\nwhile [ ! -e " + path("go") + " ]; do sleep 0.01; done\n",
                         "grace_s = 60"));
  }
  void listen() {
    listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket().c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener, 16), 0);
  }
  ~WorkerAndAHostileServer() override {
    forget();
    ::close(listener);
  }
  void forget() {
    for (int* const fd : {&orders, &reports}) {
      if (*fd >= 0) ::close(std::exchange(*fd, -1));
    }
  }
  /// Takes both connections of the worker, and reads its hello.
  void accept_worker() {
    forget();
    orders = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    reports = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    ASSERT_GE(reports, 0);
    hello = receive(orders);
    EXPECT_THAT(hello, HasSubstr("worker-orders"));
  }
  static std::string frame(char kind, std::string_view payload) {
    const auto size = static_cast<std::uint32_t>(payload.size() + 1);
    std::string made;
    for (int i = 0; i < 4; ++i) made.push_back(static_cast<char>((size >> (8 * i)) & 0xFF));
    made.push_back(kind);
    made.append(payload);
    return made;
  }
  static bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  bool order(const std::string& row) const { return send_all(orders, frame('M', "{\"id\":1,\"rows\":[" + row + "]}")); }
  bool welcome() const { return order(R"({"welcome":{"session":"abc"}})"); }
  /// The payload of the next frame; empty when the worker has closed.
  std::string receive(int fd) const {
    std::array<unsigned char, 5> head{};
    if (::recv(fd, head.data(), head.size(), MSG_WAITALL) != 5) return {};
    const std::size_t size = head[0] | head[1] << 8 | head[2] << 16 | static_cast<std::size_t>(head[3]) << 24;
    std::string payload(size - 1, '\0');
    if (::recv(fd, payload.data(), payload.size(), MSG_WAITALL) != static_cast<ssize_t>(payload.size())) return {};
    if (fd == reports) report_id = boost::json::parse(payload).at("id").to_number<std::int64_t>();
    return payload;
  }
  /// Reads until the worker has closed its connection.
  bool is_left() const {
    std::array<char, 65'536> bytes;
    for (;;) {
      const ssize_t got = ::recv(orders, bytes.data(), bytes.size(), 0);
      if (got <= 0) return true;
    }
  }
  /// The answer to the last report.
  std::string taken() const { return frame('J', R"({"id":)" + std::to_string(report_id) + R"(,"ok":true,"result":{"refused":0}})"); }
  /// Takes the reports of the worker until one has this text, which is left without an answer.
  bool reports_with(std::string_view text) const {
    for (;;) {
      const std::string report = receive(reports);
      if (report.empty() || report.find(text) != std::string::npos) return !report.empty();
      if (!send_all(reports, taken())) return false;
    }
  }
  static std::string order_of(const std::string& job, const std::string& scheduled) {
    return boost::json::serialize(boost::json::object{{"start", boost::json::object{{"run", 1},
                                                                                    {"attempt", 0},
                                                                                    {"command", "nothing"},
                                                                                    {"job", job},
                                                                                    {"parameters", ""},
                                                                                    {"scheduled", scheduled},
                                                                                    {"timeout_ms", 0}}}});
  }
  std::string start(std::int64_t run, const std::string& command, const std::string& parameters) const {
    return boost::json::serialize(boost::json::object{{"start", boost::json::object{{"run", run},
                                                                                    {"attempt", 0},
                                                                                    {"command", command},
                                                                                    {"job", "j"},
                                                                                    {"parameters", parameters},
                                                                                    {"scheduled", "2026-01-01T00:00:00Z"},
                                                                                    {"timeout_ms", 0}}}});
  }
  static std::string check(std::int64_t request, const std::string& job, const std::string& parameters) {
    return boost::json::serialize(boost::json::object{
        {"check", boost::json::object{{"request", request}, {"command", "touch"}, {"job", job}, {"parameters", parameters}}}});
  }

  int listener = -1;
  int orders = -1;
  int reports = -1;
  std::string hello;                   // Hello of the worker.
  mutable std::int64_t report_id = 0;  // The id of the last report.
};

TEST_F(WorkerAndAHostileServer, NothingRunsThatIsNotAllowed) {
  accept_worker();
  ASSERT_TRUE(welcome());
  ASSERT_TRUE(
      order(start(1, "sh", "x") + "," + start(2, "../../bin/sh", "x") + "," + start(3, "touch", "--help") + "," + start(4, "", "")));
  std::string told;
  while (told.find("\"4\"") == std::string::npos) {
    const std::string report = receive(reports);
    ASSERT_FALSE(report.empty());
    told += report;
    ASSERT_TRUE(send_all(reports, taken()));
  }
  EXPECT_THAT(told, HasSubstr("has no command 'sh'"));
  EXPECT_THAT(told, HasSubstr("begins with '-'"));
  ASSERT_TRUE(order(start(5, "touch", path("allowed"))));
  EXPECT_TRUE(becomes([this] { return std::filesystem::exists(folder / "allowed"); }));
}

TEST_F(WorkerAndAHostileServer, NonsenseEndsTheConnection) {
  const std::vector<std::string> nonsense{
      frame('M', "{"),
      frame('M', "[]"),
      frame('X', "{}"),
      frame('J', R"({"id":1,"ok":true,"result":{}})"),
      frame('J', R"({"id":1,"ok":false,"error":{"code":"permission-denied","message":"no"}})"),
      std::string("\xff\xff\xff\xffJ", 5),
      std::string("\0\0\0\0J", 5),
      frame('M', R"({"id":1,"rows":[7]})"),
      frame('M', R"({"id":1,"rows":[{}]})"),
      frame('M', R"({"id":1,"rows":[{"start":{"run":-1}}]})"),
      frame('M', R"({"id":1,"rows":[{"start":{"run":1,"attempt":99999999999,"timeout_ms":0}}]})"),
      frame('M', R"({"id":1,"rows":[{"start":{"run":"1"}}]})"),
      frame('M', R"({"id":1,"rows":[{"start":7}]})"),
      // What could cut off the fixed text behind it, or lead out of a folder.
      frame('M', "{\"id\":1,\"rows\":[" + order_of("../../etc/passwd\\x00", "2026-01-01T00:00:00Z") + "]}"),
      frame('M', "{\"id\":1,\"rows\":[" + order_of(std::string(201, 'j'), "2026-01-01T00:00:00Z") + "]}"),
      frame('M', "{\"id\":1,\"rows\":[" + order_of("a/../../b", "2026-01-01T00:00:00Z") + "]}"),
      frame('M', "{\"id\":1,\"rows\":[" + order_of("j", "\\x00--evil") + "]}"),
  };
  for (const std::string& bytes : nonsense) {
    accept_worker();
    ASSERT_TRUE(welcome());
    ASSERT_TRUE(send_all(orders, bytes)) << bytes;
    EXPECT_TRUE(is_left()) << bytes;
    kill_worker(SIGKILL);  // A new one does not wait before it connects.
    start_worker();
  }
  accept_worker();
  ASSERT_TRUE(order(start(1, "touch", path("early"))));  // Before the welcome.
  EXPECT_TRUE(is_left());
  EXPECT_FALSE(std::filesystem::exists(folder / "early"));
}

/// They were ignored in silence, and the reader of the log waited for an answer that did not come.
TEST_F(WorkerAndAHostileServer, MalformedOrdersAreLoggedOnceAndAQuestionIsAnswered) {
  accept_worker();
  ASSERT_TRUE(welcome());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(order(R"({"stop":{"run":"7","why":"x"}},{"stop":{}},{"offers":{"commands":-1}},{"refused":{"why":"x"}},{"later":{}})"));
    ASSERT_TRUE(order(R"({"log":{"run":1,"from":0,"bytes":9}})"));
  }
  for (const char* const question : {R"({"log":{"request":41,"run":"1","from":0,"bytes":9,"wait":true}})",
                                     R"({"log":{"request":42,"run":1,"from":0.5,"bytes":9,"wait":true}})"}) {
    ASSERT_TRUE(order(question));
    ASSERT_TRUE(reports_with(std::string{"[\"log\",\""} + (question[19] == '1' ? "41" : "42") + "\",\"SET\",[[\"known\",\"0\"]"));
    ASSERT_TRUE(send_all(reports, taken()));
  }
  ASSERT_TRUE(order(start(1, "touch", path("after"))));
  ASSERT_TRUE(becomes([this] { return std::filesystem::exists(folder / "after"); })) << "the connection goes on";
  const std::string log = read(folder / "worker.err");
  for (const auto& [kind, member] : {std::pair{"stop", "run"}, {"offers", "commands"}, {"refused", "run"}, {"log", "request"}}) {
    const std::size_t first = log.find(std::string{"order="} + kind);
    ASSERT_NE(first, std::string::npos) << kind << log;
    EXPECT_THAT(log.substr(first, 60), HasSubstr(std::string{member} + " is no number from 0 on"));
    EXPECT_EQ(log.find(std::string{"order="} + kind, first + 1), std::string::npos) << kind;
  }
  EXPECT_EQ(log.find("order=later"), std::string::npos) << "it may be of a later version";
}

/// It ended the connection.
TEST_F(WorkerAndAHostileServer, AnOrderOfAnotherTypeEndsNoConnectionUnlessItIsAStart) {
  accept_worker();
  ASSERT_TRUE(welcome());
  ASSERT_TRUE(order(R"({"stop":5},{"stop":[]},{"offers":null},{"refused":"7"},{"later":5},{"later":[1]})"));
  ASSERT_TRUE(order(start(1, "touch", path("after"))));
  ASSERT_TRUE(becomes([this] { return std::filesystem::exists(folder / "after"); })) << "the connection goes on";
  const std::string log = read(folder / "worker.err");
  for (const char* const kind : {"stop", "offers", "refused"}) EXPECT_THAT(log, HasSubstr(std::string{"order="} + kind));
  EXPECT_EQ(log.find("order=later"), std::string::npos);
}

/// The command ran with its defaults if the parameters were of another type.
TEST_F(WorkerAndAHostileServer, AMalformedStartIsLoggedWithItsRunAndMember) {
  const std::vector<std::pair<std::string, std::string>> members{{R"("parameters":["x"])", "parameters is an array, not a text"},
                                                                 {R"("parameters":7)", "parameters is a number, not a text"},
                                                                 {R"("parameters":null)", "parameters is null, not a text"},
                                                                 {R"("later":1)", "parameters is absent, not a text"},
                                                                 {R"("parameters":"","key":5)", "key is a number, not a text"}};
  for (const auto& [member, why] : members) {
    accept_worker();
    ASSERT_TRUE(welcome());
    ASSERT_TRUE(order(R"({"start":{"run":7,"attempt":0,"command":"touch","job":"j","scheduled":"2026-01-01T00:00:00Z","timeout_ms":0,)" +
                      member + "}}"));
    EXPECT_TRUE(is_left());
    EXPECT_TRUE(becomes([&, text = "malformed start order of run 7: " + why] {
      return read(folder / "worker.err").find(text) != std::string::npos;
    })) << why;
    kill_worker(SIGKILL);  // A new one does not wait before it connects.
    start_worker();
  }
}

/// The worker forgot the ends, which the server had not stored.
TEST_F(WorkerAndAHostileServer, AMalformedListOfUnstoredEndsKeepsThemAll) {
  accept_worker();
  ASSERT_TRUE(welcome());
  ASSERT_TRUE(order(start(1, "nothing", "x")));
  ASSERT_TRUE(reports_with(R"(["end","1",)"));
  for (const char* const unstored : {R"(["1"])", R"("1")", "null", "[1.5]", "[1,null]"}) {
    ASSERT_TRUE(send_all(reports, frame('J', R"({"id":)" + std::to_string(report_id) + R"(,"ok":true,"result":{"refused":0,"unstored":)" +
                                                 std::string{unstored} + "}}")));
    ASSERT_TRUE(reports_with(R"(["end","1",)")) << unstored;
  }
  ASSERT_TRUE(send_all(reports, taken()));
  ASSERT_TRUE(becomes([this] { return !std::filesystem::exists(folder / "state" / "runs" / "1.json"); }));
  const std::string log = read(folder / "worker.err");
  const std::size_t first = log.find("unstored is no array of numbers");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("unstored is no array of numbers", first + 1), std::string::npos) << "once a connection";
}

/// The worker took it for the attempt that it has, and its command went on.
TEST_F(WorkerAndAHostileServer, AStartOfAnotherAttemptOfARunStopsItsCommandAndIsHandedBack) {
  accept_worker();
  ASSERT_TRUE(welcome());
  ASSERT_TRUE(order(start(1, "gated", "")));
  ASSERT_TRUE(becomes([&] { return !ids_in("ids").empty(); }));
  std::string another = start(1, "gated", "");
  another.replace(another.find("\"attempt\":0"), 11, "\"attempt\":1");
  ASSERT_TRUE(order(another));
  ASSERT_TRUE(reports_with(R"(["refused","1"])"));
  EXPECT_THAT(read(folder / "worker.err"), HasSubstr("a command of an earlier run with the number 1 is ending"));
  std::ofstream(folder / "go") << "now";
}

TEST_F(WorkerAndAHostileServer, AWorkerThatLeavesConnectsAgain) {
  for (int i = 0; i < 3; ++i) {
    accept_worker();
    ASSERT_TRUE(welcome());
    ASSERT_TRUE(send_all(orders, frame('M', "{")));
    EXPECT_TRUE(is_left());
  }
  accept_worker();
}

/// It ended when it had written its last report: the run waited for it for a minute, and then the attempt failed.
TEST_F(WorkerAndAHostileServer, ARunThatIsGivenWhileTheWorkerEndsIsHandedBack) {
  accept_worker();
  ASSERT_TRUE(welcome());
  ::kill(worker, SIGTERM);
  ASSERT_TRUE(reports_with("\"offers\":[]"));
  ASSERT_TRUE(order(start(1, "touch", path("late"))));  // Under way when the server got the report.
  ASSERT_TRUE(order(R"({"offers":{"commands":0}})"));
  ASSERT_TRUE(send_all(reports, taken()));
  ASSERT_TRUE(reports_with(R"(["refused","1"])"));
  ASSERT_TRUE(send_all(reports, taken()));
  int status = 0;
  ::waitpid(std::exchange(worker, 0), &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder / "late"));
}

/// Its answer to the first refusal must not drop the second one, nor must the second start be taken for the first.
TEST_F(WorkerAndAHostileServer, ARunThatWasRefusedMayBeGivenAgainBeforeTheAnswer) {
  accept_worker();
  ASSERT_TRUE(welcome());
  ASSERT_TRUE(order(start(1, "nothing", "x")));
  ASSERT_TRUE(reports_with(R"(["refused","1"])"));
  ASSERT_TRUE(order(start(1, "nothing", "x") + "," + start(2, "touch", path("second"))));
  ASSERT_TRUE(becomes([this] { return std::filesystem::exists(folder / "second"); }));
  ASSERT_TRUE(send_all(reports, taken()));
  EXPECT_THAT(receive(reports), HasSubstr(R"(["end","1",)"));
}

/// It failed, and used an attempt, if the worker could write its state again when it looked why.
TEST_F(WorkerAndAHostileServer, ARunWhoseBeginCannotBeWrittenIsHandedBack) {
  const auto is_handed_back = [this](std::int64_t run, const char* file) {
    const std::filesystem::path in_the_way = folder / "state" / file;
    std::filesystem::create_directories(in_the_way);
    EXPECT_TRUE(order(start(run, "touch", path("never"))));
    std::string report;
    do {
      report = receive(reports);
      EXPECT_TRUE(send_all(reports, taken()));
    } while (!report.empty() && report.find("[\"end\",\"" + std::to_string(run)) == std::string::npos);
    EXPECT_THAT(report, HasSubstr(R"(["refused","1"])")) << file;
    std::filesystem::remove(in_the_way);
  };
  accept_worker();
  ASSERT_TRUE(welcome());
  ASSERT_FALSE(receive(reports).empty());
  ASSERT_TRUE(send_all(reports, taken()));
  is_handed_back(1, "logs/1-0.log");
  ASSERT_TRUE(order(start(1, "touch", path("first"))));
  EXPECT_TRUE(becomes([this] { return std::filesystem::exists(folder / "first"); }));
  is_handed_back(2, "runs/2.json.new");
  EXPECT_FALSE(std::filesystem::exists(folder / "never"));
}

/// The server had dropped the run, and the worker dropped the end: the server heard of none.
TEST_F(WorkerAndAHostileServer, AStopThatCrossesTheEndOfItsRunDoesNotDropTheEnd) {
  accept_worker();
  ASSERT_TRUE(welcome());
  ASSERT_FALSE(receive(reports).empty());  // It is not answered yet, so the end is in no report.
  ASSERT_TRUE(order(start(1, "touch", path("first"))));
  ASSERT_TRUE(becomes([this] { return read(folder / "state" / "runs" / "1.json").find("\"ended\":true") != std::string::npos; }));
  ASSERT_TRUE(order(R"({"stop":{"run":1,"why":"the run was stopped"}})"));
  ASSERT_TRUE(order(start(2, "touch", path("second"))));
  ASSERT_TRUE(becomes([this] { return std::filesystem::exists(folder / "second"); })) << "it has seen the stop, too";
  ASSERT_TRUE(send_all(reports, taken()));
  EXPECT_THAT(receive(reports), HasSubstr(R"(["end","1",)"));
}

/// It waited for its grace and seven seconds more for a confirmation that it had not asked for.
TEST_F(WorkerAndAHostileServer, AWorkerThatConnectsAgainWhileItEndsAsksAgainForTheConfirmation) {
  accept_worker();
  ASSERT_TRUE(welcome());
  ASSERT_TRUE(order(start(1, "gated", "")));
  ASSERT_TRUE(becomes([this] { return !ids_in("ids").empty(); }));
  ::kill(worker, SIGTERM);
  ASSERT_TRUE(reports_with("\"offers\":[]"));
  accept_worker();
  ASSERT_TRUE(welcome());
  ASSERT_TRUE(reports_with("\"offers\":[]"));
  ASSERT_TRUE(order(R"({"offers":{"commands":0}})"));
  ASSERT_TRUE(send_all(reports, taken()));
  std::ofstream(folder / "go") << "now";
  ASSERT_TRUE(reports_with(R"(["end","1",)"));
  ASSERT_TRUE(send_all(reports, taken()));
  int status = 0;
  ::waitpid(std::exchange(worker, 0), &status, 0);
  EXPECT_EQ(status, 0);
}

/// A server took 256 at a time, and none if one of them was odd: the worker never connected again.
TEST_F(WorkerAndAHostileServer, MoreEndsThanAServerTakesAtATimeAreNamedInPieces) {
  constexpr int kEnds = 300;
  kill_worker(SIGKILL);
  std::filesystem::create_directories(folder / "state" / "runs");
  const auto record = [this](int run, const std::string& command) {
    std::ofstream(folder / "state" / "runs" / (std::to_string(run) + ".json"))
        << boost::json::object{{"run", run}, {"attempt", 0},  {"command", command}, {"process", 0},  {"started", 0},
                               {"boot", ""}, {"ended", true}, {"code", "ok"},       {"message", ""}, {"note", ""}};
  };
  for (int run = 1; run <= kEnds; ++run) record(run, "touch");
  record(kEnds + 1, "an odd name");
  // The connections of the worker that was killed.
  ::close(listener);
  std::filesystem::remove(socket());
  listen();
  start_worker();
  accept_worker();
  EXPECT_THAT(hello, HasSubstr("\"more\":true"));
  EXPECT_THAT(hello, AllOf(HasSubstr("[\"256\",\"0 touch ended\"]"), Not(HasSubstr("[\"257\""))));
  ASSERT_TRUE(welcome());
  ASSERT_TRUE(order(R"({"refused":{"run":7,"why":"it is odd"}})"));
  ASSERT_TRUE(reports_with("[\"300\",\"0 touch ended\"]"));
  ASSERT_TRUE(send_all(reports, taken()));
  ASSERT_TRUE(reports_with("[\"end\",\"300\""));
  ASSERT_TRUE(send_all(reports, taken()));
  ASSERT_TRUE(becomes([this] { return !std::filesystem::exists(folder / "state" / "runs" / "300.json"); }));
  const std::string log = read(folder / "worker.err");
  EXPECT_THAT(log, AllOf(HasSubstr("it is odd"), HasSubstr("7.json.damaged"), HasSubstr("301.json.damaged")));
  EXPECT_TRUE(std::filesystem::exists(folder / "state" / "runs" / "7.json.damaged"));
}

/// Its answer is refused by each server, and the order came from one.
TEST_F(WorkerAndAHostileServer, AnEndOfACommandWithAnOddNameKeepsTheWorkerFromNoServer) {
  accept_worker();
  ASSERT_TRUE(welcome());
  ASSERT_TRUE(order(start(1, "\\xff odd", "")));
  ASSERT_TRUE(reports_with("[\"end\",\"1\""));
  accept_worker();
  EXPECT_THAT(hello, HasSubstr("\"runs\":[]"));
  EXPECT_THAT(read(folder / "worker.err"), HasSubstr("1.json.damaged"));
}

TEST_F(WorkerAndAHostileServer, AFloodOfQuestionsEndsTheConnection) {
  accept_worker();
  ASSERT_TRUE(welcome());
  for (int i = 0; i < 1000; ++i) {
    if (!order(R"({"log":{"request":1,"run":1,"from":0,"bytes":9,"wait":true}})")) break;
  }
  EXPECT_TRUE(is_left());
}

TEST_F(WorkerAndAHostileServer, AFloodOfChecksEndsTheConnection) {
  accept_worker();
  ASSERT_TRUE(welcome());
  // Without an answer to its report the worker sends no further one, and keeps the answers.
  for (int i = 0; i < 1000; ++i) {
    if (!order(check(1, "j", "x"))) break;
  }
  EXPECT_TRUE(is_left());
}

TEST_F(WorkerAndAHostileServer, AMalformedCheckHasItsAnswerAndRunsNothing) {
  accept_worker();
  ASSERT_TRUE(welcome());
  ASSERT_TRUE(order(R"({"check":{}},{"check":{"request":"x"}},{"check":{"request":7}},)" + check(8, "../x", "x") + "," +
                    R"({"check":{"request":9,"command":"touch","job":"j","parameters":["x"]}})" + "," + check(10, "j", "--help") + "," +
                    check(11, "j", path("made"))));
  std::string told;
  while (told.find(R"(["checked","11")") == std::string::npos) {
    const std::string report = receive(reports);
    ASSERT_FALSE(report.empty());
    told += report;
    ASSERT_TRUE(send_all(reports, taken()));
  }
  EXPECT_THAT(
      told,
      AllOf(HasSubstr(R"(["checked","7","SET",[["code","not-found"])"), HasSubstr(R"(["checked","8","SET",[["code","data-loss"])"),
            HasSubstr(R"(["checked","9","SET",[["code","data-loss"])"), HasSubstr(R"(["checked","10","SET",[["code","invalid-argument"])"),
            HasSubstr(R"(["checked","11","SET",[["code","ok"])")));
  EXPECT_THAT(told, HasSubstr("begins with '-'"));
  EXPECT_FALSE(std::filesystem::exists(folder / "made"));
}

TEST_F(WorkerAndAHostileServer, AFloodOfRunsEndsTheConnection) {
  accept_worker();
  ASSERT_TRUE(welcome());
  for (int i = 1; i < 5000; ++i) {
    if (!order(start(i, "nothing", std::string(1000, 'x')))) break;
  }
  EXPECT_TRUE(is_left());
}

}  // namespace
}  // namespace rondo::jobs
