#include "rondo/store/store.h"

namespace rondo {

Subscription::~Subscription() = default;
Store::~Store() = default;

}  // namespace rondo
