// See redis_address.h. The parser makes one pass, part by part. Each part is split off first and decoded afterwards, so an encoded
// separator stays in its part.
#include "rondo/store/redis_address.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "rondo/store/redis_limits.h"
#include "store/percent.h"
#include "store/redis/no_cluster.h"
#include "store/redis/text_file.h"

namespace rondo {

namespace {

constexpr std::uint16_t kSentinelPort = 26379;

enum class Scheme : std::uint8_t { Tcp, Unix, Sentinel };

/// InvalidArgument that names only the scheme, because the rest of the address may hold a password.
Status bad(std::string_view scheme, std::string what) {
  return {StatusCode::InvalidArgument, "Redis address " + std::string{scheme} + "://...: " + std::move(what)};
}

/// The number in 'text', if all of 'text' is a number from 'low' to 'high'.
std::optional<unsigned> number(std::string_view text, unsigned low, unsigned high) {
  unsigned value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < low || value > high) return std::nullopt;
  return value;
}

/// Removes and returns the text before the first 'mark', and removes the mark; all of 'text' if there is none.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return head;
}

class AddressParser {
 public:
  AddressParser(std::string_view scheme_name, Scheme scheme, bool tls) : name_(scheme_name), scheme_(scheme) { address_.tls = tls; }

  Result<RedisAddress> parse(std::string_view rest) {
    if (rest.find('#') != std::string_view::npos) return failure(bad(name_, "'#' means nothing here; write %23 for the character"));
    std::string_view query = rest;
    const std::string_view before = cut(query, '?');
    const Status done = scheme_ == Scheme::Unix ? unix_path(before) : network(before);
    if (!done.ok()) return failure(done);
    if (Status wrong = parameters(query); !wrong.ok()) return failure(std::move(wrong));
    if (Status wrong = check(); !wrong.ok()) return failure(std::move(wrong));
    return std::move(address_);
  }

 private:
  Status unix_path(std::string_view path) {
    if (path.empty() || path.front() != '/') return bad(name_, "the path of the socket must begin with '/', as in unix:///run/redis.sock");
    return decode(path, address_.unix_path, "the path of the socket");
  }

