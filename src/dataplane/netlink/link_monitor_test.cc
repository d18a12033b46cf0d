// Goal: the monitor repairs a gap in the kernel's events: it reports the end state, and it reports a carrier that was lost and regained
// inside the gap as lost. Method: the real kernel, with a receive buffer so small that two messages overrun it. (Events without a gap:
// dataplane_contract_test.cc.)
#include "dataplane/netlink/link_monitor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/limits.h"
#include "dataplane/netlink/lab.h"
#include "rondo/base/clock.h"
#include "rondo/dataplane/limits.h"

namespace rondo::netlink {
namespace {

class Gap : public ::testing::Test {
 protected:
  void SetUp() override {
    auto lab = Lab::make();
    if (!lab) GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: " << lab.error().to_string();
    lab_ = std::move(*lab);
    ASSERT_TRUE(lab_->add_port(1) && lab_->add_port(2) && lab_->ip("link set swp1 up") && lab_->ip("link set swp2 up"));
    plane_ = make_linux_dataplane({.network_namespace = lab_->path()}).value();
    reactor_ = make_epoll_reactor().value();
    scheduler_ = std::make_unique<Scheduler>(clock_, *reactor_, make_policy(StrictPriority{}).value());
    constexpr int kLeast = 1;
    monitor_ = LinkMonitor::open(
                   NetworkNamespace::open(lab_->path()).value(), *scheduler_, Priority{50},
                   [this](const LinkEvent& event) { seen_.push_back(event); }, kLeast)
                   .value();
    ASSERT_TRUE(wait_until(
        [this] { return last("swp1") != nullptr && last("swp1")->carrier && last("swp2") != nullptr && last("swp2")->carrier; }));
  }
  void TearDown() override { monitor_.reset(); }

  const LinkEvent* last(std::string_view name) const {
    const auto found = std::find_if(seen_.rbegin(), seen_.rend(), [name](const LinkEvent& event) { return event.name == name; });
    return found == seen_.rend() ? nullptr : &*found;
  }
  bool wait_until(const std::function<bool()>& holds) {
    const Instant deadline = clock_.now() + 20s;
    scheduler_->run_until_idle();
    while (!holds() && clock_.now() < deadline) {
      scheduler_->wait(deadline);
      scheduler_->run_until_idle();
    }
    return holds();
  }
  // Makes more changes of swp2 than the socket holds, while no thread reads.
  void flood() {
    const IfIndex port = last("swp2")->port;
    std::vector<Operation> ops;
    for (std::uint32_t i = 0; i < 100; ++i) ops.push_back({.order = LinkSet{.port = port, .mtu = 1000 + i}, .status = {}});
    plane_->apply(ops);
    for (const Operation& op : ops) ASSERT_TRUE(op.status.ok()) << op.status.to_string();
  }

  SystemClock clock_;
  std::unique_ptr<Lab> lab_;
  std::unique_ptr<DataPlane> plane_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<LinkMonitor> monitor_;
  std::vector<LinkEvent> seen_;
};

TEST_F(Gap, TheEndStateIsReportedOnceAndTheGapIsCounted) {
  flood();
  ASSERT_TRUE(wait_until([this] { return last("swp2")->mtu == 1099; }));
  ASSERT_TRUE(wait_until([this] { return monitor_->gaps() >= 1; }));
  EXPECT_LT(seen_.size(), 50U) << "nothing was lost: the buffer was not small enough for this test";
  EXPECT_TRUE(monitor_->quarantine().ok());
  EXPECT_TRUE(wait_until([this] {  // The kernel reports late that the other ends of the cables are up.
    const std::vector<LinkEvent> links = plane_->links().value();
    return std::ranges::all_of(links, [this](const LinkEvent& link) { return last(link.name) != nullptr && *last(link.name) == link; });
  }));
  EXPECT_FALSE(monitor_->has_backlog());
}

TEST_F(Gap, EventsThatNobodyTakesAreBoundedAndTheRestIsRepaired) {
  constexpr int kRoomy = 64 * 1024 * 1024;
  monitor_ = LinkMonitor::open(
                 NetworkNamespace::open(lab_->path()).value(), *scheduler_, Priority{50},
                 [this](const LinkEvent& event) { seen_.push_back(event); }, kRoomy)
                 .value();
  ASSERT_TRUE(wait_until([this] { return !monitor_->has_backlog(); }));
  seen_.clear();
  const IfIndex port = plane_->links().value().back().port;
  std::vector<Operation> ops;
  for (std::uint32_t i = 0; i < limits::kLinkEvents + 500; ++i)
    ops.push_back({.order = LinkSet{.port = port, .mtu = 1000 + i % 2}, .status = {}});
  std::size_t deepest = 0;
  for (std::size_t from = 0; from < ops.size(); from += 50) {
    plane_->apply(std::span{ops}.subspan(from, std::min<std::size_t>(50, ops.size() - from)));
    ASSERT_TRUE(monitor_->collect().has_value());  // A poll of the reactor does this; no turn follows.
    deepest = std::max(deepest, monitor_->depth());
  }
  EXPECT_GE(deepest, limits::kLinkEvents);
  EXPECT_LE(deepest, limits::kLinkEvents + 128) << "what one datagram holds may come on top";
  ASSERT_TRUE(wait_until([this] { return !monitor_->has_backlog(); }));
  const auto links = plane_->links().value();
  for (const LinkEvent& link : links) {
    if (link.port == port) {
      EXPECT_EQ(*last(link.name), link);
    }
  }
  EXPECT_TRUE(monitor_->quarantine().ok());
}

TEST_F(Gap, ACarrierLostAndFoundInTheGapIsReportedAsBoth) {
  flood();
  ASSERT_TRUE(lab_->set_carrier(1, false) && lab_->set_carrier(1, true));
  seen_.clear();
  ASSERT_TRUE(wait_until([this] { return last("swp1") != nullptr && last("swp1")->carrier; }));
  const auto lost = std::find_if(seen_.begin(), seen_.end(), [](const LinkEvent& event) { return event.name == "swp1" && !event.carrier; });
  EXPECT_NE(lost, seen_.end());
}

TEST_F(Gap, ADeviceThatVanishedInTheGapIsReportedAsRemoved) {
  flood();
  ASSERT_TRUE(lab_->remove_port(1));
  ASSERT_TRUE(wait_until([this] { return last("swp1")->removed; }));
  EXPECT_FALSE(last("swp1")->carrier);
}

}  // namespace
}  // namespace rondo::netlink
