// The wire format of executors: each body byte by byte, the deviations of each known client as literal bodies, and malformed input of each
// kind. The bodies of clients are written down from recorded traffic and from the clients' sources.
#include "jobs/executors/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace rondo::jobs::executors {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

RunOrder order() { return {.job = 7, .handler = "demo", .log_id = 42, .log_time_ms = 1'732'118'400'000}; }

/// "CODE MESSAGE", or "error: " and the text.
std::string answer(unsigned status, std::string_view body) {
  const auto read = parse_call_answer(status, body);
  return read ? std::to_string(read->code) + " " + read->message : "error: " + read.error().to_string();
}

/// "FROM-TO TEXT", with "." at the end of the log.
std::string log(unsigned status, std::string_view body) {
  const auto read = parse_log(status, body);
  if (!read) return "error: " + read.error().to_string();
  return std::to_string(read->from_line) + "-" + std::to_string(read->to_line) + " " + read->text + (read->is_end ? "." : "");
}

/// "LOG CODE MESSAGE" for each item.
std::vector<std::string> callbacks(std::string_view body) {
  const auto read = parse_callbacks(body);
  if (!read) return {"error: " + read.error().to_string()};
  std::vector<std::string> texts;
  for (const CallbackItem& item : *read)
    texts.push_back(std::to_string(item.log_id) + " " + std::to_string(item.code) + " " + item.message);
  return texts;
}

/// "GROUP ADDRESS", or the text of the error.
std::string registration(std::string_view body) {
  const auto read = parse_registration(body);
  return read ? read->group + " " + read->address : std::string{read.error().message()};
}

/// "URL HOST PORT", or the text of the error.
std::string address(std::string_view text) {
  const auto read = parse_address(text);
  return read ? read->url + " " + read->host + " " + std::to_string(read->port) : std::string{read.error().message()};
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// What we send.

TEST(Wire, ARunHasAllTwelveFieldsInTheOrderOfTheJavaClient) {
  EXPECT_EQ(run_body(order(), false),
            R"({"jobId":7,"executorHandler":"demo","executorParams":"","executorBlockStrategy":"SERIAL_EXECUTION","executorTimeout":0,)"
            R"("logId":42,"logDateTime":1732118400000,"glueType":"BEAN","glueSource":"","glueUpdatetime":0,"broadcastIndex":0,)"
            R"("broadcastTotal":1})");
}

TEST(Wire, ARunCarriesWhatItsOrderSays) {
  RunOrder run = order();
  run.parameters = "{\"a\": \"\xc3\xa4\n\"}";
  run.overlap = Overlap::Cover;
  run.timeout_s = 30;
  run.shard = 2;
  run.shards = 5;
  EXPECT_EQ(run_body(run, false),
            "{\"jobId\":7,\"executorHandler\":\"demo\",\"executorParams\":\"{\\\"a\\\": \\\"\xc3\xa4\\n\\\"}\","
            R"("executorBlockStrategy":"COVER_EARLY","executorTimeout":30,"logId":42,"logDateTime":1732118400000,"glueType":"BEAN",)"
            R"("glueSource":"","glueUpdatetime":0,"broadcastIndex":2,"broadcastTotal":5})");
}

TEST(Wire, OrthAloneGetsTheConcurrencyAndTheTimeOfTheSchedule) {
  RunOrder run = order();
  run.overlap = Overlap::Concurrent;
  run.concurrency = 4;
  run.schedule_time_ms = 1'732'118'399'000;
  const std::string same =
      R"("executorTimeout":0,"logId":42,"logDateTime":1732118400000,"glueType":"BEAN","glueSource":"","glueUpdatetime":0,)"
      R"("broadcastIndex":0,"broadcastTotal":1)";
  const std::string begin = R"({"jobId":7,"executorHandler":"demo","executorParams":"","executorBlockStrategy":)";
  EXPECT_EQ(run_body(run, true), begin + R"("CONCURRENT",)" + same + R"(,"executorConcurrency":4,"scheduleTime":1732118399000})");
  EXPECT_EQ(run_body(run, false), begin + R"("SERIAL_EXECUTION",)" + same + "}");
  run.overlap = Overlap::Discard;
  run.schedule_time_ms.reset();
  EXPECT_EQ(run_body(run, true), begin + R"("DISCARD_LATER",)" + same + R"(,"executorConcurrency":4,"scheduleTime":null})");
}

TEST(Wire, ParametersThatAreNoUtf8AreSentVisibly) {
  RunOrder run = order();
  run.parameters = "a\xff";
  EXPECT_THAT(run_body(run, false), HasSubstr(R"("executorParams":"a\\xff")"));
}

TEST(Wire, TheSmallBodiesAreThoseThatAllClientsRead) {
  EXPECT_EQ(beat_body(), "{}");
  EXPECT_EQ(job_body(7), R"({"jobId":7})");
  EXPECT_EQ(log_body(42, 1'732'118'400'000, 1), R"({"logDateTim":1732118400000,"logDateTime":1732118400000,"logId":42,"fromLineNum":1})");
  EXPECT_EQ(answer_body(200, ""), R"({"code":200,"msg":null,"content":null,"data":null})");
  EXPECT_EQ(answer_body(500, "Illegal \"Argument\"."), R"({"code":500,"msg":"Illegal \"Argument\".","content":null,"data":null})");
}

