// The server over TLS: what a client gets, and how a bad one is closed. Method: the test makes its certificates and gives the turns; its
// client is OpenSSL over memory, so the test decides which bytes are sent, or the HTTP client of this folder.
#include "http/tls.h"

#include <gmock/gmock.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <array>
#include <cstdio>
#include <fstream>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "http/client.h"
#include "http/http_kit.h"
#include "http/limits.h"
#include "http/server.h"

namespace rondo::http {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

/// Writes a certificate for 127.0.0.1, signed by itself, and its key.
void make_certificate(const std::string& certificate_file, const std::string& key_file, const char* pass_phrase = nullptr) {
  const std::unique_ptr<EVP_PKEY, TlsFree<EVP_PKEY_free>> key{EVP_EC_gen("P-256")};
  const std::unique_ptr<X509, TlsFree<X509_free>> made{X509_new()};
  X509* const it = made.get();
  X509_set_version(it, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(it), 1);
  X509_gmtime_adj(X509_getm_notBefore(it), -86400);
  X509_gmtime_adj(X509_getm_notAfter(it), 86400L * 3650);
  X509_set_pubkey(it, key.get());
  X509_NAME* const name = X509_get_subject_name(it);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("rondo test"), -1, -1, 0);
  X509_set_issuer_name(it, name);
  for (const auto& [number, value] : {std::pair{NID_subject_alt_name, "IP:127.0.0.1"}, {NID_basic_constraints, "critical,CA:TRUE"}}) {
    const std::unique_ptr<X509_EXTENSION, TlsFree<X509_EXTENSION_free>> extension{X509V3_EXT_conf_nid(nullptr, nullptr, number, value)};
    ASSERT_EQ(X509_add_ext(it, extension.get(), -1), 1);
  }
  ASSERT_GT(X509_sign(it, key.get(), EVP_sha256()), 0);
  std::FILE* file = std::fopen(certificate_file.c_str(), "w");
  EXPECT_EQ(PEM_write_X509(file, it), 1);
  std::fclose(file);
  file = std::fopen(key_file.c_str(), "w");
  const EVP_CIPHER* const cipher = pass_phrase == nullptr ? nullptr : EVP_aes_128_cbc();
  EXPECT_EQ(PEM_write_PrivateKey(file, key.get(), cipher, nullptr, 0, nullptr, const_cast<char*>(pass_phrase)), 1);
  std::fclose(file);
  ::chmod(key_file.c_str(), 0600);
}

/// A TLS client over a socket that does not block.
class TlsPeer {
 public:
  TlsPeer(std::uint16_t port, SSL_CTX& context, int receive_buffer = 0)
      : raw(port, receive_buffer), in_(BIO_new(BIO_s_mem())), out_(BIO_new(BIO_s_mem())), tls_(SSL_new(&context)) {
    BIO_set_mem_eof_return(in_, -1);
    SSL_set_bio(tls_.get(), in_, out_);
    SSL_set_connect_state(tls_.get());
  }

  void say(std::string_view bytes) {
    unsent_ += bytes;
    pump();
  }
  /// Sends and receives what is possible now.
  void pump() {
    raw.pump();
    if (!raw.heard.empty()) BIO_write(in_, raw.heard.data(), static_cast<int>(raw.heard.size()));
    raw.heard.clear();
    ERR_clear_error();
    if (SSL_is_init_finished(tls_.get()) == 0) note(SSL_do_handshake(tls_.get()));
    if (!unsent_.empty() && SSL_is_init_finished(tls_.get()) != 0) {
      if (note(SSL_write(tls_.get(), unsent_.data(), static_cast<int>(unsent_.size())))) unsent_.clear();
    }
    std::array<char, 65536> buffer{};
    for (int got = 1; got > 0 && SSL_is_init_finished(tls_.get()) != 0;) {
      got = SSL_read(tls_.get(), buffer.data(), buffer.size());
      if (note(got)) heard.append(buffer.data(), static_cast<std::size_t>(got));
    }
    char* bytes = nullptr;
    const long count = BIO_get_mem_data(out_, &bytes);
    if (count > 0) raw.say({bytes, static_cast<std::size_t>(count)});
    static_cast<void>(BIO_reset(out_));
  }
  bool hears(std::string_view text) {
    pump();
    return heard.find(text) != std::string::npos;
  }
  /// The socket is closed.
  bool hears_end() {
    pump();
    return raw.is_closed;
  }
  /// The server has ended TLS in an orderly way.
  bool has_end() const { return (SSL_get_shutdown(tls_.get()) & SSL_RECEIVED_SHUTDOWN) != 0; }
  /// Ends the output in an orderly way.
  void end_output() {
    SSL_shutdown(tls_.get());
    pump();
  }
  SSL* tls() const { return tls_.get(); }

