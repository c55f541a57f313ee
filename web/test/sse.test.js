import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventReader } from '../src/sse.js';

test('events, ids and comments', () => {
    const reader = new EventReader();
    const events = reader.write(': hello\n\nid: 7\nevent: build\ndata: {"id":1}\n\ndata:two\ndata: lines\n\nevent: empty\n\n');
    assert.deepEqual(events, [
        { name: 'build', data: '{"id":1}', id: '7' },
        { name: 'message', data: 'two\nlines', id: '7' },
    ]);
});

test('the same, whatever the pieces and line ends', () => {
    for (const end of ['\n', '\r\n', '\r']) {
        const text = ['event: a', 'data: 1', '', 'event: b', 'data: 2', '', ''].join(end);
        for (let size = 1; size <= text.length; size++) {
            const reader = new EventReader();
            const events = [];
            for (let at = 0; at < text.length; at += size)
                events.push(...reader.write(text.slice(at, at + size)));
            assert.deepEqual(events.map((event) => event.name + event.data), ['a1', 'b2'], `${JSON.stringify(end)} in pieces of ${size}`);
        }
    }
});

test('an event that does not end is an error and not a leak', () => {
    const reader = new EventReader();
    assert.throws(() => {
        for (let i = 0; i < 100; i++)
            reader.write('x'.repeat(65536));
    });
});
