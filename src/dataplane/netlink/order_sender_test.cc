// Goal: every order gets its own answer, identified by sequence number, despite malformed answers, overruns and a dead socket; and dumps
// end whatever the kernel does. Method: a fake kernel for answers that a real one never gives, and the real one where it can be provoked.
#include "dataplane/netlink/order_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "dataplane/netlink/baseline.h"
#include "dataplane/netlink/dump.h"
#include "dataplane/netlink/fake_kernel.h"
#include "dataplane/netlink/lab.h"
#include "dataplane/netlink/link_dump.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/limits.h"

namespace rondo::netlink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ObjectMarks kMarks{.protocol = 201, .metric = 20};

std::vector<Operation> deletes(std::uint32_t count) {
  std::vector<Operation> ops;
  for (std::uint32_t i = 0; i < count; ++i) {
    ops.push_back({.order = RouteDelete{.prefix = {IpAddress::v4(0x0a000000 + (i << 8)), 24}}, .status = {}});
  }
  return ops;
}

std::vector<std::size_t> failed(const std::vector<Operation>& ops) {
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!ops[i].status.ok()) indexes.push_back(i);
  }
  return indexes;
}

TEST(OrderSender, FailuresInTheMiddleOfABatchAreAttributedBySequence) {
  FakeKernel kernel;
  OrderSender sender(kernel.socket(), kMarks, 256);
  ASSERT_TRUE(kernel.queue_error(2, ESRCH, ""));
  ASSERT_TRUE(kernel.queue_error(5, EINVAL, "Invalid prefix for given prefix length"));
  std::vector<Operation> ops = deletes(6);
  sender.apply(ops);
  EXPECT_THAT(failed(ops), ElementsAre(1, 4));
  EXPECT_EQ(ops[1].status.code(), StatusCode::NotFound);
  EXPECT_THAT(std::string{ops[4].status.message()}, HasSubstr("delete route 10.0.4.0/24: Invalid prefix for given prefix length"));
  EXPECT_EQ(sender.strays(), 0U);
}

