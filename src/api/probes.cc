#include "api/probes.h"

#include <sys/socket.h>

#include <memory>
#include <optional>
#include <utility>

#include "api/answers.h"
#include "api/api.h"

namespace rondo::api {

namespace {

constexpr std::string_view kOk = "ok";

http::Response response_of(std::string_view words) { return http::text_response(words == kOk ? 200 : 503, words); }

}  // namespace

void Probes::handle(const http::Request& request, http::Answer answer, http::HttpGate& gate) const {
  if (request.method != "GET" && request.method != "HEAD") return answer.send(wrong_method("GET"));
  Result<Ends> ends = Ends::make();
  Status posted = ends ? Status{} : ends.error();
  if (posted.ok()) {  // A task can be copied, a descriptor cannot.
    posted = gate.post([this, is_ready = request.path() == "/readyz", fd = std::make_shared<UniqueFd>(std::move(ends->daemons))] {
      std::string words = is_ready ? unready_() : std::string{};
      if (words.empty()) words = kOk;
      if (words.ends_with('\n')) words.pop_back();
      // An empty socket has room for some words. Without them, the other end answers "stalled".
      static_cast<void>(::send(fd->get(), words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    });
  }
  if (!posted.ok()) return answer.send(response_of("stalled"));
  answer.ask(
      std::move(ends->ours),
      [](std::string_view words) { return std::optional{response_of(words.empty() ? std::string_view{"stalled"} : words)}; },
      response_of("stalled"), patience_);
}

}  // namespace rondo::api
