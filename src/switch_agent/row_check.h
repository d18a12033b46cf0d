// row_check: checks before a write whether the consumer of the table can parse the row (`rondo load --atomic`). It does not check what a
// row waits for or what the data plane refuses.
#pragma once

#include <string_view>

#include "rondo/store/record.h"

namespace rondo::switch_agent {

/// Checks a row of a table of tables.h. InvalidArgument carries the message that the rejected row would get. Ok for other tables.
Status check_row(std::string_view table, std::string_view key, const Fields& fields);

}  // namespace rondo::switch_agent
