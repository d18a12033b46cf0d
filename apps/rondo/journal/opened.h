// OpenedJournal: the files of a call of `rondo journal`, and their gaps and damage: reported as text on standard error, or in JSON among
// the other lines.
#pragma once

#include <boost/json.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments/options.h"
#include "journal/files.h"
#include "rondo/base/result.h"

namespace rondo::cli {

/// Bytes as JSON text (rondo/base/text.h).
boost::json::string text(std::string_view bytes);
boost::json::object damage_json(const journal::Damage& damage);
/// Prints a gap, or damage with its file, on standard error.
void print_trouble(const boost::json::object& one);

class OpenedJournal {
 public:
  OpenedJournal(const Options& options, const ReadJournal& call);

  /// Returns an exit code if there is nothing to read.
  std::optional<int> failed() const;
  const journal::JournalFiles& files() const { return *files_; }
  const std::vector<std::unique_ptr<journal::JournalReader>>& readers() const { return files_->readers; }
  const std::vector<journal::FileGap>& gaps() const { return files_->gaps; }
  /// The number of records of all files, according to their blocks.
  std::uint64_t records() const;

  /// Replaces the last reader, which is not needed any more.
  void replace_last(std::unique_ptr<journal::JournalReader> reader);

  /// The end of the newest file. MayGrow: a torn block there may be one that is being written.
  enum class End : std::uint8_t { MayGrow, IsFinal };
  /// Returns the gaps between files and the damage in them that were not reported yet. Call again at the end: a file may change while it
  /// is read.
  boost::json::array trouble(End end = End::IsFinal);
  /// Reports them as text on standard error; with JSON as lines on standard output.
  void report_trouble(End end = End::IsFinal);

 private:
  const Options& options_;
  Result<journal::JournalFiles> files_;
  std::size_t gaps_reported_ = 0;
  std::vector<std::size_t> damage_reported_;
};

}  // namespace rondo::cli
