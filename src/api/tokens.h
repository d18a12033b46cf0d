// Tokens: who may call the daemon over HTTP. A token is a secret text of 256 random bits, shown once. Its file keeps the SHA-256 alone, so
// a copy of the file lets nobody in; no salt is needed, because nobody can try so many secrets.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "rondo/admin/caller.h"
#include "rondo/admin/command.h"
#include "rondo/base/result.h"

namespace rondo::api {

/// The tokens at one time, for lookups on another thread. Immutable.
class TokenTable {
 public:
  /// The caller with this secret; empty if there is none. The time depends on the length of 'secret', and on no digest: the comparison of
  /// digests tells an attacker nothing about a secret.
  std::optional<Caller> find(std::string_view secret) const;
  /// The same, by digest_of() the secret.
  std::optional<Caller> find_digest(const std::string& digest) const;

 private:
  friend class Tokens;
  std::map<std::string, Caller> by_digest_;
};

/// The tokens and their file. One thread.
class Tokens {
 public:
  /// Reads the file at 'path'; an absent one has no token. InvalidArgument names the line that is none, PermissionDenied the mode of a file
  /// that other users may write, or its owner; also the errors of reading.
  static Result<Tokens> open(std::string path);

  /// Reads the file again: people and other programs may change it, too. After an error the tokens stay.
  Status read_again();
  /// True if the file was written, or another file took its place, since it was read. O(1).
  bool is_file_changed() const;
  /// Makes a token and returns its secret. This and remove() read the file before. It is in the file when this returns. InvalidArgument for
  /// a name or group that is none (1 to 64 letters, digits and ._-), a role with a group that is neither viewer nor operator,
  /// AlreadyExists, ResourceExhausted (limits::kApiTokens), or the error of writing; then there is no token.
  Result<std::string> add(const std::string& name, Role role, const std::string& group = {});
  /// Returns the caller that had the token. NotFound, or the error of writing; then the token stays.
  Result<Caller> remove(const std::string& name);

  struct Token {
    std::string digest;  // SHA-256 in hexadecimal digits.
    Caller caller;
  };
  const std::map<std::string, Token>& all() const noexcept { return tokens_; }
  std::shared_ptr<const TokenTable> table() const;

 private:
  explicit Tokens(std::string path) : path_(std::move(path)) {}
  Caller caller_with(const std::string& name, Role role, const std::string& group);
  Status write() const;

  std::string path_;
  std::string version_;  // The one that was read: see version_of().
  std::map<std::string, Token> tokens_;
  std::map<std::string, std::uint32_t> users_;  // By name: a token that comes back is the same user.
};

/// 256 random bits in hexadecimal digits; the system's error if it gives none.
Result<std::string> random_secret();
/// SHA-256 in hexadecimal digits.
std::string digest_of(std::string_view secret);

/// The role of this name (to_string in admin/peer.h); empty if there is none.
std::optional<Role> role_named(std::string_view name) noexcept;

/// `tokens`, `token-add` and `token-remove`. 'groups' are those of executors, which a token may be limited to. 'changed' is called when
/// tokens may have changed. All must outlive the registry's last call.
Status add_token_commands(CommandRegistry& registry, Tokens& tokens, const std::set<std::string>& groups,
                          const std::function<void()>& changed);

}  // namespace rondo::api
