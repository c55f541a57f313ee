// Server-sent events with a connection that is made again when it breaks.
//
// Read through fetch and not through EventSource: that one cannot send a token, does not tell a refusal
// from a cut, and keeps one of a browser's six connections to the master for each hidden tab.

import { EventReader } from './sse.js';

const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 15000;

// How long to wait before the nth try in a row (from 0): doubles up to a limit, spread by random in [0, 1).
export function backoffMs(n, random) {
    const full = Math.min(LAST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(n, 10));
    return Math.round(full / 2 + (full / 2) * random);
}

export class Live {
    // open(signal): a promise of the Response of the event stream.
    // onEvent(name, value): an event, its JSON read.
    // onOpen(): connected, for the first time or again: what was read before may be out of date.
    // onState(state): 'connecting', 'live', or 'waiting' (for the next try).
    constructor({ open, onEvent, onOpen, onState, setTimer = (fn, ms) => setTimeout(fn, ms), random = Math.random }) {
        Object.assign(this, { open, onEvent, onOpen, onState, setTimer, random });
        this.tries = 0;
        this.running = null;
    }

    start() {
        if (this.running)
            return;
        const run = new AbortController();
        this.running = run;
        this.loop(run.signal);
    }

    stop() {
        this.running?.abort();
        this.running = null;
    }

    async loop(signal) {
        while (!signal.aborted) {
            this.onState('connecting');
            await this.connection(signal);
            if (signal.aborted)
                return;
            this.onState('waiting');
            await this.pause(backoffMs(this.tries++, this.random()), signal);
        }
    }

    pause(ms, signal) {
        return new Promise((resolve) => {
            this.setTimer(resolve, ms);
            signal.addEventListener('abort', resolve, { once: true });
        });
    }

    // Reads one connection until it ends, however it ends.
    async connection(signal) {
        try {
            const response = await this.open(signal);
            const reader = response.body.getReader();
            const decoder = new TextDecoder();
            const events = new EventReader();
            if (signal.aborted)
                return;
            this.onState('live');
            this.onOpen();
            for (;;) {
                const { done, value } = await reader.read();
                if (done || signal.aborted)
                    return;
                for (const { name, data } of events.write(decoder.decode(value, { stream: true })))
                    this.deliver(name, data);
            }
        } catch {
            // The loop tries again; the state on the page says that it is not connected.
        }
    }

    deliver(name, data) {
        this.tries = 0;
        let value;
        try {
            value = JSON.parse(data);
        } catch {
            return;
        }
        this.onEvent(name, value);
    }
}
