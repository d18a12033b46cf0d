#include "rondod/notify/http_sender.h"

#include <utility>

#include "http/http_thread.h"
#include "rondo/base/text.h"

namespace rondo::daemon {

namespace {

constexpr Duration kWebhookTimeout = 10s;
constexpr Duration kMailTimeout = 12s;  // A stop of rondod may wait so long for a mail server.
constexpr std::size_t kAnswerBytes = std::size_t{16} * 1024;
constexpr std::size_t kShownAnswer = 200;

/// True if no other machine sees what is sent to the server of a URL: its host is an address of this machine.
bool is_here(std::string_view url) {
  const std::size_t begin = url.find("://");
  std::string_view host = url.substr(begin == std::string_view::npos ? 0 : begin + 3);
  host = host.substr(0, host.find('/'));
  host = host.starts_with('[') ? host.substr(1, host.find(']') - 1) : host.substr(0, host.find(':'));
  const auto ip = IpAddress::parse(host);
  return ip && (Prefix::parse("127.0.0.0/8").value().contains(*ip) || Prefix::parse("::1/128").value().contains(*ip));
}

http::ClientRequest mail_request(const NotifyTarget& target, const Notice& notice) {
  const NotifyChoice& choice = target.choice;
  http::ClientRequest request{.url = choice.target, .body = mail_of(notice, host_name(), choice.from, choice.to, SystemClock{}.wall_now())};
  request.mail = {.from = choice.from,
                  .to = choice.to,
                  .user = choice.user,
                  .password = target.secret,
                  .needs_tls = !target.secret.empty() && !is_here(choice.target)};
  return request;
}

http::ClientRequest webhook_request(const NotifyTarget& target, const Notice& notice) {
  http::ClientRequest request{
      .url = target.choice.target, .headers = {{"Content-Type", "application/json"}}, .body = json_of(notice, host_name())};
  if (!target.secret.empty()) request.headers.push_back({"Authorization", "Bearer " + target.secret});
  return request;
}

/// The answer of a webhook. A mail server that refuses is an error of the call.
Status status_of(const Result<http::ClientAnswer>& answer, bool is_mail) {
  if (!answer) return answer.error();
  if (is_mail || (answer->status >= 200 && answer->status < 300)) return {};
  const std::string body = visible_text(shorten(answer->body, kShownAnswer));
  return {StatusCode::FailedPrecondition, "it answered " + std::to_string(answer->status) + (body.empty() ? "" : ": " + body)};
}

/// Webhooks and mails have threads of their own, which are started when they are needed first: see http::Mail.
class HttpSender final : public NoticeSender {
 public:
  explicit HttpSender(Runtime& runtime) : runtime_(runtime) {}

  void send(const NotifyTarget& target, const Notice& notice, std::function<void(const Status& why)> done) override {
    const bool is_mail = target.choice.kind == NotifyKind::Mail;
    http::ClientRequest request = is_mail ? mail_request(target, notice) : webhook_request(target, notice);
    request.timeout = is_mail ? kMailTimeout : kWebhookTimeout;
    request.answer_bytes = kAnswerBytes;
    request.networks = target.networks;
    const auto thread = is_mail ? started(mails_, "rondo-mail", 1) : started(hooks_, "rondo-hooks", limits::kHttpCalls);
    Status refused = thread.ok()
                         ? (is_mail ? mails_ : hooks_)
                               ->call(std::move(request),
                                      [is_mail, done](const Result<http::ClientAnswer>& answer) { done(status_of(answer, is_mail)); })
                         : thread;
    if (!refused.ok()) done(refused);
  }

 private:
  /// 'calls': the most at a time.
  Status started(std::unique_ptr<http::HttpThread>& thread, const char* name, std::size_t calls) {
    if (thread != nullptr) return {};
    http::HttpThreadOptions options{.name = name};
    options.client.emplace().calls = calls;
    auto opened = http::HttpThread::start(runtime_.scheduler(), std::move(options), {});
    if (!opened) return opened.error();
    thread = *std::move(opened);
    return {};
  }

  Runtime& runtime_;
  std::unique_ptr<http::HttpThread> mails_;
  std::unique_ptr<http::HttpThread> hooks_;
};

}  // namespace

Result<std::unique_ptr<NoticeSender>> open_http_sender(Runtime& runtime) { return std::make_unique<HttpSender>(runtime); }

}  // namespace rondo::daemon
