#include "store/redis/resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <utility>

namespace rondo::redis {

struct Resolver::Question {
  std::string host;
  addrinfo hints{};
  gaicb request{};
  Status failed;
};

namespace {

bool is_number(const std::string& host) {
  in6_addr place{};
  return ::inet_pton(AF_INET, host.c_str(), &place) == 1 || ::inet_pton(AF_INET6, host.c_str(), &place) == 1;
}

std::string text_of(const addrinfo& found) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* place = found.ai_family == AF_INET ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(found.ai_addr)->sin_addr)
                                                 : &reinterpret_cast<const sockaddr_in6*>(found.ai_addr)->sin6_addr;
  ::inet_ntop(found.ai_family, place, text.data(), text.size());
  return text.data();
}

}  // namespace

Resolver::Resolver() = default;

Resolver::~Resolver() {
  if (question_ == nullptr) return;
  // One that glibc has begun cannot be taken back: it is left to it, a few hundred bytes at the end of a connection's life.
  const int state = ::gai_cancel(&question_->request);
  if (state == EAI_CANCELED || state == EAI_ALLDONE) {
    if (question_->request.ar_result != nullptr) ::freeaddrinfo(question_->request.ar_result);
    delete question_;
  }
}

void Resolver::ask(const std::string& host) {
  ip_.clear();
  if (is_number(host)) {
    ip_ = host;
    return;
  }
  if (question_ != nullptr) return;  // The one that is under way is about the same host; another waits for it.
  question_ = new Question;
  question_->host = host;
  question_->hints.ai_socktype = SOCK_STREAM;
  question_->request.ar_name = question_->host.c_str();
  question_->request.ar_request = &question_->hints;
  gaicb* list[] = {&question_->request};
  if (const int error = ::getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr); error != 0) {
    question_->failed = Status{Code::Unavailable, "looking up '" + host + "': " + ::gai_strerror(error)};
  }
}

Result<std::optional<std::string>> Resolver::answer() {
  if (!ip_.empty()) return std::optional{ip_};
  if (question_ == nullptr) return failure(Code::Internal, "no host was asked for");
  const int state = question_->failed.ok() ? ::gai_error(&question_->request) : 0;
  if (state == EAI_INPROGRESS) return std::optional<std::string>{};
  const std::unique_ptr<Question> done{std::exchange(question_, nullptr)};
  if (!done->failed.ok()) return failure(done->failed);
  if (state != 0 || done->request.ar_result == nullptr) {
    return failure(Code::Unavailable, "looking up '" + done->host + "': " + ::gai_strerror(state));
  }
  ip_ = text_of(*done->request.ar_result);
  ::freeaddrinfo(done->request.ar_result);
  return std::optional{ip_};
}

}  // namespace rondo::redis
