// The frame around the pages: which page is shown, what it may use, and what the header says.
//
// A page is an object with: title; events (the query of its event stream); load(): reads its data, called
// whenever the stream has been opened; onEvent(name, data); view(): description of its content;
// and optionally stop(), onRoute(route): true when the page itself follows to that address.

import { Api } from './api.js';
import { count } from './format.js';
import { h } from './h.js';
import { Live } from './live.js';
import { buildPage } from './pages/build.js';
import { builderPage } from './pages/builder.js';
import { homePage } from './pages/home.js';
import { queuePage } from './pages/queue.js';
import { slavesPage } from './pages/slaves.js';
import { patch } from './patch.js';
import { parseRoute } from './route.js';
import { startTicker } from './ticker.js';
import { Tokens } from './token.js';

const PAGES = { home: homePage, build: buildPage, builder: builderPage, queue: queuePage, slaves: slavesPage, missing: missingPage };
const NAVIGATION = [['home', '/', 'Builders'], ['queue', '/queue', 'Queue'], ['slaves', '/slaves', 'Slaves']];
const LIVE_WORDS = { connecting: 'connecting…', live: 'live', waiting: 'not connected, trying again…' };

const DRAW_MS = 100; // at most one drawing in this time
const STATUS_MS = 2000; // and one reading of the header's numbers
const STATUS_IDLE_MS = 30000; // and they are read so often when nothing is heard
const ALONE_MS = 1000; // a page waits so long for its event stream before it reads without one
const HIDDEN_MS = 60000; // a tab hidden for longer gives its connection back

export class App {
    constructor() {
        this.tokens = new Tokens({ storage: sessionStorage, onChange: () => this.draw() });
        this.api = new Api({ fetch: (...args) => fetch(...args), tokens: this.tokens });
        this.clockOffset = 0; // the master's clock minus ours
        this.notices = [];
        this.draw = throttled(() => this.drawNow(), DRAW_MS);
        this.readStatus = throttled(() => this.loadStatus(), STATUS_MS);
    }

    start() {
        document.addEventListener('click', (event) => this.click(event));
        document.addEventListener('visibilitychange', () => this.visibility());
        window.addEventListener('pagehide', () => this.live.stop());
        window.addEventListener('pageshow', () => this.live.start());
        window.addEventListener('popstate', () => this.show(false));
        window.addEventListener('hashchange', () => this.show(false));
        startTicker(document, () => this.now());
        setInterval(() => document.hidden || this.readStatus(), STATUS_IDLE_MS);
        this.show(true);
    }

    // What pages may use.

    now() {
        return Date.now() + this.clockOffset;
    }

    go(path) {
        history.pushState(null, '', path);
        this.show(true);
    }

    // Runs something that acts; what goes wrong is shown to the person. Promise of its result, or of null.
    async act(action) {
        try {
            return await action();
        } catch (error) {
            this.notify(error.message);
            return null;
        }
    }

    notify(text) {
        this.notices.push({ text, id: crypto.getRandomValues(new Uint32Array(1))[0] });
        this.notices = this.notices.slice(-3);
        this.draw();
    }

    // Pages come and go.

    show(moveFocus) {
        const url = location.pathname + location.search + location.hash;
        const route = parseRoute(url);
        if (this.page?.onRoute?.(route)) {
            this.draw();
            return;
        }
        this.page?.stop?.();
        this.live?.stop();
        this.routePage = route.page;
        this.page = PAGES[route.page](this, route);
        this.listen();
        this.drawNow();
        if (moveFocus && this.shown)
            document.getElementById('main').focus();
        this.shown = true;
        if (!route.line)
            window.scrollTo(0, 0);
    }

    // Reads the page's data once the stream is open, so that nothing falls between the two; and after a
    // moment without a stream, so that a page does not wait for one.
    listen() {
        const { page } = this;
        const alone = setTimeout(() => page.load(), ALONE_MS);
        this.live = new Live({
            open: (signal) => this.api.raw(`/events${page.events ? `?${page.events}` : ''}`, { signal }),
            onOpen: () => {
                clearTimeout(alone);
                this.readStatus();
                page.load();
            },
            onEvent: (name, data) => this.event(page, name, data),
            onState: (state) => {
                this.liveState = state;
                this.draw();
            },
        });
        this.live.start();
    }

