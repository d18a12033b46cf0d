// FileReplacement: another file in the place of a durable log: of a damaged one, which is kept beside it, or of one that is far larger than
// what it tells. Whenever the process ends, the name has a whole file, or the damaged one with its log. For who holds the StoreLock.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "store/durable/log_content.h"
#include "store/durable/log_file.h"

namespace rondo::store::durable {

class FileReplacement {
 public:
  /// 'mode' is that of the new file when it is opened.
  FileReplacement(std::string path, LogFile::Mode mode) : path_(std::move(path)), new_(path_ + "-new"), mode_(mode) {}

  /// If a process ended within one of the following: as if it had never begun, or was through. Before the file is opened.
  Status undo() const;
  /// Puts 'content', which is what could be read, in the place of 'file', which gets the name 'aside'; 'file' is the new one then.
  Status replace_damaged(std::unique_ptr<LogFile>& file, const LogContent& content, std::string& aside) const;
  /// Puts 'content', which is all that 'file' tells, in its place. Where there is no room for that, or no right, it stays as it is. After
  /// an error 'file' is there if it can be used.
  Status replace_by_smaller(std::unique_ptr<LogFile>& file, const LogContent& content) const;

 private:
  Status reopen(std::unique_ptr<LogFile>& file) const;
  Status take_place() const;
  Status write_new(const LogContent& content) const;
  Status try_to_write_new(const LogContent& content) const;
  void remove_new() const;

  const std::string path_;
  const std::string new_;
  const LogFile::Mode mode_;
};

}  // namespace rondo::store::durable
