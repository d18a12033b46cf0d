// Translates the data plane's answer to an order into the outcome of the row that asked for it. All Orchs use it, so they treat the
// kernel's errors alike.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/status.h"
#include "rondo/orch/outcome.h"
#include "switch_agent/retries.h"

namespace rondo::switch_agent {

/// IPv6 needs this MTU (RFC 8200, section 5). Linux drops IPv6 from a device that has less.
inline constexpr std::uint32_t kIpv6LeastMtu = 1280;

/// Linux answers EACCES when disable_ipv6 is set for the device. Missing rights are EPERM.
inline bool is_ipv6_off(const Status& status) noexcept { return status.origin_errno() == EACCES; }

/// True when a retry may help, because the state of the kernel changes without our orders.
inline bool is_passing(const Status& status) noexcept {
  if (is_ipv6_off(status)) return true;
  switch (status.code()) {
    case StatusCode::FailedPrecondition:  // ENETDOWN, ENETUNREACH: port or address not there yet.
    case StatusCode::ResourceExhausted:   // ENOBUFS, ENOMEM, ENOSPC.
    case StatusCode::Unavailable:
    case StatusCode::DeadlineExceeded:
    case StatusCode::NotFound:  // ENODEV, ENOENT of an object that the order refers to.
      return true;
    default: return false;
  }
}

inline Status not_reported(std::string_view device) {
  return Status{StatusCode::FailedPrecondition, "the kernel has not reported the device " + std::string{device}};
}

/// The status of an order whose device was removed and created again after the order was carried out: its effect went with the old device.
inline Status device_changed(std::string_view port) {
  return Status{StatusCode::FailedPrecondition, "the device '" + std::string{port} + "' went while the order was under way"};
}

/// The delay before an order with a transient refusal is retried.
inline Duration retry_delay(const Status& status) noexcept { return is_ipv6_off(status) ? kIpv6OffRetry : kSoon; }

/// Explains why the kernel refuses IPv6 objects on 'port', whose MTU is too small, and how to change that.
inline std::string small_mtu_words(std::string_view port, std::uint32_t mtu) {
  const std::string name{port};
  return "the MTU of " + name + " is " + std::to_string(mtu) + ", and IPv6 needs " + std::to_string(kIpv6LeastMtu) +
         ": raise it, and the row is programmed within " + std::to_string(kIpv6OffRetry / 1s) + " s";
}

/// The same for a port where IPv6 is switched off.
inline std::string ipv6_off_words(std::string_view port) {
  const std::string name{port};
  return "IPv6 is switched off on " + name + ": set the sysctl net.ipv6.conf." + name +
         ".disable_ipv6 to 0, and the row is programmed within " + std::to_string(kIpv6OffRetry / 1s) + " s";
}

/// Explains why the kernel refuses IPv6 objects on 'port' and how to change that; empty if the refusal has another cause. 'mtu' is the MTU
/// of the port, 0 if unknown.
inline std::string ipv6_trouble(const Status& status, std::string_view port, std::uint32_t mtu) {
  if (status.ok()) return {};
  if (mtu != 0 && mtu < kIpv6LeastMtu) return small_mtu_words(port, mtu);
  return is_ipv6_off(status) ? ipv6_off_words(port) : std::string{};
}

inline Outcome outcome_of_set(const Status& status) {
  if (status.ok()) return Outcome::done();
  if (is_passing(status)) return Outcome::retry_after(retry_delay(status), status);
  return Outcome::reject(status);
}

/// The outcome of a Set of an IPv6 object on 'port'.
inline Outcome outcome_of_ipv6_set(const Status& status, std::string_view port, std::uint32_t mtu) {
  const std::string trouble = ipv6_trouble(status, port, mtu);
  return trouble.empty() ? outcome_of_set(status) : Outcome::retry_after(kIpv6OffRetry, status.with_context(trouble));
}

/// The outcome of a Delete: an object that is absent already counts as deleted.
inline Outcome outcome_of_delete(const Status& status) {
  if (status.ok() || status.code() == StatusCode::NotFound) return Outcome::done();
  if (is_passing(status)) return Outcome::retry_after(kSoon, status);
  return Outcome::reject(status);
}

}  // namespace rondo::switch_agent
