// baseline.cc: see baseline.h. Deliberately not OrderSender: it has no statuses, orders or error texts.
#include "dataplane/netlink/baseline.h"

#include <ctime>
#include <vector>

#include "dataplane/netlink/encode.h"
#include "dataplane/netlink/socket.h"
#include "rondo/base/clock.h"

namespace rondo::netlink {

namespace {

constexpr std::size_t kRouteBytesMax = 96;

Duration thread_cpu() noexcept {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

Order order_of(const std::pair<Prefix, NexthopId>& route, const BaselineOptions& options) {
  if (options.remove) return RouteDelete{.prefix = route.first, .table = options.table};
  return RouteSet{.prefix = route.first, .nexthop = route.second, .table = options.table};
}

Status drain(Socket& socket, std::span<std::byte> buffer, std::size_t& answers) {
  for (;;) {
    const auto datagram = socket.receive(buffer, Duration::zero());
    if (!datagram) return datagram.error();
    if (datagram->empty()) return {};
    ++answers;
  }
}

}  // namespace

double BaselineResult::routes_per_second() const noexcept {
  return wall.count() == 0 ? 0 : static_cast<double>(routes) * 1e9 / static_cast<double>(wall.count());
}

Result<BaselineResult> run_netlink_baseline(std::span<const std::pair<Prefix, NexthopId>> routes, const BaselineOptions& options) {
  if (options.batch == 0) return failure(StatusCode::InvalidArgument, "a batch of the baseline needs a route");
  const auto where = NetworkNamespace::open(options.network_namespace);
  if (!where) return failure(where.error());
  auto socket = Socket::open(*where, {});
  if (!socket) return failure(std::move(socket.error()));

  const SystemClock clock;
  const ObjectMarks marks{.protocol = options.protocol, .metric = options.metric};
  std::vector<std::byte> out(options.batch * kRouteBytesMax);
  std::vector<std::byte> in(kDatagramBytes);
  BaselineResult result;
  for (std::size_t next = 0; next < routes.size(); next += options.batch) {
    const auto batch = routes.subspan(next, std::min(options.batch, routes.size() - next));
    MessageWriter writer{out};
    std::uint32_t sequence = 0;
    for (const auto& route : batch) encode(writer, order_of(route, options), ++sequence, marks);

    const Instant start = clock.now();
    const Duration cpu_start = thread_cpu();
    Status status = socket->send(writer.bytes());
    if (status.ok()) status = drain(*socket, in, result.failed);
    result.cpu += thread_cpu() - cpu_start;
    result.wall += clock.now() - start;
    if (!status.ok()) return failure(status.with_context("the bare netlink loop"));
    result.routes += batch.size();
  }
  return result;
}

}  // namespace rondo::netlink
