#include <string.h>

#include "common/base/mem.h"
#include "master/store/rows.h"

/* Enough for 20,000 names; the rest of a larger change is left out. */
enum { FILES_MAX_BYTES = 1024 * 1024 };

static void join_files(const text_list *files, struct str *out)
{
    for (size_t i = 0; i < files->n; i++) {
        if (str_append(out, files->v[i], strlen(files->v[i]) + 1, NULL) != ERR_OK)
            break;
    }
}

static void split_files(struct view bytes, text_list *out)
{
    while (bytes.n > 0) {
        size_t n = strnlen(bytes.p, bytes.n);

        vec_push(out, xstrndup(bytes.p, n));
        n += n < bytes.n;
        bytes.p += n;
        bytes.n -= n;
    }
}

enum err_code change_insert(struct db *db, const struct change_info *change, struct err *err)
{
    struct str files = STR_INIT(FILES_MAX_BYTES);
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_CHANGE_INSERT, &stmt, err);

    if (rc)
        return rc;
    join_files(&change->files, &files);
    db_bind_u64(stmt, 1, change->id);
    db_bind_u64(stmt, 2, change->set_id);
    db_bind_text(stmt, 3, change->project);
    db_bind_text(stmt, 4, change->branch);
    db_bind_text(stmt, 5, change->revision);
    db_bind_text(stmt, 6, change->author);
    db_bind_text(stmt, 7, change->comment);
    db_bind_i64(stmt, 8, change->at_ms);
    if (files.n)
        (void)sqlite3_bind_blob(stmt, 9, files.p, (int)files.n, SQLITE_STATIC);
    rc = db_finish(db, stmt, err);
    str_release(&files);
    return rc;
}

enum err_code change_find_head(struct db *db, const struct change_info *like, uint64_t *id,
                               uint64_t *set_id, struct err *err)
{
    struct change_info head = {0};
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(db, SQL_CHANGES_OF_LINE, &stmt, err);

    if (rc)
        return rc;
    db_bind_i64(stmt, 1, INT64_MAX);
    db_bind_i64(stmt, 2, 1);
    db_bind_text(stmt, 3, like->project);
    db_bind_text(stmt, 4, like->branch);
    rc = db_step(db, stmt, &row, err);
    *id = *set_id = 0;
    if (rc == ERR_OK && row) {
        change_row(stmt, &head);
        if (strcmp(head.revision, like->revision) == 0) {
            *id = head.id;
            *set_id = head.set_id;
        }
        text_list_release(&head.files);
    }
    db_end(stmt);
    return rc;
}

void change_row(sqlite3_stmt *stmt, struct change_info *out)
{
    *out = (struct change_info){
        .id = db_u64(stmt, 0),
        .set_id = db_u64(stmt, 1),
        .project = db_text(stmt, 2),
        .branch = db_text(stmt, 3),
        .revision = db_text(stmt, 4),
        .author = db_text(stmt, 5),
        .comment = db_text(stmt, 6),
        .at_ms = db_i64(stmt, 7),
    };
    split_files(view_bytes(sqlite3_column_blob(stmt, 8), (size_t)sqlite3_column_bytes(stmt, 8)),
                &out->files);
}
