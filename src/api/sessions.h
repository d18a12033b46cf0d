// Sessions: browsers that signed in with a token. A page cannot keep a token safely, so the browser has two secrets in its place, and a
// call needs both: a cookie, which no script reads, and a key, which the page keeps and sends. A browser sends a cookie to all ports of its
// host, so other programs there may have the cookie, and no page of theirs has the key. The table is in memory: a restart ends all
// sessions. HTTP thread, except Usage. Each function is O(log sessions) but begin().
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/limits.h"
#include "rondo/base/clock.h"
#include "rondo/base/result.h"

namespace rondo::api {

/// What is under way for one session.
struct Usage {
  std::atomic<std::size_t> calls = 0;
  std::atomic<std::size_t> streams = 0;
  Instant until;  // No event is sent from then on. HTTP thread.
};

/// The place of a call among those of its session: free again when the last copy is destroyed, on any thread.
using Place = std::shared_ptr<const Usage>;

/// What a browser has of its session.
struct SessionSecrets {
  std::string cookie;
  std::string key;
};

class Sessions {
 public:
  struct Session {
    std::string token;  // The digest of its token.
    std::string key;    // The digest of its key.
    Instant began;
    Instant used;
    std::shared_ptr<Usage> usage;
  };

  /// 'clock' must outlive this.
  explicit Sessions(const Clock& clock) : clock_(clock) {}

  /// Begins a session with the token of this digest, and returns its secrets. The system's error if it has no random bytes. If there are
  /// limits::kApiSessions, the one that was unused for the longest time ends, among those of the token that has the most: no token ends the
  /// sessions of all others. O(sessions).
  Result<SessionSecrets> begin(std::string token);
  /// The session with these secrets, which counts as used now; null if there is none, or its time is over. Valid until the next call.
  const Session* find(std::string_view cookie, std::string_view key);
  /// Ends the session with this cookie, and its streams. No effect if there is none.
  void end(std::string_view cookie);
  std::size_t size() const noexcept { return by_digest_.size(); }

 private:
  using Table = std::map<std::string, Session>;
  bool is_over(const Session& session) const noexcept;
  void erase(Table::iterator session);
  void make_room();

  const Clock& clock_;
  Table by_digest_;  // The SHA-256 of each cookie: the comparison tells nothing about a secret.
};

/// A place for a call, or for a stream of events. ResourceExhausted if the session has as many as it may have.
Result<Place> place_in(const std::shared_ptr<Usage>& usage, bool is_stream);

}  // namespace rondo::api
