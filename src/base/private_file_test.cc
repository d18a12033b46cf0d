// Access rights of our files, and the holder of their locks. Method: real files and locks in a temporary folder.
#include "base/private_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/unique_fd.h"

namespace rondo {
namespace {

class PrivateFile : public testing::Test {
 protected:
  PrivateFile() : file(::mkostemp(path_, O_CLOEXEC)) {}
  ~PrivateFile() override { ::unlink(path_); }
  std::string path() const { return path_; }
  mode_t mode() const {
    struct stat found {};
    EXPECT_EQ(::fstat(file.get(), &found), 0);
    return found.st_mode & 07777;
  }

 private:
  char path_[40] = "/tmp/rondo-private-file-XXXXXX";

 protected:
  UniqueFd file;
};

TEST_F(PrivateFile, OthersLoseTheirRightsAndTheGroupKeepsThem) {
  ASSERT_EQ(::fchmod(file.get(), 0646), 0);
  keep_others_out(file.get());
  EXPECT_EQ(mode(), 0640U);
  keep_others_out(file.get());
  EXPECT_EQ(mode(), 0640U);
  ASSERT_EQ(::fchmod(file.get(), 0666), 0);
  keep_others_out(path());
  EXPECT_EQ(mode(), 0660U);
}

TEST_F(PrivateFile, ASymbolicLinkIsNotFollowed) {
  const std::string link = path() + "-link";
  ASSERT_EQ(::symlink(path().c_str(), link.c_str()), 0);
  EXPECT_THAT(open_private(link, O_RDWR, "opening").error().to_string(), testing::HasSubstr("opening: it is a symbolic link"));
  ASSERT_EQ(::fchmod(file.get(), 0646), 0);
  keep_others_out(link);
  EXPECT_EQ(mode(), 0646U);
  EXPECT_EQ(::unlink(link.c_str()), 0);
  EXPECT_TRUE(open_private(path(), O_RDWR, "opening").has_value());
  EXPECT_TRUE(open_private(link, O_RDWR, "opening").has_value()) << "made";
  EXPECT_EQ(::unlink(link.c_str()), 0);
}

TEST_F(PrivateFile, TheHolderOfALockIsNamed) {
  ASSERT_TRUE(lock_file(file.get(), "opening").ok());
  EXPECT_TRUE(lock_file(file.get(), "opening").ok()) << "its own";
  const UniqueFd second{::open(path().c_str(), O_RDONLY | O_CLOEXEC)};
  const Status refused = lock_file(second.get(), "opening");
  EXPECT_EQ(refused.code(), StatusCode::Unavailable);
  const std::string me = std::to_string(::getpid());
  EXPECT_THAT(refused.to_string(), testing::MatchesRegex(".*opening: another process has it open: process " + me + " \\(.*\\) of user " +
                                                         std::to_string(::geteuid())));
}

}  // namespace
}  // namespace rondo
