// Completion: the offers for unfinished command lines, and the script for bash in a real bash.
#include "arguments/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace rondo::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

const NameSource kNames{[] {
                          return std::vector<std::string>{"PORT_TABLE", "ROUTE_TABLE"};
                        },
                        [](const std::string& table, const std::string&) {
                          return std::vector<std::string>{table + ":1", table + ":2"};
                        }};

std::vector<std::string> words_for(const std::vector<std::string>& line) {
  std::vector<std::string> words;
  for (const Offer& offer : offers(line, kNames)) words.push_back(offer.word);
  return words;
}

TEST(Completion, CommandsOptionsAndTheirValues) {
  EXPECT_THAT(words_for({""}), IsSupersetOf({"set", "watch", "top", "feed", "completion"}));
  EXPECT_THAT(words_for({""}), Not(Contains("complete"))) << "that is for shells";
  EXPECT_THAT(words_for({"wa"}), ElementsAre("watch"));
  EXPECT_THAT(words_for({"--json", "wh"}), ElementsAre("why"));
  EXPECT_THAT(words_for({"feed", ""}), ElementsAre("routes"));
  EXPECT_THAT(words_for({"top", "--so"}), IsSupersetOf({"--sort", "--socket"}));
  EXPECT_THAT(words_for({"top", "--sort", "d"}), ElementsAre("depth"));
  EXPECT_THAT(words_for({"feed", "routes", "--order", ""}), ElementsAre("shuffled", "sorted", "as-is"));
  EXPECT_THAT(words_for({"completion", ""}), ElementsAre("bash", "zsh"));
  EXPECT_THAT(words_for({"load", ""}), ElementsAre(":files"));
  EXPECT_THAT(words_for({"--socket", ""}), ElementsAre(":files"));
  EXPECT_THAT(words_for({"--timeout", ""}), IsEmpty());
  EXPECT_THAT(words_for({"nonsense", ""}), IsEmpty());
  EXPECT_THAT(words_for({"stats", ""}), IsEmpty());
}

TEST(Completion, TablesAndKeysAreTheDaemons) {
  EXPECT_THAT(words_for({"get", ""}), ElementsAre("PORT_TABLE", "ROUTE_TABLE"));
  EXPECT_THAT(words_for({"get", "R"}), ElementsAre("ROUTE_TABLE"));
  EXPECT_THAT(words_for({"get", "ROUTE_TABLE", ""}), ElementsAre("ROUTE_TABLE:1", "ROUTE_TABLE:2"));
  EXPECT_THAT(words_for({"get", "--json", "ROUTE_TABLE", "ROUTE_TABLE:2"}), ElementsAre("ROUTE_TABLE:2"));
  EXPECT_THAT(words_for({"get", "ROUTE_TABLE", "x", ""}), IsEmpty());
  EXPECT_THAT(words_for({"set", "ROUTE_TABLE", "k", ""}), IsEmpty());
}

/// Returns bash's offers for 'line', sorted by bash itself.
std::string in_bash(const std::string& line) {
  const char* const program = std::getenv("RONDO");
  if (program == nullptr) return "RONDO does not name the program";
  const std::string folder = "/tmp/rondo-completion-" + std::to_string(::getpid());
  {
    std::ofstream script(folder);
    script << completion_script("bash") << "COMP_LINE='" << program << " " << line << "'\nCOMP_POINT=${#COMP_LINE}\n"
           << "COMP_WORDBREAKS=$' \\t\\n\"\\'><=;|&(:'\n_rondo\nprintf '%s ' \"${COMPREPLY[@]}\"\n";
  }
  const std::string command = "RONDO_SOCKET=/nowhere/socket bash " + folder + " 2>&1";
  FILE* const pipe = ::popen(command.c_str(), "r");
  char buffer[8192];
  std::string out{buffer, std::fread(buffer, 1, sizeof buffer, pipe)};
  ::pclose(pipe);
  ::unlink(folder.c_str());
  return out;
}

TEST(Completion, TheScriptWorksInBash) {
  if (std::system("command -v bash >/dev/null") != 0) GTEST_SKIP() << "there is no bash here";
  EXPECT_EQ(in_bash("wa"), "watch ");
  EXPECT_EQ(in_bash("completion "), "bash zsh ");
  EXPECT_EQ(in_bash("get "), " ") << "no daemon answers: nothing is offered, and nothing is said";
  const std::string file = "/tmp/rondo-completion-file-" + std::to_string(::getpid());
  { std::ofstream(file) << "x"; }
  EXPECT_EQ(in_bash("load " + file.substr(0, file.size() - 1)), file + " ") << "names of files";
  ::unlink(file.c_str());
}

TEST(Completion, TheScriptForZshIsReadByZsh) {
  if (std::system("command -v zsh >/dev/null") != 0) GTEST_SKIP() << "there is no zsh here";
  const std::string path = "/tmp/rondo-completion-zsh-" + std::to_string(::getpid());
  { std::ofstream(path) << completion_script("zsh"); }
  EXPECT_EQ(std::system(("zsh -n " + path).c_str()), 0);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace rondo::cli
