// The configuration of `rondo worker`, and the command lines that follow from it: what a job can and cannot make a worker execute.
#include "worker/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing/temporary_folder.h"
#include "worker/command_line.h"
#include "worker/limits.h"

namespace rondo::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

WorkerConfig parsed(const std::string& text) {
  auto config = parse_worker_config(text, "worker.toml");
  EXPECT_TRUE(config.has_value()) << config.error().to_string();
  return config.value_or(WorkerConfig{});
}
std::string refusal(const std::string& text) {
  const auto config = parse_worker_config(text, "worker.toml");
  return config ? "accepted" : config.error().to_string();
}

TEST(WorkerConfigFile, AFileWithoutEndAndADeviceAreRefused) {
  const auto refusal = [](const std::string& path) {
    const auto config = read_worker_config(path);
    return config ? std::string{"accepted"} : config.error().to_string();
  };
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("is no regular file, and no pipe"));
  EXPECT_THAT(refusal("."), HasSubstr("cannot read the configuration '.'"));
  const TemporaryFolder folder;
  const std::string file = folder.file("worker.toml");
  std::ofstream(file) << "";
  std::filesystem::resize_file(file, limits::kWorkerConfigBytes + 1);
  EXPECT_THAT(refusal(file), HasSubstr("has more than " + std::to_string(limits::kWorkerConfigBytes) + " bytes"));
}

TEST(WorkerConfig, SeveralServersAreAList) {
  const std::string token = "token_file = \"/t\"\n[command.x]\nprogram = \"/x\"\n";
  EXPECT_THAT(parsed("[worker]\nurl = \"http://a:1\"\n" + token).urls, ElementsAre("http://a:1"));
  EXPECT_THAT(parsed("[worker]\nurl = [\"http://a:1\", \"http://b:1\"]\n" + token).urls, ElementsAre("http://a:1", "http://b:1"));
  std::string many;
  for (std::size_t i = 0; i <= limits::kServers; ++i) many += "\"http://a:" + std::to_string(i + 1) + "\",";
  EXPECT_THAT(refusal("[worker]\nurl = [" + many + "]\n" + token), HasSubstr("'url' has at most 16 servers"));
  EXPECT_THAT(refusal("[worker]\nurl = 7\n" + token), HasSubstr("'url' must be a text or a list of texts"));
}

TEST(WorkerConfig, HasEachKeyAndDefaults) {
  const WorkerConfig config = parsed(R"(
[worker]
socket = "/run/x.sock"
name = "host1"
state = "/var/lib/w"
places = 3
logs = 7
logs_bytes = 1000
[command.backup]
program = "/usr/bin/backup"
arguments = ["--to", "{to}", "{{literal}}", "{job}-{run}"]
directory = "/srv"
user = "backup"
timeout_s = 3600
grace_s = 0
log_bytes = 4096
concurrency = 2
may_gain_privileges = true
[command.backup.environment]
PATH = "/usr/bin"
[command.backup.parameters.to]
values = ["a", "b"]
default = "a"
[command.true]
program = "/bin/true"
)");
  EXPECT_EQ(config.socket, "/run/x.sock");
  EXPECT_EQ(config.places, 3U);
  const CommandRule& backup = config.commands.at("backup");
  EXPECT_EQ(backup.timeout, 3600s);
  EXPECT_EQ(backup.grace, 0s);
  EXPECT_EQ(backup.user, "backup");
  EXPECT_TRUE(backup.may_gain_privileges);
  EXPECT_THAT(backup.environment, ElementsAre(std::pair<std::string, std::string>{"PATH", "/usr/bin"}));
  const CommandRule& plain = config.commands.at("true");
  EXPECT_EQ(plain.grace, 10s);
  EXPECT_EQ(plain.concurrency, 1U);
  EXPECT_FALSE(plain.may_gain_privileges);
}

