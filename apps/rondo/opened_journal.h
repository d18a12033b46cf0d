// OpenedJournal: the files of a call of `rondo journal`, and what is wrong with them: told in words on standard error, or in JSON among the
// rest.
#pragma once

#include <boost/json.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "options.h"
#include "orch/journal_files.h"
#include "rondo/base/result.h"

namespace rondo::cli {

/// As JSON can hold it (rondo/base/text.h).
boost::json::string text(std::string_view bytes);
boost::json::object damage_json(const journal::Damage& damage);
/// A gap, or damage with its file, in words on standard error.
void print_trouble(const boost::json::object& one);

class OpenedJournal {
 public:
  OpenedJournal(const Options& options, const ReadJournal& call);

  /// An exit code when there is nothing to read.
  std::optional<int> failed() const;
  const journal::JournalFiles& files() const { return *files_; }
  const std::vector<std::unique_ptr<journal::JournalReader>>& readers() const { return files_->readers; }
  const std::vector<journal::FileGap>& gaps() const { return files_->gaps; }
  /// Of all files, as far as their blocks say.
  std::uint64_t records() const;

  /// In place of the last of the readers, which is not needed any more.
  void replace_last(std::unique_ptr<journal::JournalReader> reader);

  /// Of the newest file: what stands torn there may be a block that is being written.
  enum class End : std::uint8_t { MayGrow, IsFinal };
  /// What has not been told: gaps between files, damage in them. Again at the end: a file may change while it is read.
  boost::json::array trouble(End end = End::IsFinal);
  /// In words on standard error; in JSON a line for each on standard output.
  void tell_trouble(End end = End::IsFinal);

 private:
  const Options& options_;
  Result<journal::JournalFiles> files_;
  std::size_t gaps_told_ = 0;
  std::vector<std::size_t> damage_told_;
};

}  // namespace rondo::cli
