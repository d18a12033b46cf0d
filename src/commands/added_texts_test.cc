// What a program adds to the answers of `stats`, `top` and `health` reaches the reader as valid JSON, whatever bytes it has. Method: the
// standard commands, through a session without a socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>
#include <string>
#include <string_view>

#include "admin/frame.h"
#include "admin/session.h"
#include "orch/runtime_fixture.h"
#include "rondo/commands/standard_commands.h"

namespace rondo::commands {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;

class AddedTexts : public testing::Test, public RuntimeFixture {
 protected:
  AddedTexts() {
    StandardCommandsOptions options;
    options.add_stats = [](json::object& stats) {
      stats["my\nkey"] = "\xff\xfe";
      stats["deep"] = json::object{{"list", json::array{"a\033[31m"}}};
    };
    options.add_top = options.add_stats;
    options.add_health = [](json::array& troubles, json::array& notes) {
      troubles.push_back("bad \033[31mred\nline two");
      notes.push_back("\xff");
    };
    commands_ = std::move(add_standard_commands(registry_, runtime, std::move(options)).value());
    session_ = std::make_unique<AdminSession>(registry_, nullptr, options_, figures_, [] {});
  }

  /// The answer of a command without arguments, if it is JSON as the reader parses it.
  std::string answer(std::string_view command) {
    std::string frame;
    const std::size_t start = begin_frame(frame, FrameKind::Json);
    frame.append(R"({"id":1,"command":")").append(command).append(R"("})");
    end_frame(frame, start);
    session_->input().append(frame);
    session_->output().clear();
    for (int i = 0; i < 3; ++i) {
      while (session_->has_step()) session_->step();
      world.run_for(runtime.scheduler(), 10ms);
    }
    const std::string bytes{session_->output().view()};
    const auto found = next_frame(bytes);
    if (!found || !*found) return "no answer";
    boost::system::error_code error;
    static_cast<void>(json::parse((**found).payload, error));
    return error ? "no JSON: " + error.message() : std::string{(**found).payload};
  }

 private:
  AdminServerSetup options_;
  AdminServerStats figures_;
  CommandRegistry registry_{"test", "1"};
  std::unique_ptr<StandardCommands> commands_;
  std::unique_ptr<AdminSession> session_;
};

TEST_F(AddedTexts, AreShownWithTheirUnsafeBytesEscaped) {
  for (const char* const command : {"stats", "top"}) {
    EXPECT_THAT(answer(command), AllOf(HasSubstr(R"("my\\x0akey":"\\xff\\xfe")"), HasSubstr(R"("deep":{"list":["a\\x1b[31m"]})")))
        << command;
  }
  EXPECT_THAT(answer("health"), AllOf(HasSubstr(R"(bad \\x1b[31mred\\x0aline two)"), HasSubstr(R"("\\xff")")));
}

}  // namespace
}  // namespace rondo::commands
