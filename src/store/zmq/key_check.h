// KeyCheck: answers libzmq's question whether a client may come in (ZAP, RFC 27 of ZeroMQ), from a list of public keys. A source, because
// everything that answers is one; a handshake waits for its turn. Also the text forms of keys. Scheduler's thread.
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

/// The bytes of a key's text (Z85, 40 characters). InvalidArgument, naming 'what', which key it is; a secret is not repeated.
Result<std::string> key_bytes(std::string_view text, std::string_view what);
/// Unimplemented when libzmq cannot do CURVE.
Status require_curve();
/// What of a server's keys cannot be used.
Status check_curve(const ZmqServerCurve& curve);
/// Set before bind() and connect().
Status set_curve(ZmqSocket& socket, const ZmqServerCurve& curve);
Status set_curve(ZmqSocket& socket, const ZmqClientCurve& curve);

class KeyCheck final : public Source {
 public:
  /// Joins 'scheduler'. To be made before a socket of 'context' is bound, and destroyed after it is closed. 'allowed' has passed
  /// check_curve(). 'refused' is told the peer's address and key.
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
