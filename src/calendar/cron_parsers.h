// The parsers of the dialects, and what they share. Text comes from outside: each fault is a CronError with the column of the byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calendar/cron_fields.h"
#include "rondo/calendar/cron.h"

namespace rondo::calendar {

/// The result of a parser: fields, or where and why there are none.
using ParsedFields = Result<CronFields, CronError>;

/// One word of a text and the column of its first byte.
struct Word {
  std::string_view text;
  std::size_t column;
};

/// The words between blanks and tabs.
std::vector<Word> words_of(std::string_view text);

/// 'a' and 'b' are equal but for the case of ASCII letters.
bool same_letters(std::string_view a, std::string_view b) noexcept;

inline tl::unexpected<CronError> refuse(std::size_t column, std::string reason) {
  return tl::unexpected<CronError>({column, std::move(reason), false});
}
inline tl::unexpected<CronError> never_fires(std::size_t column) {
  return tl::unexpected<CronError>({column, "no month has such a day: the expression never fires", true});
}

/// Quartz, Spring, Unix and UnixSeconds.
ParsedFields parse_cron_fields(std::string_view text, CronDialect dialect);

/// The same for the words of a text that ends before 'end_column'. A macro is a single word.
ParsedFields parse_cron_words(const std::vector<Word>& words, std::size_t end_column, CronDialect dialect);

/// Systemd. Writes the zone, if the text names one.
ParsedFields parse_systemd(std::string_view text, std::string& zone);

/// Robfig: the same.
ParsedFields parse_robfig(std::string_view text, std::string& zone);

/// The dialect of a text by its form (Cron::parse); an error where two dialects would disagree.
Result<CronDialect, CronError> detect_dialect(std::string_view text);

}  // namespace rondo::calendar
