// Percent-encoding in addresses of stores (RFC 3986, section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rondo::store {

/// 'text' with each %XX as its byte; nothing when a '%' does not begin one, or the byte is a NUL. O(length).
std::optional<std::string> percent_decoded(std::string_view text);

/// 'text' with all but letters, digits and "/.-_~" as %XX. O(length).
std::string percent_encoded(std::string_view text);

}  // namespace rondo::store
