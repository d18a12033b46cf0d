// Caller: who is at the other end of an admin connection, and its rights: a process of this host, as reported by the kernel (SO_PEERCRED),
// or the holder of a token.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace rondo {

class TraceContext;

/// What a caller may call: may_call() in rondo/admin/command.h.
enum class Role : std::uint8_t { Viewer, Worker, Operator, Admin };

/// The caller at the time of the connection: the process may have ended since.
struct Caller {
  std::uint32_t user = UINT32_MAX;  // User id; UINT32_MAX if the kernel did not report it. Each token has a number above kTokenUsers.
  std::int32_t process = 0;         // Process id; 0 if unknown, such as for a process of another container.
  Role role = Role::Admin;
  bool is_privileged = false;  // Root, or the user of this process.
  std::string token = {};      // The name of its token; empty: it is a process of this host.
  std::string group = {};      // The only group of executors whose jobs it may see and command; empty: it has no such limit.
  std::shared_ptr<const TraceContext> trace = {};  // The trace of its HTTP call (rondo/base/trace_context.h); null: none.
};

/// Distributions and user namespaces give users lower numbers.
inline constexpr std::uint32_t kTokenUsers = 0xf000'0000;

}  // namespace rondo
