// KeyCheck: answers libzmq's request whether a client may connect (ZAP, RFC 27 of ZeroMQ), from a list of public keys. It is a source, so a
// handshake waits for its turn. This file also has the text forms of keys. Scheduler's thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/store/zmq_keys.h"
#include "store/zmq/socket.h"

namespace rondo::store {

/// Decodes a key's text (Z85, 40 characters). The InvalidArgument names the key by 'what' and does not repeat a secret key.
Result<std::string> key_bytes(std::string_view text, std::string_view what);
/// Unimplemented when libzmq cannot do CURVE.
Status require_curve();
/// Returns the error for a server's keys that cannot be used.
Status check_curve(const ZmqServerCurve& curve);
/// Call these before bind() and connect().
Status set_curve(ZmqSocket& socket, const ZmqServerCurve& curve);
Status set_curve(ZmqSocket& socket, const ZmqClientCurve& curve);

class KeyCheck final : public Source {
 public:
  /// Joins 'scheduler'. Create it before a socket of 'context' is bound, and destroy it after that socket is closed. 'allowed' must have
  /// passed check_curve(). 'refused' is called with the peer's address and key.
  static Result<std::unique_ptr<KeyCheck>> open(Scheduler& scheduler, const ZmqContext& context, const std::vector<std::string>& allowed,
                                                Priority priority, std::function<void(std::string who)> refused);
  ~KeyCheck() override;

  Turn run(const Budget& budget) override;

 private:
  KeyCheck(Priority priority, std::function<void(std::string who)> refused)
      : Source("direct:keys", priority), refused_(std::move(refused)) {}
  bool receive_request();
  void answer();

  static constexpr std::size_t kParts = 7;
  std::set<std::string, std::less<>> allowed_;
  std::function<void(std::string who)> refused_;
  ZmqSocket questions_;
  int fd_ = -1;
  std::array<std::string, kParts> request_;
};

}  // namespace rondo::store