TEST(WireDeathTest, NumbersThatClientsCannotReadAreAFault) {
  EXPECT_DEATH(static_cast<void>(job_body(0)), "job >= 1");
  EXPECT_DEATH(static_cast<void>(job_body(limits::kExecutorJob + 1)), "kExecutorJob");
  RunOrder run = order();
  run.log_id = limits::kExecutorLogId + 1;
  EXPECT_DEATH(static_cast<void>(run_body(run, false)), "kExecutorLogId");
}

// Answers to calls.

TEST(Wire, AnAnswerHasACodeAndPerhapsAMessage) {
  EXPECT_EQ(answer(200, R"({"code":200,"msg":null,"content":null})"), "200 ");
  EXPECT_EQ(answer(200, R"({"code":200,"msg":"","data":null})"), "200 ");
  EXPECT_EQ(answer(200, R"({"code":200})"), "200 ");
  EXPECT_EQ(answer(200, R"({"code":500,"msg":"job thread is running or has trigger queue."})"),
            "500 job thread is running or has trigger queue.");
  EXPECT_EQ(answer(200,
                   "{\"code\":500,\"msg\":\"block strategy effect\xef\xbc\x9a"
                   "Discard Later\",\"content\":null}"),
            "500 block strategy effect\xef\xbc\x9a"
            "Discard Later");
}

TEST(Wire, TheGoClientRefusesARunWithAListOfOneCallbackItem) {
  EXPECT_EQ(answer(200, R"([{"logId":42,"logDateTim":1732118400000,"executeResult":{"code":500,"msg":"There are tasks running"},)"
                        R"("handleCode":500,"handleMsg":"There are tasks running"}])"),
            "500 There are tasks running");
  EXPECT_EQ(answer(200, R"([{"logId":42,"executeResult":{"code":500,"msg":"Task not registered"}}])"), "500 Task not registered");
  EXPECT_EQ(answer(200, R"([{"code":500,"msg":"busy"}])"), "500 busy");
  EXPECT_EQ(answer(200, R"({"code":500,"msg":"Task kill err"})"), "500 Task kill err");
}

TEST(Wire, TheClientsOfLitertAndHyperfRepeatTheCodeAsHttpStatus) {
  EXPECT_EQ(answer(401, R"({"code":401,"msg":"Unauthorized","content":null})"), "401 Unauthorized");
  EXPECT_EQ(answer(402, R"({"code":402,"msg":"busy"})"), "402 busy");
  EXPECT_EQ(answer(500, R"({"code":500,"msg":"The access token is not configured"})"), "500 The access token is not configured");
}

TEST(Wire, TheNpmClientsAnswerWithTheirOwnTexts) {
  EXPECT_EQ(answer(200, R"({"code":500,"msg":"Is app.use(express.json()) missing?"})"), "500 Is app.use(express.json()) missing?");
  EXPECT_EQ(answer(200, R"({"code":500,"msg":"There is already have a same job is running."})"),
            "500 There is already have a same job is running.");
  EXPECT_EQ(answer(200, R"({"code":500,"msg":"not yet support"})"), "500 not yet support");
}

