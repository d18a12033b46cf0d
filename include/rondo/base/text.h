// Text from outside, made safe to show. Keys, names and values of tables are any bytes; a terminal obeys control characters, and a reader
// is misled by characters that reverse or hide text. Every program text that holds such bytes passes one of these functions: answers of
// the admin socket, log lines, exports of the journal, and what rondo prints. Unsafe are:
//   - bytes that are not valid UTF-8 (RFC 3629),
//   - C0 and C1 control characters and DEL,
//   - line and paragraph separators, bidirectional controls,
//   - characters that no font draws (Unicode's Default_Ignorable_Code_Point): with them two different keys look the same.
// An unsafe character is written as \xHH for each of its bytes (two lower-case hex digits). People see what is odd, and can type it:
// rondo get TABLE 'a\x00b'.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rondo {

/// 'bytes' as valid UTF-8 without unsafe characters, reversible: a backslash before xHH becomes \x5c, every other backslash stays.
/// unescape_text(escape_text(x)) == x for every x. O(length).
std::string escape_text(std::string_view bytes);

/// As escape_text(), and the characters of 'also', which are ASCII, are escaped wherever they stand. O(length).
std::string escape_text(std::string_view bytes, std::string_view also);

/// 'text' for people to read: unsafe characters are escaped and backslashes stay, so that text that went through escape_text() stays
/// readable. Not reversible; a second call changes nothing. O(length).
std::string visible_text(std::string_view text);

/// How many bytes at the beginning of 'text' are safe: text.size() if all are. O(result).
std::size_t safe_length(std::string_view text) noexcept;

/// The bytes behind 'text': each \xHH is one byte (either case of hex digits), the rest stands for itself. Never fails.
std::string unescape_text(std::string_view text);

}  // namespace rondo
