import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHUNK_LINES, LogStore } from '../src/log_store.js';
import { lineText } from '../src/terminal.js';

// A server of one log, as docs/rest.md describes it; `data` may grow.
class LogServer {
    constructor(text) {
        this.data = Buffer.from(text);
        this.complete = false;
        this.queries = [];
        this.sent = 0;
    }

    append(text) {
        this.data = Buffer.concat([this.data, Buffer.from(text)]);
    }

    newlines() {
        return this.data.reduce((n, byte) => n + (byte === 10), 0);
    }

    lineStart(line) {
        let at = 0;
        for (let i = 1; i < line; i++) {
            const newline = this.data.indexOf(10, at);
            if (newline < 0)
                return null;
            at = newline + 1;
        }
        return at < this.data.length ? at : null;
    }

    lastLine() {
        return this.newlines() + (this.data.length && this.data.at(-1) !== 10 ? 1 : 0);
    }

    get = async (query) => {
        this.queries.push(query);
        const params = new URLSearchParams(query);
        const headers = {
            'X-Tailrace-Log-Bytes': String(this.data.length),
            'X-Tailrace-Log-Lines': String(this.newlines()),
            'X-Tailrace-Log-Complete': String(this.complete),
        };
        let start = Number(params.get('offset') ?? 0);
        let end = this.data.length;
        if (params.has('length'))
            end = Math.min(end, start + Number(params.get('length')));
        const line = params.has('tail') ? this.lastLine() : Number(params.get('line'));
        if (line > 0) {
            start = this.lineStart(line) ?? this.data.length;
            end = params.has('lines') ? (this.lineStart(line + Number(params.get('lines'))) ?? end) : end;
            headers['X-Tailrace-Line'] = String(line);
            headers['X-Tailrace-Offset'] = String(start);
        }
        return new Response(this.stream(this.data.subarray(start, end)), { headers });
    };

    stream(bytes) {
        let at = 0;
        return new ReadableStream({
            pull: (controller) => {
                if (at >= bytes.length)
                    return controller.close();
                const piece = bytes.subarray(at, at + 65536);
                at += piece.length;
                this.sent += piece.length;
                controller.enqueue(new Uint8Array(piece));
            },
        });
    }
}

function storeOf(server) {
    const store = new LogStore({ get: server.get, onChange: () => {} });
    store.settled = async () => {
        do
            await new Promise((resolve) => setImmediate(resolve));
        while ([...store.chunks.values()].some((chunk) => chunk.busy));
    };
    return store;
}

const numbered = (n) => Array.from({ length: n }, (_, i) => `line ${i + 1}\n`).join('');
const textAt = (store, n) => (store.line(n) ? lineText(store.line(n)) : null);

test('reads only the chunks that are looked at', async () => {
    const server = new LogServer(numbered(5000));
    const store = storeOf(server);
    await store.open();
    assert.equal(store.total, 5000);
    store.want(4990, 5000);
    await store.settled();
    assert.equal(textAt(store, 4999), 'line 4999');
    assert.equal(textAt(store, 1), null);
    assert.deepEqual(server.queries, ['tail=1', `line=4501&lines=${CHUNK_LINES}`]);
    store.want(495, 505);
    await store.settled();
    assert.equal(textAt(store, 500), 'line 500');
    assert.equal(textAt(store, 501), 'line 501');
});

test('an empty log', async () => {
    const store = storeOf(new LogServer(''));
    await store.open();
    assert.equal(store.total, 0);
    store.want(1, 50);
    assert.equal(store.chunks.size, 1);
    assert.equal(store.line(1), null);
});

test('a line without its newline counts, and grows in place', async () => {
    const server = new LogServer('one\n10%');
    const store = storeOf(server);
    await store.open();
    assert.equal(store.total, 2);
    store.want(1, 50);
    await store.settled();
    assert.equal(textAt(store, 2), '10%');
    server.append('\r100%');
    store.note({ bytes: server.data.length, lines: 1 });
    await store.settled();
    assert.equal(textAt(store, 2), '100%');
    server.append('\nthree\n');
    store.note({ bytes: server.data.length, lines: 3 });
    await store.settled();
    assert.equal(textAt(store, 2), '100%');
    assert.equal(textAt(store, 3), 'three');
    assert.equal(store.total, 3);
    assert.ok(server.queries.at(-1).startsWith('offset='));
});

