// The direct tables with unusual peers and options: stock producers and readers (plain libzmq that writes and reads frames by hand),
// malformed input, right and wrong keys, and refused options. The tests use real sockets, and run turns until the expected state holds.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rondo/base/limits.h"
#include "rondo/store/zmq_limits.h"
#include "store/zmq/endpoint.h"
#include "store/zmq/world.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ZmqPeers : public ZmqWorld {
 protected:
  static std::uint64_t faults(const ZmqServer& server, ZmqFault fault) { return server.stats().faults[static_cast<std::size_t>(fault)]; }
};

// --- Stock peers

TEST_F(ZmqPeers, AStockProducerWritesHere) {
  const auto server = serve({.tables = {{.database = "APPL_DB", .table = "ROUTE_TABLE"}}});
  const auto consumer = std::move(*server->subscribe("APPL_DB", "ROUTE_TABLE"));
  PlainSocket producer(ZMQ_PUSH, endpoint_);
  const std::string head = frame_pair("APPL_DB", "ROUTE_TABLE");
  ASSERT_TRUE(producer.send(frame_number(4) + head + frame_pair("10.0.0.0/24", "2") + frame_pair("nexthop", "10.1.1.1") +
                            frame_pair("ifname", "eth0")));
  ASSERT_TRUE(producer.send(frame_number(2) + head + frame_pair("10.0.1.0/24", "0")));
  ASSERT_TRUE(producer.send(frame_number(5) + head + frame_pair("a", "0") + frame_pair("b", "1") + frame_pair("NULL", "NULL") +
                            frame_pair("10.0.1.0/24", "0")));
  ASSERT_TRUE(until([&] { return server->stats().frames == 3; }));
  EXPECT_THAT(take(*consumer), ElementsAre("SET 10.0.0.0/24 nexthop=10.1.1.1 ifname=eth0", "DEL 10.0.1.0/24", "DEL a", "SET b"));
}

TEST_F(ZmqPeers, AStockReaderUnderstandsOurFrames) {
  PlainSocket reader(ZMQ_PULL, endpoint_);
  const auto client = connect();
  ZmqTable t = table(*client);
  ASSERT_TRUE(t.set("k", {{"a", "1"}, {"b", "2"}}).ok());
  ASSERT_TRUE(t.remove("gone").ok());
  ASSERT_TRUE(t.set("empty", {}).ok());
  ASSERT_TRUE(t.remove("both").ok());
  ASSERT_TRUE(t.set("both", {{"a", "1"}}).ok());
  std::string frame;
  ASSERT_TRUE(until([&] { return !(frame = reader.receive()).empty(); }));
  EXPECT_EQ(frame, frame_number(10) + frame_pair("DB", "T") + frame_pair("k", "2") + frame_pair("a", "1") + frame_pair("b", "2") +
                       frame_pair("gone", "0") + frame_pair("empty", "1") + frame_pair("NULL", "NULL") + frame_pair("both", "0") +
                       frame_pair("both", "1") + frame_pair("a", "1"));
}

TEST_F(ZmqPeers, AStockReaderThatIsSlowIsNotSentOneFrameLess) {
  PlainSocket reader(ZMQ_PULL, endpoint_);
  const auto client = connect({.frame_bytes = 1});
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(table(*client).set("k" + std::to_string(i), {{"a", "1"}}).ok());
  int received = 0;
  ASSERT_TRUE(until([&] {
    for (std::string frame = reader.receive(); !frame.empty(); frame = reader.receive()) {
      EXPECT_EQ(frame, frame_number(3) + frame_pair("DB", "T") + frame_pair("k" + std::to_string(received), "1") + frame_pair("a", "1"));
      ++received;
    }
    return received == 20'000;
  }));
}

// --- Nonsense

