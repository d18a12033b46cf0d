#include "api/sessions.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/tokens.h"

namespace rondo::api {

Result<SessionSecrets> Sessions::begin(std::string token) {
  Result<std::string> cookie = random_secret();
  Result<std::string> key = random_secret();
  if (!cookie || !key) return failure(cookie ? key.error() : cookie.error());
  make_room();
  const Instant now = clock_.now();
  auto usage = std::make_shared<Usage>();
  usage->until = now + limits::kApiSessionTime;
  by_digest_[digest_of(*cookie)] = {
      .token = std::move(token), .key = digest_of(*key), .began = now, .used = now, .usage = std::move(usage)};
  return SessionSecrets{*std::move(cookie), *std::move(key)};
}

const Sessions::Session* Sessions::find(std::string_view cookie, std::string_view key) {
  const auto found = by_digest_.find(digest_of(cookie));
  if (found == by_digest_.end() || found->second.key != digest_of(key)) return nullptr;
  if (is_over(found->second)) {
    erase(found);
    return nullptr;
  }
  found->second.used = clock_.now();
  return &found->second;
}

void Sessions::end(std::string_view cookie) {
  if (const auto found = by_digest_.find(digest_of(cookie)); found != by_digest_.end()) erase(found);
}

bool Sessions::is_over(const Session& session) const noexcept {
  const Instant now = clock_.now();
  return now - session.used >= limits::kApiSessionIdle || now - session.began >= limits::kApiSessionTime;
}

void Sessions::erase(Table::iterator session) {
  session->second.usage->until = clock_.now();
  by_digest_.erase(session);
}

void Sessions::make_room() {
  for (auto next = by_digest_.begin(); next != by_digest_.end();) {
    const auto session = next++;
    if (is_over(session->second)) erase(session);
  }
  if (by_digest_.size() < limits::kApiSessions) return;
  std::map<std::string_view, std::size_t> of_token;
  for (const auto& [digest, session] : by_digest_) ++of_token[session.token];
  erase(std::ranges::min_element(by_digest_, {}, [&of_token](const Table::value_type& one) {
    return std::pair{limits::kApiSessions - of_token[one.second.token], one.second.used};
  }));
}

Result<Place> place_in(const std::shared_ptr<Usage>& usage, bool is_stream) {
  std::atomic<std::size_t>& taken = is_stream ? usage->streams : usage->calls;
  const std::size_t most = is_stream ? limits::kApiSessionStreams : limits::kApiSessionCalls;
  // Only the HTTP thread takes places, so none is taken in between.
  if (taken >= most) {
    return failure(StatusCode::ResourceExhausted, "the session has " + std::to_string(most) +
                                                      (is_stream ? " streams of events" : " calls") + " under way, and may have no more");
  }
  ++taken;
  return Place{usage.get(), [usage, &taken](const Usage*) { --taken; }};
}

}  // namespace rondo::api
