// rondod with a journal, and the simulated data plane: one that is refused leaves no trace in a journal, its own or another's; and why
// records are lost is told while they are. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "rondod/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RondodWithJournal : public RondodProcess {
 protected:
  std::string journal(const std::string& name) const { return "[journal]\nfile = \"" + file(name) + "\"\n"; }
};

TEST_F(RondodWithJournal, OneThatIsRefusedLeavesNoTrace) {
  start(journal("day"));
  ASSERT_TRUE(becomes([this] { return std::filesystem::file_size(file("day")) > 0; }));
  // The same socket: whatever its journal is called.
  EXPECT_EQ(fail_to_start(journal("other")), 69) << log_text();
  EXPECT_FALSE(std::filesystem::exists(file("other")));
  // Another socket, the same journal.
  std::ofstream(file("second")) << "[admin]\nsocket = \"" << file("socket2")
                                << "\"\n[dataplane]\nkind = \"simulated\"\n[journal]\nfile = \"" << file("day") << "\"\n";
  const std::string command = std::string{std::getenv("RONDOD")} + " --config " + file("second") + " 2> " + file("log2");
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 69) << status;
  std::ifstream said(file("log2"));
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(said), {}),
              AllOf(HasSubstr(file("day")), HasSubstr("another process has it open")));
  EXPECT_TRUE(call("version").contains("name")) << "the first one serves on";
}

// /dev/full answers every write with ENOSPC.
TEST_F(RondodWithJournal, WhyRecordsAreLostIsToldWhileTheyAre) {
  std::filesystem::create_symlink("/dev/full", file("day"));
  start(journal("day"));
  EXPECT_TRUE(becomes([this] { return log_text().find("the journal is not written as it should be") != std::string::npos; })) << log_text();
  EXPECT_THAT(log_text(), AllOf(HasSubstr(file("day")), HasSubstr("No space left")));
  EXPECT_THAT(json::serialize(call("stats").at("journal").at("last_error")), HasSubstr("No space left"));
  EXPECT_THAT(json::serialize(call("health").at("troubles")), HasSubstr("cannot write the journal"));
  std::filesystem::remove(file("day"));
  signal(SIGHUP);
  EXPECT_TRUE(becomes([this] { return log_text().find("the journal is written again") != std::string::npos; })) << log_text();
}

}  // namespace
}  // namespace rondo::daemon
