// A statement in MariaDB's language, from one in the notation of server::Statements with its parameters. Any thread.
//
// Parameters become literals: digits, or bytes in hexadecimal digits unless all of them are letters that mean nothing in a literal. So no
// value can be taken for a part of the statement. In this protocol several statements, such as the begin of a transaction and its first
// statement, go out together, and it gives one answer to each.
#pragma once

#include <string>
#include <string_view>

#include "jobs/server/values.h"

namespace rondo::jobs::mariadb {

/// "rondo." is left out; "$1" becomes a literal; "unnest($1, $2) [WITH ORDINALITY] AS list (id, next)" rows; "= ANY ($1)" a list.
std::string filled(std::string_view statement, const server::Values& values);

}  // namespace rondo::jobs::mariadb
