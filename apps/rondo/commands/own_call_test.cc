// rondo call: the daemon's description of its commands is not trusted.
#include "commands/own_call.h"

#include <gtest/gtest.h>

#include "admin/bulk_writer.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// Answers every call with the same object.
class FixedAnswer final : public Backend {
 public:
  explicit FixedAnswer(std::string_view text) : answer_(json::parse(text).as_object()) {}
  Result<json::object> call(const std::string&, const json::object&, const OnRow&) override { return answer_; }
  Result<BulkTotals> write(const std::function<Status(BulkSink& sink)>&, const std::function<void(const BulkTotals&)>&) override {
    return failure(StatusCode::Unimplemented, "only calls");
  }

 private:
  json::object answer_;
};

TEST(OwnCall, ADaemonThatGivesTwoArgumentsOneNameIsAnsweredWithAnError) {
  FixedAnswer daemon(R"({"rows": [{"name": "c", "arguments": [{"name": "f", "kind": "text"}, {"name": "f", "kind": "fields"}]}]})");
  const Result<json::object> arguments = own_arguments(daemon, {"c", {{"f", "1"}, {"f.x", "2"}}});
  ASSERT_FALSE(arguments.has_value());
  EXPECT_EQ(arguments.error().code(), StatusCode::InvalidArgument);
}

TEST(OwnCall, AListOfCommandsThatMakesNoSenseIsAnError) {
  for (const char* const text : {R"({})", R"({"rows": 1})", R"({"rows": [1, {"name": 2}, {"arguments": []}]})"}) {
    FixedAnswer daemon(text);
    EXPECT_FALSE(own_arguments(daemon, {"c", {}}).has_value()) << text;
  }
}

}  // namespace
}  // namespace rondo::cli
