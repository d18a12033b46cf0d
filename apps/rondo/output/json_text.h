// JSON as rondo prints it: compact, with plain numbers such as 307652.3 instead of 3.076523E5.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace rondo::cli {

/// The text of 'value' on one line, with valid UTF-8. Characters that are unsafe to show (rondo/base/text.h) are escaped as \uXXXX. A
/// number that is not finite becomes null, because JSON cannot represent it.
std::string json_text(const boost::json::value& value);

}  // namespace rondo::cli
