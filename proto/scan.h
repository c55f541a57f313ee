/*
 * scan: one pass over a msgpack value before msgpack-c sees it, because msgpack-c trusts counts
 * (five bytes can make it reserve gigabytes). Checks that counts fit in the bytes left, depth, the
 * number of objects, and that the value ends exactly at the end. Pure.
 */
#ifndef TAILRACE_PROTO_SCAN_H
#define TAILRACE_PROTO_SCAN_H

#include "common/base/err.h"
#include "common/base/str.h"

enum { SCAN_MAX_DEPTH = 16, SCAN_MAX_OBJECTS = 65536 };

/* ERR_PROTO with the offset and what was wrong there. Maps, extensions and 0xc1 are refused: the
 * protocol has none. */
enum err_code scan_value(struct view bytes, struct err *err) TAILRACE_MUST_CHECK;

#endif
