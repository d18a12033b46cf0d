// How bytes travel in JSON. Keys, names and values of tables are any bytes, JSON strings are Unicode: bytes that are not valid UTF-8, and
// control characters, are written as \xHH (two lower-case hex digits). A backslash that happens to stand before xHH becomes \x5c, so the
// way back is exact; every other backslash stays as it is. People see what is odd, and can type it: rondo get TABLE 'a\x00b'.
#pragma once

#include <string>
#include <string_view>

namespace rondo {

/// 'bytes' as valid UTF-8 without control characters. unescape_text(escape_text(x)) == x for every x. O(length).
std::string escape_text(std::string_view bytes);

/// 'text' for people to read: bytes that are not valid UTF-8, and control characters, become a backslash with xHH; backslashes stay as they
/// are, so that text that went through escape_text() stays readable. Not reversible. O(length).
std::string visible_text(std::string_view text);

/// The bytes behind 'text': each \xHH is one byte (either case of hex digits), the rest stands for itself. Never fails.
std::string unescape_text(std::string_view text);

}  // namespace rondo
