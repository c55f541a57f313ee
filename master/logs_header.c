#include "master/logs_header.h"

#include <string.h>
#include <zlib.h>

#include "common/base/mem.h"

/* Where the fields lie; logs.h describes them. */
enum {
    AT_MAGIC = 0,
    AT_DATA = 4,
    AT_OFFSET = 8,
    AT_SIZE = 16,
    AT_LINES = 20,
    AT_LINES_BEFORE = 24,
    AT_CRC = 32,
    AT_HEADER_CRC = 36,
    AT_TIME = 40,
};

static const char magic[4] = {'T', 'R', 'B', '1'};

static void put(uint8_t *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *in, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)in[i] << (8 * i);
    return value;
}

static uint32_t header_crc(const uint8_t *bytes)
{
    uLong crc = crc32(0, bytes, AT_HEADER_CRC);

    return (uint32_t)crc32(crc, bytes + AT_TIME, LOGS_HEADER_BYTES - AT_TIME);
}

enum err_code log_header_check(const struct log_header *header, struct err *err)
{
    if (header->data_bytes < 1 || header->data_bytes > LOGS_DATA_MAX)
        return err_set(err, ERR_PROTO, "a log block of %u stored bytes", header->data_bytes);
    if (header->size < 1 || header->size > LOGS_BLOCK_MAX)
        return err_set(err, ERR_PROTO, "a log block of %u bytes", header->size);
    if (header->lines > header->size)
        return err_set(err, ERR_PROTO, "a log block of %u lines in %u bytes", header->lines,
                       header->size);
    return ERR_OK;
}

void log_header_pack(const struct log_header *header, uint8_t out[LOGS_HEADER_BYTES])
{
    memcpy(out + AT_MAGIC, magic, sizeof magic);
    put(out + AT_DATA, header->data_bytes, 4);
    put(out + AT_OFFSET, header->offset, 8);
    put(out + AT_SIZE, header->size, 4);
    put(out + AT_LINES, header->lines, 4);
    put(out + AT_LINES_BEFORE, header->lines_before, 8);
    put(out + AT_CRC, header->crc, 4);
    put(out + AT_TIME, (uint64_t)header->time_ms, 8);
    put(out + AT_HEADER_CRC, header_crc(out), 4);
}

enum err_code log_header_unpack(const uint8_t in[LOGS_HEADER_BYTES], struct log_header *out,
                                struct err *err)
{
    struct log_header header = {
        .data_bytes = (uint32_t)get(in + AT_DATA, 4),
        .offset = get(in + AT_OFFSET, 8),
        .size = (uint32_t)get(in + AT_SIZE, 4),
        .lines = (uint32_t)get(in + AT_LINES, 4),
        .lines_before = get(in + AT_LINES_BEFORE, 8),
        .crc = (uint32_t)get(in + AT_CRC, 4),
        .time_ms = (int64_t)get(in + AT_TIME, 8),
    };
    enum err_code rc;

    if (memcmp(in + AT_MAGIC, magic, sizeof magic) != 0)
        return err_set(err, ERR_PROTO, "no block header is there");
    if (get(in + AT_HEADER_CRC, 4) != header_crc(in))
        return err_set(err, ERR_PROTO, "the block header there is damaged");
    rc = log_header_check(&header, err);
    if (rc == ERR_OK)
        *out = header;
    return rc;
}

char *log_path(const char *data, struct log_name name)
{
    return xasprintf("%s/logs/%llu/%llu/%u-%u%s.log", data, (unsigned long long)(name.build / 1000),
                     (unsigned long long)name.build, name.attempt, name.step,
                     name.stream ? "-err" : "");
}

struct log_key log_key_of(struct log_name name)
{
    return (struct log_key){name.build, (uint64_t)name.attempt << 32 | name.step, name.stream};
}