    event(page, name, data) {
        if (name === 'hello')
            this.clockOffset = Date.parse(data.now) - Date.now() || 0;
        if (name === 'config' && this.status)
            this.status = { ...this.status, config_error: data.error };
        if (name === 'build' || name === 'slave' || name === 'pool')
            this.readStatus();
        page.onEvent?.(name, data);
        if (name !== 'log')
            this.draw();
    }

    visibility() {
        clearTimeout(this.hiddenTimer);
        if (document.hidden)
            this.hiddenTimer = setTimeout(() => this.live.stop(), HIDDEN_MS);
        else
            this.live.start();
    }

    async loadStatus() {
        try {
            this.status = await this.api.get('/status');
            this.draw();
        } catch {
            // The state of the connection, in the header too, says enough.
        }
    }

    click(event) {
        const link = event.target.closest?.('a[href]');
        if (!link || link.target || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
            return;
        const url = new URL(link.href);
        if (url.origin !== location.origin || url.pathname.startsWith('/api/') || link.getAttribute('href').startsWith('#'))
            return;
        event.preventDefault();
        this.go(url.pathname + url.search + url.hash);
    }

    drawNow() {
        const title = this.status?.title ?? 'Tailrace';
        document.title = this.page.title ? `${this.page.title} · ${title}` : title;
        patch(document.getElementById('header'), this.header(title));
        patch(document.getElementById('notices'), this.noticesView());
        patch(document.getElementById('main'), [this.page.view()].flat(Infinity).filter(Boolean));
        patch(document.getElementById('footer'), [h('span', null, `Tailrace ${this.status?.version ?? ''}`), h('a', { href: '/api/v1/status' }, 'API status (JSON)')]);
    }

    header(title) {
        const links = NAVIGATION.map(([page, href, label]) =>
            h('a', { href, 'aria-current': this.routePage === page ? 'page' : null }, label));
        const signedIn = this.tokens.get() !== null;
        return [
            h('a', { class: 'brand', href: '/' }, h('img', { src: '/icon.svg', alt: '', width: 28, height: 28 }), h('span', null, title)),
            h('nav', { 'aria-label': 'Pages' }, links),
            h('div', { class: 'numbers' }, numbers(this.status)),
            h('span', { class: `live is-${this.liveState}`, role: 'status' }, LIVE_WORDS[this.liveState] ?? ''),
            h('button', { type: 'button', class: 'quiet', onclick: () => (signedIn ? this.tokens.forget() : this.tokens.ask()) },
                signedIn ? 'Forget token' : 'Token'),
        ];
    }

    noticesView() {
        const standing = [];
        if (this.status?.config_error)
            standing.push(h('p', { class: 'error', key: 'config' }, h('strong', null, 'The configuration was not loaded: '), this.status.config_error));
        if (this.status?.store_error)
            standing.push(h('p', { class: 'error', key: 'store' }, h('strong', null, 'The store cannot write: '), this.status.store_error));
        const passing = this.notices.map((notice) => {
            const dismiss = () => {
                this.notices = this.notices.filter((other) => other !== notice);
                this.draw();
            };
            return h('p', { class: 'error', key: notice.id }, notice.text, h('button', { type: 'button', class: 'quiet', onclick: dismiss }, 'Dismiss'));
        });
        return [...standing, ...passing];
    }
}

function numbers(status) {
    if (!status)
        return [];
    const waiting = status.builds_waiting ? `, ${status.builds_waiting} waiting` : '';
    return [
        h('span', null, `${status.builds_running} running, ${status.builds_queued} queued${waiting}`),
        h('span', null, `${status.slaves_connected} of ${count(status.slaves_known, 'slave')}`),
    ];
}

function missingPage() {
    return {
        title: 'Not found',
        load() {},
        view: () => h('section', null, h('h1', null, 'There is no such page'), h('p', null, h('a', { href: '/' }, 'To the builders'))),
    };
}

// Calls fn soon, and at most once in `ms`, however often it is called.
function throttled(fn, ms) {
    let timer = null;
    let last = -Infinity;
    return () => {
        timer ??= setTimeout(() => {
            timer = null;
            last = performance.now();
            fn();
        }, Math.max(0, last + ms - performance.now()));
    };
}
