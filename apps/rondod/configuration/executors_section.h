// Reads and writes the sections [http] and [executors]: executors_choice.h. For config.cc.
#pragma once

#include <string>

#include <toml++/toml.h>

#include "rondo/base/status.h"
#include "rondod/configuration/executors_choice.h"

namespace rondo::daemon {

/// 'error' keeps the first error.
void read_http(const toml::table* table, const std::string& file, Status& error, HttpChoice& http);
/// 'serves_http' and 'runs_jobs': as the other sections say; groups need both.
void read_executors(const toml::table* table, const std::string& file, Status& error, bool serves_http, bool runs_jobs,
                    ExecutorsChoice& executors);
toml::table http_table(const HttpChoice& http);
toml::table executors_table(const ExecutorsChoice& executors);

}  // namespace rondo::daemon
