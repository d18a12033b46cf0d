// Texts for others to read, without what only some may know: passwords in addresses, and what is named password, secret, token or key in
// one.
#pragma once

#include <string>
#include <string_view>

namespace rondo {

/// 'text' with "***" in place of each secret: what stands between ':' and '@' after "scheme://" (or, if there is no ':', all before '@'),
/// and the value of name=value where the name ends with password, passwd, passphrase, secret, token or key, up to the next '&', space,
/// quote, comma or the end. Names of files are not secrets: password_file=... stays. O(length).
std::string hide_secrets(std::string_view text);

}  // namespace rondo