  Status network(std::string_view text) {
    std::string_view path = text;
    std::string_view authority = cut(path, '/');
    // Split at the last '@', so that a password with an unencoded '@' works, as in other clients.
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
      if (Status wrong = credentials(authority.substr(0, at)); !wrong.ok()) return wrong;
      authority = authority.substr(at + 1);
    }
    if (scheme_ != Scheme::Sentinel) {
      if (Status wrong = host_and_port(authority, address_.host, address_.port); !wrong.ok()) return wrong;
      return database(path, "after the host");
    }
    if (Status wrong = sentinels(authority); !wrong.ok()) return wrong;
    const std::string_view master = cut(path, '/');
    if (master.empty())
      return bad(name_, "the master's name is missing; it stands after the Sentinels, as in redis+sentinel://host/mymaster");
    if (Status wrong = decode(master, address_.sentinel_master, "the master's name"); !wrong.ok()) return wrong;
    return database(path, "after the master's name");
  }

  Status credentials(std::string_view text) {
    std::string_view password = text;
    const std::string_view user = cut(password, ':');
    if (text.find(':') == std::string_view::npos) {
      user_without_password_ = true;
    } else if (password.empty()) {
      return bad(name_, "the password before '@' is empty; leave it out with its ':' to give ?password_file=FILE");
    }
    if (Status wrong = decode(user, address_.user, "the user before '@'"); !wrong.ok()) return wrong;
    return decode(password, address_.password, "the password before '@'");
  }

  Status host_and_port(std::string_view text, std::string& host, std::uint16_t& port) const {
    std::string_view port_text;
    bool has_port = false;
    if (!text.empty() && text.front() == '[') {
      const std::size_t end = text.find(']');
      if (end == std::string_view::npos) return bad(name_, "'[' before an IPv6 address has no ']'");
      host = std::string{text.substr(1, end - 1)};
      if (host.find(':') == std::string::npos) return bad(name_, "'[...]' is for an IPv6 address");
      text = text.substr(end + 1);
      if (!text.empty() && text.front() != ':') return bad(name_, "after ']' only ':' and a port may follow");
      has_port = !text.empty();
      if (has_port) port_text = text.substr(1);
    } else {
      has_port = text.find(':') != std::string_view::npos;
      port_text = text;
      const std::string_view host_text = cut(port_text, ':');
      if (port_text.find(':') != std::string_view::npos) {
        return bad(name_, "more than one ':' after the host; an IPv6 address stands in brackets, as in [::1]:6379");
      }
      if (!host_text.empty()) {
        if (Status wrong = decode(host_text, host, "the host"); !wrong.ok()) return wrong;
      }
    }
    if (!has_port) return {};
    const std::optional<unsigned> value = number(port_text, 1, 65535);
    // The text is not repeated: in "redis://user:secret" it is a password whose host is missing.
    if (!value) return bad(name_, "the port is not a number from 1 to 65535 (a password is followed by '@' and the host)");
    port = static_cast<std::uint16_t>(*value);
    return {};
  }

  Status sentinels(std::string_view text) {
    while (!text.empty()) {
      const bool more = text.find(',') != std::string_view::npos;
      const std::string_view one = cut(text, ',');
      if (one.empty() || one.front() == ':' || (more && text.empty())) return bad(name_, "a Sentinel's host is missing in the list");
      if (address_.sentinels.size() == limits::kRedisSentinels) {
        return bad(name_, "more than " + std::to_string(limits::kRedisSentinels) + " Sentinels");
      }
      auto& [host, port] = address_.sentinels.emplace_back(std::string{}, kSentinelPort);
      if (Status wrong = host_and_port(one, host, port); !wrong.ok()) return wrong;
    }
    if (address_.sentinels.empty()) return bad(name_, "no Sentinel is named");
    return {};
  }

  Status database(std::string_view text, std::string_view where) {
    if (text.empty()) return {};
    const std::optional<unsigned> value = number(text, 0, limits::kRedisDatabase);
    if (!value) {
      return bad(name_, "the database " + std::string{where} + " is not a number from 0 to " + std::to_string(limits::kRedisDatabase));
    }
    address_.database = *value;
    return {};
  }

  Status parameters(std::string_view query) {
    while (!query.empty()) {
      std::string_view value = cut(query, '&');
      const bool has_value = value.find('=') != std::string_view::npos;
      const std::string_view key = cut(value, '=');
      ++parameter_;
      if (key.empty() && !has_value) continue;
      if (Status wrong = parameter(key, value); !wrong.ok()) return wrong;
    }
    return {};
  }

  Status parameter(std::string_view key, std::string_view value) {
    std::string* text = nullptr;
    bool db = false;
    if (key == "password_file") text = &password_file_;
    if (address_.tls) {
      if (key == "ca") text = &address_.ca_file;
      if (key == "cert") text = &address_.cert_file;
      if (key == "key") text = &address_.key_file;
      if (key == "name") text = &address_.server_name;
    }
    if (scheme_ == Scheme::Sentinel) {
      if (key == "sentinel_user") text = &address_.sentinel_user;
      if (key == "sentinel_password_file") text = &sentinel_password_file_;
    }
    if (scheme_ == Scheme::Unix) {
      if (key == "user") text = &address_.user;
      if (key == "password") text = &address_.password;
      db = key == "db";
    }
    if (text == nullptr && !db) return unknown_parameter();
    if (value.empty()) return bad(name_, "the parameter '" + std::string{key} + "' has no value");
    if (db ? has_db_ : !text->empty()) return bad(name_, "the parameter '" + std::string{key} + "' is given twice");
    if (!db) return decode(value, *text, "the parameter '" + std::string{key} + "'");
    has_db_ = true;
    return database(value, "in 'db='");
  }

  /// The parameter's name is not repeated: after a mistake before it, it may be a part of the password.
  Status unknown_parameter() const {
    std::string message = "parameter " + std::to_string(parameter_) + " after '?' is not known";
    message += "; known are ";
    if (scheme_ == Scheme::Unix) message += "db, user, password, ";
    if (scheme_ == Scheme::Sentinel) message += "sentinel_user, sentinel_password_file, ";
    if (address_.tls) message += "ca, cert, key, name, ";
    message += "password_file";
    if (scheme_ == Scheme::Sentinel) message += " (the database stands after the master's name, TLS is rediss+sentinel://)";
    if (scheme_ == Scheme::Tcp) message += " (the database stands after the host, TLS is rediss://)";
    return bad(name_, std::move(message));
  }

  /// Checks that need the whole address, and reads the password files.
  Status check() {
    if (address_.cert_file.empty() != address_.key_file.empty()) return bad(name_, "'cert' and 'key' belong together; one is missing");
    if (!password_file_.empty() && !address_.password.empty()) return bad(name_, "both a password and a password_file");
    if (Status wrong = read_password("password_file", password_file_, address_.password); !wrong.ok()) return wrong;
    if (Status wrong = read_password("sentinel_password_file", sentinel_password_file_, address_.sentinel_password); !wrong.ok())
      return wrong;
    if (!address_.sentinel_user.empty() && address_.sentinel_password.empty()) {
      return bad(name_, "a sentinel_user without a sentinel_password_file");
    }
    if ((user_without_password_ || !address_.user.empty()) && address_.password.empty()) {
      return bad(name_, "a user without a password; write ':PASSWORD@' for a password alone, or give ?password_file=FILE");
    }
    return {};
  }

  /// Reads the first line of 'path', if one is given.
  Status read_password(const std::string& parameter, const std::string& path, std::string& password) const {
    if (path.empty()) return {};
    const Result<std::string> text = redis::read_text_file(path, limits::kRedisPasswordBytes);
    if (!text) return text.error().with_context("Redis address " + std::string{name_} + "://...: " + parameter);
    password = text->substr(0, text->find_first_of("\r\n"));
    if (password.empty()) return bad(name_, "the first line of " + parameter + " '" + path + "' is empty");
    return {};
  }

  Status decode(std::string_view text, std::string& out, std::string what) const {
    std::optional<std::string> plain = store::percent_decoded(text);
    if (!plain) return bad(name_, what + " has a '%' that is not followed by two hexadecimal digits (00 is not allowed)");
    out = std::move(*plain);
    return {};
  }

  std::string_view name_;
  Scheme scheme_;
  RedisAddress address_;
  std::string password_file_;
  std::string sentinel_password_file_;
  bool user_without_password_ = false;
  bool has_db_ = false;
  unsigned parameter_ = 0;  // The number of the parameter being parsed.
};

