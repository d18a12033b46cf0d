#include "store/zmq/key_check.h"

#include <utility>

#include "rondo/store/record.h"

namespace rondo {

Result<ZmqKeyPair> make_zmq_key_pair() {
  if (Status cannot = store::require_curve(); !cannot.ok()) return failure(std::move(cannot));
  char public_key[41] = {};
  char secret_key[41] = {};
  if (::zmq_curve_keypair(public_key, secret_key) != 0) return failure(store::zmq_status("zmq_curve_keypair"));
  return ZmqKeyPair{public_key, secret_key};
}

namespace store {

namespace {

constexpr std::size_t kKeyText = 40;
constexpr std::size_t kKeyBytes = 32;

// The parts of a ZAP request, in order.
enum Part : std::size_t { kVersion, kRequestId, kDomain, kAddress, kIdentity, kMechanism, kCredentials };

Status set_key(ZmqSocket& socket, int option, const std::string& text, std::string_view what) {
  const Result<std::string> bytes = key_bytes(text, what);
  if (!bytes) return bytes.error();
  return socket.set(option, *bytes).with_context(what);
}

std::string key_text(std::string_view bytes) {
  char text[kKeyText + 1] = {};
  if (bytes.size() != kKeyBytes) return "of " + std::to_string(bytes.size()) + " bytes";
  ::zmq_z85_encode(text, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return text;
}

}  // namespace

Result<std::string> key_bytes(std::string_view text, std::string_view what) {
  std::string bytes(kKeyBytes, '\0');
  const std::string terminated{text};
  if (text.size() != kKeyText || text.find('\0') != text.npos ||
      ::zmq_z85_decode(reinterpret_cast<std::uint8_t*>(bytes.data()), terminated.c_str()) == nullptr) {
    return failure(StatusCode::InvalidArgument, std::string{what} + " is not a key: 40 characters of Z85 are");
  }
  return bytes;
}

Status require_curve() {
  if (::zmq_has("curve") != 0) return {};
  return {StatusCode::Unimplemented, "this libzmq was built without CURVE"};
}

Status check_curve(const ZmqServerCurve& curve) {
  if (Status cannot = require_curve(); !cannot.ok()) return cannot;
  if (const Result<std::string> secret = key_bytes(curve.secret_key, "the server's secret key"); !secret) return secret.error();
  if (curve.allowed_clients.empty()) return {StatusCode::InvalidArgument, "CURVE needs at least one allowed client"};
  for (const std::string& text : curve.allowed_clients) {
    if (const Result<std::string> key = key_bytes(text, "allowed client " + quoted(text)); !key) return key.error();
  }
  return {};
}

Status set_curve(ZmqSocket& socket, const ZmqServerCurve& curve) {
  if (Status cannot = require_curve(); !cannot.ok()) return cannot;
  if (Status failed = socket.set(ZMQ_CURVE_SERVER, 1); !failed.ok()) return failed;
  if (Status failed = socket.set(ZMQ_ZAP_DOMAIN, std::string_view{"rondo"}); !failed.ok()) return failed;
  return set_key(socket, ZMQ_CURVE_SECRETKEY, curve.secret_key, "the server's secret key");
}

Status set_curve(ZmqSocket& socket, const ZmqClientCurve& curve) {
  if (Status cannot = require_curve(); !cannot.ok()) return cannot;
  if (Status failed = set_key(socket, ZMQ_CURVE_SERVERKEY, curve.server_key, "the server's public key"); !failed.ok()) return failed;
  if (Status failed = set_key(socket, ZMQ_CURVE_PUBLICKEY, curve.own.public_key, "the client's public key"); !failed.ok()) return failed;
  return set_key(socket, ZMQ_CURVE_SECRETKEY, curve.own.secret_key, "the client's secret key");
}

Result<std::unique_ptr<KeyCheck>> KeyCheck::open(Scheduler& scheduler, const ZmqContext& context, const std::vector<std::string>& allowed,
                                                 Priority priority, std::function<void(std::string who)> refused) {
  std::unique_ptr<KeyCheck> check{new KeyCheck(priority, std::move(refused))};
  // check_curve() has validated the keys.
  for (const std::string& text : allowed) check->allowed_.insert(*key_bytes(text, "allowed client"));
  Result<ZmqSocket> questions = ZmqSocket::open(context, ZMQ_REP);
  if (!questions) return failure(std::move(questions.error()));
  check->questions_ = std::move(*questions);
  if (Status failed = check->questions_.bind("inproc://zeromq.zap.01"); !failed.ok()) return failure(std::move(failed));
  check->fd_ = check->questions_.fd();
  scheduler.add(*check);
  if (Status failed = scheduler.reactor().watch(check->fd_, Interest::Read, *check); !failed.ok()) return failure(std::move(failed));
  check->wake();
  return check;
}

KeyCheck::~KeyCheck() {
  if (scheduler() != nullptr && fd_ >= 0) scheduler()->reactor().unwatch(fd_);
}

/// libzmq delivers all parts of a request together. Unknown further parts are ignored; missing parts are empty.
bool KeyCheck::receive_request() {
  request_.fill({});
  ZmqMessage part;
  if (!questions_.receive(part)) return false;
  request_[0] = part.bytes();
  for (std::size_t i = 1; part.more(); ++i) {
    if (!questions_.receive(part)) break;
    if (i < kParts) request_[i] = part.bytes();
  }
  return true;
}

void KeyCheck::answer() {
  const bool known = request_[kMechanism] == "CURVE" && allowed_.contains(request_[kCredentials]);
  const std::string_view parts[] = {"1.0", request_[kRequestId], known ? "200" : "400", known ? "OK" : "this key is not allowed", "", ""};
  for (std::size_t i = 0; i < std::size(parts); ++i) {
    if (!questions_.send(parts[i], i + 1 < std::size(parts))) break;  // The connection that made the request is closed.
  }
  if (!known) refused_("key " + quoted(key_text(request_[kCredentials])) + " from " + quoted(request_[kAddress]) + " is not allowed");
}

Turn KeyCheck::run(const Budget& budget) {
  Turn turn;
  for (; turn.items < budget.items; ++turn.items) {
    if (!receive_request()) return turn;
    answer();
  }
  turn.backlog = Backlog::More;
  return turn;
}

}  // namespace store
}  // namespace rondo
