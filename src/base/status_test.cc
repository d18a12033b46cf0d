// Status and Result: their contents, and the codes of kernel errors.
#include "rondo/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

#include "rondo/base/result.h"

namespace rondo {
namespace {

TEST(Status, DefaultIsOkAndHasNoMessage) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::Ok);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.to_string(), "ok");
}

TEST(Status, CopyOfAnErrorIsIndependent) {
  Status first{StatusCode::NotFound, "no port named 'x'", ENODEV};
  Status second = first;
  first = Status{};
  EXPECT_TRUE(first.ok());
  EXPECT_EQ(second.code(), StatusCode::NotFound);
  EXPECT_EQ(second.message(), "no port named 'x'");
  EXPECT_EQ(second.origin_errno(), ENODEV);
  const Status& self = second;
  second = self;
  EXPECT_EQ(second.to_string(), "not-found: no port named 'x'");
}

TEST(Status, ContextIsPutBeforeTheMessageAndKeepsTheRest) {
  const Status inner{StatusCode::Unavailable, "refused", ECONNREFUSED};
  const Status outer = inner.with_context("store 'main'");
  EXPECT_EQ(outer.message(), "store 'main': refused");
  EXPECT_EQ(outer.code(), StatusCode::Unavailable);
  EXPECT_EQ(outer.origin_errno(), ECONNREFUSED);
  EXPECT_TRUE(Status{}.with_context("anything").ok());
}

TEST(Status, ErrnoGivesTheCodeOfItsMeaning) {
  EXPECT_TRUE(status_from_errno(0, "call").ok());
  const std::pair<int, StatusCode> expected[] = {{EINVAL, StatusCode::InvalidArgument},     {ENODEV, StatusCode::NotFound},
                                                 {EEXIST, StatusCode::AlreadyExists},       {ENETUNREACH, StatusCode::FailedPrecondition},
                                                 {ENOBUFS, StatusCode::ResourceExhausted},  {ECONNRESET, StatusCode::Unavailable},
                                                 {ETIMEDOUT, StatusCode::DeadlineExceeded}, {EPERM, StatusCode::PermissionDenied},
                                                 {EOPNOTSUPP, StatusCode::Unimplemented},   {EIO, StatusCode::DataLoss}};
  for (const auto& [error, code] : expected) {
    const Status status = status_from_errno(error, "sendmsg");
    EXPECT_EQ(status.code(), code) << error;
    EXPECT_EQ(status.origin_errno(), error);
    EXPECT_EQ(status.message().substr(0, 9), "sendmsg: ");
  }
}

TEST(Status, EveryCodeHasItsOwnName) {
  for (int a = 0; a <= static_cast<int>(StatusCode::Internal); ++a) {
    EXPECT_NE(to_string(static_cast<StatusCode>(a)), "unknown");
    for (int b = 0; b < a; ++b) EXPECT_NE(to_string(static_cast<StatusCode>(a)), to_string(static_cast<StatusCode>(b)));
  }
}

TEST(Result, HoldsAValueOrTheStatus) {
  const Result<int> good = 7;
  const Result<int> bad = failure(StatusCode::NotFound, "no such thing");
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(*good, 7);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code(), StatusCode::NotFound);
}

}  // namespace
}  // namespace rondo
