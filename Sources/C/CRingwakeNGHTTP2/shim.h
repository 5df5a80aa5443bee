// libnghttp2 for Swift. It needs no wrappers: its memory interface takes plain functions and pointers.
#ifndef RINGWAKE_NGHTTP2_SHIM_H
#define RINGWAKE_NGHTTP2_SHIM_H

#include <nghttp2/nghttp2.h>

#endif
