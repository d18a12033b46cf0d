// JSON as rondo prints it: compact, and numbers as people and scripts write them: 307652.3, not 3.076523E5.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace rondo::cli {

/// The text of 'value' on one line. A number that is not finite, which JSON cannot carry, becomes null.
std::string json_text(const boost::json::value& value);

}  // namespace rondo::cli
