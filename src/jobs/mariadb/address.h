// Address: where a MariaDB server is, as its URL says. Any thread.
#pragma once

#include <string>

#include "rondo/base/result.h"

namespace rondo::jobs::mariadb {

struct Address {
  std::string user = {};  // Empty: the name of the process's user.
  std::string password = {};
  std::string host = {};
  unsigned port = 0;  // 0: 3306.
  std::string database = {};
  std::string socket = {};
  std::string passfile = {};
  std::string ssl_ca = {};
  bool has_tls = false;
  bool verifies = true;  // The server's certificate.
};

/// InvalidArgument, without the password in the text.
Result<Address> parse_address(const std::string& url);

/// The password: that of 'address', or the first line of its passfile. InvalidArgument if others may read the file; the error of reading
/// it.
Result<std::string> password_of(const Address& address);

}  // namespace rondo::jobs::mariadb