test('a log that grows from nothing past several chunks keeps every line at its number', async () => {
    const server = new LogServer('');
    const store = storeOf(server);
    await store.open();
    for (let n = 1; n <= 1300; n++) {
        server.append(`line ${n}\n`);
        if (n % 7 === 0 || n === 1300) {
            store.note({ bytes: server.data.length, lines: n });
            store.want(Math.max(1, n - 20), n);
            await store.settled();
            assert.equal(textAt(store, n), `line ${n}`);
        }
    }
    assert.equal(textAt(store, 1), 'line 1');
    assert.equal(textAt(store, 1001), 'line 1001');
});

test('an unfinished line right after a full chunk is seen', async () => {
    const server = new LogServer(numbered(CHUNK_LINES));
    const store = storeOf(server);
    await store.open();
    store.want(1, CHUNK_LINES + 50);
    await store.settled();
    server.append('50%');
    store.note({ bytes: server.data.length, lines: CHUNK_LINES });
    assert.equal(store.total, CHUNK_LINES + 1);
    await store.settled();
    assert.equal(textAt(store, CHUNK_LINES + 1), '50%');
});

test('a 20 MB line is cut, and the lines after it are there', async () => {
    const server = new LogServer('before\n' + 'x'.repeat(20_000_000) + '\nafter\n');
    const store = storeOf(server);
    await store.open();
    store.want(1, 3);
    await store.settled();
    assert.equal(textAt(store, 1), 'before');
    assert.equal(store.line(2).cut, true);
    assert.equal(textAt(store, 2).length, 4000);
    assert.equal(textAt(store, 3), 'after');
    assert.ok(server.sent < 6_000_000, `${server.sent} bytes were sent`);
});

test('a long line that is the last, still growing', async () => {
    const server = new LogServer('x'.repeat(5_000_000));
    const store = storeOf(server);
    await store.open();
    store.want(1, 50);
    await store.settled();
    assert.equal(store.line(1).cut, true);
    server.append('x'.repeat(1000) + '\nnext\n');
    store.note({ bytes: server.data.length, lines: 2 });
    await store.settled();
    assert.equal(textAt(store, 2), 'next');
    assert.equal(store.total, 2);
});

test('half a character at the end shows once the log is complete', async () => {
    const server = new LogServer(Buffer.from([0x61, 0xc3]));
    const store = storeOf(server);
    await store.open();
    store.want(1, 1);
    await store.settled();
    assert.equal(textAt(store, 1), 'a');
    store.note({ bytes: 2, lines: 0, complete: true });
    store.want(1, 1);
    await store.settled();
    assert.equal(textAt(store, 1), 'a\ufffd');
});

test('an error is kept for the page, and asked again only after a while', async () => {
    let now = 1000;
    let calls = 0;
    const store = new LogStore({
        get: async () => {
            calls++;
            throw new Error('the master is away');
        },
        onChange: () => {},
        now: () => now,
    });
    await store.open();
    assert.equal(store.error.message, 'the master is away');
    store.note({ bytes: 10, lines: 1 });
    store.want(1, 10);
    assert.equal(calls, 1);
    now += 5000;
    store.want(1, 10);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(calls, 2);
});

test('chunks far from the view are forgotten', async () => {
    const server = new LogServer(numbered(50000));
    const store = storeOf(server);
    await store.open();
    for (let line = 1; line < 50000; line += CHUNK_LINES) {
        store.want(line, line + 10);
        await store.settled();
    }
    assert.ok(store.chunks.size <= 41);
    assert.equal(textAt(store, 1), null);
    assert.equal(textAt(store, 49501), 'line 49501');
});
