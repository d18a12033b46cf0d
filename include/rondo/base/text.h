// Makes text from outside safe to display. Keys, names and values of tables are arbitrary bytes. A terminal executes control characters,
// and characters that reverse or hide text mislead a reader. Every program output with such bytes uses one of these functions: answers of
// the admin socket, log lines, exports of the journal, and the output of `rondo`. Unsafe are:
//   - bytes that are not valid UTF-8 (RFC 3629),
//   - C0 and C1 control characters and DEL,
//   - line and paragraph separators, bidirectional controls,
//   - characters that no font draws (Unicode's Default_Ignorable_Code_Point): with them two different keys look the same,
//   - noncharacters such as U+FFFE, and combining marks without a character before them, which would change what surrounds the text.
// An unsafe character is written as \xHH for each of its bytes (two lower-case hex digits). This form can also be typed: rondo get TABLE
// 'a\x00b'.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rondo {

/// 'bytes' as valid UTF-8 without unsafe characters, reversible: a backslash before xHH is escaped, too, every other one stays.
/// unescape_text(escape_text(x)) == x for every x. O(length).
std::string escape_text(std::string_view bytes);

/// Like escape_text(); also escapes the characters of 'also', which must be ASCII, everywhere. O(length).
std::string escape_text(std::string_view bytes, std::string_view also);

/// 'text' for display: unsafe characters are escaped and backslashes stay, so that the output of escape_text() stays readable. Not
/// reversible; a second call changes nothing. O(length).
std::string visible_text(std::string_view text);

/// Number of bytes at the beginning of 'text' that are safe: text.size() if all are. O(result).
std::size_t safe_length(std::string_view text) noexcept;

/// True if 'text' is valid UTF-8 (RFC 3629). O(length).
bool is_utf8(std::string_view text) noexcept;

/// 'text', or its first 'bytes' bytes and "..." if it is longer. The cut is never inside a character of valid UTF-8.
std::string shorten(std::string_view text, std::size_t bytes);

/// The original bytes of 'text': each backslash with xHH is one byte (upper-case or lower-case digits); other characters are unchanged.
/// Never fails.
std::string unescape_text(std::string_view text);

}  // namespace rondo
