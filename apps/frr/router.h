// Router: one FRR router: zebra and bgpd in a network namespace, with their sockets, pid files and logs in a directory of their own. So it
// disturbs no FRR that runs on the machine. The programs are ended by their pids. Needs root and Debian's package frr. One thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "rondo/base/result.h"

namespace rondo::frr {

/// NotFound names the first program that is missing, and the package.
Status check_installed();

struct RouterOptions {
  std::string network_namespace;  // The path of its file.
  std::string bgpd;               // The configuration of bgpd.
  bool fpm = false;               // zebra sends its routes to an FPM server at 127.0.0.1, port 2620.
};

class Router {
 public:
  /// Starts both programs. Unavailable with the end of the log if one of them ends, DeadlineExceeded if zebra does not answer within 20 s.
  static Result<std::unique_ptr<Router>> start(const RouterOptions& options);
  /// Kills both (SIGKILL) and removes the directory.
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Sends 'signal' to zebra, and kills it if it has not ended after 5 s; then kills bgpd. bgpd would try only every 10 s to find a new
  /// zebra.
  void end(int signal);
  /// Starts both again. Errors as start().
  Status begin();
  /// Runs commands of bgpd's command line, such as "configure terminal". Unavailable with vtysh's output if one fails.
  Status command(const std::vector<std::string>& lines) const;
  /// The end of the log of both programs.
  std::string log() const;

 private:
  explicit Router(RouterOptions options) : options_(std::move(options)) {}
  Status prepare();
  Result<pid_t> spawn(std::vector<std::string> words) const;
  Status wait_for_zebra();
  std::string file(const std::string& name) const { return directory_ + "/" + name; }

  const RouterOptions options_;
  std::string directory_;
  pid_t zebra_ = -1;
  pid_t bgpd_ = -1;
};

}  // namespace rondo::frr
