// The escapes of the admin protocol's texts: the functions of rondo/base/text.h, under the name by which programs include them.
#pragma once

#include "rondo/base/text.h"  // IWYU pragma: export