TEST(WorkerConfig, AFaultNamesItsLineAndTheNearestKey) {
  EXPECT_THAT(refusal("[command.a]\nprogram = \"/bin/true\"\ntimout_s = 3\n"),
              HasSubstr("worker.toml:3: [command.a] 'timout_s' is unknown; did you mean 'timeout_s'?"));
  EXPECT_THAT(refusal("[command.a]\nprogram = \"true\"\n"), HasSubstr("absolute path"));
  EXPECT_THAT(refusal("[command.a]\nprogram = 3\n"), HasSubstr("must be a text"));
  EXPECT_THAT(refusal("[command.\"a b\"]\nprogram = \"/bin/true\"\n"), HasSubstr("name"));
  EXPECT_THAT(refusal("[command.a]\nprogram = \"/bin/true\"\narguments = [\"{to}\"]\n"), HasSubstr("{to} is no parameter"));
  EXPECT_THAT(refusal("[command.a]\nprogram = \"/bin/true\"\narguments = [\"{to\"]\n"), HasSubstr("unmatched brace"));
  EXPECT_THAT(refusal("[command.a]\nprogram = \"/bin/true\"\narguments = [\"{parameters}\"]\n[command.a.parameters.x]\n"),
              HasSubstr("stands for all parameters"));
  EXPECT_THAT(refusal("[command.a]\nprogram = \"/bin/true\"\n[command.a.parameters.run]\n"), HasSubstr("one of the run's own"));
  EXPECT_THAT(refusal("[command.a]\nprogram = \"/bin/true\"\nconcurrency = 0\n"), HasSubstr("integer from 1 to 256"));
  EXPECT_THAT(refusal("[worker]\nplaces = 3\n"), HasSubstr("nothing to do"));
  EXPECT_THAT(refusal("[commands.a]\n"), HasSubstr("did you mean 'command'?"));
  EXPECT_THAT(refusal("[command.a\n"), HasSubstr("worker.toml:1"));
}

TEST(WorkerConfig, AKeyOfAnotherSectionIsNamedWithThatSection) {
  const std::string good = "[command.a]\nprogram = \"/bin/true\"\n";
  EXPECT_THAT(refusal("[worker]\ngrace_s = 3\n" + good),
              HasSubstr("worker.toml:2: [worker] 'grace_s' is unknown; did you mean [command.NAME] grace_s?"));
  EXPECT_THAT(refusal("grace_s = 3\n" + good), HasSubstr("worker.toml:1: 'grace_s' is unknown; did you mean [command.NAME] grace_s?"));
  EXPECT_THAT(refusal(good + "places = 3\n"), HasSubstr("[command.a] 'places' is unknown; did you mean [worker] places?"));
  EXPECT_THAT(refusal(good + "characters = \"a\"\n"), HasSubstr("did you mean [command.NAME.parameters.NAME] characters?"));
  EXPECT_THAT(refusal("[worker]\nlog_bytes = 4096\n" + good), HasSubstr("did you mean 'logs_bytes' or [command.NAME] log_bytes?"));
  EXPECT_THAT(refusal("[command]\nprogram = \"/bin/true\"\n"), HasSubstr("worker.toml:2: [command] 'program' must be a section"));
  EXPECT_THAT(refusal("[[command]]\nprogram = \"/bin/true\"\n"), HasSubstr("'command' must be a section: [command.NAME]"));
  EXPECT_THAT(refusal(good + "arguments = [\"{to}\"]\n"), HasSubstr("[command.a] 'arguments': {to}"));
}

