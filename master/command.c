#include "master/command.h"

#include <stdlib.h>

#include "common/base/mem.h"

struct command *command_new(enum command_kind kind)
{
    struct command *command = xcalloc(1, sizeof *command);

    command->kind = kind;
    return command;
}

void command_free(struct command *command)
{
    if (!command)
        return;
    free(command->name);
    free(command->branch);
    free(command->revision);
    free(command->reason);
    free(command->author);
    free(command->idempotency_key);
    change_info_release(&command->change_asked);
    build_info_release(&command->build);
    change_info_release(&command->change);
    free(command->build_ids);
    slave_info_release(&command->slave);
    pool_info_release(&command->pool);
    text_list_release(&command->added);
    text_list_release(&command->changed);
    text_list_release(&command->removed);
    text_list_release(&command->draining);
    text_list_release(&command->errors);
    free(command);
}
