/*
 * reload: a new configuration, loaded off the loop, put in force as a whole or not at all. Loop
 * thread.
 */
#ifndef TAILRACE_MASTER_RELOAD_H
#define TAILRACE_MASTER_RELOAD_H

#include "master/command.h"
#include "master/hub.h"

struct reload;

struct config_report {
    const char *error;   /* NULL: hub->config is the new one now */
    text_list *draining; /* receives what left the configuration and still works */
};

struct reload_ops {
    /* After hub->config was exchanged, or the file was found bad. */
    void (*on_config)(void *owner, const struct config_report *report);
    /* The command of reload_begin() (may be NULL) has its answer. */
    void (*on_done)(void *owner, struct command *command);
};

struct reload *reload_new(struct hub *hub, const struct reload_ops *ops, void *owner);
void reload_free(struct reload *reload);
/* Reads the master's configuration file again. One at a time, in the order asked. command is
 * answered through on_done; NULL: nobody asked (SIGHUP). */
void reload_begin(struct reload *reload, struct command *command);

#endif