/// It had two variables of that name, and programs differ in which one they use.
TEST(WorkerConfig, AVariableOfTheRunIsRefusedInTheEnvironment) {
  const std::string good = "[command.a]\nprogram = \"/bin/true\"\nenvironment = { ";
  for (const std::string name : {"RONDO_RUN", "RONDO_JOB", "RONDO_ATTEMPT", "RONDO_SCHEDULED", "RONDO_PARAMETERS"}) {
    EXPECT_THAT(refusal(good + name + " = \"7\" }\n"),
                HasSubstr("worker.toml:3: [command.a.environment] '" + name + "' is a variable that the worker sets for each run"));
  }
  EXPECT_EQ(refusal(good + "RONDO_SOCKET = \"/run/x.sock\", RONDO_RUNS = \"7\" }\n"), "accepted");
}

TEST(WorkerConfig, AParameterWithoutAnyValueAndADefaultThatIsNotAllowedAreRefused) {
  const auto rule = [](const std::string& text) {
    return refusal("[command.a]\nprogram = \"/bin/true\"\n[command.a.parameters.to]\n" + text);
  };
  EXPECT_THAT(rule("values = []\n"), HasSubstr("worker.toml:4: [command.a.parameters.to] 'values' is empty: no value is allowed"));
  EXPECT_THAT(rule("values = [\"a\", \"b\"]\ndefault = \"c\"\n"),
              HasSubstr("worker.toml:5: [command.a.parameters.to] 'default': the parameter 'to' is none of its values"));
  EXPECT_THAT(rule("characters = \"a-z\"\ndefault = \"A\"\n"), HasSubstr("'default': the parameter 'to' has a character"));
  EXPECT_THAT(rule("bytes = 2\ndefault = \"abc\"\n"), HasSubstr("'default': the parameter 'to' has more than 2 bytes"));
  EXPECT_EQ(rule("values = [\"a\"]\ndefault = \"a\"\n"), "accepted");
  EXPECT_EQ(rule("default = \"\"\n"), "accepted");
}

const char* const kCopy = R"(
[command.copy]
program = "/bin/cp"
arguments = ["--", "{from}", "/backup/{to}"]
[command.copy.parameters.from]
bytes = 30
[command.copy.parameters.to]
characters = "a-z0-9/_-"
default = "latest"
[command.raw]
program = "/bin/echo"
arguments = ["{parameters}"]
[command.input]
program = "/bin/cat"
parameters_as_input = true
[command.plain]
program = "/bin/true"
[command.pair]
program = "/bin/sh"
arguments = ["-c", "echo 'rondo: result done'; echo {a}{b}"]
[command.pair.parameters.a]
[command.pair.parameters.b]
[command.apart]
program = "/bin/echo"
arguments = ["rondo:", "result fine", "{a}", "{b}"]
[command.apart.parameters.a]
[command.apart.parameters.b]
)";

Result<CommandLine> line(const std::string& command, const std::string& parameters) {
  static const WorkerConfig config = parsed(kCopy);
  return command_line(
      config.commands.at(command),
      {.run = 7, .attempt = 1, .command = command, .job = "nightly", .parameters = parameters, .scheduled = "2026-01-01T00:00:00Z"});
}
std::string trouble(const std::string& command, const std::string& parameters) {
  const auto made = line(command, parameters);
  return made ? "accepted" : made.error().to_string();
}

TEST(WorkerCommandLine, AValueIsOneArgumentWhateverItContains) {
  const auto made = line("copy", R"({"from": "a b; rm -rf / \"'`$(x)\n", "to": "daily"})");
  ASSERT_TRUE(made.has_value()) << made.error().to_string();
  EXPECT_THAT(made->arguments, ElementsAre("/bin/cp", "--", "a b; rm -rf / \"'`$(x)\n", "/backup/daily"));
  EXPECT_THAT(made->environment,
              ElementsAre("RONDO_RUN=7", "RONDO_JOB=nightly", "RONDO_ATTEMPT=1", "RONDO_SCHEDULED=2026-01-01T00:00:00Z"));
  EXPECT_EQ(line("copy", R"({"from": "{to}"})")->arguments[2], "{to}") << "a value is not expanded again";
  EXPECT_EQ(line("copy", R"({"from": 12})")->arguments[2], "12");
  EXPECT_EQ(line("copy", R"({"from": "x"})")->arguments[3], "/backup/latest");
  EXPECT_EQ(line("raw", "two \"words\"\n")->arguments[1], "two \"words\"\n");
}

