/*
 * notifyd: the service manager's readiness protocol (sd_notify(3)): one datagram to $NOTIFY_SOCKET.
 * Does nothing without it.
 */
#ifndef TAILRACE_COMMON_IO_NOTIFYD_H
#define TAILRACE_COMMON_IO_NOTIFYD_H

/* state: "READY=1", "RELOADING=1", "STOPPING=1", "STATUS=...", as sd_notify takes it. */
void notifyd_send(const char *state);

#endif
