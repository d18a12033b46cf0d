// Percent-encoding in addresses of stores (RFC 3986, section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rondo::store {

/// 'text' with each %XX decoded to its byte. Nothing if a '%' does not begin a valid %XX, or if a byte is NUL. O(length).
std::optional<std::string> percent_decoded(std::string_view text);

/// 'text' with every character except letters, digits and "/.-_~" encoded as %XX. O(length).
std::string percent_encoded(std::string_view text);

}  // namespace rondo::store
