// The daemon. Its device is a folder with a file for each service; it stands for the API of a real load balancer. See README.md.
#include <arpa/inet.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "controller.h"
#include "rondo/commands/service.h"
#include "rondo/store/durable_store.h"
#include "rondo/store/memory_store.h"
#include "rondo/store/redis_store.h"

using namespace rondo;
namespace fs = std::filesystem;

namespace {

struct Options {
  std::string store = "memory";
  std::string socket = "/tmp/load_balancer.sock";
  fs::path device = "/tmp/load_balancer";
};

void print_usage(std::FILE* to) {
  std::fputs(
      "usage: load_balancer [--store STORE] [--socket PATH] [--device FOLDER]\n"
      "  --store    where the tables are: memory (default), file:PATH, or a Redis such as redis://127.0.0.1:6379 or "
      "unix:///run/redis.sock\n"
      "  --socket   what the command line rondo connects to (default /tmp/load_balancer.sock)\n"
      "  --device   the load balancer: a folder with a file for each service (default /tmp/load_balancer)\n",
      to);
}

// region: store
/// Makes the store that the option names; nothing else depends on the option.
Result<std::unique_ptr<Store>> make_store(const std::string& where, Scheduler& scheduler) {
  if (where == "memory") return make_memory_store(scheduler);
  if (where.starts_with("file:")) return DurableStore::open(scheduler, {.path = where.substr(5)});
  Result<RedisAddress> address = parse_redis_address(where);
  if (!address) return failure(address.error().with_context("--store is memory, file:PATH or the address of a Redis"));
  RedisStoreOptions options;
  options.address = *std::move(address);
  return std::make_unique<RedisStore>(scheduler, std::move(options));
}
// endregion

// region: device
/// Programs one request: a file that is replaced as a whole, or removed.
Status apply(const fs::path& folder, const balancer::Request& request) {
  std::error_code error;
  const fs::path file = folder / request.service;
  if (request.members.empty()) {
    fs::remove(file, error);
  } else {
    const fs::path next = folder / (request.service + ".next");
    std::ofstream out(next);
    for (const std::string& member : request.members) out << member << "\n";
    out.close();
    if (!out) return {StatusCode::Unavailable, "cannot write " + next.string()};
    fs::rename(next, file, error);
  }
  return error ? Status{StatusCode::Unavailable, file.string() + ": " + error.message()} : Status{};
}
// endregion

/// Removes the services of an earlier process, whose rows in memory were lost with it. Called once the socket is ours: the services of a
/// running daemon stay.
void remove_services(const fs::path& folder) {
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    if (balancer::check_address(file.path().filename().string()).ok()) fs::remove(file.path());
  }
}

/// True if a TCP connection succeeds within half a second.
bool answers(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  unsigned short port = 0;
  std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1) return false;
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;  // A local error says nothing about the server.
  bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  pollfd waits{fd, POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof error;
  if (!connected && errno == EINPROGRESS && ::poll(&waits, 1, 500) == 1) {
    connected = ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
  ::close(fd);
  return connected;
}

// region: commands
/// `rondo call drain backend=b1 minutes=10`: the registry checks the arguments, the Drainer gets a message and answers.
Status add_commands(CommandRegistry& registry, const Address& drainer) {
  const auto send = [drainer](balancer::Drain message, Reply reply) {
    message.answer = [caller = reply](const Status& status) {
      Reply last = caller;
      status.ok() ? last.finish() : last.fail(status);
    };
    if (const Status sent = drainer.post(std::move(message)); !sent.ok()) reply.fail(sent);
  };
  const ArgumentSpec backend{.name = "backend", .help = "Name of the backend"};
  const ArgumentSpec time{.name = "minutes", .kind = ArgumentKind::Integer, .required = false, .help = "Back after so long"};
  Status added = registry.add({"drain", "Take a backend out of service", {backend, time}}, [send](const Arguments& arguments, Reply reply) {
    const auto minutes = std::chrono::minutes{arguments.integer("minutes", 0)};
    if (minutes < 0min || minutes > 24h) return reply.fail({StatusCode::InvalidArgument, "minutes is from 0 to 1440"});
    send({.backend = arguments.text("backend"), .time = minutes}, reply);
  });
  if (!added.ok()) return added;
  return registry.add({"undrain", "Put a backend back into service", {backend}}, [send](const Arguments& arguments, Reply reply) {
    send({.backend = arguments.text("backend"), .is_drained = false}, reply);
  });
}
// endregion

// region: serve
Status serve(const Options& options) {
  const auto opened = Runtime::open({.store = [&](Scheduler& scheduler) { return make_store(options.store, scheduler); }});
  if (!opened) return opened.error();
  Runtime& runtime = **opened;
  const auto program = [&options](std::span<balancer::Request> requests) {
    for (balancer::Request& request : requests) request.status = apply(options.device, request);
  };
  balancer::Device device(runtime.scheduler(), program, balancer::kDeviceOptions);
  const Result<Address> drainer = balancer::add_controller(runtime, device, answers, 2s);
  if (!drainer) return drainer.error();

  CommandRegistry registry{"load_balancer", "1.0"};
  if (Status added = add_commands(registry, *drainer); !added.ok()) return added;
  const auto service = Service::open(runtime, registry, {.admin = {.path = options.socket}});
  if (!service) return service.error();

  fs::create_directories(options.device);
  if (options.store == "memory") remove_services(options.device);
  return (*service)->run();
}
// endregion

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const option known[] = {{"store", required_argument, nullptr, 's'},
                          {"socket", required_argument, nullptr, 'p'},
                          {"device", required_argument, nullptr, 'd'},
                          {"help", no_argument, nullptr, 'h'},
                          {}};
  for (int letter = 0; (letter = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (letter) {
      case 's': options.store = optarg; break;
      case 'p': options.socket = optarg; break;
      case 'd': options.device = optarg; break;
      case 'h': print_usage(stdout); return 0;
      default: print_usage(stderr); return 2;
    }
  }
  if (optind < argc) {
    std::fprintf(stderr, "load_balancer: '%s' is no option\n", argv[optind]);
    print_usage(stderr);
    return 2;
  }
  try {
    const Status ended = serve(options);
    if (ended.ok()) return 0;
    std::fprintf(stderr, "load_balancer: %s\n", ended.to_string().c_str());
  } catch (const std::exception& error) {  // From the operations on the folder.
    std::fprintf(stderr, "load_balancer: %s\n", error.what());
  }
  return 1;
}
