// ServerOptions and ServerFigures: what the HTTP server and its connections share with its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "http/answer.h"
#include "http/limits.h"
#include "http/request_parser.h"
#include "rondo/sched/priority.h"

namespace rondo::http {

/// Handles one request, in a turn of its connection. It answers in the call, or keeps the Answer. It must be short: it delays all other
/// connections. If it throws, the client gets 500. It must not destroy the server.
using Handler = std::function<void(Request request, Answer answer)>;

struct ServerOptions {
  /// IPv4 or IPv6, as text.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free port.
  /// A listening TCP socket in place of address and port, which the server owns from then on; -1: none. See passed_socket().
  int listener = -1;
  /// PEM files: with both, the server speaks TLS. See open_tls() in tls.h.
  std::string certificate_file = {};
  std::string key_file = {};
  /// With TLS: a client whose first byte begins no handshake is served in plain text; Request::is_secure tells them apart.
  bool plain_too = false;
  Priority priority{8};
  std::size_t connections = limits::kHttpConnections;
  std::size_t memory = limits::kHttpMemory;
  std::size_t public_memory = limits::kHttpPublicMemory;
  Duration header_time = limits::kHttpHeaderTime;
  Duration body_time = limits::kHttpBodyTime;
  Duration idle_time = limits::kHttpIdleTime;
  Duration stall_time = limits::kHttpStallTime;
  Duration answer_time = limits::kHttpAnswerTime;
  Duration linger_time = limits::kHttpLingerTime;
  Duration ask_time = limits::kHttpAskTime;
  Duration relay_beat = limits::kHttpRelayBeat;
  /// The most bytes of a body; empty: limits::kHttpBodyBytes for each.
  BodyLimit body_limit = {};
  /// Names the part of the program that answers 'path', for ServerFigures::answers. The name must outlive the server.
  std::function<std::string_view(std::string_view path)> route_of = {};
};

/// 'connections', 'relays', 'memory' and 'public_memory' are current, the others count since the start.
struct ServerFigures {
  std::size_t connections = 0;
  std::size_t relays = 0;         // Connections among them that are relays.
  std::size_t memory = 0;         // Bytes of requests not yet answered and of answers not yet sent.
  std::size_t public_memory = 0;  // Bytes of answers not yet sent that are public. They are not in 'memory'.
  std::uint64_t accepted = 0;
  std::uint64_t refused_connections = 0;  // Closed, because all places were taken and in use.
  std::uint64_t gave_way = 0;             // Closed for a new one: idle, or without a whole request.
  std::uint64_t not_accepted = 0;         // Times the system had no descriptor or memory for a connection.
  std::uint64_t requests = 0;             // Given to the handler.
  /// The number of answers by ServerOptions::route_of() and status. A request that the handler did not get has no route.
  std::map<std::pair<std::string_view, unsigned>, std::uint64_t> answers;
  std::uint64_t refused_requests = 0;   // Malformed or above a limit.
  std::uint64_t failed_handshakes = 0;  // TLS was not understood, or not agreed on.
  std::uint64_t slow_requests = 0;      // And slow TLS handshakes.
  std::uint64_t slow_readers = 0;
  std::uint64_t idle_closed = 0;
  std::uint64_t without_memory = 0;
  std::uint64_t thrown = 0;      // Exceptions of the handler.
  std::uint64_t unsendable = 0;  // Responses that became a 500.
  std::uint64_t dropped = 0;     // Answers that the handler dropped.
  std::uint64_t faults = 0;      // Connections closed for an exception in their turn, such as std::bad_alloc.
};

}  // namespace rondo::http
