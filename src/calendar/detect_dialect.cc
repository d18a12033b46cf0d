// words_of, same_letters and detect_dialect: the form of a text, before any field is parsed.
#include <algorithm>

#include "calendar/cron_parsers.h"

namespace rondo::calendar {

namespace {

bool is_letter(char c) noexcept { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Words that only systemd's expressions have: with ':', with "..", a date, a shorthand.
bool is_systemd_word(std::string_view word) {
  if (word.find(':') != std::string_view::npos || word.find("..") != std::string_view::npos) return true;
  if (word.find('~') != std::string_view::npos) return true;
  if (word.front() == '@') return word.size() > 1 && is_digit(word[1]);
  if (std::all_of(word.begin(), word.end(), [](char c) { return is_letter(c) || c == '-'; }) && word.size() > 5) return true;
  return std::count(word.begin(), word.end(), '-') == 2;
}

/// The day or weekday field of an expression of six fields restricts something.
bool restricts(const Word& word) { return word.text.front() != '*' && word.text != "?"; }

}  // namespace

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  std::size_t at = 0;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (at < text.size()) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && !is_blank(text[at])) ++at;
    words.push_back({text.substr(begin, at - begin), begin + 1});
  }
  return words;
}

bool same_letters(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

Result<CronDialect, CronError> detect_dialect(std::string_view text) {
  const std::vector<Word> words = words_of(text);
  if (words.empty()) return refuse(1, "the expression is empty");
  if (words[0].text.starts_with("CRON_TZ=") || words[0].text.starts_with("TZ=") || words[0].text == "@every") return CronDialect::Robfig;
  if (words.size() <= 4 && std::any_of(words.begin(), words.end(), [](const Word& word) { return is_systemd_word(word.text); })) {
    // A macro of cron has '@' and letters.
    return words[0].text.front() == '@' && words[0].text.size() > 1 && is_letter(words[0].text[1]) ? CronDialect::Unix
                                                                                                   : CronDialect::Systemd;
  }
  if (words[0].text.front() == '@') return CronDialect::Unix;
  if (words.size() == 5) return text.find('?') == std::string_view::npos ? CronDialect::Unix : CronDialect::Robfig;
  if (words.size() == 7) return CronDialect::Quartz;
  if (words.size() == 6) {
    if (words[3].text == "?" || words[5].text == "?") return CronDialect::Quartz;
    const bool specials = words[3].text.find_first_of("LWlw") != std::string_view::npos ||
                          words[5].text.find('#') != std::string_view::npos ||
                          (words[5].text.size() > 1 && same_letters(words[5].text.substr(words[5].text.size() - 1), "L"));
    if (!specials && restricts(words[3]) && restricts(words[5])) {
      return refuse(words[3].column, "six fields with a day and a weekday: spring wants both to match, unix6 either; choose the dialect");
    }
    return CronDialect::Spring;
  }
  if (words.size() <= 4 && is_letter(words[0].text.front())) return CronDialect::Systemd;  // Weekdays alone: "Mon".
  return refuse(words.size() > 7 ? words[7].column : text.size() + 1,
                "a cron expression has 5, 6 or 7 fields, this has " + std::to_string(words.size()));
}

}  // namespace rondo::calendar
