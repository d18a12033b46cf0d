// Front: rondod's HTTP server and client ([http]), which the executors of jobs and the API share. An interface, because a build without
// libcurl has none.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "commands/context.h"
#include "rondo/admin/command.h"
#include "rondo/base/result.h"
#include "rondo/orch/runtime.h"
#include "rondod/configuration/config.h"

namespace rondo::daemon {

class Front {
 public:
  virtual ~Front() = default;
  /// `tokens`, `token-add` and `token-remove`, if [http] has an API.
  virtual Status add_commands(CommandRegistry& registry) = 0;
  /// Listens. 'commands' serves the API; its commands are complete. 'unready' returns what `/readyz` answers: see unready() in
  /// commands/commands.h. The error names the address or the tokens.
  virtual Status start(commands::Context& commands, std::function<std::string()> unready) = 0;
  /// SIGHUP: reads the certificate and the tokens again, and logs what became of it.
  virtual void reload() = 0;
  /// Before the parts that it calls are destroyed: no request and no answer arrives any more.
  virtual void stop() = 0;
};

/// Ok, or Unimplemented with the missing package.
Status check_http_build();

/// Ok, or why start() would refuse the certificate, the tokens or the address at present, as far as a check without changes can find it.
Status check_front(const Config& config);

/// The parameters must outlive it. Null without [http] enabled. Errors: networks or tokens that cannot be read; see check_http_build().
Result<std::unique_ptr<Front>> open_front(const Config& config, Runtime& runtime, Log& log);

}  // namespace rondo::daemon
