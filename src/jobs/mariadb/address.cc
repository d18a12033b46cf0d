#include "jobs/mariadb/address.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <string_view>
#include <utility>

#include "store/percent.h"

namespace rondo::jobs::mariadb {

namespace {

constexpr std::string_view kScheme = "mariadb://";

Status wrong(const std::string& why) { return {StatusCode::InvalidArgument, "the address of the database of jobs: " + why}; }

Status decode(std::string_view text, std::string& out) {
  std::optional<std::string> plain = store::percent_decoded(text);
  if (!plain) return wrong("a '%' is not followed by two hexadecimal digits (00 is not allowed)");
  out = *std::move(plain);
  return {};
}

Status set_option(Address& address, std::string_view name, std::string_view value) {
  if (name == "socket") return decode(value, address.socket);
  if (name == "passfile") return decode(value, address.passfile);
  address.has_tls = true;
  if (name == "ssl-ca") return decode(value, address.ssl_ca);
  if (name != "ssl-verify") return wrong("'" + std::string{name} + "' is none of socket, passfile, ssl-ca and ssl-verify");
  address.verifies = value != "off";
  return address.verifies && value != "on" ? wrong("ssl-verify is neither on nor off") : Status{};
}

/// "[USER[:PASSWORD]@][HOST[:PORT]]". A host with colons is in brackets.
Status parse_authority(std::string_view text, Address& address) {
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view who = text.substr(0, at);
    const std::size_t colon = who.find(':');
    if (Status done = decode(who.substr(0, colon), address.user); !done.ok()) return done;
    if (colon != std::string_view::npos) {
      if (Status done = decode(who.substr(colon + 1), address.password); !done.ok()) return done;
    }
    text.remove_prefix(at + 1);
  }
  std::string_view host = text.substr(0, text.find(':'));
  if (text.starts_with('[')) {
    if (text.find(']') == std::string_view::npos) return wrong("a ']' is missing");
    host = text.substr(1, text.find(']') - 1);
    text.remove_prefix(2);
  }
  text.remove_prefix(host.size());
  if (Status done = decode(host, address.host); !done.ok()) return done;
  if (text.empty()) return {};
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), address.port);
  const bool is_port = text.starts_with(':') && error == std::errc{} && end == text.data() + text.size() && address.port - 1 < 65'535;
  return is_port ? Status{} : wrong("behind the host is no ':' with a port from 1 to 65535 (a '/' in a password is %2F)");
}

}  // namespace

Result<Address> parse_address(const std::string& url) {
  std::string_view rest = url;
  if (!rest.starts_with(kScheme)) return failure(wrong("it does not begin with " + std::string{kScheme}));
  rest.remove_prefix(kScheme.size());
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return failure(wrong("a '/' and the name of a database are missing"));
  Address address;
  if (Status done = parse_authority(rest.substr(0, slash), address); !done.ok()) return failure(std::move(done));
  const std::string_view path = rest.substr(slash + 1, rest.find('?') - slash - 1);
  if (Status done = decode(path, address.database); !done.ok()) return failure(std::move(done));
  if (address.database.empty()) return failure(wrong("the name of a database is missing"));
  for (std::size_t at = rest.find('?'); at != std::string_view::npos;) {
    rest.remove_prefix(at + 1);
    at = rest.find('&');
    const std::string_view option = rest.substr(0, at);
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos) return failure(wrong("'" + std::string{option} + "' has no '='"));
    if (Status done = set_option(address, option.substr(0, equals), option.substr(equals + 1)); !done.ok()) return failure(std::move(done));
  }
  return address;
}

Result<std::string> password_of(const Address& address) {
  if (address.passfile.empty()) return address.password;
  const std::string what = "the file of the password, '" + address.passfile + "'";
  struct stat status {};
  if (::stat(address.passfile.c_str(), &status) != 0) return failure(status_from_errno(errno, what));
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) return failure(wrong(what + ": others may read or write it; chmod 600 corrects that"));
  std::ifstream file(address.passfile);
  std::string line;
  if (!std::getline(file, line) && !file.eof()) return failure(StatusCode::Unavailable, what + " cannot be read");
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace rondo::jobs::mariadb
