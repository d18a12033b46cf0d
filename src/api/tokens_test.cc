// Tokens and their file, with real files.
#include "api/tokens.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/limits.h"
#include "base/testing/temporary_folder.h"

namespace rondo::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ApiTokens : public testing::Test {
 protected:
  std::string path() const { return folder_.file("tokens"); }
  Tokens open() {
    Result<Tokens> tokens = Tokens::open(path());
    EXPECT_TRUE(tokens.has_value()) << tokens.error().to_string();
    return *std::move(tokens);
  }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }

  TemporaryFolder folder_;
};

TEST_F(ApiTokens, ATokenIsKnownAlsoAfterARestartAndItsSecretIsNotInTheFile) {
  std::string secret;
  {
    Tokens tokens = open();
    const Result<std::string> made = tokens.add("ci", Role::Operator);
    ASSERT_TRUE(made.has_value());
    secret = *made;
  }
  const Tokens tokens = open();
  const std::optional<Caller> caller = tokens.table()->find(secret);
  ASSERT_TRUE(caller.has_value());
  EXPECT_EQ(caller->token, "ci");
  EXPECT_EQ(caller->role, Role::Operator);
  EXPECT_FALSE(caller->is_privileged);
  EXPECT_GT(caller->user, kTokenUsers);
  EXPECT_FALSE(tokens.table()->find(secret + "0"));
  EXPECT_FALSE(tokens.table()->find(secret.substr(0, secret.size() - 1)));
  EXPECT_FALSE(tokens.table()->find(""));
  EXPECT_THAT(content(), AllOf(HasSubstr("ci operator "), Not(HasSubstr(secret.substr(6)))));
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(ApiTokens, TheDigestIsNoToken) {
  Tokens tokens = open();
  ASSERT_TRUE(tokens.add("ci", Role::Admin).has_value());
  EXPECT_FALSE(tokens.table()->find(tokens.all().at("ci").digest));
}

TEST_F(ApiTokens, ARemovedTokenIsUnknown) {
  Tokens tokens = open();
  const std::string secret = tokens.add("a", Role::Viewer).value();
  ASSERT_TRUE(tokens.add("b", Role::Viewer).has_value());
  EXPECT_EQ(tokens.remove("a").value().token, "a");
  EXPECT_FALSE(tokens.table()->find(secret));
  EXPECT_EQ(tokens.remove("a").error().code(), StatusCode::NotFound);
  EXPECT_EQ(open().all().size(), 1U);
}

TEST_F(ApiTokens, EachTokenIsAnotherUser) {
  Tokens tokens = open();
  const std::string a = tokens.add("a", Role::Viewer).value();
  const std::string b = tokens.add("b", Role::Viewer).value();
  EXPECT_NE(tokens.table()->find(a)->user, tokens.table()->find(b)->user);
}

TEST_F(ApiTokens, ANameThatIsNoneOrTakenIsRefused) {
  Tokens tokens = open();
  for (const char* const name : {"", "a b", "a\nb admin", "../x"})
    EXPECT_EQ(tokens.add(name, Role::Viewer).error().code(), StatusCode::InvalidArgument) << name;
  ASSERT_TRUE(tokens.add("a", Role::Viewer).has_value());
  EXPECT_EQ(tokens.add("a", Role::Admin).error().code(), StatusCode::AlreadyExists);
}

TEST_F(ApiTokens, AGroupIsKeptAndIsForViewersAndOperators) {
  Tokens tokens = open();
  const std::string secret = tokens.add("team", Role::Operator, "billing").value();
  EXPECT_EQ(tokens.table()->find(secret)->group, "billing");
  EXPECT_EQ(open().table()->find(secret)->group, "billing");
  for (const auto& [role, group] : {std::pair{Role::Worker, "billing"}, std::pair{Role::Admin, "billing"}, std::pair{Role::Viewer, "a b"}})
    EXPECT_EQ(tokens.add("more", role, group).error().code(), StatusCode::InvalidArgument) << group;
  const std::string text = content();
  std::ofstream(path()) << text.substr(0, text.find("operator")) << "admin" << text.substr(text.find("operator") + 8);
  EXPECT_FALSE(tokens.read_again().ok()) << "no admin has a group";
}

TEST_F(ApiTokens, NoMoreThanTheLimitAreMade) {
  std::ofstream file(path());
  for (std::size_t i = 0; i < limits::kApiTokens - 1; ++i) file << "t" << i << " viewer " << std::string(64, 'a') << "\n";
  file.close();
  Tokens tokens = open();
  EXPECT_TRUE(tokens.add("last", Role::Viewer).has_value());
  EXPECT_EQ(tokens.add("more", Role::Viewer).error().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(open().all().size(), limits::kApiTokens);
}

TEST_F(ApiTokens, ALineThatIsNoneIsAnErrorThatNamesIt) {
  for (const char* const line : {"a",
                                 "a root "
                                 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                                 "a viewer 0123", "a b c d e"}) {
    std::ofstream(path()) << "# a comment\n" << line << "\n";
    const Result<Tokens> tokens = Tokens::open(path());
    ASSERT_FALSE(tokens.has_value()) << line;
    EXPECT_THAT(std::string{tokens.error().message()}, HasSubstr(path() + ":2:"));
  }
}

TEST_F(ApiTokens, WhatPeopleChangeInTheFileCounts) {
  Tokens tokens = open();
  const std::string first = tokens.add("a", Role::Admin).value();
  Tokens other = open();
  const std::string second = other.add("b", Role::Viewer).value();
  const std::string third = tokens.add("c", Role::Viewer).value();
  EXPECT_TRUE(open().table()->find(second)) << "each reads the file before it writes it";
  std::ofstream(path()) << "# empty\n";
  EXPECT_TRUE(tokens.read_again().ok());
  EXPECT_FALSE(tokens.table()->find(first));
  std::ofstream(path()) << "nonsense\n";
  EXPECT_FALSE(tokens.add("d", Role::Admin).has_value());
  EXPECT_EQ(content(), "nonsense\n") << "what cannot be read is not written over";
}

/// A token that was removed at one of the programs with one file was good at the others.
TEST_F(ApiTokens, AChangeByAnotherProgramIsSeenOnce) {
  Tokens one = open();
  Tokens other = open();
  EXPECT_FALSE(other.is_file_changed());
  const std::string secret = one.add("a", Role::Viewer).value();
  EXPECT_TRUE(other.is_file_changed());
  ASSERT_TRUE(other.read_again().ok());
  EXPECT_TRUE(other.table()->find(secret));
  EXPECT_FALSE(other.is_file_changed());
  ASSERT_TRUE(one.remove("a").has_value());
  EXPECT_TRUE(other.is_file_changed());
  ASSERT_TRUE(other.read_again().ok());
  EXPECT_FALSE(other.table()->find(secret));
}

TEST_F(ApiTokens, AFileThatOthersMayWriteIsRefused) {
  ASSERT_TRUE(open().add("a", Role::Admin).has_value());
  ASSERT_EQ(::chmod(path().c_str(), 0666), 0);
  const Result<Tokens> tokens = Tokens::open(path());
  ASSERT_FALSE(tokens.has_value());
  EXPECT_EQ(tokens.error().code(), StatusCode::PermissionDenied);
}

TEST_F(ApiTokens, WithoutItsFolderNoTokenIsMade) {
  Result<Tokens> tokens = Tokens::open(folder_.file("none/tokens"));
  ASSERT_TRUE(tokens.has_value());
  EXPECT_FALSE(tokens->add("a", Role::Viewer).has_value());
  EXPECT_TRUE(tokens->all().empty());
}

TEST_F(ApiTokens, ASymbolicLinkIsRefused) {
  std::filesystem::create_symlink("/etc/passwd", path());
  EXPECT_FALSE(Tokens::open(path()).has_value());
}

}  // namespace
}  // namespace rondo::api