TEST(Wire, PyxxlRanksARunInItsAnswer) {
  EXPECT_EQ(answer(200, R"({"code": 200, "msg": "job 7 is in queue, logId 9 ranked 1th"})"), "200 job 7 is in queue, logId 9 ranked 1th");
  EXPECT_EQ(answer(500, "500 Internal Server Error\n\nServer got itself in trouble"),
            "error: invalid-argument: the executor answered with HTTP status 500 and no usable body (not JSON: extra data): "
            "500 Internal Server Error\\x0a\\x0aServer got itself in trouble");
}

TEST(Wire, AnAnswerWithoutACodeIsAnErrorThatShowsItsBeginning) {
  const std::string page = "<!DOCTYPE html>\n" + std::string(300, 'x');
  const std::string shown = answer(400, page);
  EXPECT_THAT(shown, StartsWith("error: invalid-argument: the executor answered with HTTP status 400 and no usable body (not JSON: "));
  EXPECT_THAT(shown, EndsWith("): <!DOCTYPE html>\\x0a" + std::string(184, 'x') + "..."));
  for (const std::string_view body : {"",
                                      "null",
                                      "200",
                                      "\"ok\"",
                                      "[]",
                                      "{}",
                                      "[1]",
                                      "[{}]",

                                      R"({"msg":"x"})",
                                      R"([{"handleCode":200},{"handleCode":200}])",
                                      R"({"code":null})",
                                      R"({"code":"ok"})",
                                      R"({"code":{}})",
                                      R"({"code":1.5})",
                                      R"({"code":2147483648})",
                                      R"({"code":-2147483649})",
                                      R"({"code":1e999})",
                                      R"({"code":NaN})",
                                      R"({"code":200)",
                                      R"({"code":200}x)",
                                      R"({'code':200})",
                                      R"({"code":200,})",
                                      "{\"code\":200,\"msg\":\"\x01\"}",
                                      "{\"code\":200}\\",
                                      "\\u",
                                      "\xff\xfe"})
    EXPECT_THAT(answer(200, body), StartsWith("error: invalid-argument: the executor answered with HTTP status 200")) << body;
  EXPECT_THAT(answer(200, std::string_view{"\0", 1}), HasSubstr("\\x00"));
}

TEST(Wire, OfTwoMembersOfOneNameTheLastCounts) { EXPECT_EQ(answer(200, R"({"code":200,"msg":"a","code":500,"msg":"b"})"), "500 b"); }

