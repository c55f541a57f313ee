// The REST API. Errors are ApiError with the server's own sentence.

export class ApiError extends Error {
    constructor(status, code, message) {
        super(message);
        this.status = status;
        this.code = code;
    }
}

export class Api {
    // tokens: {get(): token or null, ask(message): promise of a token, or of null when the person will not give one}
    constructor({ fetch, tokens }) {
        this.fetch = fetch;
        this.tokens = tokens;
    }

    // What a GET answers, its JSON read. path is below /api/v1.
    async get(path, { signal } = {}) {
        const response = await this.raw(path, { signal });
        return response.json();
    }

    // A POST; key makes a repeated one harmless.
    async post(path, body = {}, { key } = {}) {
        const headers = { 'Content-Type': 'application/json' };
        if (key)
            headers['Idempotency-Key'] = key;
        const response = await this.raw(path, { method: 'POST', headers, body: JSON.stringify(body) });
        return response.json();
    }

    // The Response itself, once it is a good one; asks for a token when the server wants one.
    async raw(path, options = {}) {
        const used = this.tokens.get();
        let response = await this.send(path, options, used);
        if (response.status === 401) {
            // Another request may have got a new token while this one was on its way.
            const token = this.tokens.get() === used ? await this.tokens.ask((await errorOf(response)).message) : this.tokens.get();
            if (token)
                response = await this.send(path, options, token);
        }
        if (!response.ok)
            throw await errorOf(response);
        return response;
    }

    async send(path, options, token) {
        const headers = { ...options.headers };
        if (token)
            headers.Authorization = `Bearer ${token}`;
        try {
            return await this.fetch(`/api/v1${path}`, { ...options, headers });
        } catch (error) {
            if (error.name === 'AbortError')
                throw error;
            throw new ApiError(0, 'unreachable', 'the master cannot be reached');
        }
    }
}

// A key for a POST that must not count twice. randomUUID is missing on plain http.
export function newKey() {
    return [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, '0')).join('');
}

async function errorOf(response) {
    try {
        const { error } = await response.clone().json();
        return new ApiError(response.status, error.code, error.message);
    } catch {
        return new ApiError(response.status, 'http', `the master answered ${response.status}`);
    }
}