TEST(OrderSender, AnOrderThatIsWrongByItselfIsNotSentAndDoesNotShiftTheOthers) {
  FakeKernel kernel;
  OrderSender sender(kernel.socket(), kMarks, 256);
  std::vector<Operation> ops = deletes(4);
  ops[1].order = RouteDelete{.prefix = {IpAddress::v4(1), 8}};
  ASSERT_TRUE(kernel.queue_error(2, ESRCH, ""));  // The second order sent.
  sender.apply(ops);
  EXPECT_THAT(failed(ops), ElementsAre(1, 2));
  EXPECT_EQ(ops[1].status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(ops[2].status.code(), StatusCode::NotFound);
}

TEST(OrderSender, ASendHoldsAtMostABatchAndSequencesGoOn) {
  FakeKernel kernel;
  OrderSender sender(kernel.socket(), kMarks, 64);
  std::vector<Operation> ops = deletes(150);
  sender.apply(ops);
  std::vector<std::size_t> sizes;
  std::uint32_t expected = 0;
  for (auto datagram = kernel.take(); !datagram.empty(); datagram = kernel.take()) {
    MessageReader reader{datagram};
    std::size_t messages = 0;
    for (Message message; reader.next(message); ++messages) ASSERT_EQ(message.header.nlmsg_seq, ++expected);
    EXPECT_FALSE(reader.is_malformed());
    sizes.push_back(messages);
  }
  EXPECT_THAT(sizes, ElementsAre(64, 64, 22));
}

TEST(OrderSender, LargeGroupsSplitASendWithoutLosingAnOrder) {
  FakeKernel kernel;
  OrderSender sender(kernel.socket(), kMarks, 256);
  std::vector<Operation> ops;
  for (std::uint32_t i = 1; i <= 20; ++i) {
    ops.push_back(
        {.order = GroupSet{.id = NexthopId{i}, .members = std::vector<GroupMember>(limits::kGroupMembers, {.nexthop = NexthopId{99}})},
         .status = {}});
  }
  sender.apply(ops);
  std::uint32_t messages = 0;
  for (auto datagram = kernel.take(); !datagram.empty(); datagram = kernel.take()) {
    MessageReader reader{datagram};
    for (Message message; reader.next(message);) ASSERT_EQ(message.header.nlmsg_seq, ++messages);
  }
  EXPECT_EQ(messages, 20U);
}

TEST(OrderSender, AnswersForNobodyAreCountedAndFailNobody) {
  FakeKernel kernel;
  OrderSender sender(kernel.socket(), kMarks, 256);
  ASSERT_TRUE(kernel.queue_error(0, ESRCH, ""));  // Before the first order's number.
  ASSERT_TRUE(kernel.queue_error(4, ESRCH, ""));  // After the last order's number.
  ASSERT_TRUE(kernel.queue_error(1, -5, ""));     // Not a valid errno.
  ASSERT_TRUE(kernel.queue_error(2, 5000, ""));
  ASSERT_TRUE(kernel.queue(std::vector<std::byte>(7, std::byte{0xff})));
  auto cut = FakeKernel::error(3, ESRCH, "some words");
  cut.resize(cut.size() - 8);
  ASSERT_TRUE(kernel.queue(cut));
  std::vector<Operation> ops = deletes(3);
  sender.apply(ops);
  EXPECT_THAT(failed(ops), ElementsAre());
  EXPECT_EQ(sender.strays(), 6U);
}

TEST(OrderSender, ADeadSocketFailsEveryOrder) {
  FakeKernel kernel;
  OrderSender sender(kernel.socket(), kMarks, 2);
  kernel.hang_up();
  std::vector<Operation> ops = deletes(5);
  sender.apply(ops);
  for (const Operation& op : ops) {
    EXPECT_EQ(op.status.code(), StatusCode::Unavailable) << op.status.to_string();
    EXPECT_THAT(std::string{op.status.message()}, HasSubstr("delete route 10.0."));
  }
}

TEST(OrderSender, WhenErrorsOverrunTheSocketEveryOrderStillGetsItsOwn) {
  auto lab = Lab::make();
  if (!lab) GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: " << lab.error().to_string();
  const auto where = NetworkNamespace::open((*lab)->path());
  ASSERT_TRUE(where.has_value());
  OrderSender sender(Socket::open(*where, {.receive_buffer_bytes = 1, .groups = {}}).value(), kMarks, 256);  // The kernel's minimum: 2304.
  std::vector<Operation> ops = deletes(256);
  for (std::size_t i = 0; i < ops.size(); i += 4) {
    const Prefix prefix = std::get<RouteDelete>(ops[i].order).prefix;
    ops[i].order = RouteSet{.prefix = prefix, .nexthop = {}, .type = RouteType::Blackhole};
  }
  sender.apply(ops);
  EXPECT_GE(sender.overruns(), 1U);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ASSERT_EQ(ops[i].status.origin_errno(), i % 4 == 0 ? 0 : ESRCH) << i << ": " << ops[i].status.to_string();
  }
}

// --- Dumps.

DumpChannel::Dump link_dump(std::vector<std::uint16_t>& types, int& restarts) {
  return {.request = [](MessageWriter& writer,
                        std::uint32_t sequence) { writer.begin(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, sequence, ifinfomsg{}); },
          .restart =
              [&types, &restarts] {
                types.clear();
                ++restarts;
              },
          .visit = [&types](const Message& message) { types.push_back(message.header.nlmsg_type); }};
}

std::vector<std::byte> entry(std::uint32_t sequence, std::uint16_t type, std::uint16_t flags) {
  std::vector<std::byte> buffer(64);
  MessageWriter writer{buffer};
  writer.begin(type, static_cast<std::uint16_t>(NLM_F_MULTI | flags), sequence, ifinfomsg{});
  writer.end();
  buffer.resize(writer.bytes().size());
  return buffer;
}

