// NoticeSender: sends notices over the network: mail over SMTP and webhooks over HTTP. An interface, because a build without libcurl has
// none.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/dataplane/ip.h"
#include "rondo/orch/runtime.h"
#include "rondod/configuration/notify_choice.h"
#include "rondod/notify/notice.h"

namespace rondo::daemon {

/// A section [[notify]] with what its files say.
struct NotifyTarget {
  NotifyChoice choice;
  std::string secret = {};
  std::vector<Prefix> networks = {};
};

class NoticeSender {
 public:
  virtual ~NoticeSender() = default;
  /// Calls 'done' once, in a later turn or in the destructor: ok if the target has taken the notice. 'target' must outlive the call.
  virtual void send(const NotifyTarget& target, const Notice& notice, std::function<void(const Status& why)> done) = 0;
};

/// Starts the thread of the connections. 'runtime' must outlive it. Unimplemented: see check_http_build().
Result<std::unique_ptr<NoticeSender>> open_notice_sender(Runtime& runtime);

/// The name of this machine.
std::string host_name();

}  // namespace rondo::daemon
