// Reads and writes the sections [[notify]]: notify_choice.h. For config.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "rondo/base/status.h"
#include "rondod/configuration/notify_choice.h"

namespace rondo::daemon {

/// "mail", "webhook" or "command".
std::string_view to_string(NotifyKind kind) noexcept;

/// 'sections': null if the file has none. 'error' keeps the first error. 'runs_jobs': as the section [jobs] says.
void read_notify(const toml::array* sections, const std::string& file, Status& error, bool runs_jobs, std::vector<NotifyChoice>& all);
toml::array notify_array(const std::vector<NotifyChoice>& all);

}  // namespace rondo::daemon
