/* reader_impl: what the reader's own files know of it. */
#ifndef TAILRACE_MASTER_STORE_READER_IMPL_H
#define TAILRACE_MASTER_STORE_READER_IMPL_H

#include "master/store/db.h"
#include "master/store/reader.h"

struct reader {
    struct db db;
};

#endif