TEST_F(ZmqPeers, AMalformedFrameIsCountedAndAppliedInNoPart) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  PlainSocket producer(ZMQ_PUSH, endpoint_);
  const std::string head = frame_pair("DB", "T");
  ASSERT_TRUE(producer.send("GET / HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(producer.send(""));
  ASSERT_TRUE(producer.send(frame_number(3) + head + frame_pair("good", "0") + frame_pair("bad", "1")));
  ASSERT_TRUE(producer.send(frame_number(1) + head, true));
  ASSERT_TRUE(producer.send("a second part", true));
  ASSERT_TRUE(producer.send("and a third"));
  ASSERT_TRUE(producer.send(frame_number(2) + head + frame_pair("after", "0")));
  ASSERT_TRUE(until([&] { return server->stats().entries == 1; }));
  EXPECT_EQ(faults(*server, ZmqFault::Malformed), 4U);
  EXPECT_THAT(take(*consumer), ElementsAre("DEL after"));
  ASSERT_EQ(faults_.size(), 1U) << "told at once, then at most once a second";
  EXPECT_THAT(faults_.front(), HasSubstr("malformed: 1: frame: "));
}

/// In one turn, 600,000 pairs would take milliseconds. Other sources run in between, and no entry is applied before the whole frame is
/// checked.
TEST_F(ZmqPeers, ALongFrameIsCheckedInSeveralTurnsAndAppliedInNoPartIfItsEndIsWrong) {
  constexpr std::size_t kPairs = 600'000;
  const auto server = serve();
  const auto consumer = subscribe(*server);
  PlainSocket producer(ZMQ_PUSH, endpoint_);
  std::string frame = frame_number(1 + kPairs) + frame_pair("DB", "T");
  for (std::size_t i = 1; i < kPairs; ++i) frame += frame_pair("key", "0");
  ASSERT_TRUE(producer.send(frame + frame_pair("bad", "1")));
  ASSERT_TRUE(until([&] { return faults(*server, ZmqFault::Malformed) == 1; }));
  EXPECT_TRUE(consumer->empty());
  EXPECT_EQ(server->stats().frames, 0U);
  std::uint64_t turns = 0;
  scheduler_.for_each_source([&](const Source& source) {
    if (source.name() == "direct:server " + endpoint_) turns = source.stats().turns;
  });
  EXPECT_GE(turns, 9U);
}

TEST_F(ZmqPeers, AFrameForAnUnknownTableIsCounted) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  const auto client = connect();
  ASSERT_TRUE(table(*client, "U").set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(client->table("OTHER", "T")->set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(until([&] { return faults(*server, ZmqFault::UnknownTable) == 2; }));
  ASSERT_TRUE(table(*client).set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(until([&] { return !consumer->empty(); }));
  EXPECT_THAT(faults_.front(), HasSubstr("unknown-table: 1: frame for direct table 'U' of database 'DB'"));
}

TEST_F(ZmqPeers, AFrameThatIsTooLongIsCountedAndOneFarTooLongCostsTheConnection) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  PlainSocket producer(ZMQ_PUSH, endpoint_);
  const std::string head = frame_pair("DB", "T");
  const std::string value(limits::kZmqFrameBytes, 'x');
  ASSERT_TRUE(producer.send(frame_number(3) + head + frame_pair("k", "1") + frame_pair("a", value)));
  ASSERT_TRUE(until([&] { return faults(*server, ZmqFault::TooLong) == 1; }));
  ASSERT_TRUE(producer.send(frame_number(3) + head + frame_pair("k", "1") + frame_pair("a", value + value)));
  ASSERT_TRUE(until([&] { return server->stats().connections == 2; })) << "it comes back";
  ASSERT_TRUE(producer.send(frame_number(2) + head + frame_pair("after", "0")));
  ASSERT_TRUE(until([&] { return !consumer->empty(); }));
  EXPECT_THAT(take(*consumer), ElementsAre("DEL after"));
}

TEST_F(ZmqPeers, AnEntryBeyondTheLimitsOfARecordCostsOnlyItself) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  PlainSocket producer(ZMQ_PUSH, endpoint_);
  ASSERT_TRUE(producer.send(frame_number(4) + frame_pair("DB", "T") + frame_pair("first", "0") +
                            frame_pair(std::string(limits::kNameBytes + 1, 'k'), "0") + frame_pair("last", "0")));
  ASSERT_TRUE(until([&] { return server->stats().entries == 2; }));
  EXPECT_EQ(faults(*server, ZmqFault::BadEntry), 1U);
  EXPECT_THAT(take(*consumer), ElementsAre("DEL first", "DEL last"));
}

/// A port scanner that connects and disconnects, or sends another protocol. The stock reader exited on that.
TEST_F(ZmqPeers, AScannerIsCountedAndHurtsNobody) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder_.file("socket");
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const std::string words[] = {"", "\xff", "GET / HTTP/1.1\r\nHost: " + std::string(300, 'h') + "\r\n\r\n"};
  for (const std::string& said : words) {
    const int scanner = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(scanner, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::send(scanner, said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
    ::close(scanner);
  }
  const auto client = connect();
  ASSERT_TRUE(table(*client).remove("k").ok());
  ASSERT_TRUE(until([&] { return !consumer->empty() && faults(*server, ZmqFault::Handshake) >= 2; }));
  EXPECT_THAT(take(*consumer), ElementsAre("DEL k"));
}

// --- Keys

class ZmqKeys : public ZmqPeers {
 protected:
  void SetUp() override {
    if (::zmq_has("curve") == 0) GTEST_SKIP() << "this libzmq has no CURVE";
    server_keys_ = *make_zmq_key_pair();
    client_keys_ = *make_zmq_key_pair();
  }
  std::unique_ptr<ZmqServer> serve_curve() {
    return serve({.endpoint = endpoint_,
                  .curve = ZmqServerCurve{.secret_key = server_keys_.secret_key, .allowed_clients = {client_keys_.public_key}}});
  }
  std::unique_ptr<ZmqClient> connect_as(const ZmqKeyPair& own, const std::string& server_key) {
    return connect({.curve = ZmqClientCurve{.server_key = server_key, .own = own}, .linger = 0s});
  }
  ZmqKeyPair server_keys_;
  ZmqKeyPair client_keys_;
};

TEST_F(ZmqKeys, AnAllowedKeyMayWrite) {
  const auto server = serve_curve();
  const auto consumer = subscribe(*server);
  const auto client = connect_as(client_keys_, server_keys_.public_key);
  ASSERT_TRUE(table(*client).set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(until([&] { return !consumer->empty() && client->is_connected(); }));
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1"));
  EXPECT_EQ(faults(*server, ZmqFault::RefusedKey), 0U);
}

TEST_F(ZmqKeys, AnotherKeyIsRefusedAndCountedAtBothEnds) {
  const auto server = serve_curve();
  const auto consumer = subscribe(*server);
  const ZmqKeyPair stranger = *make_zmq_key_pair();
  const auto client = connect_as(stranger, server_keys_.public_key);
  ASSERT_TRUE(table(*client).set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(until([&] { return faults(*server, ZmqFault::RefusedKey) >= 1 && client->stats().handshakes_failed >= 1; }));
  EXPECT_THAT(faults_, testing::Contains(HasSubstr("refused-key: 1: key '" + stranger.public_key + "'")));
  EXPECT_FALSE(client->is_connected());
  EXPECT_TRUE(consumer->empty());
  EXPECT_EQ(server->stats().frames, 0U);
}

TEST_F(ZmqKeys, AClientWithoutKeysOrWithAnotherServersKeyStaysOutside) {
  const auto server = serve_curve();
  const auto consumer = subscribe(*server);
  const auto plain = connect({.linger = 0s});
  ASSERT_TRUE(table(*plain).set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(until([&] { return faults(*server, ZmqFault::Handshake) >= 1; }));
  const std::uint64_t before = faults(*server, ZmqFault::Handshake);
  const auto mistaken = connect_as(client_keys_, client_keys_.public_key);
  ASSERT_TRUE(table(*mistaken).set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(until([&] { return faults(*server, ZmqFault::Handshake) > before; }));
  const auto right = connect_as(client_keys_, server_keys_.public_key);
  ASSERT_TRUE(table(*right).remove("right").ok());
  ASSERT_TRUE(until([&] { return !consumer->empty(); }));
  EXPECT_THAT(take(*consumer), ElementsAre("DEL right"));
  EXPECT_FALSE(plain->is_connected());
  EXPECT_FALSE(mistaken->is_connected());
}

// --- Options

class ZmqOptions : public ZmqPeers {
 protected:
  StatusCode refused(ZmqServerOptions options) {
    if (options.endpoint == kZmqEndpoint) options.endpoint = endpoint_;
    const Result<std::unique_ptr<ZmqServer>> server = ZmqServer::open(scheduler_, std::move(options));
    return server ? StatusCode::Ok : server.error().code();
  }
  StatusCode refused(ZmqClientOptions options) {
    if (options.endpoint == kZmqEndpoint) options.endpoint = endpoint_;
    const Result<std::unique_ptr<ZmqClient>> client = ZmqClient::open(scheduler_, std::move(options));
    return client ? StatusCode::Ok : client.error().code();
  }
  const std::vector<ZmqTableSpec> one_{{.database = "DB", .table = "T"}};
};

TEST_F(ZmqOptions, BeyondLoopbackOnlyWithKeysOrWhenAskedFor) {
  // An address for documentation (RFC 5737), which no machine has. Binding it fails, but the server tries to bind only where the option
  // permits it.
  const std::string elsewhere = "tcp://192.0.2.1:8100";
  EXPECT_EQ(refused({.endpoint = elsewhere, .tables = one_}), StatusCode::PermissionDenied);
  EXPECT_EQ(refused({.endpoint = elsewhere, .tables = one_, .open_to_network = true}), StatusCode::NotFound);
  if (::zmq_has("curve") != 0) {
    const ZmqKeyPair keys = *make_zmq_key_pair();
    EXPECT_EQ(refused({.endpoint = elsewhere,
                       .tables = one_,
                       .curve = ZmqServerCurve{.secret_key = keys.secret_key, .allowed_clients = {keys.public_key}}}),
              StatusCode::NotFound);
  }
  for (const char* remote :
       {"tcp://*:8100", "tcp://0.0.0.0:1", "tcp://[::]:1", "tcp://127.0.0.1.example:1", "tcp://eth0:1", "udp://127.0.0.1:1"}) {
    EXPECT_FALSE(is_local(remote)) << remote;
  }
  for (const char* local :
       {"ipc:///run/x", "tcp://127.0.0.1:8100", "tcp://127.9.9.9:1", "tcp://localhost:1", "tcp://[::1]:1", "tcp://lo:1"}) {
    EXPECT_TRUE(is_local(local)) << local;
  }
}

TEST_F(ZmqOptions, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(refused(ZmqServerOptions{}), StatusCode::InvalidArgument) << "no tables";
  EXPECT_EQ(refused({.tables = {one_[0], one_[0]}}), StatusCode::InvalidArgument) << "one twice";
  EXPECT_EQ(refused({.tables = {{.database = "DB", .table = ""}}}), StatusCode::InvalidArgument);
  EXPECT_EQ(refused({.tables = {{.database = "DB", .table = "T", .keys_max = 0}}}), StatusCode::InvalidArgument);
  EXPECT_EQ(refused({.tables = one_, .receive_frames = 0}), StatusCode::InvalidArgument);
  EXPECT_EQ(refused({.endpoint = "inproc://x", .tables = one_}), StatusCode::InvalidArgument);
  EXPECT_EQ(refused({.endpoint = "tcp://", .tables = one_}), StatusCode::InvalidArgument);
  EXPECT_EQ(refused(ZmqClientOptions{.endpoint = "udp://127.0.0.1:1"}), StatusCode::InvalidArgument);
  EXPECT_THAT(
      ZmqServer::open(scheduler_, {.endpoint = endpoint_, .tables = {{.database = "DB", .table = "T", .keys_max = 0}}}).error().message(),
      HasSubstr("keys_max of "));
  for (const char* port : {":99999", ":65536", ":22222222", ":-1", ":8100x", ": 8100", ":", "", ":+1", ":80.5"}) {
    const std::string endpoint = std::string{"tcp://127.0.0.1"} + port;
    EXPECT_EQ(refused({.endpoint = endpoint, .tables = one_}), StatusCode::InvalidArgument) << endpoint;
    EXPECT_EQ(refused(ZmqClientOptions{.endpoint = endpoint}), StatusCode::InvalidArgument) << endpoint;
  }
  EXPECT_EQ(refused(ZmqClientOptions{.endpoint = "tcp://127.0.0.1:0"}), StatusCode::InvalidArgument);
  EXPECT_EQ(refused(ZmqClientOptions{.endpoint = "tcp://127.0.0.1:*"}), StatusCode::InvalidArgument);
  EXPECT_EQ(refused(ZmqClientOptions{.frame_bytes = 0}), StatusCode::InvalidArgument);
  EXPECT_EQ(refused(ZmqClientOptions{.frame_bytes = limits::kZmqFrameBytes + 1}), StatusCode::InvalidArgument);
  EXPECT_EQ(refused(ZmqClientOptions{.send_frames = 0}), StatusCode::InvalidArgument);
  EXPECT_EQ(refused(ZmqClientOptions{.keys_max = 0}), StatusCode::InvalidArgument);
  EXPECT_EQ(connect()->table("DB", "").error().code(), StatusCode::InvalidArgument);
}

TEST_F(ZmqOptions, AnAddressInUseIsAnError) {
  const auto server = serve({.endpoint = "tcp://127.0.0.1:*"});
  const Result<std::unique_ptr<ZmqServer>> second = ZmqServer::open(scheduler_, {.endpoint = server->endpoint(), .tables = one_});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), StatusCode::AlreadyExists) << second.error().to_string();
}

TEST_F(ZmqOptions, KeysThatAreNoneAreRefusedAndASecretIsNotRepeated) {
  if (::zmq_has("curve") == 0) GTEST_SKIP() << "this libzmq has no CURVE";
  const ZmqKeyPair keys = *make_zmq_key_pair();
  EXPECT_EQ(refused({.tables = one_, .curve = ZmqServerCurve{.secret_key = keys.secret_key, .allowed_clients = {}}}),
            StatusCode::InvalidArgument);
  EXPECT_EQ(refused({.tables = one_, .curve = ZmqServerCurve{.secret_key = keys.secret_key, .allowed_clients = {"short"}}}),
            StatusCode::InvalidArgument);
  const Result<std::unique_ptr<ZmqServer>> server = ZmqServer::open(
      scheduler_,
      {.endpoint = endpoint_, .tables = one_, .curve = ZmqServerCurve{.secret_key = "secret!", .allowed_clients = {keys.public_key}}});
  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(std::string{server.error().message()}.find("secret!"), std::string::npos);
  EXPECT_EQ(refused(ZmqClientOptions{.curve = ZmqClientCurve{.server_key = "", .own = keys}}), StatusCode::InvalidArgument);
}

}  // namespace
}  // namespace rondo::store
