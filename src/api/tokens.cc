#include "api/tokens.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <utility>

#include "admin/peer.h"
#include "api/limits.h"
#include "base/bounded_file.h"
#include "base/json.h"
#include "base/private_file.h"

namespace rondo::api {

namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kDigits = std::size_t{2} * SHA256_DIGEST_LENGTH;
constexpr std::size_t kNameBytes = 64;
constexpr std::size_t kFileBytes = std::size_t{64} * 1024;
constexpr std::string_view kPrefix = "rondo_";  // Lets a search for leaked secrets find it.
constexpr std::string_view kHead =
    "# Tokens of rondod: name, role, SHA-256 of the token, group. Written by rondod: use `rondo token-add`.\n";

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kHex[value >> 4U];
    text += kHex[value & 0xfU];
  }
  return text;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytes && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
}

/// Taking runs and making tokens belong to no group.
Status check_group(const std::string& group, Role role) {
  if (group.empty()) return {};
  if (!is_name(group)) return {StatusCode::InvalidArgument, "the group must have 1 to 64 letters, digits and characters of ._-"};
  if (role == Role::Viewer || role == Role::Operator) return {};
  return {StatusCode::InvalidArgument, "a token with a group has the role viewer or operator"};
}

bool is_digest(std::string_view text) {
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Status write_whole(int fd, std::string_view text, const std::string& what) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return status_from_errno(errno, what);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return status_from_errno(::fsync(fd) == 0 ? 0 : errno, what);
}

/// The content of the tokens' file; empty if there is none.
Result<std::string> text_of(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0)
    return errno == ENOENT ? Result<std::string>{std::string{}} : failure(status_from_errno(errno, path));
  if (Status linked = check_no_link(path, "the tokens"); !linked.ok()) return failure(std::move(linked));
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return failure(StatusCode::PermissionDenied, "'" + path + "' may be written by other users: 0600 is the right mode");
  if (found.st_uid != 0 && found.st_uid != ::geteuid())
    return failure(StatusCode::PermissionDenied, "'" + path + "' belongs to user " + std::to_string(found.st_uid));
  return read_bounded_file(path, "the tokens", kFileBytes, Pipes::Refuse);
}

}  // namespace

