// What follows the wrong access to a Result: kept out of the header, so that the check inlines to a compare and a branch.
#include "rondo/base/result.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace rondo::detail {

void value_of_an_error(const std::string& error) noexcept {
  std::fprintf(stderr, "rondo: the program is wrong: it uses the value of a Result that holds an error: %s\n", error.c_str());
  std::abort();
}

void error_of_a_value() noexcept {
  std::fprintf(stderr, "rondo: the program is wrong: it uses the error of a Result that holds a value\n");
  std::abort();
}

void throw_error(const std::string& error) { throw std::runtime_error(error); }

}  // namespace rondo::detail
