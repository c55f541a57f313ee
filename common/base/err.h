/*
 * Errors: a code for programs and a sentence for people, on the caller's stack.
 *
 * A fallible function returns enum err_code (ERR_OK is 0), takes struct err * last, and leaves its
 * outputs as they were when it fails. The sentence grows outwards: each level may put its own words
 * in front with err_prefix(). Whoever handles an error logs it once; whoever passes it on does not.
 */
#ifndef TAILRACE_COMMON_BASE_ERR_H
#define TAILRACE_COMMON_BASE_ERR_H

#include <stdarg.h>

enum err_code {
    ERR_OK = 0,
    ERR_IO,       /* the system refused; err.sys holds errno */
    ERR_AGAIN,    /* not now; try later */
    ERR_LIMIT,    /* over a stated limit */
    ERR_TIMEOUT,  /* a deadline passed */
    ERR_CANCELED, /* somebody asked for the end */
    ERR_NOTFOUND, /* no such thing */
    ERR_EXISTS,   /* there is one already */
    ERR_CONFIG,   /* the user's input is wrong */
    ERR_PROTO,    /* the peer broke the protocol */
    ERR_AUTH,     /* the peer may not */
    ERR_NOSPACE,  /* the disk is full: callers wait instead of failing */
};

enum { ERR_MSG_MAX = 512 };

struct err {
    enum err_code code;
    int sys; /* errno, or 0 */
    char msg[ERR_MSG_MAX];
};

#define ERR_INIT                                                                                   \
    {                                                                                              \
        ERR_OK, 0, ""                                                                              \
    }

#if defined(__GNUC__)
#define TAILRACE_MUST_CHECK        __attribute__((warn_unused_result))
#define TAILRACE_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define TAILRACE_NORETURN          __attribute__((noreturn))
#endif

/* Sets *err (NULL is allowed) to code and the formatted sentence; returns code, so that
 * "return err_set(...)" reads as one statement. Sets sys to 0. */
enum err_code err_set(struct err *err, enum err_code code, const char *fmt, ...)
    TAILRACE_PRINTF(3, 4);

/* As err_set with code ERR_IO (ERR_NOSPACE for ENOSPC and EDQUOT), sys = errno_value, and
 * ": strerror" at the end of the sentence. */
enum err_code err_set_sys(struct err *err, int errno_value, const char *fmt, ...)
    TAILRACE_PRINTF(3, 4);

/* Puts "formatted: " before the sentence in *err (NULL is allowed). The end is cut at ERR_MSG_MAX.
 */
void err_prefix(struct err *err, const char *fmt, ...) TAILRACE_PRINTF(2, 3);

/* Back to ERR_OK and an empty sentence. */
void err_clear(struct err *err);

/* A short constant word for a code ("io", "config", ...), for logs and API answers. */
const char *err_code_name(enum err_code code);

#ifdef __clang_analyzer__
/* The analyzer looks at one file at a time, and does not know that these never return ERR_OK. */
#define err_set(err, code, ...) ((void)err_set((err), (code), __VA_ARGS__), (code))
#define err_set_sys(err, ...)                                                                      \
    (err_set_sys((err), __VA_ARGS__) == ERR_NOSPACE ? ERR_NOSPACE : ERR_IO)
#endif

#endif
