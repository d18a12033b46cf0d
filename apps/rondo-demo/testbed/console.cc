#include "rondo-demo/testbed/console.h"

#include <sys/socket.h>

#include <boost/json.hpp>
#include <cstdio>
#ifdef RONDO_WITH_HTTP
#include "http/listener.h"
#endif

namespace rondo::demo {

Console::Console() {
#ifdef RONDO_WITH_HTTP
  constexpr std::uint16_t kPort = 8700;  // rondod's own.
  auto socket = http::listen_at("127.0.0.1", kPort);
  if (!socket) socket = http::listen_at("127.0.0.1", 0);
  if (socket) socket_ = *std::move(socket);
#endif
}

Status Console::open(AdminClient& rondod) {
#ifdef RONDO_WITH_HTTP
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (!socket_ || ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  const auto made = rondod.call("token-add", {{"name", "console"}, {"role", "admin"}});
  if (!made) return made.error().with_context("making a token for the console");
  url_ = "http://" + http::endpoint_text(address) + "/console/#token=" + std::string{made->at("token").as_string()};
  print();
#else
  static_cast<void>(rondod);
#endif
  return {};
}

void Console::print() const {
  if (!url_.empty()) std::printf("console: %s\n", url_.c_str());
  std::fflush(stdout);  // It is for people, also behind a pipe.
}

}  // namespace rondo::demo
