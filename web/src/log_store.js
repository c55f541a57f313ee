// The lines of one step's log, fetched as they are looked at. Pure but for the fetch that it is given.
//
// The log is cut into chunks of CHUNK_LINES lines, so that a line is always read from the same start and
// looks the same however the reader came to it. Chunks near the view are kept, the others forgotten.
// The last chunk grows with the log: it remembers its byte offset and asks only for what is new.

import { Terminal } from './terminal.js';

export const CHUNK_LINES = 500;

const KEPT_CHUNKS = 40;
const LINE_BYTES = 4 * 1024 * 1024; // what is read of one line before the next is asked for
const PIECE_BYTES = 256 * 1024; // what is asked for at once of a chunk that grows
const RETRY_MS = 3000;

export class LogStore {
    // get(query, signal): a promise of a Response for the log with that query string.
    // onChange(): lines or totals have changed; not called from inside want() or note().
    constructor({ get, onChange, now = Date.now }) {
        this.get = get;
        this.onChange = onChange;
        this.now = now;
        this.total = 0; // lines known to exist, one without its newline included
        this.bytes = 0;
        this.complete = false;
        this.error = null;
        this.retryAt = 0;
        this.chunks = new Map();
        this.stop = new AbortController();
    }

    // Learns how long the log is.
    async open() {
        try {
            const response = await this.request('tail=1');
            const line = headerNumber(response, 'X-Tailrace-Line');
            await response.body?.cancel();
            if (this.bytes > 0)
                this.total = Math.max(this.total, line ?? 0, 1);
        } catch (error) {
            this.fail(error);
        }
        this.changed();
    }

    close() {
        this.stop.abort();
    }

    // An event told that the log has grown, or (complete) that it has ended.
    note({ bytes, lines, complete = false }) {
        this.bytes = Math.max(this.bytes, bytes);
        this.total = Math.max(this.total, lines);
        this.complete ||= complete;
        this.reckonPartial();
        for (const chunk of this.chunks.values())
            this.settle(chunk);
        if (this.wanted)
            this.want(...this.wanted);
    }

    // Line n (the first is 1): what Terminal made of it, or null while it is not here.
    line(n) {
        const chunk = this.chunks.get(chunkOf(n));
        if (!chunk)
            return null;
        const index = n - chunk.first;
        const { terminal } = chunk;
        return index < terminal.lines.length ? terminal.lines[index] : index === terminal.lines.length ? terminal.current() : null;
    }

    // Lines first to last are looked at: fetches what is missing of them, one chunk at a time each.
    want(first, last) {
        this.wanted = [first, last];
        if (this.now() < this.retryAt)
            return;
        for (let k = chunkOf(first); k <= chunkOf(Math.min(last, this.total)); k++) {
            const chunk = this.chunks.get(k) ?? this.addChunk(k);
            if (!chunk.busy && this.isBehind(chunk))
                this.fill(chunk);
        }
        this.forget();
    }

    addChunk(k) {
        const chunk = {
            first: k * CHUNK_LINES + 1,
            terminal: new Terminal(CHUNK_LINES),
            offset: null, // of the next byte to read, once known
            busy: false,
        };
        this.chunks.set(k, chunk);
        return chunk;
    }

    // Whether there is something of this chunk to be had.
    isBehind(chunk) {
        if (chunk.terminal.full)
            return false;
        if (chunk.offset !== null)
            return chunk.offset < this.bytes;
        return chunk.first + chunk.terminal.lines.length <= this.total;
    }

    async fill(chunk) {
        chunk.busy = true;
        try {
            while (this.isBehind(chunk) && (await this.read(chunk)))
                this.changed();
            this.error = null;
        } catch (error) {
            this.fail(error);
        }
        chunk.busy = false;
        this.settle(chunk);
        this.reckonPartial();
        this.changed();
    }

    // Half a character at the end of the log waits for its rest until the log is complete.
    settle(chunk) {
        if (this.complete && !chunk.busy && !chunk.terminal.full && chunk.offset === this.bytes)
            chunk.terminal.end();
    }

    // One request for what comes next of a chunk; false when it brought nothing.
    async read(chunk) {
        const { terminal } = chunk;
        const line = chunk.first + terminal.lines.length;
        const response = await this.request(
            chunk.offset === null
                ? `line=${line}&lines=${CHUNK_LINES - terminal.lines.length}`
                : `offset=${chunk.offset}&length=${PIECE_BYTES}`,
        );
        if (chunk.offset === null) {
            if (headerNumber(response, 'X-Tailrace-Line') !== line) {
                await response.body?.cancel();
                return false;
            }
            chunk.offset = headerNumber(response, 'X-Tailrace-Offset');
        }
        const before = chunk.offset;
        await this.take(chunk, response);
        const seen = chunk.first + terminal.lines.length - (terminal.current() ? 0 : 1);
        this.total = Math.max(this.total, seen);
        return chunk.offset !== before;
    }

    async take(chunk, response) {
        if (!response.body)
            return;
        const reader = response.body.getReader();
        for (;;) {
            const { done, value } = await reader.read();
            if (done)
                return;
            chunk.offset += chunk.terminal.write(value);
            if (chunk.terminal.lineBytes > LINE_BYTES) {
                chunk.terminal.cutLine();
                chunk.offset = null;
            }
            if (chunk.terminal.full || chunk.offset === null) {
                await reader.cancel();
                return;
            }
        }
    }

    async request(query) {
        const response = await this.get(query, this.stop.signal);
        this.bytes = Math.max(this.bytes, headerNumber(response, 'X-Tailrace-Log-Bytes') ?? 0);
        this.total = Math.max(this.total, headerNumber(response, 'X-Tailrace-Log-Lines') ?? 0);
        this.complete ||= response.headers.get('X-Tailrace-Log-Complete') === 'true';
        return response;
    }

    // The totals that the API gives count newlines. When the last counted line has been read and bytes follow, there is one more line.
    reckonPartial() {
        const chunk = this.chunks.get(chunkOf(this.total));
        if (chunk && chunk.terminal.full && chunk.first + CHUNK_LINES - 1 === this.total && chunk.offset !== null && chunk.offset < this.bytes)
            this.total++;
    }

    forget() {
        if (this.chunks.size <= KEPT_CHUNKS)
            return;
        const middle = chunkOf(this.wanted[0]);
        const byDistance = [...this.chunks.keys()].sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
        for (const k of byDistance.slice(0, this.chunks.size - KEPT_CHUNKS))
            if (!this.chunks.get(k).busy)
                this.chunks.delete(k);
    }

    fail(error) {
        if (this.stop.signal.aborted)
            return;
        this.error = error;
        this.retryAt = this.now() + RETRY_MS;
    }

    changed() {
        if (!this.stop.signal.aborted)
            this.onChange();
    }
}

function chunkOf(line) {
    return Math.floor((Math.max(line, 1) - 1) / CHUNK_LINES);
}

function headerNumber(response, name) {
    const text = response.headers.get(name);
    return text === null || text === '' ? null : Number(text);
}