TEST(WorkerCommandLine, ARunOfATraceHasItInItsEnvironment) {
  const WorkerConfig config = parsed(kCopy);
  CommandRule rule = config.commands.at("raw");
  const std::string parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  RunOrder order{.run = 7, .command = "raw", .job = "nightly", .parameters = "x", .scheduled = "2026-01-01T00:00:00Z"};
  order.trace = TraceContext::parse(parent, "a=1");
  const auto made = command_line(rule, order);
  ASSERT_TRUE(made.has_value()) << made.error().to_string();
  EXPECT_THAT(made->environment, testing::IsSupersetOf({"TRACEPARENT=" + parent, std::string{"TRACESTATE=a=1"}}));
  rule.environment.emplace_back("TRACEPARENT", "mine");
  const auto configured = command_line(rule, order);
  ASSERT_TRUE(configured.has_value());
  EXPECT_THAT(configured->environment, testing::Contains("TRACEPARENT=mine"));
  EXPECT_THAT(configured->environment, testing::Not(testing::Contains("TRACEPARENT=" + parent)));
}

TEST(WorkerCommandLine, ParametersAsInputAreNoArgument) {
  const std::string text = R"({"note": "$(x) \"'\n"})";
  const auto made = line("input", text);
  ASSERT_TRUE(made.has_value()) << made.error().to_string();
  EXPECT_THAT(made->arguments, ElementsAre("/bin/cat"));
  EXPECT_EQ(made->input, text);
  EXPECT_EQ(made->environment.back(), "RONDO_PARAMETERS=" + text);
  EXPECT_EQ(line("raw", "x")->input, "");
  EXPECT_THAT(trouble("input", std::string("a\0b", 3)), HasSubstr("NUL"));
  EXPECT_THAT(trouble("input", "x\nrondo: result fine"), HasSubstr("'parameters' contains"));
  EXPECT_THAT(trouble("input", R"(["\u0072ondo: result fine"])"), HasSubstr("'parameters' contains"));
  EXPECT_THAT(refusal("[command.a]\nprogram = \"/bin/true\"\nparameters_as_input = true\n[command.a.parameters.to]\n"),
              HasSubstr("'parameters_as_input' is for all parameters"));
}

/// 0.5 came to the program as 5E-1.
TEST(WorkerCommandLine, ANumberKeepsItsValueOrIsRefused) {
  for (const auto& [given, made] :
       {std::pair{"0.5", "0.5"}, {"100.0", "100"}, {"-7", "-7"}, {"18446744073709551615", "18446744073709551615"}})
    EXPECT_EQ(line("pair", std::string{R"({"a": "x", "b": )"} + given + "}")->arguments[2],
              std::string{"echo 'rondo: result done'; echo x"} + made);
  for (const char* const given : {"123456789012345678901234567890", "1e400", "1e16"})
    EXPECT_THAT(trouble("pair", std::string{R"({"a": "x", "b": )"} + given + "}"), HasSubstr("a number below 2^53")) << given;
}

TEST(WorkerCommandLine, AParameterThatIsThereTwiceIsRefused) {
  EXPECT_THAT(trouble("copy", R"({"from": "x", "from": "y"})"), HasSubstr("the parameter 'from' is there twice"));
  EXPECT_THAT(trouble("copy", R"({"from": "x", "f\u0072om": "y"})"), HasSubstr("the parameter 'from' is there twice"));
}

