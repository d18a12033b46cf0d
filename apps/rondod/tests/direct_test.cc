// rondod with tables that other processes write directly into it: it programs the rows of a producer on the socket, and refuses a
// configuration that cannot serve it. Here the rows are in rondod itself; redis_direct_test.cc has them on a Redis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "rondo/store/zmq_keys.h"
#include "rondod/configuration/config.h"
#include "rondod/configuration/start_check.h"
#include "rondod/tests/direct_producer_kit.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kTables = "[[store.group]]\ntables = [\"ROUTE_TABLE\", \"NEIGH_TABLE\", \"INTF_TABLE\", \"PORT_TABLE\"]\n";

std::string message_of(const std::string& direct) {
  const auto config = parse_config("[[store.group]]\ntables = [\"T\"]\n[store.group.direct]\n" + direct, "rondod.toml");
  EXPECT_FALSE(config.has_value()) << direct;
  return config ? std::string{} : std::string{config.error().message()};
}

TEST(DirectConfig, AnAddressThatThisMachineDoesNotHaveIsNamedBeforeTheStart) {
  const auto findings = [](const std::string& endpoint) {
    const auto config =
        parse_config("[admin]\nsocket = \"/tmp/s\"\n[[store.group]]\ntables = [\"ROUTE_TABLE\"]\n[store.group.direct]\nendpoint = \"" +
                         endpoint + "\"\nopen_to_network = true\n[dataplane]\nkind = \"simulated\"\n",
                     "x");
    EXPECT_TRUE(config.has_value()) << config.error().to_string();
    std::string all;
    for (const StartFinding& finding : check_start(*config)) all += finding.setting + ": " + finding.what + "\n";
    return all;
  };
  EXPECT_EQ(findings("tcp://127.0.0.1:8100"), "");
  EXPECT_EQ(findings("tcp://*:8100"), "");
  EXPECT_THAT(findings("tcp://192.0.2.77:8100"), HasSubstr("store.group.direct.endpoint: '192.0.2.77' is no address of this machine"));
  EXPECT_THAT(findings("ipc:///not/there/s"), HasSubstr("there is no folder '/not/there'"));
}

TEST(DirectConfig, WhatCannotBeServedIsRefusedWithItsReason) {
  EXPECT_THAT(message_of(""), AllOf(HasSubstr("rondod.toml:3: store.group.direct"), HasSubstr("has no endpoint")));
  EXPECT_THAT(message_of("endpoint = \"udp://127.0.0.1:1\"\n"),
              AllOf(HasSubstr("rondod.toml:3: store.group.direct"), HasSubstr("tcp://address:port")));
  EXPECT_THAT(message_of("endpoint = \"tcp://0.0.0.0:8100\"\n"), HasSubstr("open_to_network"));
  EXPECT_THAT(message_of("endpoint = \"tcp://*:8100\"\n"), HasSubstr("open_to_network"));
  EXPECT_THAT(message_of("endpiont = \"tcp://127.0.0.1:1\"\n"), AllOf(HasSubstr("rondod.toml:4"), HasSubstr("did you mean 'endpoint'")));
  EXPECT_THAT(message_of("endpoint = \"ipc:///s\"\nallowed_clients = [\"x\"]\n"), HasSubstr("need a secret_key_file"));
  EXPECT_THAT(message_of("endpoint = \"ipc:///s\"\nsecret_key_file = \"/not/there\"\n"), HasSubstr("'/not/there'"));
  const auto config = parse_config("[[store.group]]\ntables = [\"T\"]\ndirect = \"tcp://127.0.0.1:8100\"\n", "x");
  ASSERT_FALSE(config.has_value());
  EXPECT_THAT(std::string{config.error().message()}, HasSubstr("[store.group.direct]"));
}

TEST(DirectConfig, TwoGroupsCannotShareAnEndpoint) {
  const std::string one = "]\n[store.group.direct]\nendpoint = \"tcp://127.0.0.1:8100\"\n";
  const auto config = parse_config("[[store.group]]\ntables = [\"T\"" + one + "[[store.group]]\ntables = [\"U\"" + one, "x");
  ASSERT_FALSE(config.has_value());
  EXPECT_THAT(std::string{config.error().message()}, HasSubstr("another group has"));
}

TEST(DirectConfig, OtherMachinesComeInWithKeysOrWhenItIsMeant) {
  const auto config = parse_config(
      "[[store.group]]\ntables = [\"T\"]\n[store.group.direct]\nendpoint = \"tcp://0.0.0.0:8100\"\nopen_to_network = true\n", "x");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(config->store_groups.at(0).direct, (DirectSettings{.endpoint = "tcp://0.0.0.0:8100", .open_to_network = true}));
}