  Peer raw;
  std::string heard;
  bool has_failed = false;

 private:
  bool note(int result) {
    if (result > 0) return true;
    const int error = SSL_get_error(tls_.get(), result);
    if (error == SSL_ERROR_SSL) has_failed = true;
    return false;
  }

  BIO* in_;
  BIO* out_;
  TlsStream tls_;
  std::string unsent_;
};

class HttpTls : public Loop {
 protected:
  HttpTls() {
    options_.header_time = options_.body_time = options_.idle_time = options_.stall_time = options_.answer_time = 1000s;
    options_.linger_time = 1000s;
    options_.body_limit = [](const Request&) { return std::size_t{8} << 20; };
    options_.certificate_file = folder_.file("certificate");
    options_.key_file = folder_.file("key");
    make_certificate(options_.certificate_file, options_.key_file);
    SSL_CTX_load_verify_file(context_.get(), options_.certificate_file.c_str());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(scheduler_.stats().sweep_rescues, 0U);
    EXPECT_EQ(scheduler_.stats().quarantined, 0U);
  }

  void open() {
    Result<std::unique_ptr<Server>> opened =
        Server::open(scheduler_, options_, [this](const Request& request, Answer answer) { handle(request, std::move(answer)); });
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    server_ = std::move(*opened);
  }
  void handle(const Request& request, Answer answer) {
    was_secure_ = request.is_secure;
    if (request.path() == "/relay" || request.path() == "/events") {
      std::array<int, 2> ends{};
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
      other_ = std::make_unique<Peer>(UniqueFd{ends[1]});
      Convert convert;
      if (request.path() == "/events") convert = [](std::string_view bytes) { return "data: " + std::string{bytes} + "\n\n"; };
      return answer.relay(Response{.status = convert ? 200U : 101U}, UniqueFd{ends[0]}, convert);
    }
    if (request.path() == "/echo") return answer.send({.body = request.body});
    answer.send({.body = std::to_string(request.body.size())});
  }
  TlsPeer connect(int receive_buffer = 0) { return TlsPeer{server_->port(), *context_, receive_buffer}; }
  ServerFigures figures() const { return server_->figures(); }
  std::string error_of_open() {
    const auto opened = Server::open(scheduler_, options_, [](Request, Answer) {});
    return opened ? "" : opened.error().to_string();
  }

  TemporaryFolder folder_;
  ServerOptions options_;
  TlsContext context_{SSL_CTX_new(TLS_client_method())};  // The clients'.
  std::unique_ptr<Peer> other_;
  std::unique_ptr<Server> server_;
  bool was_secure_ = false;  // The last request.
};

std::string post(std::string_view target, std::string_view body) {
  return "POST " + std::string{target} + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string{body};
}

std::string large() {
  std::string text;
  while (text.size() < 5'000'000) text += std::to_string(text.size()) + " ";
  return text;
}