class Dumps : public ::testing::Test {
 protected:
  Dumps() : channel_(NetworkNamespace::open("").value(), 20ms, kernel_.socket()) {}
  Status run() { return channel_.run(link_dump(types_, restarts_)); }
  FakeKernel kernel_;
  DumpChannel channel_;
  std::vector<std::uint16_t> types_;
  int restarts_ = 0;
};

TEST_F(Dumps, AnInterruptedDumpIsForgottenAndRepeated) {
  ASSERT_TRUE(kernel_.queue(entry(1, 100, 0)));
  ASSERT_TRUE(kernel_.queue(entry(1, 101, NLM_F_DUMP_INTR)));
  ASSERT_TRUE(kernel_.queue(FakeKernel::done(1, 0, 0)));
  ASSERT_TRUE(kernel_.queue(entry(2, 102, 0)));
  ASSERT_TRUE(kernel_.queue(FakeKernel::done(2, 0, 0)));
  const Status status = run();
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_THAT(types_, ElementsAre(102));
  EXPECT_EQ(restarts_, 2);
}

TEST_F(Dumps, AnEndlessInterruptionEnds) {
  for (std::uint32_t i = 1; i <= 40; ++i) ASSERT_TRUE(kernel_.queue(FakeKernel::done(i, 0, NLM_F_DUMP_INTR)));
  EXPECT_EQ(run().code(), StatusCode::Unavailable);
}

TEST_F(Dumps, AnAnswerThatDoesNotComeEndsInTime) {
  ASSERT_TRUE(kernel_.queue(entry(1, 100, 0)));
  EXPECT_EQ(run().code(), StatusCode::DeadlineExceeded);
}

TEST_F(Dumps, AStreamOfForeignAnswersEnds) {
  for (int i = 0; i < 70; ++i) ASSERT_TRUE(kernel_.queue(entry(77, 100, 0)));
  EXPECT_EQ(run().code(), StatusCode::DataLoss);
  EXPECT_THAT(types_, ElementsAre());
}

TEST_F(Dumps, AnErrorAndAMalformedAnswerEndIt) {
  ASSERT_TRUE(kernel_.queue(FakeKernel::error(1, EBUSY, "try later")));
  const Status status = run();
  EXPECT_EQ(status.origin_errno(), EBUSY);
  EXPECT_THAT(std::string{status.message()}, HasSubstr("try later"));
  FakeKernel other;
  DumpChannel channel(NetworkNamespace::open("").value(), 20ms, other.socket());
  ASSERT_TRUE(other.queue(std::vector<std::byte>(20, std::byte{0xff})));
  EXPECT_EQ(channel.run(link_dump(types_, restarts_)).code(), StatusCode::DataLoss);
}

TEST_F(Dumps, AfterAFailureTheNextDumpStartsOnANewSocket) {
  EXPECT_EQ(run().code(), StatusCode::DeadlineExceeded);
  const auto links = dump_links(channel_);  // Reads this machine's links, which needs no rights.
  ASSERT_TRUE(links.has_value()) << links.error().to_string();
  EXPECT_FALSE(links->empty());
}

// --- Opening.

