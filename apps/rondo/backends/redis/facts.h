// The questions of `rondo doctor` to a server, and its findings as the rows of an answer.
#pragma once

#include <boost/json.hpp>
#include <functional>

#include "backends/redis/session.h"

namespace rondo::cli {

/// Passes each finding {level, setting, value, meaning, remedy} to 'on_row', problems first; the result has the numbers of problems and of
/// advice. examine_redis() makes the findings.
Result<boost::json::object> examine_server(RedisSession& session, bool stock_peers,
                                           const std::function<void(const boost::json::value&)>& on_row);

}  // namespace rondo::cli