TEST(Wire, JsonThatNestsTooDeepIsRefused) {
  const auto nested = [](std::size_t levels) { return R"({"code":200,"content":)" + repeated("[", levels) + repeated("]", levels) + "}"; };
  EXPECT_EQ(answer(200, nested(limits::kExecutorNesting - 1)), "200 ");
  EXPECT_THAT(answer(200, nested(limits::kExecutorNesting)), HasSubstr("too deep"));
  EXPECT_THAT(callbacks(repeated("[", 100'000)), ElementsAre(HasSubstr("too deep")));
  EXPECT_THAT(registration(repeated("{\"a\":", 50'000)), HasSubstr("too deep"));
}

TEST(Wire, ABodyAboveTheLimitOfValuesIsRefused) {
  const std::string body = "{\"code\":200,\"content\":[" + repeated("0,", limits::kExecutorValues - 6) + "0]}";
  EXPECT_EQ(answer(200, body), "200 ");
  EXPECT_THAT(answer(200, "[" + body + "]"), HasSubstr("no usable body (more than 200000 values)"));
  EXPECT_THAT(callbacks("[" + body + "]"), ElementsAre("error: resource-exhausted: more than 200000 values"));
  // Signs in texts are no values.
  EXPECT_EQ(answer(200, R"({"code":200,"content":")" + repeated(R"([{,:\")", limits::kExecutorValues) + "\"}"), "200 ");
}

// Messages.

TEST(Wire, AMessageAboveTheLimitIsCutBetweenCharacters) {
  const auto message = [](const std::string& text) {
    return parse_call_answer(200, R"({"code":500,"msg":")" + text + "\"}").value().message;
  };
  const std::string longest(limits::kExecutorMessage, 'x');
  EXPECT_EQ(message(longest), longest);
  EXPECT_EQ(message(longest + "x"), longest.substr(3) + "...");
  const std::string euros = repeated("\xe2\x82\xac", limits::kExecutorMessage);
  EXPECT_EQ(message(euros), euros.substr(0, (limits::kExecutorMessage - 3) / 3 * 3) + "...");
  const std::string no_utf8 = message(std::string(limits::kExecutorMessage, '\xff'));
  EXPECT_THAT(no_utf8, SizeIs(limits::kExecutorMessage));
  EXPECT_THAT(no_utf8, StartsWith("\\xff\\xff"));
}

TEST(Wire, AMessageIsUtf8WhateverWasSent) {
  EXPECT_EQ(answer(200, "{\"code\":500,\"msg\":\"a\xff\xc3z\"}"), "500 a\\xff\\xc3z");
  EXPECT_EQ(answer(200, R"({"code":500,"msg":"a\u0000b"})"), (std::string{"500 a\0b", 7}));
  EXPECT_EQ(answer(200, "{\"code\":500,\"msg\":\"<br>\xe2\x82\xac\\n\"}"), "500 <br>\xe2\x82\xac\n");
}

TEST(Wire, HalfASurrogatePairIsAReplacementCharacter) {
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(answer(200, R"({"code":500,"msg":"cut \ud83d"})"), "500 cut " + replaced);
  EXPECT_EQ(answer(200, R"({"code":500,"msg":"\udc80\uD83D\uDE00\ud83dx\ud83d\n"})"),
            "500 " + replaced + "\xf0\x9f\x98\x80" + replaced + "x" + replaced + "\n");
  EXPECT_EQ(answer(200, R"({"code":500,"msg":"\ud83d\ud83d\ude00\\ud83d"})"), "500 " + replaced + "\xf0\x9f\x98\x80\\ud83d");
  EXPECT_THAT(answer(200, R"({"code":500,"msg":"\ud83d\u12"})"), StartsWith("error: "));
  EXPECT_THAT(answer(200, R"({"code":500,"msg":"\ud83d\)"), StartsWith("error: "));
}

TEST(Wire, AMessageThatIsNoTextIsKeptAsJson) {
  EXPECT_EQ(answer(200, R"({"code":200,"msg":{"rows":[1,null]}})"), R"(200 {"rows":[1,null]})");
  EXPECT_THAT(callbacks(R"([{"logId":1,"handleCode":200,"handleMsg":12.5},{"logId":2,"handleCode":200,"handleMsg":true}])"),
              ElementsAre("1 200 1.25E1", "2 200 true"));
}

// Logs.

TEST(Wire, ALogIsReadFromContentOrData) {
  EXPECT_EQ(log(200, R"({"code":200,"msg":null,"content":{"fromLineNum":1,"toLineNum":2,"logContent":"a\nb\n","isEnd":false}})"),
            "1-2 a\nb\n");
  EXPECT_EQ(log(200, R"({"code":200,"msg":"","data":{"fromLineNum":3,"toLineNum":3,"logContent":"c\n","isEnd":true}})"), "3-3 c\n.");
  EXPECT_EQ(log(200, R"({"code":200,"content":null,"data":{"fromLineNum":"3","toLineNum":3.0,"logContent":"c"}})"), "3-3 c");
  EXPECT_EQ(log(200, R"({"code":200,"content":{"logContent":"c","isEnd":true},"data":{"logContent":"c"}})"), "0-0 c.");
}

TEST(Wire, AJavaExecutorWithoutTheFileAnswersWithSuccess) {
  EXPECT_EQ(
      log(200, R"({"code":200,"content":{"fromLineNum":1,"toLineNum":0,"logContent":"readLog fail, logFile not exists","isEnd":true}})"),
      "1-0 readLog fail, logFile not exists.");
}

TEST(Wire, TheClientOfDalongrongLeavesOutTheEndOfTheLog) {
  EXPECT_EQ(log(200, R"({"code":200,"content":{"fromLineNum":1,"toLineNum":-1,"logContent":"\nstart"}})"), "1-0 \nstart");
  EXPECT_EQ(log(200, R"({"code":200,"content":{"fromLineNum":1,"toLineNum":0,"logContent":null}})"), "1-0 ");
}

TEST(Wire, AnExecutorWithoutTheLogAnswersWithAFailure) {
  EXPECT_EQ(log(200, R"({"code":500,"msg":"Log not found"})"),
            "error: failed-precondition: the executor gave no log: code 500, Log not found");
  EXPECT_EQ(log(200, R"({"code":500,"msg":"No local logger found."})"),
            "error: failed-precondition: the executor gave no log: code 500, No local logger found.");
  // The client of hyperf.
  EXPECT_EQ(log(500, R"({"code":500,"msg":"x\ny","data":{"fromLineNum":1,"toLineNum":0,"logContent":"","isEnd":true}})"),
            "error: failed-precondition: the executor gave no log: code 500, x\\x0ay");
}

TEST(Wire, ALogKeepsItsBytes) {
  EXPECT_EQ(log(200, "{\"code\":200,\"data\":{\"logContent\":\"a\xff\\n\\u0000\"}}"), (std::string{"0-0 a\xff\n\0", 8}));
}

TEST(Wire, ALogThatIsCutHasItsWholeLines) {
  const std::string body = R"({"code":200,"msg":null,"content":{"fromLineNum":1,"toLineNum":9,"logContent":"one\\n two\nthree \\\n\u20ac)";
  const std::string head = body.substr(0, body.find("one"));
  const auto cut = [&](std::size_t size) {
    const auto read = parse_cut_log(200, body.substr(0, size));
    return read ? read->text : "error: " + read.error().to_string();
  };
  for (std::size_t size = body.find(" two") + 6; size < body.find("three"); ++size) EXPECT_EQ(cut(size), "one\\n two\n");
  EXPECT_EQ(cut(body.size()), "one\\n two\nthree \\\n") << "the backslash before the end of a line is escaped";
  EXPECT_EQ(cut(body.size() - 3), "one\\n two\nthree \\\n") << "within a character";
  for (const std::size_t size : {std::size_t{0}, head.size(), head.size() + 5, body.find(" two") + 5})
    EXPECT_THAT(cut(size), HasSubstr("a line of the log is longer than 1048576 bytes")) << size;
  EXPECT_THAT(log(200, R"({"code":500,"msg":"a\n)"), HasSubstr("no usable body"));
  EXPECT_FALSE(parse_cut_log(200, R"({"code":500,"msg":"a\n)").has_value());
  EXPECT_FALSE(parse_cut_log(200, R"([[{"logContent":"a\n)").has_value());
}

TEST(Wire, AnythingElseIsNoLog) {
  for (const std::string_view body :
       {"", "<html>", "[]", "{}", R"({"code":200})", R"({"code":200,"content":"text"})", R"({"code":200,"content":[],"data":null})",
        R"({"code":200,"data":{"toLineNum":1e300}})", R"({"code":200,"data":{"fromLineNum":2147483648}})",
        R"({"code":200,"data":{"toLineNum":"x"}})", R"([{"handleCode":200,"content":{"logContent":"a"}}])"})
    EXPECT_THAT(log(200, body), StartsWith("error: invalid-argument: the executor answered with HTTP status 200")) << body;
}

// Registrations.

TEST(Wire, ARegistrationHasAGroupAndAnAddress) {
  // Java, Go, npm xxl-job with a base URL, npm xxl-job with ip and port, hyperf.
  for (const auto& [value, url] : {std::pair{"http://10.0.0.5:9999/", "http://10.0.0.5:9999"},
                                   {"http://10.0.0.5:9999", "http://10.0.0.5:9999"},
                                   {"https://jobs.example:8080/job", "https://jobs.example:8080/job"},
                                   {"10.0.0.5:8080/job", "http://10.0.0.5:8080/job"},
                                   {"http://10.0.0.5:9502/php-xxl-job/", "http://10.0.0.5:9502/php-xxl-job"}})
    EXPECT_EQ(registration(R"({"registryGroup":"EXECUTOR","registryKey":"demo","registryValue":")" + std::string{value} + "\"}"),
              "demo " + std::string{url});
}

TEST(Wire, ARegistrationWithAnEmptyFieldGetsTheTextThatClientsKnow) {
  for (const std::string_view body :
       {R"({"registryGroup":"","registryKey":"demo","registryValue":"http://h:1"})",
        R"({"registryGroup":"EXECUTOR","registryKey":"","registryValue":"http://h:1"})",
        R"({"registryGroup":"EXECUTOR","registryKey":"demo","registryValue":""})", R"({"registryKey":"demo","registryValue":"http://h:1"})",
        R"({"registryGroup":"EXECUTOR","registryKey":null,"registryValue":"http://h:1"})",
        R"({"registryGroup":"EXECUTOR","registryKey":7,"registryValue":"http://h:1"})", "{}", "[]", "null", "\"\""})
    EXPECT_EQ(registration(body), "Illegal Argument.") << body;
}

TEST(Wire, ARegistrationThatIsWrongGetsTheReason) {
  EXPECT_EQ(registration(R"({"registryGroup":"ADMIN","registryKey":"demo","registryValue":"http://h:1"})"),
            "registryGroup is not EXECUTOR");
  EXPECT_EQ(registration(R"({"registryGroup":"EXECUTOR","registryKey":"a\u0000","registryValue":"http://h:1"})"),
            "registryKey has characters that are not safe to display");
  EXPECT_EQ(registration("{\"registryGroup\":\"EXECUTOR\",\"registryKey\":\"a\xff\",\"registryValue\":\"http://h:1\"}"),
            "registryKey has characters that are not safe to display");
  EXPECT_EQ(registration(R"({"registryGroup":"EXECUTOR","registryKey":"demo","registryValue":"ftp://h:1"})"),
            "registryValue: the address 'ftp://h:1' is neither http nor https");
  EXPECT_THAT(registration(""), StartsWith("not JSON: "));
}

TEST(Wire, AGroupAboveTheLimitIsRefused) {
  const auto of_group = [](std::size_t bytes) {
    return registration(R"({"registryGroup":"EXECUTOR","registryKey":")" + std::string(bytes, 'g') + R"(","registryValue":"http://h:1"})");
  };
  EXPECT_EQ(of_group(limits::kExecutorGroup), std::string(limits::kExecutorGroup, 'g') + " http://h:1");
  EXPECT_EQ(of_group(limits::kExecutorGroup + 1), "registryKey is longer than 64 bytes");
}

// Callbacks.

TEST(Wire, ACallbackIsAListAnObjectWithAListOrOneItem) {
  EXPECT_THAT(callbacks(R"([{"logId":42,"logDateTim":1732118400000,"handleCode":200,"handleMsg":"done"}])"), ElementsAre("42 200 done"));
  EXPECT_THAT(callbacks(R"({"callbackList":[{"logId":42,"logDateTime":1732118400000,"handleCode":502,"handleMsg":"late"}]})"),
              ElementsAre("42 502 late"));
  EXPECT_THAT(callbacks(R"({"logId":42,"logDateTim":1732118400000,"handleCode":200,"handleMsg":null})"), ElementsAre("42 200 "));
  EXPECT_THAT(callbacks("[]"), IsEmpty());
  EXPECT_THAT(callbacks(R"({"callbackList":[]})"), IsEmpty());
}

TEST(Wire, AJavaExecutorSendsSeveralItemsAndRepeatsThem) {
  EXPECT_THAT(callbacks(R"([{"logId":1,"logDateTim":5,"handleCode":200,"handleMsg":null},)"
                        R"({"logId":2,"logDateTim":5,"handleCode":502,"handleMsg":"job execute timeout "},)"
                        R"({"logId":1,"logDateTim":5,"handleCode":200,"handleMsg":null}])"),
              ElementsAre("1 200 ", "2 502 job execute timeout ", "1 200 "));
}

TEST(Wire, ClientsBefore23SendAnExecuteResult) {
  EXPECT_THAT(callbacks(R"([{"logId":42,"logDateTim":5,"executeResult":{"code":500,"msg":"failed","content":null}}])"),
              ElementsAre("42 500 failed"));
  EXPECT_THAT(callbacks(R"([{"logId":42,"handleCode":null,"executeResult":{"code":200}}])"), ElementsAre("42 200 "));
}

TEST(Wire, TheGoClientAndPyxxlSendBothAndTheHandleCodeCounts) {
  EXPECT_THAT(callbacks(R"([{"logId":42,"logDateTim":5,"executeResult":{"code":200,"msg":"old"},"handleCode":500,"handleMsg":"new"}])"),
              ElementsAre("42 500 new"));
  EXPECT_THAT(callbacks(R"([{"logId": 42, "logDateTim": 5, "handleCode": 200, "executeResult": {"code": 500, "msg": "old"}}])"),
              ElementsAre("42 200 old"));
  EXPECT_THAT(callbacks(R"([{"logId":42,"handleCode":200,"handleMsg":"cancelled","executeResult":null}])"),
              ElementsAre("42 200 cancelled"));
}

TEST(Wire, TheNpmClientsSendOtherCodesAndTexts) {
  EXPECT_THAT(callbacks(R"([{"logId":42,"logDateTim":5,"handleCode":200,"handleMsg":"Job Task: 6 is killed."}])"),
              ElementsAre("42 200 Job Task: 6 is killed."));
  EXPECT_THAT(callbacks(R"([{"logId":42,"handleCode":500,"handleMsg":"Job Task: 7 is Timeout."}])"),
              ElementsAre("42 500 Job Task: 7 is Timeout."));
  EXPECT_THAT(callbacks(R"([{"logId":42,"handleCode":410,"handleMsg":null}])"), ElementsAre("42 410 "));
  EXPECT_THAT(callbacks(R"([{"logId":42,"handleCode":200,"handleMsg":"{\"rows\":3}"}])"), ElementsAre(R"(42 200 {"rows":3})"));
  EXPECT_THAT(callbacks(R"([{"logId":"42","logDateTim":"now","handleCode":"200"}])"), ElementsAre("42 200 "));
}

TEST(Wire, AnIdIsAWholeNumberBelowTwoToThe53) {
  const auto with_id = [](std::string_view id) { return callbacks("[{\"logId\":" + std::string{id} + ",\"handleCode\":200}]"); };
  EXPECT_THAT(with_id("9007199254740991"), ElementsAre("9007199254740991 200 "));
  EXPECT_THAT(with_id("\"9007199254740991\""), ElementsAre("9007199254740991 200 "));
  EXPECT_THAT(with_id("42.0"), ElementsAre("42 200 "));
  for (const std::string_view id : {"0",
                                    "-1",
                                    "9007199254740992",
                                    "18446744073709551615",
                                    "99999999999999999999",
                                    "1e300",
                                    "-1e300",
                                    "4.2",
                                    "true",
                                    "null",
                                    "[1]",
                                    "{}",
                                    "\"\"",
                                    "\" 42\"",
                                    "\"42 \"",
                                    "\"+42\"",
                                    "\"0x2a\"",
                                    "\"4.2\"",
                                    "\"-42\"",
                                    "\"99999999999999999999\"",
                                    "\"42\\u0000\""})
    EXPECT_THAT(with_id(id), ElementsAre(StartsWith("error: invalid-argument: logId is "))) << id;
}

TEST(Wire, OneWrongItemRefusesTheCallback) {
  for (const std::string_view item : {"null", "7", "[]", "{}", R"({"logId":1})", R"({"handleCode":200})", R"({"logId":1,"handleCode":"x"})",
                                      R"({"logId":1,"handleCode":2147483648})", R"({"logId":1,"executeResult":{}})",
                                      R"({"logId":1,"executeResult":"200"})", R"({"logId":1,"executeResult":{"code":null}})"})
    EXPECT_THAT(callbacks(R"([{"logId":1,"handleCode":200},)" + std::string{item} + "]"),
                ElementsAre(StartsWith("error: invalid-argument: ")))
        << item;
  for (const std::string_view body :
       {"", "null", "7", "\"[]\"", "{}", R"({"callbackList":null})", R"({"callbackList":7})", R"([{"logId":1,"handleCode":200})",
        R"([{"logId":1,"handleCode":200}]])", R"([{"logId":NaN,"handleCode":200}])", R"([{"logId":1,"handleCode":200},])"})
    EXPECT_THAT(callbacks(body), ElementsAre(StartsWith("error: invalid-argument: "))) << body;
}

TEST(Wire, ACallbackAboveTheLimitOfItemsIsRefused) {
  const std::string item = R"({"logId":1,"handleCode":200})";
  EXPECT_THAT(callbacks("[" + repeated(item + ",", limits::kExecutorCallbacks - 1) + item + "]"), SizeIs(limits::kExecutorCallbacks));
  EXPECT_THAT(callbacks("[" + repeated(item + ",", limits::kExecutorCallbacks) + item + "]"),
              ElementsAre("error: resource-exhausted: more than 10000 callback items"));
  EXPECT_THAT(callbacks("{\"callbackList\":[" + repeated("0,", 99'999) + "0]}"),
              ElementsAre("error: resource-exhausted: more than 10000 callback items"));
}

// Addresses.

TEST(Wire, AnAddressHasOneCanonicalForm) {
  for (const auto& [text, expected] : {std::pair{"http://10.0.0.5:9999/", "http://10.0.0.5:9999 10.0.0.5 9999"},
                                       {"HTTP://Worker-1.Example:08080//", "http://worker-1.example:8080 worker-1.example 8080"},
                                       {"10.0.0.5:8080/job", "http://10.0.0.5:8080/job 10.0.0.5 8080"},
                                       {"https://h/Job/a.b/", "https://h:443/Job/a.b h 443"},
                                       {"xxl_executor", "http://xxl_executor:80 xxl_executor 80"},
                                       {"3f2a9b1c7d:1", "http://3f2a9b1c7d:1 3f2a9b1c7d 1"},
                                       {"http://[2001:DB8:0::1]:65535", "http://[2001:db8::1]:65535 [2001:db8::1] 65535"},
                                       {"[::1]", "http://[::1]:80 [::1] 80"}}) {
    EXPECT_EQ(address(text), expected);
    EXPECT_EQ(address(parse_address(text).value().url), expected);
  }
}

TEST(Wire, AnAddressWithTwoReadingsIsRefused) {
  for (const std::string_view text :
       {"http://u@h:1",        "http://u:p@h:1",        "http://h:1?q",   "http://h:1/a?q=1", "http://h:1#f",
        "http://h:1/%2e%2e/a", "http://h%00:1",         "http://h:1\\a",  "http://h :1",      " http://h:1",
        "http://h:1 ",         "http://h:1\r\nX: y",    "http://h:1/\t",  "http://h\x7f:1",   "http://h\xc3\xa4:1",
        "http://h\xff:1",      "http://h:1,http://i:1", "http://h:1/a;b", "http://${h}:1",    "http://[fe80::1%25eth0]:1"})
    EXPECT_THAT(address(text), EndsWith("has characters that are not allowed")) << text;
  EXPECT_THAT(address(std::string_view{"http://h\0:1", 11}), EndsWith("has characters that are not allowed"));
  for (const std::string_view text : {"ftp://h:1", "file:///etc", "://h:1", "h/http://i:1", "javascript://h"})
    EXPECT_THAT(address(text), EndsWith("is neither http nor https")) << text;
  for (const std::string_view text : {"",
                                      "/",
                                      "http://",
                                      "http:///job",
                                      "http://:80",
                                      ":80",
                                      "http://.",
                                      "http://h..i:1",
                                      "http://.h:1",
                                      "http://h.:1",
                                      "http://~h:1",
                                      "http://[]:1",
                                      "http://[:1",
                                      "http://[",
                                      "http://]:1",
                                      "http://[::1:1",
                                      "http://[::g]:1",
                                      "http://[10.0.0.5]:1",
                                      "http://a[::1]:1",
                                      "http://127.1:1",
                                      "http://0x7f000001:1",
                                      "http://2130706433",
                                      "http://010.0.0.1:1",
                                      "http://10.0.0.256:1",
                                      "http://h.7:1",
                                      "::1",
                                      "http://[::1]80",
                                      "http://[::1]x:80"})
    EXPECT_THAT(address(text), EndsWith("has no valid host")) << text;
  for (const std::string_view text : {"http://h:0", "http://h:", "http://h:65536", "http://h:-1", "http://h:99999999999", "http://h:1:2",
                                      "http://h:a", "http://h:1a", "http:/h:1"})
    EXPECT_THAT(address(text), EndsWith("has no port from 1 to 65535")) << text;
  for (const std::string_view text : {"http://h:1/..", "http://h:1/a/../b", "http://h:1/.", "http://h:1/./a", "http://h:1//a",
                                      "http://h:1/a//b", "http://h:1/a:b", "http://h:1/[a]"})
    EXPECT_THAT(address(text), EndsWith("has a path that is not allowed")) << text;
}

TEST(Wire, AnAddressAboveTheLimitIsRefused) {
  const std::string begin = "http://h:1/";
  const std::string longest = begin + std::string(limits::kExecutorAddress - begin.size(), 'p');
  EXPECT_EQ(address(longest), longest + " h 1");
  EXPECT_THAT(address(longest + "p"), EndsWith("is longer than 255 bytes"));
  // The canonical form is longer than the text.
  EXPECT_THAT(address(longest.substr(7) + "p"), EndsWith("is longer than 255 bytes"));
  EXPECT_THAT(address(std::string(1'000'000, 'h')), EndsWith("is longer than 255 bytes"));
}

}  // namespace
}  // namespace rondo::jobs::executors