TEST(LinuxDataPlane, ErrorsOfOpeningNameWhatIsWrong) {
  const auto absent = make_linux_dataplane({.network_namespace = "/run/netns/rondo-none"});
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code(), StatusCode::NotFound);
  EXPECT_THAT(std::string{absent.error().message()}, HasSubstr("/run/netns/rondo-none"));
  EXPECT_FALSE(make_linux_dataplane({.network_namespace = "/proc/self/exe"}).has_value());
  EXPECT_EQ(make_linux_dataplane({.batch = 0}).error().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(make_linux_dataplane({.batch = 257}).error().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(make_linux_dataplane({.protocol = 2}).error().code(), StatusCode::InvalidArgument);
}

TEST(LinuxDataPlane, SetsCompatModeOffInItsNamespaceOnlyAndLeavesStrangersAlone) {
  auto lab = Lab::make();
  if (!lab) GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: " << lab.error().to_string();
  auto plane = make_linux_dataplane({.network_namespace = (*lab)->path()});
  ASSERT_TRUE(plane.has_value()) << plane.error().to_string();
  EXPECT_TRUE((*lab)->ip("route add blackhole 10.1.0.0/16 metric 201 proto 199"));
  EXPECT_TRUE((*lab)->ip("route add blackhole 10.2.0.0/16 metric 201 proto 201"));
  std::vector<Operation> ops(2);
  ops[0].order = RouteDelete{.prefix = Prefix::parse("10.1.0.0/16").value()};
  ops[1].order = RouteDelete{.prefix = Prefix::parse("10.2.0.0/16").value()};
  (*plane)->apply(ops);
  EXPECT_EQ(ops[0].status.origin_errno(), ESRCH) << "another protocol's route was deleted";
  EXPECT_TRUE(ops[1].status.ok()) << ops[1].status.to_string();
  std::size_t seen = 0;
  EXPECT_TRUE((*plane)->routes([&seen](const RouteEntry&) { ++seen; }).ok());
  EXPECT_EQ(seen, 0U);
  EXPECT_EQ((*plane)->describe(), "linux rtnetlink, network namespace " + (*lab)->path());
  const std::string mode = "ip netns exec " + (*lab)->name() + " grep -qx 0 /proc/sys/net/ipv4/nexthop_compat_mode";
  EXPECT_EQ(std::system(mode.c_str()), 0);
}

TEST(LinuxDataPlane, OneClaimsAProtocolNumberOfANamespaceAndOthersMayRead) {
  auto lab = Lab::make();
  if (!lab) GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: " << lab.error().to_string();
  const auto open = [&](std::uint8_t protocol) {
    return make_linux_dataplane({.network_namespace = (*lab)->path(), .protocol = protocol}).value();
  };
  auto owner = open(201);
  EXPECT_EQ(owner->protocol(), 201);
  EXPECT_TRUE(owner->claim().ok());
  EXPECT_EQ(owner->claim().code(), StatusCode::AlreadyExists) << "two owners of one plane";
  owner->release();
  EXPECT_TRUE(owner->claim().ok()) << "its owner has ended";
  const auto other = open(201);
  const Status refused = other->claim();
  EXPECT_EQ(refused.code(), StatusCode::AlreadyExists) << refused.to_string();
  EXPECT_THAT(std::string{refused.message()}, HasSubstr("pid " + std::to_string(::getpid())));
  EXPECT_TRUE(other->routes([](const RouteEntry&) {}).ok());
  EXPECT_TRUE(open(200)->claim().ok());
  owner.reset();
  EXPECT_TRUE(other->claim().ok());
}

TEST(NetlinkFloor, ProgramsAndRemovesRoutesInATableOfItsOwn) {
  auto lab = Lab::make();
  if (!lab) GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: " << lab.error().to_string();
  ASSERT_TRUE((*lab)->add_port(1) && (*lab)->ip("link set swp1 up") && (*lab)->ip("nexthop add id 5 via fe80::1 dev swp1"));
  std::vector<std::pair<Prefix, NexthopId>> routes;
  for (std::uint32_t i = 0; i < 1000; ++i) routes.emplace_back(Prefix{IpAddress::v4(0x0a000000 + (i << 8)), 24}, NexthopId{5});
  BaselineOptions options{.network_namespace = (*lab)->path(), .table = 9999};
  const auto count = [&] {
    return std::system(("ip -n " + (*lab)->name() + " route show table 9999 | grep -c . | grep -qx 1000").c_str()) == 0;
  };
  const auto added = run_netlink_baseline(routes, options);
  ASSERT_TRUE(added.has_value()) << added.error().to_string();
  EXPECT_EQ(added->routes, 1000U);
  EXPECT_EQ(added->failed, 0U);
  EXPECT_GT(added->routes_per_second(), 0.0);
  EXPECT_TRUE(count());
  options.remove = true;
  EXPECT_EQ(run_netlink_baseline(routes, options)->failed, 0U);
  EXPECT_EQ(run_netlink_baseline(routes, options)->failed, 1000U);  // No route is left to delete.
}

}  // namespace
}  // namespace rondo::netlink
