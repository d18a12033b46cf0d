#include "output/print.h"
#include "output/report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

/// The errno of the first failed write, because stdout stores only that one failed; 0: none.
int& first_failure() {
  static int number = 0;
  return number;
}

void note(bool written) {
  if (!written && first_failure() == 0) first_failure() = errno;
}

/// The length of a line feed, tab or color of ours at the beginning of 'text', which passes although terminals interpret it; 0: none.
std::size_t length_of_ours(std::string_view text, bool has_colors) {
  if (text.starts_with('\n') || text.starts_with('\t')) return 1;
  if (!has_colors) return 0;
  for (const std::string_view color : {kBold, kDim, kPlain}) {
    if (text.starts_with(color)) return color.size();
  }
  return 0;
}

/// Copies safe pieces and our own sequences, and escapes unsafe bytes.
std::string shown(std::string_view text, bool has_colors) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t safe = safe_length(text);
    out.append(text.substr(0, safe));
    text.remove_prefix(safe);
    const std::size_t ours = length_of_ours(text, has_colors);
    out.append(ours != 0 ? std::string{text.substr(0, ours)} : visible_text(text.substr(0, 1)));
    text.remove_prefix(std::min(text.size(), std::max<std::size_t>(ours, 1)));
  }
  return out;
}

}  // namespace

void print(std::string_view text) { print_bytes(shown(text, true)); }

void print_error(std::string_view text) {
  const std::string safe = shown(text, false);  // An error has no colors; it may repeat a word of the command line.
  std::fwrite(safe.data(), 1, safe.size(), stderr);
}

void print_bytes(std::string_view bytes) { note(std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()); }

int finish_output(int code) {
  note(std::fflush(stdout) == 0);
  return output_trouble().ok() ? code : kExitFailed;
}

int end_output(const Options& options, int code) {
  const int finished = finish_output(code);
  const Status trouble = output_trouble();
  if (trouble.ok()) return finished;
  return trouble.origin_errno() == EPIPE ? code : report(options, trouble, kExitFailed);
}

Status output_trouble() { return first_failure() == 0 ? Status{} : status_from_errno(first_failure(), "write to standard output"); }

}  // namespace rondo::cli
