// Names with several addresses, and names whose lookup does not end. The test's own lookup answers for names below ".test".
#include "store/redis/resolver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <string_view>

#include "store/redis/redis_worlds.h"

namespace {

/// ".test" belongs to tests (RFC 6761). "both.test" has two addresses as "localhost" has on many machines, "never.test" is looked up for
/// ever.
void look_up(gaicb& request) {
  if (std::string_view{request.ar_name} == "never.test") {
    request.__return = EAI_INPROGRESS;
    return;
  }
  request.__return = ::getaddrinfo("::1", nullptr, request.ar_request, &request.ar_result);
  if (request.__return == 0) request.__return = ::getaddrinfo("127.0.0.1", nullptr, request.ar_request, &request.ar_result->ai_next);
}

}  // namespace

/// In the place of glibc's, for the whole program.
extern "C" int getaddrinfo_a(int mode, gaicb* list[], int count, sigevent* event) {
  if (count == 1 && std::string_view{list[0]->ar_name}.ends_with(".test")) {
    look_up(*list[0]);
    return 0;
  }
  static const auto of_glibc = reinterpret_cast<decltype(&getaddrinfo_a)>(::dlsym(RTLD_NEXT, "getaddrinfo_a"));
  return of_glibc(mode, list, count, event);
}

namespace rondo::redis {
namespace {

std::string answer_of(Resolver& resolver) {
  const auto answer = resolver.answer();
  return !answer ? answer.error().to_string() : answer->value_or("(none yet)");
}

TEST(Resolver, AnAddressThatDoesNotServeIsFollowedByTheNext) {
  Resolver resolver;
  resolver.ask("both.test");
  EXPECT_EQ(answer_of(resolver), "::1");
  resolver.ask("both.test");
  EXPECT_EQ(answer_of(resolver), "::1");
  resolver.next();
  resolver.ask("both.test");
  EXPECT_EQ(answer_of(resolver), "127.0.0.1");
  resolver.next();
  resolver.ask("both.test");
  EXPECT_EQ(answer_of(resolver), "::1");
}

TEST(Resolver, AnAnswerIsAboutTheHostThatWasAskedLast) {
  Resolver resolver;
  resolver.ask("never.test");
  EXPECT_EQ(answer_of(resolver), "(none yet)");
  resolver.ask("both.test");
  EXPECT_EQ(answer_of(resolver), "::1");
  resolver.ask("192.0.2.1");
  EXPECT_EQ(answer_of(resolver), "192.0.2.1");
  resolver.ask("never.test");
  EXPECT_EQ(answer_of(resolver), "(none yet)");
}

TEST(RedisResolver, AServerBehindTheSecondAddressOfANameIsFound) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server({.tcp = true});
  RedisStoreOptions options;
  options.address = server.tcp_address();
  options.address.host = "both.test";
  StoreDriver driver{options};
  EXPECT_TRUE(driver.run_until([&] { return driver.store().health().ok(); })) << driver.store().health().to_string();
}

}  // namespace
}  // namespace rondo::redis
