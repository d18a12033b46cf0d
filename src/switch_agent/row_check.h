// row_check: whether a row says what the consumer of its table can read, asked before it is written (`rondo load --atomic`). What a row
// waits for, and what the data plane refuses, is not known here.
#pragma once

#include <string_view>

#include "rondo/store/record.h"

namespace rondo::switch_agent {

/// InvalidArgument, with the words that the rejected row would get, for a row of a table of tables.h. Ok for other tables.
Status check_row(std::string_view table, std::string_view key, const Fields& fields);

}  // namespace rondo::switch_agent