std::string digest_of(std::string_view secret) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  ::SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), digest.data());
  return hexadecimal({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Result<std::string> random_secret() {
  std::array<char, kSecretBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return failure(status_from_errno(errno, "the system gave no random bytes"));
  return hexadecimal({bytes.data(), bytes.size()});
}

std::optional<Role> role_named(std::string_view name) noexcept {
  for (const Role role : {Role::Viewer, Role::Worker, Role::Operator, Role::Admin}) {
    if (name == to_string(role)) return role;
  }
  return std::nullopt;
}

/// Two versions of a file differ if it was written in between, or another file took its place.
std::string version_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  std::string version;
  for (const auto part : {std::uint64_t{found.st_ino}, static_cast<std::uint64_t>(found.st_size),
                          static_cast<std::uint64_t>(found.st_mtim.tv_sec), static_cast<std::uint64_t>(found.st_mtim.tv_nsec)})
    version += std::to_string(part) + " ";
  return version;
}

std::optional<Caller> TokenTable::find(std::string_view secret) const { return find_digest(digest_of(secret)); }

std::optional<Caller> TokenTable::find_digest(const std::string& digest) const {
  const auto found = by_digest_.find(digest);
  return found == by_digest_.end() ? std::nullopt : std::optional{found->second};
}

Result<Tokens> Tokens::open(std::string path) {
  Tokens tokens{std::move(path)};
  if (Status read = tokens.read_again(); !read.ok()) return failure(std::move(read));
  return tokens;
}

Status Tokens::read_again() {
  std::map<std::string, Token> read;
  version_ = version_of(path_);  // Before the text: what changes meanwhile is read once more.
  const auto text = text_of(path_);
  if (!text) return text.error();
  std::istringstream lines(*text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name;
    std::string role;
    std::string digest;
    std::string group;
    std::string more;
    words >> name >> role >> digest >> group >> more;
    const std::string where = path_ + ":" + std::to_string(number);
    if (!is_name(name) || !role_named(role) || !is_digest(digest) || !more.empty() || read.contains(name))
      return {StatusCode::InvalidArgument, where + ": a line must have a new name, a role, the SHA-256 of a token, and may have a group"};
    if (Status wrong = check_group(group, *role_named(role)); !wrong.ok()) return wrong.with_context(where);
    read[name] = {std::move(digest), caller_with(name, *role_named(role), group)};
  }
  tokens_ = std::move(read);
  return {};
}

bool Tokens::is_file_changed() const { return version_of(path_) != version_; }

Caller Tokens::caller_with(const std::string& name, Role role, const std::string& group) {
  const std::uint32_t next = kTokenUsers + static_cast<std::uint32_t>(users_.size()) + 1;
  const std::uint32_t user = users_.try_emplace(name, next).first->second;
  return {.user = user, .process = 0, .role = role, .is_privileged = false, .token = name, .group = group};
}

/// A kill at any time leaves the old file or the new one.
Status Tokens::write() const {
  const std::string draft = path_ + ".new";
  std::string text{kHead};
  for (const auto& [name, token] : tokens_) {
    text += name + " " + std::string{to_string(token.caller.role)} + " " + token.digest;
    text += (token.caller.group.empty() ? "" : " " + token.caller.group) + "\n";
  }
  const std::string what = "cannot write '" + draft + "'";
  const Result<UniqueFd> fd = open_private(draft, O_WRONLY | O_CREAT | O_TRUNC, what);
  if (!fd) return fd.error();
  if (Status written = write_whole(fd->get(), text, what); !written.ok()) {
    ::unlink(draft.c_str());
    return written;
  }
  if (std::rename(draft.c_str(), path_.c_str()) != 0) return status_from_errno(errno, "cannot write '" + path_ + "'");
  const std::filesystem::path folder = std::filesystem::path{path_}.parent_path();
  const UniqueFd opened(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return status_from_errno(opened && ::fsync(opened.get()) == 0 ? 0 : errno, "cannot write '" + path_ + "'");
}

Result<std::string> Tokens::add(const std::string& name, Role role, const std::string& group) {
  if (Status read = read_again(); !read.ok()) return failure(std::move(read));
  if (!is_name(name)) return failure(StatusCode::InvalidArgument, "the name must have 1 to 64 letters, digits and characters of ._-");
  if (Status wrong = check_group(group, role); !wrong.ok()) return failure(std::move(wrong));
  if (tokens_.contains(name)) return failure(StatusCode::AlreadyExists, "there is a token '" + name + "'");
  if (tokens_.size() >= limits::kApiTokens)
    return failure(StatusCode::ResourceExhausted, "there are " + std::to_string(limits::kApiTokens) + " tokens, and no more are possible");
  const Result<std::string> random = random_secret();
  if (!random) return failure(random.error());
  std::string secret = std::string{kPrefix} + *random;
  tokens_[name] = {digest_of(secret), caller_with(name, role, group)};
  if (Status written = write(); !written.ok()) {
    tokens_.erase(name);
    return failure(std::move(written));
  }
  return secret;
}

Result<Caller> Tokens::remove(const std::string& name) {
  if (Status read = read_again(); !read.ok()) return failure(std::move(read));
  const auto found = tokens_.find(name);
  if (found == tokens_.end()) return failure(StatusCode::NotFound, "there is no token '" + name + "'");
  Token token = std::move(found->second);
  tokens_.erase(found);
  if (Status written = write(); !written.ok()) {
    tokens_[name] = std::move(token);
    return failure(std::move(written));
  }
  return std::move(token.caller);
}

std::shared_ptr<const TokenTable> Tokens::table() const {
  auto table = std::make_shared<TokenTable>();
  for (const auto& [name, token] : tokens_) table->by_digest_[token.digest] = token.caller;
  return table;
}

namespace {

/// What a log has of a token.
std::string rights_of(Role role, const std::string& group) {
  return "role=" + std::string{to_string(role)} + (group.empty() ? "" : " group=" + group);
}

}  // namespace

Status add_token_commands(CommandRegistry& registry, Tokens& tokens, const std::set<std::string>& groups,
                          const std::function<void()>& changed) {
  Status added =
      registry.add({.name = "tokens", .help = "List the tokens of the API", .effect = CommandEffect::Administers, .is_reported = false},
                   [&tokens, changed](const Arguments&, const Reply& reply) {
                     Reply answer = reply;
                     const Status read = tokens.read_again();
                     if (!read.ok()) return answer.fail(read);
                     changed();
                     answer.expect_rows();
                     for (const auto& [name, token] : tokens.all()) {
                       json::object row{{"name", name}, {"role", to_string(token.caller.role)}};
                       if (!token.caller.group.empty()) row["group"] = token.caller.group;
                       answer.row(row);
                     }
                     answer.finish();
                   });
  if (!added.ok()) return added;
  added =
      registry.add({.name = "token-add",
                    .help = "Make a token of the API, and show it once",
                    .arguments = {{"name", ArgumentKind::Text, true, "Name, for logs and to remove it"},
                                  {"role", ArgumentKind::Text, true, "viewer, worker, operator or admin"},
                                  {"group", ArgumentKind::Text, false, "The only group of executors whose jobs it may see and command"}},
                    .effect = CommandEffect::Administers},
                   [&tokens, &groups, changed](const Arguments& arguments, const Reply& reply) {
                     Reply answer = reply;
                     const std::optional<Role> role = role_named(arguments.text("role"));
                     if (!role) return answer.fail({StatusCode::InvalidArgument, "the role must be viewer, worker, operator or admin"});
                     const std::string group = arguments.text("group");
                     if (!group.empty() && !groups.contains(group))
                       return answer.fail({StatusCode::NotFound, "the configuration has no group of executors '" + group + "'"});
                     const Result<std::string> secret = tokens.add(arguments.text("name"), *role, group);
                     if (!secret) return answer.fail(secret.error());
                     answer.tell_change("(none)", rights_of(*role, group));
                     changed();
                     answer.finish(json::object{{"token", *secret}});
                   });
  if (!added.ok()) return added;
  return registry.add({.name = "token-remove",
                       .help = "Remove a token of the API, and close its connections",
                       .arguments = {{"name", ArgumentKind::Text, true, "Name of the token"}},
                       .effect = CommandEffect::Administers},
                      [&tokens, changed](const Arguments& arguments, const Reply& reply) {
                        Reply answer = reply;
                        const std::string name = arguments.text("name");
                        if (answer.caller().token == name)
                          return answer.fail({StatusCode::FailedPrecondition, "you use this token yourself: remove it with another one"});
                        const Result<Caller> gone = tokens.remove(name);
                        if (!gone) return answer.fail(gone.error());
                        answer.tell_change(rights_of(gone->role, gone->group), "(none)");
                        changed();
                        answer.finish();
                      });
}

}  // namespace rondo::api
