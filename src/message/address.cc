#include "rondo/message/address.h"

#include <cxxabi.h>

#include <cstdlib>

#include "message/lane.h"

namespace rondo {

Address::Address(const Address& other) noexcept : cell_(other.cell_) {
  if (cell_ != nullptr) cell_->acquire();
}

Address::~Address() {
  if (cell_ != nullptr) cell_->release();
}

std::string_view Address::name() const noexcept { return cell_ != nullptr ? std::string_view{cell_->name} : std::string_view{}; }

Status Address::nobody() { return {Code::NotFound, "a message to nobody: the address is empty"}; }

namespace message {

Status post(Cell& cell, const MessageType& type, void* stored) {
  const Handler* const handler = cell.find(type);
  if (handler == nullptr)
    return {Code::NotFound, "message " + name_of(type) + " to agent '" + cell.name + "': it has no handler for this type"};
  return cell.lane->post(cell, *handler, stored);
}

void count_large(Cell& cell) noexcept { cell.lane->count_large(); }

std::string name_of(const MessageType& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.info->name(), nullptr, nullptr, &status), &std::free);
  return name != nullptr ? name.get() : type.info->name();
}

}  // namespace message
}  // namespace rondo
