// Removes secrets from text for display: passwords in addresses, and values named password, secret, token or key.
#pragma once

#include <string>
#include <string_view>

namespace rondo {

/// 'text' with "***" in place of each secret. A secret is the text between ':' and '@' after "scheme://" (without a ':' all text before
/// '@'). It is also the value of name=value if the name ends with password, passwd, passphrase, secret, token or key. The value ends at the
/// next '&', space, quote, comma or the end. File names are not secrets: password_file=... stays. O(length).
std::string hide_secrets(std::string_view text);

}  // namespace rondo
