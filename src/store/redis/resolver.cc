#include "store/redis/resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <vector>

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
  // A lookup that glibc has begun cannot be cancelled. It is left to glibc: a few hundred bytes at the end of a connection's life.
  for (const auto& [host, question] : questions_) {
    if (::gai_cancel(&question->request) != EAI_NOTCANCELED) drop(question);
  }
}

bool Resolver::is_open(Question& question) { return question.failed.ok() && ::gai_error(&question.request) == EAI_INPROGRESS; }

void Resolver::drop(Question* question) {
  if (question->request.ar_result != nullptr) ::freeaddrinfo(question->request.ar_result);
  delete question;
}

void Resolver::ask(const std::string& host) {
  if (host != host_) {
    turn_ = 0;
    addresses_ = 1;
  }
  host_ = host;
  std::erase_if(questions_, [](const auto& entry) {
    const bool done = !is_open(*entry.second);
    if (done) drop(entry.second);
    return done;
  });
  if (is_number(host) || questions_.contains(host)) return;
  auto* const question = new Question;
  questions_.emplace(host, question);
  question->host = host;
  question->hints.ai_socktype = SOCK_STREAM;
  question->request.ar_name = question->host.c_str();
  question->request.ar_request = &question->hints;
  gaicb* list[] = {&question->request};
  if (const int error = ::getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr); error != 0) {
    question->failed = Status{StatusCode::Unavailable, "looking up '" + host + "': " + ::gai_strerror(error)};
  }
}

Result<std::optional<std::string>> Resolver::answer() {
  if (is_number(host_)) return std::optional{host_};
  const auto asked = questions_.find(host_);
  if (asked == questions_.end()) return failure(StatusCode::Internal, "no host was asked for");
  const Question& question = *asked->second;
  if (!question.failed.ok()) return failure(question.failed);
  const int state = ::gai_error(&asked->second->request);
  if (state == EAI_INPROGRESS) return std::optional<std::string>{};
  if (state != 0 || question.request.ar_result == nullptr) {
    return failure(StatusCode::Unavailable, "looking up '" + host_ + "': " + ::gai_strerror(state));
  }
  std::vector<std::string> all;
  for (const addrinfo* found = question.request.ar_result; found != nullptr; found = found->ai_next) all.push_back(text_of(*found));
  addresses_ = all.size();
  return std::optional{all[turn_ % all.size()]};
}

}  // namespace rondo::redis
