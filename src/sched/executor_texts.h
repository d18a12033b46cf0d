// Texts: the orders or the answers of an executor as its codec encodes them, for a journal. An answer begins with its status.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"

namespace rondo::executor {

/// Operations or answers in the encoding of a codec.
struct Texts {
  std::string bytes;
  std::vector<std::size_t> ends;  // End of each text in 'bytes'.
  /// 'append' must append the next text to the string that it receives.
  template <class Append>
  void add(const Append& append) {
    append(bytes);
    ends.push_back(bytes.size());
  }
  std::size_t size() const noexcept { return ends.size(); }
  std::string_view operator[](std::size_t index) const noexcept {
    const std::size_t begin = index == 0 ? 0 : ends[index - 1];
    return std::string_view{bytes}.substr(begin, ends[index] - begin);
  }
};

/// Appends the code, errno and message of a status; it is the beginning of an answer's bytes.
void append_status(const Status& status, std::string& to);
/// Removes a status from the beginning of 'from'. False if there is none.
bool take_status(std::string_view& from, Status& status);

}  // namespace rondo::executor