TEST(WorkerCommandLine, AValueThatTheRulesDoNotAllowIsRefused) {
  EXPECT_THAT(trouble("copy", R"({"from": "--target-directory=/etc"})"), HasSubstr("begins with '-'"));
  EXPECT_THAT(trouble("copy", R"({"from": "x", "to": "-rf"})"), testing::Eq("accepted")) << "it stands behind fixed text";
  EXPECT_THAT(trouble("copy", R"({"from": "x", "to": "../etc"})"), HasSubstr("a character that is not allowed: '.'"));
  EXPECT_THAT(trouble("copy", R"({"from": "x", "mode": "y"})"), HasSubstr("no parameter 'mode'"));
  EXPECT_THAT(trouble("copy", R"({"to": "x"})"), HasSubstr("does not give the parameter 'from'"));
  EXPECT_THAT(trouble("copy", R"({"from": ["x"]})"), HasSubstr("must be a text"));
  EXPECT_THAT(trouble("copy", R"({"from": "a\u0000b"})"), HasSubstr("NUL"));
  EXPECT_THAT(trouble("copy", "[1]"), HasSubstr("JSON object"));
  EXPECT_THAT(trouble("copy", "{"), HasSubstr("JSON object"));
  EXPECT_THAT(trouble("raw", std::string("a\0b", 3)), HasSubstr("NUL"));
  EXPECT_THAT(trouble("raw", "-n"), HasSubstr("begins with '-'"));
  EXPECT_THAT(trouble("plain", "x"), HasSubstr("has no parameters"));
  EXPECT_EQ(trouble("plain", ""), "accepted");
}

/// A command that printed its parameter reported the result that the writer of the job had chosen.
TEST(WorkerCommandLine, AValueThatForgesAReportIsRefused) {
  EXPECT_THAT(trouble("copy", R"({"from": "x\nrondo: result fine"})"), HasSubstr("the parameter 'from' contains 'rondo: result '"));
  EXPECT_THAT(trouble("copy", R"({"from": "rondo: progress 9"})"), HasSubstr("'from' contains"));
  EXPECT_EQ(trouble("copy", R"({"from": "x\nrondo: results"})"), "accepted");
  EXPECT_THAT(trouble("raw", "x\nrondo: result fine"), HasSubstr("'parameters' contains"));
  EXPECT_THAT(trouble("raw", R"({"a": ["x", {"b": "\u0072ondo: result fine"}]})"), HasSubstr("'parameters' contains"))
      << "a command may read it as JSON";
  EXPECT_THAT(trouble("pair", R"({"a": "rondo: res", "b": "ult x"})"), HasSubstr("'b' contains")) << "of two parameters";
  EXPECT_EQ(trouble("pair", R"({"a": "x", "b": "y"})"), "accepted") << "the file of the worker may print it";
  EXPECT_THAT(trouble("apart", R"({"a": "rondo:", "b": "result 99"})"), HasSubstr("the arguments together contain"));
  EXPECT_THAT(trouble("apart", R"({"a": "x\nrondo: progress", "b": "7"})"), HasSubstr("the arguments together contain"));
  EXPECT_EQ(trouble("apart", R"({"a": "x", "b": "result 99"})"), "accepted");
}

TEST(WorkerCommandLine, AValueBeyondItsLimitIsRefused) {
  EXPECT_THAT(trouble("copy", R"({"from": "1234567890123456789012345678901"})"), HasSubstr("more than 30 bytes"));
  EXPECT_THAT(trouble("raw", std::string(limits::kCommandLineBytes + 1, 'x')), HasSubstr("more than"));
  EXPECT_THAT(trouble("raw", std::string(limits::kCommandLineBytes, 'x')), HasSubstr("the command line has more than"));
}

/// The parser needed more than the stack, so a worker that read its file again died.
TEST(WorkerConfig, KeysThatNestTooDeepAreRefusedWithTheirLine) {
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) key += ".a";
  const Result<WorkerConfig> read = parse_worker_config("\n" + key + " = 1", "worker.toml");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().to_string(), HasSubstr("worker.toml:2: more than 64 dots in a line"));
}

}  // namespace
}  // namespace rondo::worker
