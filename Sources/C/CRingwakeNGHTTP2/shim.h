// libnghttp2 as Swift sees it. Nothing here needs a wrapper: the memory interface takes plain functions and pointers.
#ifndef RINGWAKE_NGHTTP2_SHIM_H
#define RINGWAKE_NGHTTP2_SHIM_H

#include <nghttp2/nghttp2.h>

#endif
