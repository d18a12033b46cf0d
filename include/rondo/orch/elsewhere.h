// elsewhere.h: blocking work for Runtime::run_elsewhere: the delivery of its result, and its form in a journal. User code specialises
// ElsewhereCodec for its own types; the namespace rondo::elsewhere is internal.
#pragma once

#include <concepts>
#include <cstring>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "rondo/base/result.h"

namespace rondo {

/// Writes a result of type T into a journal, so that a replay can return it. Defined for numbers, enumerations, bool and std::string. For
/// another type, specialise it with the same two functions; without one a recorded day cannot be replayed past such a result.
template <class T>
struct ElsewhereCodec;

template <class T>
requires(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>) struct ElsewhereCodec<T> {
  static constexpr bool kIsText = std::is_same_v<T, std::string>;
  static void encode(const T& value, std::string& to) {
    if constexpr (kIsText) {
      to += value;
    } else {
      to.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  /// False if the bytes are not a value of T.
  static bool decode(std::string_view from, T& value) {
    if constexpr (kIsText) {
      value = from;
    } else {
      if (from.size() != sizeof value) return false;
      std::memcpy(&value, from.data(), sizeof value);
    }
    return true;
  }
};

namespace elsewhere {

/// One work, until its result was delivered.
class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;
  /// Runs on a thread of the pool.
  virtual Status run(const std::stop_token& stop) = 0;
  /// Runs on the scheduler's thread.
  virtual void answer(Status status) = 0;
  virtual void encode(std::string& to) const = 0;
  virtual bool decode(std::string_view from) = 0;

  std::weak_ptr<void> owner;  // If has_owner, the result is not delivered after the owner is destroyed.
  bool has_owner = false;
};

template <class T>
concept Encoded = std::default_initializable<T> && requires(const T& value, T& read, std::string& to, std::string_view from) {
  ElsewhereCodec<T>::encode(value, to);
  { ElsewhereCodec<T>::decode(from, read) } -> std::same_as<bool>;
};

template <class Work>
decltype(auto) call(Work& work, const std::stop_token& stop) {
  if constexpr (std::is_invocable_v<Work&, std::stop_token>) {
    return work(stop);
  } else {
    return work();
  }
}

template <class Work, class Done>
class TypedJob final : public Job {
  using R = decltype(call(std::declval<Work&>(), std::declval<const std::stop_token&>()));
  /// The type of a value that the work returns, directly or in a Result; void if there is none.
  static auto value_type() {
    if constexpr (std::is_void_v<R> || std::is_same_v<R, Status>) {
      return std::type_identity<void>{};
    } else if constexpr (requires(R result) { []<class T>(const Result<T>&) {}(result); }) {
      return std::type_identity<typename R::value_type>{};
    } else {
      return std::type_identity<R>{};
    }
  }
  using Value = typename decltype(value_type())::type;
  static constexpr bool kHasValue = !std::is_void_v<Value>;

 public:
  TypedJob(Work work, Done done) : work_(std::move(work)), done_(std::move(done)) {}

  Status run(const std::stop_token& stop) override {
    if constexpr (std::is_void_v<R>) {
      call(work_, stop);
      return {};
    } else if constexpr (std::is_same_v<R, Status>) {
      return call(work_, stop);
    } else if constexpr (std::is_same_v<R, Value>) {
      value_.emplace(call(work_, stop));
      return {};
    } else {
      R result = call(work_, stop);
      if (!result) return std::move(result).error();
      if constexpr (kHasValue) value_.emplace(std::move(*result));
      return {};
    }
  }
  void answer(Status status) override {
    if constexpr (!kHasValue) {
      done_(std::move(status));
    } else if (status.ok()) {
      done_(Result<Value>{std::move(*value_)});
    } else {
      done_(Result<Value>{failure(std::move(status))});
    }
  }
  void encode(std::string& to) const override {
    if constexpr (kHasValue && Encoded<Value>) {
      if (value_) ElsewhereCodec<Value>::encode(*value_, to);
    }
  }
  bool decode(std::string_view from) override {
    if constexpr (!kHasValue) {
      return from.empty();
    } else if constexpr (Encoded<Value>) {
      return ElsewhereCodec<Value>::decode(from, value_.emplace());
    } else {
      return false;
    }
  }

 private:
  struct Nothing {};
  Work work_;
  Done done_;
  std::optional<std::conditional_t<kHasValue, Value, Nothing>> value_;
};

template <class Work, class Done>
std::unique_ptr<Job> make_job(Work work, Done done) {
  return std::make_unique<TypedJob<Work, Done>>(std::move(work), std::move(done));
}

}  // namespace elsewhere
}  // namespace rondo
