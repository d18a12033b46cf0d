// What the data plane's answer to an order means for the row that asked for it. One place, so that every Orch treats the kernel's errors
// alike.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/orch/outcome.h"

namespace rondo::switch_agent {

/// The world below is about to tell us why (a link event is on its way), or is short of something for a moment.
inline constexpr Duration kSoon = 100ms;

/// IPv6 is switched off on the port. The kernel reports its end to nobody, so this is how soon rondod notices it.
inline constexpr Duration kIpv6OffRetry = 2s;
/// IPv6 needs this MTU (RFC 8200, section 5). Linux drops IPv6 from a device that has less.
inline constexpr std::uint32_t kIpv6Mtu = 1280;

/// Another program has a route where ours should be. How soon its end is noticed.
inline constexpr Duration kForeignRetry = 1s;

/// Linux answers EACCES when disable_ipv6 is set for the device. Missing rights are EPERM.
inline bool is_ipv6_off(const Status& status) noexcept { return status.origin_errno() == EACCES; }

/// True when asking again later may help: the state below changes without us.
inline bool is_passing(const Status& status) noexcept {
  if (is_ipv6_off(status)) return true;
  switch (status.code()) {
    case Code::FailedPrecondition:  // ENETDOWN, ENETUNREACH: port or address not there yet.
    case Code::ResourceExhausted:   // ENOBUFS, ENOMEM, ENOSPC.
    case Code::Unavailable:
    case Code::DeadlineExceeded:
    case Code::NotFound:  // ENODEV, ENOENT of something referred to.
      return true;
    default: return false;
  }
}

/// For an order that was carried out on a device that has been made again since: what it set went with the old one.
inline Status device_changed(std::string_view port) {
  return Status{Code::FailedPrecondition, "the device '" + std::string{port} + "' went while the order was under way"};
}

/// How long to wait before an order with a passing refusal is given again.
inline Duration retry_delay(const Status& status) noexcept { return is_ipv6_off(status) ? kIpv6OffRetry : kSoon; }

/// Why the kernel takes nothing of IPv6 on 'port', and how to change that; empty if the refusal has another cause. 'mtu' is that of the
/// port, 0 if it is not known.
inline std::string ipv6_trouble(const Status& status, std::string_view port, std::uint32_t mtu) {
  if (status.ok()) return {};
  const std::string of_port = " on " + std::string{port};
  if (mtu != 0 && mtu < kIpv6Mtu) {
    return "the MTU of " + std::string{port} + " is " + std::to_string(mtu) + ", and IPv6 needs " + std::to_string(kIpv6Mtu) +
           ": raise it, and the row is programmed within " + std::to_string(kIpv6OffRetry / 1s) + " s";
  }
  if (!is_ipv6_off(status)) return {};
  return "IPv6 is switched off" + of_port + ": set the sysctl net.ipv6.conf." + std::string{port} +
         ".disable_ipv6 to 0, and the row is programmed within " + std::to_string(kIpv6OffRetry / 1s) + " s";
}

inline Outcome outcome_of_set(const Status& status) {
  if (status.ok()) return Outcome::done();
  if (is_passing(status)) return Outcome::retry_after(retry_delay(status), status);
  return Outcome::reject(status);
}

/// The same of an object of IPv6 on 'port'.
inline Outcome outcome_of_ipv6_set(const Status& status, std::string_view port, std::uint32_t mtu) {
  const std::string trouble = ipv6_trouble(status, port, mtu);
  return trouble.empty() ? outcome_of_set(status) : Outcome::retry_after(kIpv6OffRetry, status.with_context(trouble));
}

/// What is absent already is as good as deleted.
inline Outcome outcome_of_delete(const Status& status) {
  if (status.ok() || status.code() == Code::NotFound) return Outcome::done();
  if (is_passing(status)) return Outcome::retry_after(kSoon, status);
  return Outcome::reject(status);
}

}  // namespace rondo::switch_agent
