// Door: how much a sender may send before its request was read. What it answers is tested in executors_test.cc.
#include "jobs/executors/door.h"

#include <gtest/gtest.h>

#include <string>

#include "jobs/executors/limits.h"

namespace rondo::jobs::executors {
namespace {

constexpr const char* kSecret = "token-of-the-group";

Door door() {
  return {{{.name = "plain", .token = kSecret}, {.name = "near", .allow_without_token = {Prefix::parse("10.1.0.0/16").value()}}}, {}};
}

http::Request head_of(std::string target, std::string token, std::string peer = "192.0.2.1:80") {
  http::Request head;
  head.method = "POST";
  head.target = std::move(target);
  head.peer = std::move(peer);
  if (!token.empty()) head.fields.push_back({"XXL-JOB-ACCESS-TOKEN", std::move(token)});
  return head;
}

TEST(Door, OnlyAKnownSenderHasALargeCallback) {
  EXPECT_EQ(door().body_limit(head_of("/api/callback", kSecret)), limits::kExecutorBody);
  EXPECT_EQ(door().body_limit(head_of("/xxl-job-admin/api/callback?x=1", kSecret)), limits::kExecutorBody);
  EXPECT_EQ(door().body_limit(head_of("/api/callback", "")), limits::kHttpBodyBytes);
  EXPECT_EQ(door().body_limit(head_of("/api/callback", "token-of-the-grouq")), limits::kHttpBodyBytes);
  EXPECT_EQ(door().body_limit(head_of("/api/registry", kSecret)), limits::kHttpBodyBytes);
  EXPECT_EQ(door().body_limit(head_of("/a/b/api/callback", kSecret)), limits::kHttpBodyBytes);
}

TEST(Door, ASenderIsKnownByItsNetworkAlsoAtASocketOfIPv6) {
  EXPECT_EQ(door().body_limit(head_of("/api/callback", "", "10.1.2.3:80")), limits::kExecutorBody);
  EXPECT_EQ(door().body_limit(head_of("/api/callback", "", "[::ffff:10.1.2.3]:80")), limits::kExecutorBody);
  EXPECT_EQ(door().body_limit(head_of("/api/callback", "", "[::ffff:10.2.2.3]:80")), limits::kHttpBodyBytes);
  EXPECT_EQ(door().body_limit(head_of("/api/callback", "", "[::10.1.2.3]:80")), limits::kHttpBodyBytes);
}

}  // namespace
}  // namespace rondo::jobs::executors
