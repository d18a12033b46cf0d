// The reference of tables and fields on the command line.
#pragma once

#include <string>

#include "arguments/options.h"

namespace rondo::cli {

int show_schema(const Options& options, const ShowSchema& asked);

/// docs/guide/tables.md.
std::string tables_page();

/// Prints on standard error each field of 'row' that its table does not have, if it is a table of the switch.
void warn_of_unknown_fields(const SetRow& row);

}  // namespace rondo::cli
