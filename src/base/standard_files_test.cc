// Closed standard descriptors. Each case closes them in its own process and checks the next file's number.
#include "base/standard_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace rondo {
namespace {

constexpr int kRight = 0;

/// Returns the result of a process in which the standard files 'closed' are closed.
int after_closing(std::initializer_list<int> closed) {
  for (const int file : closed) ::close(file);
  if (!keep_standard_files()) return 1;
  if (::open("/dev/zero", O_RDWR) <= STDERR_FILENO) return 2;
  for (const int file : closed) {
    char byte = 0;
    const auto done = file == STDIN_FILENO ? ::read(file, &byte, 1) : ::write(file, &byte, 1);
    if (done >= 0 || errno != EBADF) return 3;
  }
  return kRight;
}

TEST(StandardFiles, WhatWasClosedIsTakenAndFails) {
  EXPECT_EXIT(::_exit(after_closing({0})), testing::ExitedWithCode(kRight), "");
  EXPECT_EXIT(::_exit(after_closing({1})), testing::ExitedWithCode(kRight), "");
  EXPECT_EXIT(::_exit(after_closing({0, 1, 2})), testing::ExitedWithCode(kRight), "");
}

TEST(StandardFiles, WhatIsOpenStays) {
  EXPECT_EXIT(::_exit(keep_standard_files() && ::write(STDERR_FILENO, "said", 4) == 4 ? kRight : 1), testing::ExitedWithCode(kRight),
              "said");
}

}  // namespace
}  // namespace rondo
