// What a data plane's answer means for a row: a transient refusal is retried soon, a permanent one rejects the row with the kernel's own
// words.
#include "switch_agent/answer.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace rondo::switch_agent {
namespace {

TEST(Answer, WhatMayPassIsTriedAgainAndWhatNeverWillIsRejected) {
  for (const int passing : {ENETDOWN, ENETUNREACH, ENOBUFS, ENOMEM, ENOSPC}) {
    const Status status = status_from_errno(passing, "set a route");
    for (const Outcome& outcome : {outcome_of_set(status), outcome_of_delete(status)}) {
      EXPECT_EQ(outcome.kind(), Outcome::Kind::RetryAfter) << status.to_string();
      EXPECT_EQ(outcome.delay(), kSoon);
    }
  }
  for (const int lasting : {EINVAL, EPERM, EOPNOTSUPP}) {
    const Status status = status_from_errno(lasting, "set a route");
    for (const Outcome& outcome : {outcome_of_set(status), outcome_of_delete(status)}) {
      EXPECT_EQ(outcome.kind(), Outcome::Kind::Reject) << status.to_string();
      EXPECT_EQ(outcome.why().origin_errno(), lasting);
    }
  }
}

TEST(Answer, WhatIsAbsentIsDeletedAndCannotBeSetYet) {
  const Status absent = status_from_errno(ENOENT, "delete a route");
  EXPECT_EQ(outcome_of_delete(absent).kind(), Outcome::Kind::Done);
  EXPECT_EQ(outcome_of_set(absent).kind(), Outcome::Kind::RetryAfter);
  EXPECT_EQ(outcome_of_set({}).kind(), Outcome::Kind::Done);
  EXPECT_EQ(outcome_of_delete({}).kind(), Outcome::Kind::Done);
}

}  // namespace
}  // namespace rondo::switch_agent
