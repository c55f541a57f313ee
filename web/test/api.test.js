import { webcrypto } from 'node:crypto';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api, ApiError, newKey } from '../src/api.js';

// Browsers have it everywhere; Node.js 18 only as a module.
globalThis.crypto ??= webcrypto;

const json = (status, value) => new Response(JSON.stringify(value), { status });

// answer(request, n): what the nth request gets.
function apiOf(answer, given = []) {
    const seen = { requests: [], asked: [] };
    let token = null;
    const api = new Api({
        fetch: async (url, options) => {
            seen.requests.push({ url, ...options });
            return answer(seen.requests.at(-1), seen.requests.length);
        },
        tokens: {
            get: () => token,
            ask: async (message) => {
                seen.asked.push(message);
                token = given.shift() ?? null;
                return token;
            },
        },
    });
    return { api, seen };
}

test('reading and acting', async () => {
    const { api, seen } = apiOf(() => json(200, { fine: true }));
    assert.deepEqual(await api.get('/status'), { fine: true });
    await api.post('/force', { builder: 'b' }, { key: 'k' });
    assert.equal(seen.requests[0].url, '/api/v1/status');
    assert.equal(seen.requests[0].headers.Authorization, undefined);
    assert.equal(seen.requests[1].method, 'POST');
    assert.equal(seen.requests[1].body, '{"builder":"b"}');
    assert.equal(seen.requests[1].headers['Idempotency-Key'], 'k');
});

test("an error carries the server's sentence", async () => {
    const { api } = apiOf(() => json(404, { error: { code: 'notfound', message: 'there is no build 12' } }));
    await assert.rejects(api.get('/builds/12'), (error) => error instanceof ApiError && error.status === 404 && error.code === 'notfound' && error.message === 'there is no build 12');
});

test('an answer that is no JSON, and none at all', async () => {
    await assert.rejects(apiOf(() => new Response('<h1>', { status: 502 })).api.get('/x'), /answered 502/);
    const { api } = apiOf(() => {
        throw new TypeError('failed');
    });
    await assert.rejects(api.get('/x'), (error) => error.code === 'unreachable');
});

test('401 asks for a token and tries once more, with the same key', async () => {
    const refuse = json(401, { error: { code: 'auth', message: 'acting needs a token' } });
    const { api, seen } = apiOf((request, n) => (n === 1 ? refuse : json(201, { id: 1 })), ['secret']);
    assert.deepEqual(await api.post('/force', {}, { key: 'k' }), { id: 1 });
    assert.deepEqual(seen.asked, ['acting needs a token']);
    assert.equal(seen.requests[1].headers.Authorization, 'Bearer secret');
    assert.equal(seen.requests[1].headers['Idempotency-Key'], 'k');
});

test('a token that is refused, or not given, ends it', async () => {
    const refuse = () => json(401, { error: { code: 'auth', message: 'no' } });
    const wrong = apiOf(refuse, ['wrong']);
    await assert.rejects(wrong.api.post('/reload'), /no/);
    assert.equal(wrong.seen.requests.length, 2);
    const none = apiOf(refuse);
    await assert.rejects(none.api.post('/reload'), /no/);
    assert.equal(none.seen.requests.length, 1);
});

test('keys differ', () => {
    assert.match(newKey(), /^[0-9a-f]{32}$/);
    assert.notEqual(newKey(), newKey());
});
