// FileReplacement: puts another file in the place of a durable log: of a damaged one, which is kept beside it, or of one that is far larger
// than its content. Whenever the process ends, the name leads to a whole file, or to the damaged file with its log. The caller must hold
// the StoreLock.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "rondo/base/time.h"
#include "store/durable/log_content.h"
#include "store/durable/log_file.h"

namespace rondo::store::durable {

class FileReplacement {
 public:
  /// 'mode' is the mode in which the new file is opened.
  FileReplacement(std::string path, LogFile::Mode mode) : path_(std::move(path)), new_(path_ + "-new"), mode_(mode) {}

  /// Call this before the file is opened. If a process ended during one of the following functions, this restores the state before it or
  /// completes it.
  Status undo() const;
  /// Writes 'content', the readable part of 'file', to a new file in its place. The old file is renamed to NAME.damaged-TIME; 'aside' is
  /// its new name. 'file' is then the new file.
  Status replace_damaged(std::unique_ptr<LogFile>& file, const LogContent& content, WallTime now, std::string& aside) const;
  /// Writes 'content', the whole content of 'file', to a smaller file in its place. Without room or permission for that, the old file
  /// stays. After an error 'file' is set if it can be used.
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
