// The token with which the person acts: kept for this tab until it is closed, sent as Bearer.

import { ask } from './dialog.js';

const KEY = 'tailrace-token';

export class Tokens {
    // onChange(): a token was given or forgotten.
    constructor({ storage, onChange }) {
        this.storage = storage;
        this.onChange = onChange;
        this.asking = null;
    }

    get() {
        return this.storage.getItem(KEY);
    }

    // One dialog at a time, however many requests were refused.
    ask(message) {
        this.asking ??= this.enter(message).finally(() => (this.asking = null));
        return this.asking;
    }

    async enter(message) {
        const token = await ask({
            title: 'Token',
            text: message ?? 'Whoever runs this master has set tokens for those who may force, cancel or drain.',
            label: 'Token',
            type: 'password',
            action: 'Use it',
            required: true,
        });
        if (token)
            this.storage.setItem(KEY, token);
        this.onChange();
        return token;
    }

    forget() {
        this.storage.removeItem(KEY);
        this.onChange();
    }
}
