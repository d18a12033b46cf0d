// The reference of tables and fields on the command line.
#pragma once

#include <string>

#include "options.h"

namespace rondo::cli {

int show_schema(const Options& options, const ShowSchema& asked);

/// docs/guide/tables.md.
std::string tables_page();

/// Names on standard error each field of 'row' that its table does not know, if the table is one of the switch.
void warn_of_unknown_fields(const SetRow& row);

}  // namespace rondo::cli
