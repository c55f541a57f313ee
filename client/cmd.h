/*
 * cmd: one function for each verb, found in cmd_<group>.c. Each prints, and returns the exit code
 * (cli.h); cli->args holds as many words as the verb's entry in verbs.c allows.
 */
#ifndef TAILRACE_CLIENT_CMD_H
#define TAILRACE_CLIENT_CMD_H

struct cli;

/* cmd_check.c */
int cmd_check(struct cli *cli);
/* cmd_lists.c */
int cmd_status(struct cli *cli);
int cmd_builders(struct cli *cli);
int cmd_slaves(struct cli *cli);
int cmd_builds(struct cli *cli);
int cmd_queue(struct cli *cli); /* queue pause and queue resume too */
/* cmd_build.c */
int cmd_show(struct cli *cli);
int cmd_cancel(struct cli *cli);
int cmd_wait(struct cli *cli);
/* cmd_start.c */
int cmd_force(struct cli *cli);
int cmd_rebuild(struct cli *cli);
int cmd_sendchange(struct cli *cli);
/* cmd_log.c */
int cmd_log(struct cli *cli);
/* cmd_admin.c */
int cmd_slave(struct cli *cli);
int cmd_reload(struct cli *cli);
int cmd_pool_switch(struct cli *cli); /* `queue pause|resume POOL` */

#endif