std::string host_text(const std::string& host, std::uint16_t port) {
  const std::string name = host.find(':') == std::string::npos ? store::percent_encoded(host) : "[" + host + "]";
  return name + ":" + std::to_string(port);
}

}  // namespace

std::string RedisAddress::to_string() const {
  const std::string who = user.empty() ? "" : store::percent_encoded(user) + "@";
  if (!unix_path.empty()) {
    std::string text = "unix://" + store::percent_encoded(unix_path) + "?db=" + std::to_string(database);
    if (!user.empty()) text += "&user=" + store::percent_encoded(user);
    return text;
  }
  std::string text = tls ? "rediss" : "redis";
  if (sentinels.empty()) {
    text += "://" + who + host_text(host, port);
  } else {
    text += "+sentinel://" + who;
    for (const auto& [sentinel_host, sentinel_port] : sentinels) {
      if (&sentinel_host != &sentinels.front().first) text += ",";
      text += host_text(sentinel_host, sentinel_port);
    }
    text += "/" + store::percent_encoded(sentinel_master);
  }
  text += "/" + std::to_string(database);
  char mark = '?';
  const auto add = [&text, &mark](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    text += mark;
    text.append(name).append("=").append(store::percent_encoded(value));
    mark = '&';
  };
  add("sentinel_user", sentinel_user);
  add("ca", ca_file);
  add("cert", cert_file);
  add("key", key_file);
  add("name", server_name);
  return text;
}

RedisAddress RedisAddress::sentinel(std::size_t index) const {
  RedisAddress way = *this;
  way.sentinels.clear();
  way.sentinel_master.clear();
  std::tie(way.host, way.port) = sentinels[index];
  way.database = 0;
  way.user = std::exchange(way.sentinel_user, {});
  way.password = std::exchange(way.sentinel_password, {});
  return way;
}

RedisAddress RedisAddress::master(std::string_view named_host, std::uint16_t named_port) const {
  RedisAddress way = *this;
  way.sentinels.clear();
  way.sentinel_master.clear();
  way.sentinel_user.clear();
  way.sentinel_password.clear();
  way.host = named_host;
  way.port = named_port;
  return way;
}

Result<RedisAddress> parse_redis_address(std::string_view url) {
  struct Form {
    std::string_view name;
    Scheme scheme;
    bool tls = false;
  };
  constexpr std::array<Form, 6> kForms{{{"redis", Scheme::Tcp},
                                        {"rediss", Scheme::Tcp, true},
                                        {"unix", Scheme::Unix},
                                        {"redis+unix", Scheme::Unix},
                                        {"redis+sentinel", Scheme::Sentinel},
                                        {"rediss+sentinel", Scheme::Sentinel, true}}};
  const std::size_t end = url.find("://");
  const std::string_view name = url.substr(0, end);
  if (end != std::string_view::npos) {
    for (const Form& form : kForms) {
      if (form.name == name) return AddressParser(form.name, form.scheme, form.tls).parse(url.substr(end + 3));
    }
    if (name == "redis+cluster" || name == "rediss+cluster") {
      return failure(StatusCode::Unimplemented, std::string{redis::kNoCluster});
    }
  }
  return failure(
      StatusCode::InvalidArgument,
      "a Redis address begins with redis://, rediss://, unix:///, redis+unix:///, redis+sentinel:// or rediss+sentinel://, as in "
      "redis://127.0.0.1:6379/0 or unix:///run/redis/redis.sock?db=0");
}

}  // namespace rondo