TEST_F(HttpTls, RequestsAreAnsweredOnOneConnection) {
  open();
  TlsPeer peer = connect();
  std::array<unsigned char, 12> protocols{2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  SSL_set_alpn_protos(peer.tls(), protocols.data(), protocols.size());
  for (int i = 0; i < 3; ++i) {
    peer.heard.clear();
    peer.say(kGet);
    run_until([&] { return peer.hears("\r\n\r\n0"); });
    EXPECT_THAT(peer.heard, StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  run_now();
  const std::uint64_t turns = scheduler_.stats().turns;
  run_now();
  EXPECT_EQ(scheduler_.stats().turns, turns) << "an idle connection gets no turns";
  const unsigned char* chosen = nullptr;
  unsigned bytes = 0;
  SSL_get0_alpn_selected(peer.tls(), &chosen, &bytes);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(chosen), bytes), "http/1.1");
  EXPECT_EQ(SSL_version(peer.tls()), TLS1_3_VERSION);
  EXPECT_EQ(figures().accepted, 1U);
  peer.say("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  run_until([&] { return peer.hears_end(); });
  EXPECT_TRUE(peer.has_end()) << "the end of TLS comes before that of TCP";
  EXPECT_FALSE(peer.has_failed || peer.raw.was_reset);
}

TEST_F(HttpTls, LargeBodiesPassInBothDirections) {
  open();
  TlsPeer peer = connect(4096);
  const std::string body = large();
  peer.say(post("/echo", body) + std::string{kGet});
  run_until([&] {
    peer.pump();
    return peer.heard.ends_with("\r\n\r\n0");
  });
  EXPECT_THAT(peer.heard, HasSubstr("\r\n\r\n" + body + "HTTP/1.1 200 OK"));
  run_now();
  EXPECT_LT(figures().memory, 1000U);
}

TEST_F(HttpTls, AnOlderClientSpeaksTls12AndNoneSpeaksLess) {
  open();
  SSL_CTX_set_security_level(context_.get(), 0);
  SSL_CTX_set_max_proto_version(context_.get(), TLS1_2_VERSION);
  TlsPeer older = connect();
  older.say(kGet);
  run_until([&] { return older.hears("\r\n\r\n0"); });
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_1_VERSION);
  SSL_CTX_set_max_proto_version(context_.get(), TLS1_1_VERSION);
  TlsPeer oldest = connect();
  oldest.say(kGet);
  run_until([&] { return oldest.hears_end(); });
  EXPECT_TRUE(oldest.has_failed);
  EXPECT_EQ(figures().failed_handshakes, 1U);
}

TEST_F(HttpTls, AnEncryptedConnectionIsNotNegotiatedAgain) {
  open();
  SSL_CTX_set_max_proto_version(context_.get(), TLS1_2_VERSION);
  TlsPeer peer = connect();
  peer.say(kGet);
  run_until([&] { return peer.hears("\r\n\r\n0"); });
  SSL_renegotiate(peer.tls());
  SSL_do_handshake(peer.tls());
  run_until([&] { return peer.hears_end() || peer.has_failed; });
  EXPECT_EQ(figures().requests, 1U);
}

TEST_F(HttpTls, AClientThatOffersOnlyOtherProtocolsIsRefused) {
  open();
  TlsPeer peer = connect();
  std::array<unsigned char, 3> protocols{2, 'h', '2'};
  SSL_set_alpn_protos(peer.tls(), protocols.data(), protocols.size());
  peer.say(kGet);
  run_until([&] { return peer.hears_end(); });
  EXPECT_EQ(figures().failed_handshakes, 1U);
  EXPECT_EQ(figures().requests, 0U);
}

TEST_F(HttpTls, PlainTextIsClosed) {
  open();
  Peer peer{server_->port()};
  peer.say(kGet);
  run_until([&] { return peer.hears_end(); });
  EXPECT_THAT(peer.heard, Not(HasSubstr("HTTP")));
  EXPECT_EQ(figures().failed_handshakes, 1U);
  EXPECT_EQ(figures().requests, 0U);
}

TEST_F(HttpTls, PlainTextIsServedBesideTlsIfItMayBe) {
  options_.plain_too = true;
  open();
  Peer plain{server_->port()};
  plain.say(kGet.substr(0, 1));
  run_now();
  plain.say(kGet.substr(1));
  run_until([&] { return plain.answers(200) == 1; });
  EXPECT_FALSE(was_secure_);
  TlsPeer secure = connect();
  secure.say(kGet);
  run_until([&] { return secure.hears("HTTP/1.1 200 "); });
  EXPECT_TRUE(was_secure_);
  Peer silent{server_->port()};
  silent.end_output();
  run_until([&] { return silent.hears_end(); });
}

TEST_F(HttpTls, AHandshakeThatTakesTooLongIsClosed) {
  options_.header_time = 20ms;
  open();
  Peer silent{server_->port()};
  Peer begins{server_->port()};
  begins.say({"\x16\x03\x01\x01", 4});
  run_until([&] { return silent.hears_end() && begins.hears_end(); });
  EXPECT_EQ(figures().slow_requests, 2U);
  EXPECT_EQ(figures().failed_handshakes, 0U);
}

TEST_F(HttpTls, AnIdleConnectionIsClosedInAnOrderlyWay) {
  options_.idle_time = 50ms;
  open();
  TlsPeer peer = connect();
  peer.say(kGet);
  run_until([&] { return peer.hears_end(); });
  EXPECT_THAT(peer.heard, EndsWith("\r\n\r\n0"));
  EXPECT_TRUE(peer.has_end());
  EXPECT_EQ(figures().idle_closed, 1U);
}

TEST_F(HttpTls, AConnectionWhoseClientTakesNothingGetsNoTurns) {
  open();
  TlsPeer peer = connect(4096);
  peer.say(kGet);
  run_until([&] { return peer.hears("\r\n\r\n0"); });
  peer.heard.clear();
  const std::string body = large();
  for (int i = 0; i < 4; ++i) peer.say(post("/echo", body));
  std::uint64_t turns = 0;
  int quiet = 0;
  run_until([&] {
    peer.raw.has_sent_all();
    quiet = std::exchange(turns, scheduler_.stats().turns) == scheduler_.stats().turns ? quiet + 1 : 0;
    return quiet == 20;
  });
  EXPECT_GT(figures().memory, body.size()) << "an answer waits";
  run_until([&] {
    peer.pump();
    return peer.heard.size() > 4 * body.size();
  });
}

TEST_F(HttpTls, AClientThatDoesNotReadItsAnswerIsClosed) {
  options_.stall_time = 20ms;
  open();
  TlsPeer peer = connect(4096);
  peer.say(kGet);
  run_until([&] { return peer.hears("\r\n\r\n0"); });
  std::string many;
  for (int i = 0; i < 4; ++i) many += post("/echo", large());
  peer.say(many);
  run_until([&] {
    peer.raw.has_sent_all();
    return figures().slow_readers == 1;
  });
  run_until([&] { return figures().connections == 0; });
  EXPECT_EQ(figures().memory, 0U);
}

TEST_F(HttpTls, ARelayMovesBytesInBothDirections) {
  open();
  TlsPeer peer = connect(4096);
  const std::string text = large();
  peer.say("GET /relay HTTP/1.1\r\nHost: h\r\n\r\n" + text);
  run_until([&] {
    peer.pump();
    return other_ != nullptr;
  });
  other_->say(text);
  run_until([&] {
    peer.pump();
    other_->pump();
    return peer.heard.size() > text.size() && other_->heard.size() == text.size();
  });
  EXPECT_EQ(other_->heard, text);
  EXPECT_THAT(peer.heard, EndsWith("\r\n\r\n" + text));
  other_->close();
  run_until([&] { return peer.hears_end(); });
  EXPECT_TRUE(peer.has_end());
}

TEST_F(HttpTls, AClientThatEndsItsOutputEndsTheRelay) {
  open();
  TlsPeer peer = connect();
  peer.say("GET /relay HTTP/1.1\r\nHost: h\r\n\r\nlast words");
  run_until([&] {
    peer.pump();
    return other_ != nullptr;
  });
  peer.end_output();
  run_until([&] { return other_->hears_end(); });
  EXPECT_EQ(other_->heard, "last words");
}

TEST_F(HttpTls, AStreamOfEventsEndsWithItsClient) {
  open();
  for (const bool in_an_orderly_way : {true, false}) {
    other_.reset();
    TlsPeer peer = connect();
    peer.say("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
    run_until([&] {
      peer.pump();
      return other_ != nullptr;
    });
    other_->say("1");
    run_until([&] { return peer.hears("data: 1\n\n"); });
    if (in_an_orderly_way) peer.end_output();
    peer.raw.close();
    run_until([&] { return other_->hears_end(); });
    run_until([&] { return figures().connections == 0; });
  }
}

// --- the HTTP client

class HttpTlsClient : public HttpTls {
 protected:
  /// The answer to a request of a new client that knows the issuers in 'ca_file'.
  Result<ClientAnswer> ask(const std::string& ca_file) {
    ClientOptions options{.any_network = true, .ca_file = ca_file};
    const std::unique_ptr<Client> client = std::move(Client::open(scheduler_, options).value());
    std::optional<Result<ClientAnswer>> answer;
    const ClientRequest request{
        .url = "https://" + server_->endpoint() + "/echo", .body = "hello", .timeout = 1000s, .connect_timeout = 1000s};
    EXPECT_TRUE(client->post(request, [&](Result<ClientAnswer> one) { answer = std::move(one); }).ok());
    run_until([&] { return answer.has_value(); });
    return *answer;
  }
};

TEST_F(HttpTlsClient, AClientThatKnowsTheIssuerGetsItsAnswer) {
  open();
  const Result<ClientAnswer> answer = ask(options_.certificate_file);
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->body, "hello");
}

TEST_F(HttpTlsClient, AClientThatDoesNotKnowTheIssuerSendsNothing) {
  open();
  const std::string other = folder_.file("other");
  make_certificate(other, folder_.file("other key"));
  const Result<ClientAnswer> answer = ask(other);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), StatusCode::Unavailable);
  EXPECT_THAT(answer.error().message(), HasSubstr("certificate"));
  EXPECT_EQ(figures().requests, 0U);
}