/// Starts a connection from 127.0.0.'last'.
UniqueFd connect_from(std::uint32_t last, std::uint16_t port) {
  UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  sockaddr_in from{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(0x7f000000U + last)}, .sin_zero = {}};
  sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) return {};
  const int answer = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return answer == 0 || errno == EINPROGRESS ? std::move(fd) : UniqueFd{};
}

class RondodFedDirectly : public RondodProcess {
 protected:
  json::object figures() { return call("stats").at("direct").as_array().at(0).as_object(); }
  std::string endpoint() { return std::string{figures().at("endpoint").as_string()}; }
  std::uint64_t fault(std::string_view cause) { return figures().at("faults").as_object().at(cause).to_number<std::uint64_t>(); }
};

// Ten thousand concurrent connections from seven addresses of this machine, some of which send a frame slowly: places, memory and answer
// times stay bounded.
TEST_F(RondodFedDirectly, TenThousandHostileConnectionsAreBoundedAndTold) {
  start(kTables + "[store.group.direct]\nendpoint = \"tcp://127.0.0.1:*\"\n");
  const std::size_t before = resident();
  rlimit descriptors{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &descriptors), 0);
  const rlimit old = descriptors;
  descriptors.rlim_cur = std::min<rlim_t>(descriptors.rlim_max, 12'000);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &descriptors), 0);
  const std::string at = endpoint();
  const auto port = static_cast<std::uint16_t>(std::stoul(at.substr(at.rfind(':') + 1)));
  std::vector<UniqueFd> hostile;
  const std::string part(4096, 'x');
  Duration longest{};
  for (std::uint32_t i = 0; i < std::min<rlim_t>(10'000, descriptors.rlim_cur - 200); ++i) {
    hostile.push_back(connect_from(2 + i % 7, port));
    ASSERT_TRUE(hostile.back()) << i;
    for (std::size_t talks = 0; talks < hostile.size(); talks += 997)
      ::send(hostile[talks].get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (i % 100 != 0) continue;
    longest = std::max(longest, quickest_why([this]() -> AdminClient& { return client(); }));
  }
  RecordProperty("longest_why_us", static_cast<int>(longest / 1us));
  RecordProperty("more_kib", static_cast<int>((resident() - before) / 1024));
  if (kIsMeasured) {
    EXPECT_LT(longest, kWhyPromise);
    EXPECT_LT(resident(), before + kMemoryPromise);
  }
  EXPECT_LE(figures().at("open_connections").to_number<int>(), 256 + 64);
  EXPECT_TRUE(becomes([this] { return figures().at("connections_most") == 256 && fault("too-many-peers") > 0; }))
      << json::serialize(figures());
  EXPECT_TRUE(becomes([this] { return log_text().find("too-many-peers") != std::string::npos; })) << log_text();
  EXPECT_THAT(json::serialize(call("health").at("notes")), HasSubstr("its limits of connections were met"));
  hostile.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  DirectProducer producer({.endpoint = at});
  producer.write_all();
  EXPECT_TRUE(producer.until([this] { return figures().at("entries").to_number<int>() != 0; })) << "the door is open again";
}

TEST_F(RondodFedDirectly, ARouteOfAnotherProcessIsProgrammed) {
  start(kTables + "[store.group.direct]\nendpoint = \"tcp://127.0.0.1:*\"\n");
  DirectProducer producer({.endpoint = endpoint()});
  ASSERT_TRUE(producer.table("ROUTE_TABLE").set("192.168.0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}}).ok());
  const json::object route{{"table", "ROUTE_TABLE"}, {"key", "192.168.0.0/16"}};
  EXPECT_TRUE(producer.until([&] { return json::serialize(call("why", route)).find("\"parked\"") != std::string::npos; }))
      << json::serialize(call("why", route));
  producer.write_all();
  EXPECT_TRUE(producer.until([this] { return has_route("192.168.0.0/16"); })) << json::serialize(call("parked")) << log_text();
  EXPECT_TRUE(becomes([&] { return figures().at("behind") == 0; }));
  EXPECT_THAT(json::serialize(call("get", route)), HasSubstr("10.0.0.2"));
  EXPECT_TRUE(becomes([&] { return figures().at("staged") == 0; }));
  EXPECT_TRUE(becomes([&] { return json::serialize(call("why", route)).find("\"done\"") != std::string::npos; }))
      << json::serialize(call("why", route));
  EXPECT_EQ(figures().at("entries"), 6);
  EXPECT_EQ(figures().at("recovered"), true);

  call("del", route);  // The admin socket writes into the same table.
  EXPECT_TRUE(becomes([this] { return !has_route("192.168.0.0/16"); }));
}

TEST_F(RondodFedDirectly, AProducerThatHearsOfTheNewRunSendsItsStateAgain) {
  const std::string store = kTables + "[store.group.direct]\nendpoint = \"ipc://" + file("direct") + "\"\n";
  start(store);
  DirectProducer* self = nullptr;
  DirectProducer producer({.endpoint = "ipc://" + file("direct"), .on_connection = [&self](bool connected) {
                             if (connected) self->write_all();
                           }});
  self = &producer;
  EXPECT_TRUE(producer.until([this] { return has_route("192.168.0.0/16"); })) << log_text();
  end(SIGKILL);
  start(store);
  EXPECT_TRUE(producer.until([this] { return has_route("192.168.0.0/16"); })) << log_text();
}

TEST_F(RondodFedDirectly, OnlyClientsWithAKeyOfTheListComeIn) {
  const Result<ZmqKeyPair> server = make_zmq_key_pair();
  if (!server) GTEST_SKIP() << "this libzmq has no CURVE";
  const ZmqKeyPair known = *make_zmq_key_pair();
  const ZmqKeyPair stranger = *make_zmq_key_pair();
  std::ofstream(file("secret")) << server->secret_key << "\n";
  const std::string direct = "[store.group.direct]\nendpoint = \"tcp://127.0.0.1:*\"\nsecret_key_file = \"" + file("secret") +
                             "\"\nallowed_clients = [\"" + known.public_key + "\"]\n";
  const auto config = parse_config("[store]\n" + kTables + direct, "x");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_THAT(to_toml(*config), AllOf(HasSubstr(known.public_key), Not(HasSubstr(server->secret_key))));
  EXPECT_EQ(parse_config(to_toml(*config), "x")->store_groups, config->store_groups);

  start(kTables + direct);
  EXPECT_THAT(json::serialize(call("config")), AllOf(HasSubstr("\"allowed_clients\":[\"***\"]"), Not(HasSubstr(known.public_key))));
  DirectProducer refused(
      {.endpoint = endpoint(), .curve = ZmqClientCurve{.server_key = server->public_key, .own = stranger}, .linger = 0s});
  refused.write_all();
  EXPECT_TRUE(refused.until([this] { return fault("refused-key") > 0; }));
  EXPECT_EQ(figures().at("entries"), 0);
  DirectProducer producer({.endpoint = endpoint(), .curve = ZmqClientCurve{.server_key = server->public_key, .own = known}});
  producer.write_all();
  EXPECT_TRUE(producer.until([this] { return has_route("192.168.0.0/16"); })) << log_text();
  EXPECT_TRUE(becomes([this] { return log_text().find("refused-key") != std::string::npos; })) << log_text();
}

TEST_F(RondodFedDirectly, WhatIsForNobodyIsDroppedAndCounted) {
  start(kTables + "[store.group.direct]\nendpoint = \"tcp://127.0.0.1:*\"\n");
  DirectProducer producer({.endpoint = endpoint()});
  ASSERT_TRUE(producer.table("TUNNEL_TABLE").set("tunnel1", {}).ok());
  EXPECT_TRUE(producer.until([this] { return fault("unknown-table") == 1; }));
  EXPECT_TRUE(becomes([this] { return log_text().find("TUNNEL_TABLE") != std::string::npos; })) << log_text();
}

TEST_F(RondodFedDirectly, AnEndpointInUseAndATableOfNobodyEndTheStart) {
  start(kTables + "[store.group.direct]\nendpoint = \"tcp://127.0.0.1:*\"\n");
  const std::string taken = endpoint();
  EXPECT_EQ(fail_to_start(kTables + "[store.group.direct]\nendpoint = \"" + taken + "\"\n", "socket2"), 69);
  EXPECT_THAT(log_text(), AllOf(HasSubstr(taken), HasSubstr("in use")));
  EXPECT_EQ(
      fail_to_start("[[store.group]]\ntables = [\"ROUTES_TABLE\"]\n[store.group.direct]\nendpoint = \"tcp://127.0.0.1:*\"\n", "socket2"),
      78);
  EXPECT_THAT(log_text(), HasSubstr("did you mean 'ROUTE_TABLE'"));
}

}  // namespace
}  // namespace rondo::daemon
