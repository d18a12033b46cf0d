// Escapes of texts in the admin protocol: includes the functions of rondo/base/text.h under this name.
#pragma once

#include "rondo/base/text.h"  // IWYU pragma: export