// --- files

TEST_F(HttpTls, AChangedCertificateIsForNewConnections) {
  open();
  TlsPeer before = connect();
  before.say(kGet);
  run_until([&] { return before.hears("HTTP/1.1 200 "); });
  make_certificate(options_.certificate_file, options_.key_file);
  ASSERT_TRUE(server_->read_certificate_again().ok());
  const TlsContext knows_new{SSL_CTX_new(TLS_client_method())};
  SSL_CTX_load_verify_file(knows_new.get(), options_.certificate_file.c_str());
  SSL_CTX_set_verify(knows_new.get(), SSL_VERIFY_PEER, nullptr);
  std::ofstream{options_.certificate_file} << "no PEM\n";
  EXPECT_FALSE(server_->read_certificate_again().ok());
  TlsPeer after{server_->port(), *knows_new};
  after.say(kGet);
  run_until([&] { return after.hears("HTTP/1.1 200 "); });
  before.heard.clear();
  before.say(kGet);
  run_until([&] { return before.hears("HTTP/1.1 200 "); });
}

TEST_F(HttpTls, WrongFilesAreErrorsThatNameThem) {
  const std::string certificate = options_.certificate_file;
  const std::string key = options_.key_file;
  const std::string other_key = folder_.file("other key");
  make_certificate(folder_.file("other"), other_key);
  const std::string text = folder_.file("text");
  std::ofstream{text} << "no PEM\n";
  ::chmod(text.c_str(), 0600);
  const std::string locked = folder_.file("locked");
  make_certificate(folder_.file("another"), locked, "pass phrase");
  const auto error_with = [&](const std::string& certificate_file, const std::string& key_file) {
    options_.certificate_file = certificate_file;
    options_.key_file = key_file;
    return error_of_open();
  };
  EXPECT_THAT(error_with("", key), HasSubstr("the server has a key, and no certificate"));
  EXPECT_THAT(error_with(certificate, ""), HasSubstr("the server has a certificate, and no key"));
  EXPECT_THAT(error_with(folder_.file("none"), key), AllOf(HasSubstr("/none'"), HasSubstr("No such file")));
  EXPECT_THAT(error_with(certificate, folder_.file("none")), AllOf(HasSubstr("the key"), HasSubstr("No such file")));
  EXPECT_THAT(error_with(folder_.string(), key), HasSubstr("is not a regular file"));
  EXPECT_THAT(error_with(text, key), AllOf(HasSubstr("the certificate '" + text), HasSubstr("no start line")));
  EXPECT_THAT(error_with(certificate, text), AllOf(HasSubstr("the key '" + text), Not(HasSubstr("refuses"))));
  EXPECT_THAT(error_with(certificate, locked), AllOf(HasSubstr("the key '" + locked), HasSubstr("is encrypted")));
  EXPECT_THAT(error_with(certificate, other_key), AllOf(HasSubstr("the key '" + other_key), HasSubstr("values mismatch")));
  ::chmod(key.c_str(), 0644);
  EXPECT_THAT(error_with(certificate, key), AllOf(HasSubstr("the key '" + key), HasSubstr("has the mode 0644")));
  ::chmod(key.c_str(), 0640);
  EXPECT_EQ(error_with(certificate, key), "");
}

}  // namespace
}  // namespace rondo::http
