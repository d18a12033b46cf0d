// Lab: a temporary network namespace with ports, for tests, benchmarks and demonstrations on the real kernel. Each port "swpN" is one end
// of a veth pair whose other end "lineN" represents the cable: taking "lineN" down or up changes the carrier. The namespace's name contains
// the pid, and the destructor removes it. Uses ip(8); where that is not permitted, make() returns the reason. Not for production code.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "dataplane/netlink/network_namespace.h"
#include "rondo/base/result.h"

namespace rondo::netlink {

class Lab {
 public:
  static Result<std::unique_ptr<Lab>> make() {
    std::unique_ptr<Lab> lab{new Lab};
    // The address tells the labs of one process apart.
    lab->name_ = "rondo-lab-" + std::to_string(::getpid()) + "-" + std::to_string(reinterpret_cast<std::uintptr_t>(lab.get()));
    if (!run("ip netns add " + lab->name_ + " 2>/dev/null")) {
      lab->name_.clear();
      return failure(StatusCode::PermissionDenied, "this machine does not let us make a network namespace (ip netns add)");
    }
    if (!lab->ip("link set lo up"))
      return failure(StatusCode::PermissionDenied, "this machine does not let us work in a network namespace");
    return lab;
  }
  ~Lab() {
    if (!name_.empty()) static_cast<void>(run("ip netns del " + name_));
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  const std::string& name() const noexcept { return name_; }
  std::string path() const { return "/run/netns/" + name_; }

  /// Runs `ip -n <namespace> <arguments>`; true if it succeeded.
  bool ip(const std::string& arguments) const { return run("ip -n " + name_ + " " + arguments + " 2>/dev/null"); }
  /// The same with `bridge`.
  bool bridge(const std::string& arguments) const { return run("bridge -n " + name_ + " " + arguments + " 2>/dev/null"); }
  bool add_port(int number) const {
    const std::string n = std::to_string(number);
    return ip("link add swp" + n + " type veth peer name line" + n) && ip("link set line" + n + " up");
  }
  bool set_carrier(int number, bool up) const { return ip("link set line" + std::to_string(number) + (up ? " up" : " down")); }
  /// Switches IPv6 on or off on the port, as an operator does with sysctl.
  bool set_ipv6(int number, bool on) const {
    return run("nsenter --net=" + path() + " sh -c 'echo " + (on ? "0" : "1") + " > /proc/sys/net/ipv6/conf/swp" + std::to_string(number) +
               "/disable_ipv6'");
  }
  bool remove_port(int number) const { return ip("link del swp" + std::to_string(number)); }

 private:
  Lab() = default;
  static bool run(const std::string& command) { return std::system(command.c_str()) == 0; }
  std::string name_;
};

}  // namespace rondo::netlink
