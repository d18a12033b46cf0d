// Messages: values of any movable type, distinguished by their type alone. A queue place holds the value itself if it fits, otherwise a
// pointer to one allocation. The runtime identifies a type by the address of one constant and calls plain functions.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "rondo/message/limits.h"

namespace rondo {

/// A type that can be sent. Moving must not throw, because a message is moved into a queue under its lock; for the same reason it must not
/// post.
template <class M>
concept Message = std::is_object_v<M> && std::is_same_v<M, std::remove_cv_t<M>> && std::is_nothrow_move_constructible_v<M> &&
    std::is_nothrow_destructible_v<M>;

/// True if M travels without an allocation. A larger message costs one allocation (one for all subscribers of a topic together).
template <class M>
inline constexpr bool kTravelsInline = sizeof(M) <= limits::kInlineMessageBytes && alignof(M) <= 16;

namespace message {

class TypeLimit;

/// The representation of a message of type M in a queue.
template <class M>
using Stored = std::conditional_t<kTravelsInline<M>, M, std::shared_ptr<M>>;

template <class M>
M& value_of(void* stored) noexcept {
  if constexpr (kTravelsInline<M>) {
    return *static_cast<M*>(stored);
  } else {
    return **static_cast<std::shared_ptr<M>*>(stored);
  }
}

/// Makes the representation from the arguments of a constructor of M.
template <class M, class... Arguments>
Stored<M> stored(Arguments&&... arguments) {
  if constexpr (kTravelsInline<M>) {
    return M(std::forward<Arguments>(arguments)...);
  } else {
    return std::make_shared<M>(std::forward<Arguments>(arguments)...);
  }
}

/// Functions for stored messages of one type. Its address identifies the type.
struct MessageType {
  const std::type_info* info;
  void (*move)(void* to, void* from) noexcept;  // Constructs one at 'to'; the one at 'from' must still be destroyed.
  void (*exchange)(void* one, void* other) noexcept;
  void (*destroy)(void* stored) noexcept;  // nullptr if no destructor needs to run.
  bool is_inline;                          // See kTravelsInline.
};

template <Message M>
inline constexpr MessageType kType{
    &typeid(M), [](void* to, void* from) noexcept { ::new (to) Stored<M>(std::move(*static_cast<Stored<M>*>(from))); },
    [](void* one, void* other) noexcept {
      Stored<M> kept(std::move(*static_cast<Stored<M>*>(one)));
      std::destroy_at(static_cast<Stored<M>*>(one));
      ::new (one) Stored<M>(std::move(*static_cast<Stored<M>*>(other)));
      std::destroy_at(static_cast<Stored<M>*>(other));
      ::new (other) Stored<M>(std::move(kept));
    },
    std::is_trivially_destructible_v<Stored<M>> ? nullptr
                                                : +[](void* stored) noexcept { std::destroy_at(static_cast<Stored<M>*>(stored)); },
    kTravelsInline<M>};

/// The type's name in C++ spelling. Allocates.
std::string name_of(const MessageType& type);

/// Connects a type to a function of an agent. Made when the agent subscribes; no lookup is needed later.
struct Handler {
  const MessageType* type = nullptr;
  void (*call)(void* object, void* stored) = nullptr;
  void* object = nullptr;
  TypeLimit* limit = nullptr;  // Shared by all handlers of the type.
  bool takes_over = false;     // The function takes the message over, so there is nothing left to retry.
};

/// A handler: void (Self::*)(const M&), which may be const, or (M&&) for one that takes the message over.
template <class S, class M, bool kOver>
struct HandlerTraits {
  using Self = S;
  using Type = M;
  static constexpr bool kTakesOver = kOver;
};
template <class S, class M>
HandlerTraits<S, M, false> traits_of(void (S::*)(const M&));
template <class S, class M>
HandlerTraits<S, M, false> traits_of(void (S::*)(const M&) const);
template <class S, class M>
HandlerTraits<S, M, true> traits_of(void (S::*)(M&&));
template <class Other>
auto traits_of(Other) {
  static_assert(!std::is_same_v<Other, Other>,
                "a handler of messages is: void handle(const M& message); or void handle(M&& message), which takes it over");
}
template <auto Method>
using MethodTraits = decltype(traits_of(Method));

/// 'Self' and 'Type' are parameters for the sake of linkage. Without them, GCC names an instantiation for a class local to one file as
/// another file may name its own. The linker then merges the two.
template <auto Method, class Self, class Type>
void call_method(void* object, void* stored) {
  using Traits = MethodTraits<Method>;
  auto& message = value_of<Type>(stored);
  auto& self = *static_cast<Self*>(object);
  if constexpr (Traits::kTakesOver) {
    (self.*Method)(std::move(message));
  } else {
    (self.*Method)(message);
  }
}

template <auto Method, class Self = typename MethodTraits<Method>::Self>
Handler handler_for(Self& self) {
  using Traits = MethodTraits<Method>;
  using Type = typename Traits::Type;
  return {&kType<Type>, &call_method<Method, Self, Type>, &self, nullptr, Traits::kTakesOver};
}

}  // namespace message
}  // namespace rondo
