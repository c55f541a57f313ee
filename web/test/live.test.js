import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Live, backoffMs } from '../src/live.js';

const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

// A stream that the test writes to.
function source() {
    let controller;
    const body = new ReadableStream({ start: (c) => (controller = c) });
    return {
        response: new Response(body),
        write: (text) => controller.enqueue(new TextEncoder().encode(text)),
        end: () => controller.close(),
    };
}

function liveOf(open) {
    const seen = { events: [], states: [], opened: 0, timers: [] };
    const live = new Live({
        open,
        onEvent: (name, value) => seen.events.push([name, value]),
        onOpen: () => seen.opened++,
        onState: (state) => seen.states.push(state),
        setTimer: (fn, ms) => seen.timers.push([fn, ms]),
        random: () => 1,
    });
    return { live, seen };
}

test('the wait doubles up to a limit, and is spread', () => {
    assert.deepEqual([0, 1, 2, 3].map((n) => backoffMs(n, 1)), [500, 1000, 2000, 4000]);
    assert.equal(backoffMs(0, 0), 250);
    assert.equal(backoffMs(1000, 1), 15000);
});

test('events are delivered, and what is no JSON is passed over', async () => {
    const stream = source();
    const { live, seen } = liveOf(async () => stream.response);
    live.start();
    await settle();
    stream.write('event: hello\ndata: {"title":"x"}\n\nevent: bad\ndata: {\n\nevent: log\nda');
    stream.write('ta: 1\n\n');
    await settle();
    assert.deepEqual(seen.events, [['hello', { title: 'x' }], ['log', 1]]);
    assert.deepEqual(seen.states, ['connecting', 'live']);
    live.stop();
});

test('a broken stream is opened again, and what was read is said to be old', async () => {
    const streams = [source(), source()];
    let n = 0;
    const { live, seen } = liveOf(async () => streams[n++].response);
    live.start();
    await settle();
    streams[0].end();
    await settle();
    assert.deepEqual(seen.states, ['connecting', 'live', 'waiting']);
    seen.timers[0][0]();
    await settle();
    assert.equal(seen.opened, 2);
    live.stop();
});

test('each failure in a row waits longer; an event starts over', async () => {
    const stream = source();
    let n = 0;
    const { live, seen } = liveOf(async () => {
        if (n++ < 3)
            throw new Error('refused');
        return stream.response;
    });
    live.start();
    for (let i = 0; i < 3; i++) {
        await settle();
        seen.timers[i][0]();
    }
    await settle();
    stream.write('data: 1\n\n');
    await settle();
    stream.end();
    await settle();
    assert.deepEqual(seen.timers.map(([, ms]) => ms), [500, 1000, 2000, 500]);
    live.stop();
});

test('stop() ends it, start() begins anew', async () => {
    const signals = [];
    const { live, seen } = liveOf(async (signal) => {
        signals.push(signal);
        return source().response;
    });
    live.start();
    live.start();
    await settle();
    live.stop();
    assert.equal(signals.length, 1);
    assert.equal(signals[0].aborted, true);
    live.start();
    await settle();
    assert.equal(seen.opened, 2);
    live.stop();
});
