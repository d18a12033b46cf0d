// Status and Result: their contents, and the codes of kernel errors.
#include "rondo/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
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
  EXPECT_EQ(good, 7);
  EXPECT_FALSE(bad == 7);
  EXPECT_EQ(bad.value_or(3), 3);
}

TEST(Result, CopyOfAResultThatConvertsToBoolKeepsItsValue) {
  Result<bool> no = false;
  Result<bool> copy = no;  // Not from the bool that 'no' converts to, which says that there is a value.
  EXPECT_FALSE(*copy);
}

TEST(Result, OfADerivedTypeConverts) {
  struct Base {
    virtual ~Base() = default;
  };
  struct Derived : Base {};
  Result<std::unique_ptr<Base>> good = Result<std::unique_ptr<Derived>>{std::make_unique<Derived>()};
  EXPECT_NE(dynamic_cast<Derived*>(good->get()), nullptr);
  Result<std::unique_ptr<Base>> bad = Result<std::unique_ptr<Derived>>{failure(StatusCode::NotFound, "no such thing")};
  EXPECT_EQ(bad.error().message(), "no such thing");
}

TEST(ResultDeathTest, AValueThatDoesNotExistEndsTheProgramWithTheError) {
  const Result<std::string> bad = failure(StatusCode::NotFound, "field 'x' is missing");
  Result<std::string> good = std::string{"y"};
  EXPECT_DEATH(std::ignore = *bad, "the value of a Result that holds an error: not-found: field 'x' is missing");
  EXPECT_DEATH(std::ignore = bad->size(), "field 'x' is missing");
  EXPECT_DEATH(std::ignore = *Result<std::string>{bad}, "field 'x' is missing");
  EXPECT_DEATH(std::ignore = good.error(), "the error of a Result that holds a value");
}

TEST(Result, ValueThrowsTheTextOfTheError) {
  const Result<int> bad = failure(StatusCode::NotFound, "field 'x' is missing");
  try {
    std::ignore = bad.value();
    FAIL() << "value() of an error returned";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "not-found: field 'x' is missing");
  }
}

}  // namespace
}  // namespace rondo
